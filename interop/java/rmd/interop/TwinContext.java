package rmd.interop;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.LocalConfigurationProvider;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.LogAggregationContext;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.Token;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.server.api.ContainerType;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.ahs.RMApplicationHistoryWriter;
import org.apache.hadoop.yarn.server.resourcemanager.metrics.NoOpSystemMetricPublisher;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.AllocationExpirationInfo;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.ContainerAllocationExpirer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeResourceUpdateEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.UpdatedContainerInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.AllocationTagsManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.security.NMTokenSecretManagerInRM;
import org.apache.hadoop.yarn.server.resourcemanager.security.RMContainerTokenSecretManager;

/**
 * TwinContext is the environment of a CapacityScheduler in a ResourceManager, without threads,
 * tokens, stores and clocks. Events are handled where they are sent. Parts that only report a
 * decision to others do nothing.
 */
final class TwinContext extends RMContextImpl {
  final CapacityScheduler scheduler = new CapacityScheduler();
  private final Events events = new Events();
  private final RMContainerTokenSecretManager containerTokens;
  private final NMTokenSecretManagerInRM nodeTokens;
  private final ContainerAllocationExpirer expirer;
  /** rejected is set to true when the scheduler rejects an application. The caller resets it. */
  boolean rejected;
  /** drains is true while a draining node sends its heartbeat. */
  boolean drains;
  private final Queue<SchedulerEvent> news = new ArrayDeque<>();

  TwinContext(Configuration conf) throws Exception {
    // By default, 3.5 has threads for passes. Here the history says when a pass runs.
    conf.setBoolean("yarn.scheduler.capacity.schedule-asynchronously.enable", false);
    setConfigurationProvider(new NoFiles());
    setYarnConfiguration(conf);
    setScheduler(scheduler);
    RMNodeLabelsManager labels = new TwinLabelsManager();
    labels.init(conf);
    labels.setRMContext(this);
    setNodeLabelManager(labels);
    containerTokens = new NoContainerTokens(conf);
    nodeTokens = new NoNodeTokens(conf);
    expirer = new NeverExpires(events);
    setRMApplicationHistoryWriter(new RMApplicationHistoryWriter());
    setSystemMetricsPublisher(new NoOpSystemMetricPublisher());
    setAllocationTagsManager(new AllocationTagsManager(this));
    setStateStore(new NoStore());
    scheduler.setConf(conf);
    scheduler.setRMContext(this);
    scheduler.init(conf);
  }

  /** Nothing is allocated while a draining node sends its heartbeat. */
  @Override
  public boolean isSchedulerReadyForAllocatingContainers() {
    return !drains;
  }

  @Override
  public boolean isWorkPreservingRecoveryEnabled() {
    return drains || super.isWorkPreservingRecoveryEnabled();
  }

  @Override
  public Dispatcher getDispatcher() {
    return events;
  }

  @Override
  public RMContainerTokenSecretManager getContainerTokenSecretManager() {
    return containerTokens;
  }

  @Override
  public NMTokenSecretManagerInRM getNMTokenSecretManager() {
    return nodeTokens;
  }

  @Override
  public ContainerAllocationExpirer getContainerAllocationExpirer() {
    return expirer;
  }

  /** announces returns whether the labels of a node wait for later. */
  boolean announces(NodeId id) {
    return news.stream().anyMatch(e -> e instanceof NodeLabelsUpdateSchedulerEvent
        && ((NodeLabelsUpdateSchedulerEvent) e).getUpdatedNodeToLabels().containsKey(id));
  }

  /**
   * later delivers updates of node labels and totals to the scheduler. Hadoop's dispatcher would
   * deliver them after the event that causes them.
   */
  void later() {
    while (!news.isEmpty()) {
      scheduler.handle(news.poll());
    }
  }

  /**
   * Events passes events to the scheduler, updates of nodes only later, and records a rejection.
   */
  private final class Events implements Dispatcher {
    @Override
    public EventHandler<Event> getEventHandler() {
      return event -> {
        if (event instanceof NodeLabelsUpdateSchedulerEvent) {
          news.add((SchedulerEvent) event);
        } else if (event instanceof RMNodeResourceUpdateEvent) {
          resize((RMNodeResourceUpdateEvent) event);
        } else if (event instanceof SchedulerEvent) {
          scheduler.handle((SchedulerEvent) event);
        } else if (event instanceof RMAppEvent && event.getType() == RMAppEventType.APP_REJECTED) {
          rejected = true;
        }
      };
    }

    /** resize changes the total of a node, as RMNodeImpl does. The scheduler hears of it later. */
    private void resize(RMNodeResourceUpdateEvent event) {
      Node n = (Node) Proxy.getInvocationHandler(getRMNodes().get(event.getNodeId()));
      n.total = event.getResourceOption().getResource();
      // A timeout would compare the total with a constant that has the kinds of the first history.
      news.add(new NodeResourceUpdateSchedulerEvent(n.face, ResourceOption.newInstance(n.total, -1)));
    }

    @Override
    @SuppressWarnings("rawtypes")
    public void register(Class<? extends Enum> type, EventHandler handler) {
    }
  }

  /**
   * NoFiles returns an empty capacity-scheduler.xml, because the configuration itself has all
   * properties.
   */
  private static final class NoFiles extends LocalConfigurationProvider {
    @Override
    public InputStream getConfigurationInputStream(Configuration conf, String name) {
      return new ByteArrayInputStream("<configuration/>".getBytes(StandardCharsets.UTF_8));
    }
  }

  private static final class NoContainerTokens extends RMContainerTokenSecretManager {
    NoContainerTokens(Configuration conf) {
      super(conf);
    }

    @Override
    public Token createContainerToken(ContainerId id, int version, NodeId node, String user, Resource size, Priority priority,
        long created, LogAggregationContext logs, String label, ContainerType type, ExecutionType execution, long request,
        Set<String> tags) {
      return null;
    }
  }

  private static final class NoNodeTokens extends NMTokenSecretManagerInRM {
    NoNodeTokens(Configuration conf) {
      super(conf);
    }

    @Override
    public NMToken createAndGetNMToken(String user, ApplicationAttemptId attempt, Container container) {
      return null;
    }
  }

  private static final class NeverExpires extends ContainerAllocationExpirer {
    NeverExpires(Dispatcher d) {
      super(d);
    }

    @Override
    public synchronized void register(AllocationExpirationInfo info) {
    }

    @Override
    public synchronized void unregister(AllocationExpirationInfo info) {
    }
  }

  private static final class NoStore extends NullRMStateStore {
    @Override
    public void updateApplicationStateSynchronously(ApplicationStateData state, boolean notify, SettableFuture<Object> done) {
      if (done != null) {
        done.set(null);
      }
    }
  }

  /**
   * Answers implements one of the ResourceManager's large interfaces. Methods without an answer
   * return null, 0 or false.
   */
  private abstract static class Answers implements InvocationHandler {
    abstract Object answer(String name, Object[] args);

    @Override
    public Object invoke(Object self, Method m, Object[] args) {
      switch (m.getName()) {
        case "hashCode":
          return System.identityHashCode(self);
        case "equals":
          return self == args[0];
        case "toString":
          return "twin " + getClass().getSimpleName();
        default:
      }
      Object a = answer(m.getName(), args);
      Class<?> type = m.getReturnType();
      if (a != null || !type.isPrimitive() || type == void.class) {
        return a;
      }
      return type == boolean.class ? (Object) false : type == long.class ? (Object) 0L : type == float.class ? (Object) 0f : (Object) 0;
    }

    <T> T as(Class<T> type) {
      return type.cast(Proxy.newProxyInstance(Answers.class.getClassLoader(), new Class<?>[] {type}, this));
    }
  }

  /** Node is an RMNode without RMNodeImpl's state machine. It is RUNNING, or drains. */
  static final class Node extends Answers {
    final NodeId id;
    final String rack;
    Resource total;
    /** whole is the total before the drain; null if the node does not drain. */
    Resource whole;
    final List<ContainerStatus> launched = new ArrayList<>();
    final List<ContainerStatus> completed = new ArrayList<>();
    final RMNode face = as(RMNode.class);

    private final RMNodeLabelsManager labels;

    Node(String host, String rack, Resource total, RMNodeLabelsManager labels) {
      this.labels = labels;
      int port = host.indexOf(':');
      this.id = port < 0 ? NodeId.newInstance(host, 1) : NodeId.newInstance(host.substring(0, port), Integer.parseInt(host.substring(port + 1)));
      this.rack = rack;
      this.total = total;
    }

    @Override
    Object answer(String name, Object[] args) {
      switch (name) {
        case "getNodeID":
          return id;
        case "getHostName":
        case "getNodeAddress":
        case "getHttpAddress":
          return id.getHost();
        case "getRackName":
          return rack;
        case "getTotalCapability":
          return total;
        case "getState":
          return draining() ? NodeState.DECOMMISSIONING : NodeState.RUNNING;
        case "getNodeLabels":
          return labels.getLabelsOnNode(id);
        case "pullNewlyIncreasedContainers":
          return Collections.emptyList();
        case "pullContainerUpdates":
          return pull();
        default:
          return null;
      }
    }

    boolean draining() {
      return whole != null;
    }

    private List<UpdatedContainerInfo> pull() {
      UpdatedContainerInfo info = new UpdatedContainerInfo(new ArrayList<>(launched), new ArrayList<>(completed), new ArrayList<>());
      launched.clear();
      completed.clear();
      return Collections.singletonList(info);
    }
  }

  /** Attempt is an RMAppAttempt. It has an AM container or waits for one. */
  static final class Attempt extends Answers {
    final ApplicationAttemptId id;
    final RMAppAttemptMetrics metrics;
    Container master;
    /** asked is true after its AM container has been requested. */
    boolean asked;
    final RMAppAttempt face = as(RMAppAttempt.class);

    Attempt(ApplicationAttemptId id, TwinContext context) {
      this.id = id;
      this.metrics = new RMAppAttemptMetrics(id, context);
    }

    @Override
    Object answer(String name, Object[] args) {
      switch (name) {
        case "getAppAttemptId":
          return id;
        case "getMasterContainer":
          return master;
        case "getRMAppAttemptMetrics":
          return metrics;
        default:
          return null;
      }
    }
  }

  /** App is an RMApp with its current attempt. */
  static final class App extends Answers {
    final ApplicationId id;
    final String user;
    final ApplicationSubmissionContext submission;
    final List<ResourceRequest> am;
    String queue;
    int attempts;
    int failures;
    Attempt attempt;
    final RMApp face = as(RMApp.class);
    /** granted has the containers of all attempts in the order in which they were granted. */
    final List<ContainerId> granted = new ArrayList<>();
    final Map<ContainerId, Integer> ordinal = new HashMap<>();

    App(ApplicationId id, String user, String queue, ApplicationSubmissionContext submission, List<ResourceRequest> am) {
      this.id = id;
      this.user = user;
      this.queue = queue;
      this.submission = submission;
      this.am = am;
    }

    @Override
    Object answer(String name, Object[] args) {
      switch (name) {
        case "getSubmitTime": // leaves of managed parents become active in this order
          return (long) id.getId();
        case "getApplicationId":
          return id;
        case "getUser":
        case "getRealUser":
          return user;
        case "getQueue":
          return queue;
        case "getApplicationSubmissionContext":
          return submission;
        case "getCurrentAppAttempt":
        case "getRMAppAttempt":
          return attempt == null ? null : attempt.face;
        case "getAMResourceRequests":
          // An unmanaged application has no AM container and uses nothing of a queue's AM limit. In
          // YARN it uses the size of the smallest container.
          return am != null ? am : Collections.singletonList(
              ResourceRequest.newInstance(Priority.newInstance(0), ResourceRequest.ANY, Resource.newInstance(0, 0), 1));
        case "getApplicationSchedulingEnvs":
        case "getApplicationTimeouts":
          return Collections.emptyMap();
        default:
          return null;
      }
    }
  }
}
