package org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.ManagedParentQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.util.SystemClock;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * TwinPreemption runs Hadoop's preemption policy without ending containers. It is in Hadoop's
 * package because the selectors are package-private.
 */
public final class TwinPreemption extends ProportionalCapacityPreemptionPolicy {
  /**
   * chosen has the containers that each selector has chosen, up to the first one that chose any, by
   * rmd's name of the cause.
   */
  public final Map<String, List<RMContainer>> chosen = new LinkedHashMap<>();

  /** intended has the names of rmd's differences that had an effect. */
  public final Set<String> intended = new TreeSet<>();

  /** places has the place of each queue in rmd's order. */
  private final Map<String, Integer> places = new LinkedHashMap<>();

  /**
   * TwinPreemption runs the policy once. created has the queues that submissions have created, in
   * this order, without those that the same submission has created below them.
   */
  public TwinPreemption(RMContext context, CapacityScheduler scheduler, List<String> created) throws ReflectiveOperationException {
    super(context, scheduler, SystemClock.getInstance());
    place(scheduler.getRootQueue(), created);
    Field observe = ProportionalCapacityPreemptionPolicy.class.getDeclaredField("observeOnly");
    observe.setAccessible(true);
    observe.setBoolean(this, true);
    Field field = ProportionalCapacityPreemptionPolicy.class.getDeclaredField("candidatesSelectionPolicies");
    field.setAccessible(true);
    @SuppressWarnings("unchecked")
    List<PreemptionCandidatesSelector> selectors = (List<PreemptionCandidatesSelector>) field.get(this);
    boolean counts = scheduler.getConfiguration().getBoolean(
        "yarn.resourcemanager.monitor.capacity.preemption.additional_res_balance_based_on_reserved_containers", false);
    for (int i = 0; i < selectors.size(); i++) {
      PreemptionCandidatesSelector s = selectors.get(i);
      if (s instanceof ReservedContainerCandidatesSelector) {
        inOrder(s, true, false);
      } else if (s instanceof FifoCandidatesSelector) {
        boolean balance = ((FifoCandidatesSelector) s).getAllowQueuesBalanceAfterAllQueuesSatisfied();
        inOrder(s, !balance && counts, balance);
      } else if (s instanceof IntraQueueCandidatesSelector) {
        ((IntraQueueCandidatesSelector) s).fifoPreemptionComputePlugin = new TwinInside(this, intended);
      }
      selectors.set(i, new Recorder(s));
    }
    wholeLabels(context, scheduler);
    countLent(context, scheduler);
    Map<RMContainer, FiCaSchedulerNode> ended = countEnded(scheduler);
    Map<FiCaSchedulerNode, RMContainer> unneeded = hideUnneeded(scheduler);
    editSchedule();
    for (Map.Entry<FiCaSchedulerNode, RMContainer> e : unneeded.entrySet()) {
      ON_NODE.set(e.getKey(), e.getValue());
    }
    ended.forEach((c, node) -> node.markContainerToNonKillable(c.getContainerId()));
  }

  private static final Field ON_NODE;

  static {
    try {
      ON_NODE = SchedulerNode.class.getDeclaredField("reservedContainer");
      ON_NODE.setAccessible(true);
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * hideUnneeded takes reservations off their nodes for which nobody asks any more, and returns
   * them. Hadoop would choose containers on the node for them.
   */
  private Map<FiCaSchedulerNode, RMContainer> hideUnneeded(CapacityScheduler scheduler) throws IllegalAccessException {
    Map<FiCaSchedulerNode, RMContainer> unneeded = new LinkedHashMap<>();
    for (FiCaSchedulerNode node : scheduler.getAllNodes()) {
      RMContainer c = node.getReservedContainer();
      if (c != null && scheduler.getApplicationAttempt(c.getApplicationAttemptId()).getOutstandingAsksCount(c.getReservedSchedulerKey()) <= 0) {
        intended.add("reserved for nobody");
        unneeded.put(node, c);
        ON_NODE.set(node, null);
      }
    }
    return unneeded;
  }

  /**
   * countEnded counts containers as room of a reserved node that have ended and that the node has
   * not reported yet. Hadoop would choose them again.
   */
  private Map<RMContainer, FiCaSchedulerNode> countEnded(CapacityScheduler scheduler) {
    Set<RMContainerState> states = EnumSet.of(RMContainerState.COMPLETED, RMContainerState.EXPIRED, RMContainerState.RELEASED, RMContainerState.KILLED);
    Map<RMContainer, FiCaSchedulerNode> ended = new LinkedHashMap<>();
    for (FiCaSchedulerNode node : scheduler.getAllNodes()) {
      for (RMContainer c : node.getReservedContainer() == null ? List.<RMContainer>of() : node.getCopiedListOfRunningContainers()) {
        if (states.contains(c.getState())) {
          intended.add("killed and not reported");
          node.markContainerToKillable(c.getContainerId());
          ended.put(c, node);
        }
      }
    }
    return ended;
  }

  /**
   * wholeLabels gives root the whole of each label. If a label was added after the last refresh,
   * Hadoop gives root nothing of it, and preempts everything that runs there, although nobody
   * waits.
   */
  private void wholeLabels(RMContext context, CapacityScheduler scheduler) {
    CSQueue root = scheduler.getRootQueue();
    for (String label : context.getNodeLabelManager().getClusterNodeLabelNames()) {
      if (root.getQueueCapacities().getAbsoluteCapacity(label) == 1) {
        continue;
      }
      intended.add("label since the last refresh");
      root.getQueueCapacities().setAbsoluteCapacity(label, 1);
      root.getQueueResourceQuotas().setEffectiveMinResource(label, context.getNodeLabelManager().getResourceByLabel(label, scheduler.getClusterResource()));
    }
  }

  /**
   * countLent counts containers as lent by the node where they run now. Hadoop counts by the label
   * under which they were allocated.
   */
  private void countLent(RMContext context, CapacityScheduler scheduler) throws ReflectiveOperationException {
    Field field = AbstractLeafQueue.class.getDeclaredField("ignorePartitionExclusivityRMContainers");
    field.setAccessible(true);
    boolean masters = context.getYarnConfiguration().getBoolean(YarnConfiguration.AM_ALLOW_NON_EXCLUSIVE_ALLOCATION, false);
    for (CSQueue queue : scheduler.getCapacitySchedulerQueueManager().getQueues().values()) {
      if (!(queue instanceof AbstractLeafQueue)) {
        continue;
      }
      @SuppressWarnings("unchecked")
      Map<String, TreeSet<RMContainer>> lent = (Map<String, TreeSet<RMContainer>>) field.get(queue);
      Map<String, TreeSet<RMContainer>> before = ((AbstractLeafQueue) queue).getIgnoreExclusivityRMContainers();
      lent.clear();
      for (FiCaSchedulerApp app : ((AbstractLeafQueue) queue).getAllApplications()) {
        for (RMContainer c : app.getLiveContainers()) {
          String label = scheduler.getNode(c.getAllocatedNode()).getPartition();
          if (lends(context, label) && c.getNodeLabelExpression().isEmpty() && (masters || !c.isAMContainer())) {
            lent.computeIfAbsent(label, l -> new TreeSet<>()).add(c);
          }
        }
      }
      if (!lent.equals(before)) {
        intended.add("lent by where it runs");
      }
    }
  }

  private static boolean lends(RMContext context, String label) {
    try {
      return !label.isEmpty() && !context.getNodeLabelManager().isExclusiveNodeLabel(label);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * place orders the queues as rmd does: those of the configuration depth first, and after them all
   * that submissions have created. TwinPass.configuredOrder has ordered the children of each queue.
   */
  private void place(CSQueue root, List<String> created) {
    List<CSQueue> queues = new ArrayList<>();
    depthFirst(root, queues);
    queues.sort(Comparator.comparing((CSQueue q) -> q.isDynamicQueue()).thenComparing(q -> q.isDynamicQueue() ? creation(q, created) : 0));
    queues.forEach(q -> places.put(q.getQueuePath(), places.size()));
  }

  private static void depthFirst(CSQueue q, List<CSQueue> queues) {
    queues.add(q);
    if (q.getChildQueues() != null) {
      q.getChildQueues().forEach(child -> depthFirst(child, queues));
    }
  }

  /** creation returns when a queue was created: with the last one of created on its path. */
  private static int creation(CSQueue q, List<String> created) {
    String path = q.getQueuePath();
    while (!created.contains(path) && path.contains(".")) {
      path = path.substring(0, path.lastIndexOf('.'));
    }
    return created.indexOf(path);
  }

  /**
   * inOrder makes a selector compute in rmd's order of queues. In YARN a hash orders those that are
   * equally needy.
   */
  private void inOrder(PreemptionCandidatesSelector s, boolean reserved, boolean balance) throws ReflectiveOperationException {
    Field field = s.getClass().getDeclaredField("preemptableAmountCalculator");
    field.setAccessible(true);
    field.set(s, new TwinCalculator(this, reserved, balance, Comparator.comparing(q -> places.get(q.queueName)), true) {
      @Override
      public void computeIdealAllocation(Resource cluster, Resource allowed) {
        List<TempQueuePerPartition> kept = forgetIdeals();
        super.computeIdealAllocation(cluster, allowed);
        if (kept.stream().anyMatch(q -> q.idealAssigned.equals(Resources.none()))) {
          intended.add("each selector afresh");
        }
        getLeafQueueNames().forEach(leaf -> getQueuePartitions(leaf).forEach(TwinPreemption.this::spareForNobody));
      }
    });
  }

  /**
   * forgetIdeals forgets what an earlier selector has assigned to the queues, and returns the queues to
   * which it has assigned anything. Hadoop does not compute queues without a guarantee again if nothing
   * is left for them.
   */
  private List<TempQueuePerPartition> forgetIdeals() {
    List<TempQueuePerPartition> some = new ArrayList<>();
    getQueuePartitions().values().forEach(labels -> some.addAll(labels.values()));
    some.removeIf(q -> q.idealAssigned.equals(Resources.none()));
    some.forEach(q -> q.idealAssigned = Resources.clone(Resources.none()));
    return some;
  }

  /**
   * spareForNobody takes nothing from a leaf if no other leaf waits and no queue from the leaf up
   * to root uses more than its maximum.
   */
  private void spareForNobody(TempQueuePerPartition leaf) {
    if (leaf.getActuallyToBePreempted().equals(Resources.none())) {
      return;
    }
    for (String name : getLeafQueueNames()) {
      TempQueuePerPartition other = getQueueByPartition(name, leaf.partition);
      if (other != null && other != leaf && !(other.pending.equals(Resources.none()) && other.reserved.equals(Resources.none()))) {
        return;
      }
    }
    for (TempQueuePerPartition q = leaf; q != null; q = q.parent) {
      if (!Resources.fitsIn(getResourceCalculator(), q.getUsed(), q.getMax())) {
        return;
      }
    }
    intended.add("for nobody");
    leaf.setActuallyToBePreempted(Resources.none());
  }

  /**
   * getQueueByPartition marks which of a queue and its descendants are managed parents. Hadoop marks only
   * other parents, and fails because it takes a managed parent without leaves for a leaf.
   */
  @Override
  public TempQueuePerPartition getQueueByPartition(String name, String label) {
    TempQueuePerPartition q = super.getQueueByPartition(name, label);
    CSQueue queue = getScheduler().getQueue(name);
    if (queue instanceof ManagedParentQueue && q.parentQueue == null) {
      q.parentQueue = (ManagedParentQueue) queue;
      if (q.children.isEmpty()) {
        intended.add("managed parents: no leaves");
      }
    } else if (q != null) {
      q.children.forEach(child -> getQueueByPartition(child.queueName, label));
    }
    return q;
  }

  @Override
  public Set<String> getLeafQueueNames() {
    List<String> names = new ArrayList<>(super.getLeafQueueNames());
    names.sort(Comparator.comparing(places::get));
    return new LinkedHashSet<>(names);
  }

  /** Recorder records what a selector chooses. */
  private final class Recorder extends PreemptionCandidatesSelector {
    private final PreemptionCandidatesSelector selector;

    Recorder(PreemptionCandidatesSelector selector) {
      super(TwinPreemption.this);
      this.selector = selector;
    }

    @Override
    public Map<ApplicationAttemptId, Set<RMContainer>> selectCandidates(Map<ApplicationAttemptId, Set<RMContainer>> selected,
        Resource cluster, Resource allowed) {
      if (chosen.values().stream().anyMatch(list -> !list.isEmpty())) {
        return Map.of(); // a further selector would see resources that YARN has not deducted
      }
      Map<ApplicationAttemptId, Set<RMContainer>> now = selector.selectCandidates(selected, cluster, allowed);
      List<RMContainer> list = new ArrayList<>();
      now.values().forEach(list::addAll);
      chosen.put(cause(), list);
      return now;
    }

    private String cause() {
      if (selector instanceof ReservedContainerCandidatesSelector) {
        return "RESERVATION";
      }
      if (selector instanceof IntraQueueCandidatesSelector) {
        return "INSIDE";
      }
      return ((FifoCandidatesSelector) selector).getAllowQueuesBalanceAfterAllQueuesSatisfied() ? "BALANCE" : "GUARANTEE";
    }
  }
}
