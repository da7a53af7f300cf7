package org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceUsage;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.LeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.SchedulingMode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.UsersManager.User;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.FifoOrderingPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.OrderingPolicy;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;
import org.apache.log4j.Level;
import org.apache.log4j.LogManager;
import sun.misc.Unsafe;

/**
 * TwinLeaf computes with Hadoop's FifoIntraQueuePreemptionPlugin what applications of a leaf must
 * give to others of the same leaf. Standard input has leaves in the syntax of twin/leaf.go.
 * Standard output has one line for each application. The leaf, its users and its applications are
 * fakes that answer what the plug-in asks.
 */
final class TwinLeaf {
  private final ResourceCalculator rc;
  private final Resource cluster;
  private final Resource minAlloc;
  private final Resource guaranteed;
  private final Resource used;
  private final Resource toTake;
  private final Resource budget;
  private final float allowable;
  private final boolean conservative;
  private final ProportionalCapacityPreemptionPolicy.IntraQueuePreemptionOrderPolicy order;
  private final Map<String, User> users = new LinkedHashMap<>();
  private final Map<String, Resource> limits = new HashMap<>();
  private final List<App> apps = new ArrayList<>();

  private TwinLeaf(String[] w) {
    rc = w[1].equals("dominant") ? new DominantResourceCalculator() : new DefaultResourceCalculator();
    cluster = resource(w[2]);
    minAlloc = resource(w[3]);
    guaranteed = resource(w[4]);
    used = resource(w[5]);
    toTake = resource(w[6]);
    budget = resource(w[7]);
    allowable = Float.parseFloat(w[8]);
    conservative = Boolean.parseBoolean(w[9]);
    order = ProportionalCapacityPreemptionPolicy.IntraQueuePreemptionOrderPolicy.valueOf(w[10]);
  }

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, "UTF-8");
    System.setOut(System.err);
    LogManager.getLoggerRepository().setThreshold(Level.OFF);
    ResourceUtils.resetResourceTypes(new Configuration(false));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    TwinLeaf leaf = null;
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] w = line.split(" ");
      switch (w[0]) {
        case "leaf":
          leaf = new TwinLeaf(w);
          break;
        case "user":
          leaf.addUser(w);
          break;
        case "app":
          leaf.addApp(w);
          break;
        default:
          leaf.compute(out);
          out.flush();
      }
    }
  }

  private static Resource resource(String text) {
    String[] values = text.split(",");
    return Resource.newInstance(Long.parseLong(values[0]), Integer.parseInt(values[1]));
  }

  /** standIn creates an object without running a constructor. */
  private static <T> T standIn(Class<T> of) throws Exception {
    Field f = Unsafe.class.getDeclaredField("theUnsafe");
    f.setAccessible(true);
    return of.cast(((Unsafe) f.get(null)).allocateInstance(of));
  }

  private void addUser(String[] w) {
    String name = "u" + users.size();
    User u = new User(name);
    u.getResourceUsage().setUsed("", resource(w[2]));
    users.put(name, u);
    limits.put(name, resource(w[1]));
  }

  private void addApp(String[] w) throws Exception {
    App a = standIn(App.class);
    a.id = ApplicationId.newInstance(1, apps.size() + 1);
    a.user = "u" + w[1];
    a.priority = Priority.newInstance(Integer.parseInt(w[2]));
    a.usage = new ResourceUsage();
    a.usage.setUsed("", resource(w[3]));
    a.am = resource(w[4]);
    a.pending = resource(w[5]);
    apps.add(a);
  }

  private void compute(PrintStream out) throws Exception {
    Leaf leaf = standIn(Leaf.class);
    leaf.twin = this;
    apps.forEach(a -> a.leaf = leaf);
    TempQueuePerPartition q =
        new TempQueuePerPartition("root.a", used, false, "", Resource.newInstance(0, 0), 0, 0, cluster, Resource.newInstance(0, 0), null, guaranteed, guaranteed);
    q.setLeafQueue(leaf);
    q.setActuallyToBePreempted(toTake);
    CapacitySchedulerPreemptionContext context = (CapacitySchedulerPreemptionContext) Proxy.newProxyInstance(
        getClass().getClassLoader(), new Class<?>[] {CapacitySchedulerPreemptionContext.class}, (proxy, method, args) -> {
          switch (method.getName()) {
            case "getResourceCalculator": return rc;
            case "getIntraQueuePreemptionOrderPolicy": return order;
            case "getInQueuePreemptionConservativeDRF": return conservative;
            default: throw new UnsupportedOperationException(method.getName());
          }
        });
    Resource left = org.apache.hadoop.yarn.util.resource.Resources.subtract(used, toTake);
    new FifoIntraQueuePreemptionPlugin(rc, context).computeAppsIdealAllocation(cluster, q, Collections.emptyMap(), budget, left, allowable);
    Map<ApplicationId, Resource> gives = new HashMap<>();
    for (TempAppPerPartition a : q.getApps()) {
      gives.put(a.getApplicationId(), a.getActuallyToBePreempted());
    }
    for (App a : apps) {
      Resource r = gives.getOrDefault(a.id, Resource.newInstance(0, 0));
      out.println(r.getMemorySize() + "," + r.getVirtualCores());
    }
  }

  /** Leaf is a fake leaf queue. */
  private static final class Leaf extends LeafQueue {
    private TwinLeaf twin;

    Leaf() throws IOException {
      super(null, null, null, null);
    }

    @Override
    public Collection<FiCaSchedulerApp> getAllApplications() {
      return new ArrayList<>(twin.apps);
    }

    @Override
    public Collection<FiCaSchedulerApp> getApplications() {
      return getAllApplications();
    }

    @Override
    public User getOrCreateUser(String name) {
      return twin.users.get(name);
    }

    @Override
    public Resource getResourceLimitForAllUsers(String user, Resource cluster, String partition, SchedulingMode mode) {
      return twin.limits.get(user);
    }

    @Override
    @SuppressWarnings("unchecked")
    public OrderingPolicy<FiCaSchedulerApp> getOrderingPolicy() {
      return new FifoOrderingPolicy<>();
    }

    @Override
    public Resource getMinimumAllocation() {
      return twin.minAlloc;
    }
  }

  /** App is a fake application. */
  private static final class App extends FiCaSchedulerApp {
    private ApplicationId id;
    private String user;
    private Priority priority;
    private ResourceUsage usage;
    private Resource am;
    private Resource pending;
    private Leaf leaf;

    App() {
      super(null, null, null, null, null);
    }

    @Override
    public ApplicationId getApplicationId() {
      return id;
    }

    @Override
    public ApplicationAttemptId getApplicationAttemptId() {
      return ApplicationAttemptId.newInstance(id, 1);
    }

    @Override
    public String getUser() {
      return user;
    }

    @Override
    public Priority getPriority() {
      return priority;
    }

    @Override
    public String getQueueName() {
      return "a";
    }

    @Override
    public AbstractLeafQueue getCSLeafQueue() {
      return leaf;
    }

    @Override
    public ResourceUsage getAppAttemptResourceUsage() {
      return usage;
    }

    @Override
    public Resource getAMResource(String label) {
      return am;
    }

    @Override
    public boolean isWaitingForAMContainer() {
      return false;
    }

    @Override
    public Map<String, Resource> getTotalPendingRequestsPerPartition() {
      return new HashMap<>(Collections.singletonMap("", pending));
    }

    @Override
    public boolean equals(Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return id.hashCode();
    }
  }
}
