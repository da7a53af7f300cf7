package rmd.interop;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.hadoop.metrics2.lib.TwinGauge;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractResourceUsage;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceLimits;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceUsage;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractCSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractParentQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSAssignment;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.SchedulingMode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.policy.QueueOrderingPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ResourceCommitRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.SchedulerContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.CandidateNodeSet;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.IteratorSelector;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.OrderingPolicy;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * TwinPass makes a pass continue with a queue's siblings when the queue's proposal is refused, as
 * in rmd. In YARN the pass then ends without a result, and the siblings wait for another heartbeat.
 */
final class TwinPass {
  private static final Field CHILDREN = Twin.field(AbstractParentQueue.class, "childQueues");
  private static final Field POLICY = Twin.field(AbstractParentQueue.class, "queueOrderingPolicy");
  private static final Field WAITING = Twin.field(AbstractLeafQueue.class, "pendingOrderingPolicy");
  private static final Field ORDER = Twin.field(AbstractLeafQueue.class, "orderingPolicy");
  private static final Method ACTIVATE = Twin.method("activateApplications");
  private final Twin twin;
  /** lends is true while a pass offers a node with a label to asks without one. */
  private boolean lends;

  TwinPass(Twin twin) {
    this.twin = twin;
  }

  /**
   * watch installs the differences of this class in a queue and its descendants, exact quotas, and
   * exact users in leaves.
   */
  void watch(CSQueue q) throws IllegalAccessException {
    TwinQuotas.install(twin, q);
    if (!(q instanceof AbstractParentQueue)) {
      TwinUsers.install(twin, (AbstractLeafQueue) q);
      askingOnly((AbstractLeafQueue) q);
      limitsOfNow((AbstractLeafQueue) q);
      return;
    }
    QueueOrderingPolicy policy = (QueueOrderingPolicy) POLICY.get(q);
    if (!Proxy.isProxyClass(policy.getClass())) {
      POLICY.set(q, Proxy.newProxyInstance(TwinPass.class.getClassLoader(), new Class<?>[] {QueueOrderingPolicy.class},
          (self, method, args) -> {
            Object answer = call(policy, method, args);
            return method.getName().equals("getAssignmentIterator") ? leaves((Iterator<?>) answer) : answer;
          }));
    }
    configuredOrder(q);
    Supplier<Resource> reserved = () -> twin.offered.equals(TwinLabels.NONE) ? null : q.getQueueResourceUsage().getReserved(twin.offered);
    TwinGauge.Memory.install(q.getMetrics(), RESERVED_MEMORY, reserved);
    TwinGauge.Vcores.install(q.getMetrics(), RESERVED_VCORES, reserved);
    for (CSQueue child : q.getChildQueues()) {
      watch(child);
    }
  }

  /**
   * configuredOrder makes equal children be served in the order of the configuration. After a
   * refresh, YARN serves them in the order of a hash.
   */
  @SuppressWarnings("unchecked")
  private void configuredOrder(CSQueue q) throws IllegalAccessException {
    List<CSQueue> children = (List<CSQueue>) CHILDREN.get(q);
    List<CSQueue> was = new ArrayList<>(children);
    // The getter takes and returns other types since 3.5.
    List<String> names = List.of(twin.cs.getConfiguration().getTrimmedStrings("yarn.scheduler.capacity." + q.getQueuePath() + ".queues"));
    // Queues that a submission has created come after those of the configuration.
    children.sort(Comparator.comparing((CSQueue child) -> ((AbstractCSQueue) child).isDynamicQueue())
        .thenComparingInt(child -> names.indexOf(child.getQueueShortName()))
        .thenComparingInt(child -> twin.created.indexOf(child.getQueuePath())));
    if (!children.equals(was)) {
      twin.intended("order after a refresh");
    }
  }

  private static Object call(Object on, Method method, Object[] args) throws Throwable {
    try {
      return method.invoke(on, args);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private Iterator<CSQueue> leaves(Iterator<?> children) {
    List<CSQueue> list = new ArrayList<>();
    while (children.hasNext()) {
      CSQueue child = (CSQueue) children.next();
      list.add(child instanceof AbstractLeafQueue ? leaf((AbstractLeafQueue) child) : child);
    }
    return list.iterator();
  }

  /**
   * askingOnly leaves applications without asks for the offered label out of a leaf's order during
   * a pass, as in rmd. In YARN the first application closes a leaf at its limit, even if it asks
   * for nothing and has nothing to give up.
   */
  private void askingOnly(AbstractLeafQueue q) throws IllegalAccessException {
    OrderingPolicy<FiCaSchedulerApp> policy = q.getOrderingPolicy();
    if (Proxy.isProxyClass(policy.getClass())) {
      return;
    }
    ORDER.set(q, Proxy.newProxyInstance(TwinPass.class.getClassLoader(), new Class<?>[] {OrderingPolicy.class}, new AskingOnly(policy)));
  }

  private final class AskingOnly implements InvocationHandler {
    private final OrderingPolicy<FiCaSchedulerApp> policy;

    AskingOnly(OrderingPolicy<FiCaSchedulerApp> policy) {
      this.policy = policy;
    }

    @Override
    public Object invoke(Object self, Method method, Object[] args) throws Throwable {
      if (twin.kept.leavesOut(policy, method, args)) {
        return null;
      }
      Object answer = call(policy, method, args);
      return method.getName().equals("getAssignmentIterator")
          ? asking((Iterator<?>) answer, lends ? TwinLabels.NONE : ((IteratorSelector) args[0]).getPartition()) : answer;
    }
  }

  /**
   * ownOrders gives leaves Hadoop's own orders until they are watched again. Preemption looks at
   * the class of an order.
   */
  static void ownOrders(CSQueue q) throws IllegalAccessException {
    if (q.getChildQueues() != null) {
      for (CSQueue child : q.getChildQueues()) {
        ownOrders(child);
      }
      return;
    }
    OrderingPolicy<FiCaSchedulerApp> policy = ((AbstractLeafQueue) q).getOrderingPolicy();
    if (Proxy.isProxyClass(policy.getClass())) {
      ORDER.set(q, ((AskingOnly) Proxy.getInvocationHandler(policy)).policy);
    }
  }

  private static Iterator<FiCaSchedulerApp> asking(Iterator<?> apps, String label) {
    List<FiCaSchedulerApp> list = new ArrayList<>();
    while (apps.hasNext()) {
      FiCaSchedulerApp s = (FiCaSchedulerApp) apps.next();
      if (asks(s, label)) {
        list.add(s);
      }
    }
    return list.iterator();
  }

  private static boolean asks(FiCaSchedulerApp s, String label) {
    return s.getAppSchedulingInfo().getSchedulerKeys().stream()
        .anyMatch(k -> s.getAppPlacementAllocator(k).getPrimaryRequestedNodePartition().equals(label));
  }

  /**
   * limitsOfNow makes a leaf activate applications under the present limits, as in rmd. YARN uses
   * the limit of the last pass, and a queue's configured amounts of labels without nodes.
   */
  private void limitsOfNow(AbstractLeafQueue q) throws IllegalAccessException {
    OrderingPolicy<FiCaSchedulerApp> policy = q.getPendingAppsOrderingPolicy();
    if (Proxy.isProxyClass(policy.getClass())) {
      return;
    }
    FiCaSchedulerApp[] alone = {null};
    WAITING.set(q, Proxy.newProxyInstance(TwinPass.class.getClassLoader(), new Class<?>[] {OrderingPolicy.class}, (self, method, args) -> {
      if (method.getName().equals("addSchedulableEntity")) {
        twin.askForMasters(args[0]); // for attempts that became runnable before this one
        Object answer = call(policy, method, args);
        twin.arrives(args[0]);
        return answer;
      }
      if (!method.getName().equals("getAssignmentIterator") || policy.getNumSchedulableEntities() == 0) {
        return call(policy, method, args);
      }
      if (twin.refuses()) { // a refused refresh changes nothing; YARN looks at the limits again
        twin.intended("lifted limits");
        return Collections.emptyIterator();
      }
      if (twin.creates && twin.cs.getClusterResource().equals(Resources.none())) { // YARN makes one active in each leaf
        twin.intended("empty cluster");
        return Collections.emptyIterator();
      }
      if (alone[0] != null) {
        return only(alone[0], (Iterator<?>) call(policy, method, args));
      }
      Resource was = q.getQueueResourceUsage().getAMLimit("");
      boolean empty = twin.withoutNodes(q);
      twin.deriveLimits();
      twin.forgetShares(q);
      twin.labels.known.forEach(q::calculateAndGetAMResourceLimitPerPartition);
      if (!q.calculateAndGetAMResourceLimitPerPartition("").equals(was)) {
        twin.intended(empty ? "empty cluster" : "current limit derived");
      }
      if (!shareDiffers(q, policy)) {
        return call(policy, method, args);
      }
      walkOneByOne(q, (Iterator<?>) call(policy, method, args), alone);
      return Collections.emptyIterator();
    }));
  }

  /**
   * shareDiffers returns whether waiting applications with the same AM label have different AM
   * limits of their users.
   */
  private boolean shareDiffers(AbstractLeafQueue q, OrderingPolicy<FiCaSchedulerApp> waiting) {
    Map<String, Set<Resource>> shares = new HashMap<>();
    for (FiCaSchedulerApp s : waiting.getSchedulableEntities()) {
      String label = s.getAppAMNodePartitionName();
      shares.computeIfAbsent(label, l -> new HashSet<>()).add(q.getUserAMResourceLimitPerPartition(label, s.getUser()));
    }
    return shares.values().stream().anyMatch(of -> of.size() > 1);
  }

  /**
   * walkOneByOne activates each application separately, so that the weight of its own user counts,
   * as in rmd. In YARN the weight of the first application's user counts for all.
   */
  private void walkOneByOne(AbstractLeafQueue q, Iterator<?> waiting, FiCaSchedulerApp[] alone) throws ReflectiveOperationException {
    twin.intended("each user's weight");
    List<FiCaSchedulerApp> order = new ArrayList<>();
    waiting.forEachRemaining(s -> order.add((FiCaSchedulerApp) s));
    TwinUsers users = (TwinUsers) q.getUsersManager();
    users.hold();
    try {
      for (FiCaSchedulerApp s : order) {
        alone[0] = s;
        ACTIVATE.invoke(q);
      }
    } finally {
      alone[0] = null;
      users.release();
    }
  }

  /** only returns an iterator over one element of another iterator. */
  private static Iterator<FiCaSchedulerApp> only(FiCaSchedulerApp one, Iterator<?> all) {
    while (all.next() != one) {
      continue;
    }
    return new Iterator<FiCaSchedulerApp>() {
      private boolean had;

      @Override
      public boolean hasNext() {
        return !had;
      }

      @Override
      public FiCaSchedulerApp next() {
        had = true;
        return one;
      }

      @Override
      public void remove() {
        all.remove();
      }
    };
  }

  private CSQueue leaf(AbstractLeafQueue q) {
    return (CSQueue) Proxy.newProxyInstance(TwinPass.class.getClassLoader(), new Class<?>[] {CSQueue.class}, (self, method, args) -> {
      if (!method.getName().equals("assignContainers")) {
        return call(q, method, args);
      }
      Map<FiCaSchedulerApp, Map<SchedulerRequestKey, Integer>> before = opportunities(q);
      Map<FiCaSchedulerApp, Map<SchedulerRequestKey, Integer>> missed = TwinMisses.of(q.getApplications());
      lends = args[3] == SchedulingMode.IGNORE_PARTITION_EXCLUSIVITY;
      Map<AbstractResourceUsage, Object> without = usesOf(q, ((CandidateNodeSet<?>) args[1]).getPartition());
      CSAssignment a;
      try {
        a = (CSAssignment) call(q, method, args);
      } finally {
        for (Map.Entry<AbstractResourceUsage, Object> e : without.entrySet()) {
          WITHOUT_LABEL.set(e.getKey(), e.getValue());
        }
      }
      a.setSchedulingMode((SchedulingMode) args[3]);
      if (a.getSkippedType() == CSAssignment.SkippedType.QUEUE_LIMIT) {
        // A parent uses the headroom of a leaf, and the blocked headroom of another parent. It
        // treats the proxy as a parent.
        ResourceLimits limits = (ResourceLimits) args[2];
        limits.addBlockedHeadroom(limits.getHeadroom());
      }
      return accepted((Resource) args[0], a, before, missed) ? a : CSAssignment.NULL_ASSIGNMENT;
    });
  }

  /**
   * usesOf replaces the usage without a label of a leaf's applications and users with their usage
   * of a label, and returns the replaced usage. When YARN checks whether a user would be within its
   * limit without an application's reservations, it uses the usage without a label for every node.
   */
  private Map<AbstractResourceUsage, Object> usesOf(AbstractLeafQueue q, String label) throws IllegalAccessException {
    Map<AbstractResourceUsage, Object> was = new IdentityHashMap<>();
    if (label.equals(TwinLabels.NONE)) {
      return was;
    }
    List<ResourceUsage> all = new ArrayList<>();
    q.getApplications().forEach(s -> all.add(s.getAppAttemptResourceUsage()));
    q.getUsersManager().getUsers().values().forEach(u -> all.add(u.getResourceUsage()));
    for (ResourceUsage u : all) {
      ResourceUsage there = new ResourceUsage();
      there.setUsed(u.getUsed(label));
      there.setReserved(u.getReserved(label));
      there.setPending(u.getPending());
      there.setAMUsed(u.getAMUsed());
      was.put(u, WITHOUT_LABEL.get(u));
      WITHOUT_LABEL.set(u, WITHOUT_LABEL.get(there));
    }
    return was;
  }

  private static final Field RESERVED_MEMORY = Twin.field(QueueMetrics.class, "reservedMB");
  private static final Field RESERVED_VCORES = Twin.field(QueueMetrics.class, "reservedVCores");
  private static final Field WITHOUT_LABEL = Twin.field(AbstractResourceUsage.class, "noLabelUsages");

  /** opportunities returns the missed offers of a leaf's applications. */
  private static Map<FiCaSchedulerApp, Map<SchedulerRequestKey, Integer>> opportunities(AbstractLeafQueue q) {
    Map<FiCaSchedulerApp, Map<SchedulerRequestKey, Integer>> all = new HashMap<>();
    for (FiCaSchedulerApp s : q.getApplications()) {
      Map<SchedulerRequestKey, Integer> of = new HashMap<>();
      s.getAppSchedulingInfo().getSchedulerKeys().forEach(k -> of.put(k, s.getSchedulingOpportunities(k)));
      all.put(s, of);
    }
    return all;
  }

  /**
   * releasesThere makes only reservations on nodes with the same label count as released by a
   * proposal. In YARN a reservation on other nodes also makes room, even beyond the maximum for the
   * label.
   */
  private void releasesThere(ResourceCommitRequest<FiCaSchedulerApp, FiCaSchedulerNode> request, String label) {
    for (SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> r : request.getFirstAllocatedOrReservedContainer().getToRelease()) {
      if (!r.getNodePartition().equals(label)) {
        twin.intended("exchange on another label");
        Resources.subtractFrom(request.getTotalReleasedResource(), r.getRmContainer().getAllocatedOrReservedResource());
      }
    }
  }

  /**
   * accepted returns whether a proposal will be accepted. A refused one must not change anything.
   */
  private boolean accepted(Resource cluster, CSAssignment a, Map<FiCaSchedulerApp, Map<SchedulerRequestKey, Integer>> before,
      Map<FiCaSchedulerApp, Map<SchedulerRequestKey, Integer>> missed) {
    ResourceCommitRequest<FiCaSchedulerApp, FiCaSchedulerNode> request = twin.cs.createResourceCommitRequest(a);
    if (request == null || !request.anythingAllocatedOrReserved()) {
      return true;
    }
    SchedulerContainer<FiCaSchedulerApp, FiCaSchedulerNode> c = request.getFirstAllocatedOrReservedContainer()
        .getAllocatedOrReservedContainer();
    FiCaSchedulerApp s = c.getSchedulerApplicationAttempt();
    releasesThere(request, c.getNodePartition());
    if (s.accept(cluster, request, true)) {
      return true;
    }
    twin.intended("refused proposal");
    if (!request.getContainersToAllocate().isEmpty()) {
      s.decUnconfirmedRes(request.getTotalAllocatedResource()); // as in the commit
    }
    SchedulerRequestKey k = c.getSchedulerRequestKey();
    s.resetSchedulingOpportunities(k);
    for (int i = before.get(s).getOrDefault(k, 0); i > 0; i--) {
      s.addSchedulingOpportunity(k);
    }
    TwinMisses.set(s, k, missed.getOrDefault(s, Map.of()).getOrDefault(k, 0));
    return false;
  }
}
