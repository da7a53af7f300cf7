package rmd.hadooptests;

import java.io.Closeable;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.hadoop.ha.HAServiceProtocol.HAServiceState;
import org.apache.hadoop.ha.HAServiceProtocol.StateChangeRequestInfo;
import org.apache.hadoop.ha.HAServiceStatus;
import org.apache.hadoop.security.token.TokenIdentifier;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptReport;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeReport;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.Container;
import org.apache.hadoop.yarn.server.resourcemanager.AdminService;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.util.ConverterUtils;

/**
 * What Hadoop's tests look up inside a ResourceManager, answered by asking rmd as its clients do.
 * Whatever else a test wants of the inside is an UnsupportedOperationException that names it.
 */
public final class Inside implements Closeable {
  private static final int PAUSE_MILLIS = 20; // for tests that ask in a tight loop
  private static final int HEARTBEAT_MILLIS = 300; // in which all nodes were heard; tests let them call every 100 ms

  private final MiniYARNCluster cluster;
  private final Replicas replicas;
  private final Map<Integer, ResourceManager> managers = new HashMap<>();
  private final Map<ApplicationAttemptId, RMAppAttempt> attempts = new ConcurrentHashMap<>();
  private YarnClient client;

  public Inside(MiniYARNCluster cluster, Replicas replicas) {
    this.cluster = cluster;
    this.replicas = replicas;
  }

  /** For tests that ask over HTTP alone. */
  public Inside(Replicas replicas) {
    this(null, replicas);
  }

  private interface Call<T> {
    T on(YarnClient c) throws YarnException, IOException;
  }

  private synchronized <T> T ask(Call<T> call) {
    if (client == null) {
      client = YarnClient.createYarnClient();
      client.init(new YarnConfiguration(cluster.getConfig()));
      client.start();
    }
    try {
      return call.on(client);
    } catch (YarnException | IOException e) {
      throw new YarnRuntimeException(e);
    }
  }

  @Override
  public synchronized void close() {
    if (client != null) {
      client.stop();
    }
  }

  public int runningNodes() {
    return ask(c -> c.getNodeReports(NodeState.RUNNING)).size();
  }

  /** The ResourceManager with a number; null for none. */
  public synchronized ResourceManager manager(int i) {
    return i < 0 ? null : managers.computeIfAbsent(i, Manager::new);
  }

  private final class Manager extends ResourceManager {
    private final RMContext context;

    Manager(int i) {
      AdminService admin = new Admin(this, i);
      Map<String, Answer> can = new HashMap<>();
      can.put("getRMApps", a -> apps());
      can.put("getRMNodes", a -> nodes());
      can.put("getScheduler", a -> scheduler());
      can.put("getRMAdminService", a -> admin);
      can.put("getHAServiceState", a -> state(i));
      context = face(RMContext.class, can);
    }

    @Override
    public RMContext getRMContext() {
      return context;
    }
  }

  private HAServiceState state(int i) {
    return replicas.leads(i) ? HAServiceState.ACTIVE : HAServiceState.STANDBY;
  }

  /** Changes the leader where YARN changes which ResourceManager is active. */
  private final class Admin extends AdminService {
    private final int index;

    Admin(ResourceManager rm, int index) {
      super(rm);
      this.index = index;
    }

    @Override
    public synchronized void transitionToActive(StateChangeRequestInfo info) throws IOException {
      if (!replicas.transfer(index)) {
        throw new IOException("rmd did not make replica " + index + " its leader");
      }
    }

    @Override
    public synchronized void transitionToStandby(StateChangeRequestInfo info) {
      // the replica that becomes active next takes the leadership
    }

    @Override
    public synchronized HAServiceStatus getServiceStatus() {
      return new HAServiceStatus(state(index));
    }
  }

  /** A context with the applications that one replica shows over HTTP. */
  public RMContext shown() {
    return face(RMContext.class, Map.of("getRMApps", a -> {
      ConcurrentMap<ApplicationId, RMApp> all = new ConcurrentHashMap<>();
      replicas.users().forEach((id, user) -> all.put(ApplicationId.fromString(id),
          face(RMApp.class, Map.of("getUser", b -> user))));
      return all;
    }));
  }

  private ConcurrentMap<ApplicationId, RMApp> apps() {
    ConcurrentMap<ApplicationId, RMApp> all = new ConcurrentHashMap<>();
    for (ApplicationReport r : ask(YarnClient::getApplications)) {
      all.put(r.getApplicationId(), app(r.getApplicationId()));
    }
    return all;
  }

  private RMApp app(ApplicationId id) {
    Map<String, Answer> can = new HashMap<>();
    can.put("getApplicationId", a -> id);
    can.put("getState", a -> {
      pause(PAUSE_MILLIS);
      return RMAppState.valueOf(ask(c -> c.getApplicationReport(id)).getYarnApplicationState().name());
    });
    can.put("getCurrentAppAttempt", a -> attempt(ask(c -> c.getApplicationReport(id)).getCurrentApplicationAttemptId()));
    can.put("getAppAttempts", a -> {
      Map<ApplicationAttemptId, RMAppAttempt> all = new HashMap<>();
      for (ApplicationAttemptReport r : ask(c -> c.getApplicationAttempts(id))) {
        all.put(r.getApplicationAttemptId(), attempt(r.getApplicationAttemptId()));
      }
      return all;
    });
    return face(RMApp.class, can);
  }

  private RMAppAttempt attempt(ApplicationAttemptId id) {
    return attempts.computeIfAbsent(id, x -> {
      Map<String, Answer> can = new HashMap<>();
      can.put("getAppAttemptId", a -> id);
      can.put("getAppAttemptState", a -> {
        pause(PAUSE_MILLIS);
        return RMAppAttemptState.valueOf(ask(c -> c.getApplicationAttemptReport(id)).getYarnApplicationAttemptState().name());
      });
      org.apache.hadoop.security.token.Token<?>[] token = new org.apache.hadoop.security.token.Token<?>[1];
      can.put("getAMRMToken", a -> token[0] == null ? token[0] = amrmToken(id) : token[0]);
      return face(RMAppAttempt.class, can);
    });
  }

  /** The attempt's token: from the report when its AM is unmanaged, else from the AM's container. */
  private org.apache.hadoop.security.token.Token<? extends TokenIdentifier> amrmToken(ApplicationAttemptId id) {
    org.apache.hadoop.yarn.api.records.Token t = ask(c -> c.getApplicationReport(id.getApplicationId())).getAMRMToken();
    if (t != null) {
      return ConverterUtils.convertFromYarn(t, (org.apache.hadoop.io.Text) null);
    }
    for (int tries = 0; tries < 500; tries++) {
      for (NodeManager nm : cluster.nodeManagers()) {
        for (Container c : nm.getNMContext().getContainers().values()) {
          if (!c.getContainerId().getApplicationAttemptId().equals(id) || c.getCredentials() == null) {
            continue;
          }
          for (org.apache.hadoop.security.token.Token<? extends TokenIdentifier> has : c.getCredentials().getAllTokens()) {
            if (AMRMTokenIdentifier.KIND_NAME.equals(has.getKind())) {
              return has.copyToken();
            }
          }
        }
      }
      pause(PAUSE_MILLIS);
    }
    throw new IllegalStateException("no NodeManager has a container of " + id + " with its AMRMToken");
  }

  private ConcurrentMap<NodeId, RMNode> nodes() {
    ConcurrentMap<NodeId, RMNode> all = new ConcurrentHashMap<>();
    for (NodeReport r : ask(c -> c.getNodeReports(NodeState.RUNNING))) {
      Map<String, Answer> can = new HashMap<>();
      can.put("getNodeID", a -> r.getNodeId());
      all.put(r.getNodeId(), face(RMNode.class, can));
    }
    return all;
  }

  /** Tests hand the scheduler heartbeats of nodes, to hurry it; the real ones come by themselves. */
  private ResourceScheduler scheduler() {
    Map<String, Answer> can = new HashMap<>();
    can.put("handle", a -> {
      pause(HEARTBEAT_MILLIS);
      return null;
    });
    return face(ResourceScheduler.class, can);
  }

  private static void pause(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private interface Answer {
    Object to(Object[] args);
  }

  private static <T> T face(Class<T> type, Map<String, Answer> can) {
    InvocationHandler h = new InvocationHandler() {
      @Override
      public Object invoke(Object self, Method m, Object[] args) throws Throwable {
        Answer a = can.get(m.getName());
        if (a != null) {
          return a.to(args);
        }
        if (m.getDeclaringClass() == Object.class) {
          try {
            return m.invoke(this, args);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        }
        throw new UnsupportedOperationException("the test looks inside the ResourceManager: " + type.getSimpleName() + "." + m.getName());
      }
    };
    return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, h));
  }
}
