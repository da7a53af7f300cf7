package org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.util.SystemClock;

/**
 * TwinPreemption has Hadoop's policy choose containers, and ends none. It is in this package because the selectors are
 * visible in it alone.
 */
public final class TwinPreemption extends ProportionalCapacityPreemptionPolicy {
  /** chosen is what the first selector has chosen that chooses something, by the cause that rmd names. */
  public final Map<String, List<RMContainer>> chosen = new LinkedHashMap<>();

  /** TwinPreemption chooses. */
  public TwinPreemption(RMContext context, CapacityScheduler scheduler) throws ReflectiveOperationException {
    super(context, scheduler, SystemClock.getInstance());
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
      }
      selectors.set(i, new Recorder(s));
    }
    editSchedule();
  }

  /** inOrder makes a selector compute in the order of the configuration, as rmd does. */
  private void inOrder(PreemptionCandidatesSelector s, boolean reserved, boolean balance) throws ReflectiveOperationException {
    Field field = s.getClass().getDeclaredField("preemptableAmountCalculator");
    field.setAccessible(true);
    field.set(s, new TwinCalculator(this, reserved, balance, Comparator.comparing(q -> q.queueName), true));
  }

  @Override
  public Set<String> getLeafQueueNames() {
    return new LinkedHashSet<>(new TreeSet<>(super.getLeafQueueNames()));
  }

  /** Recorder keeps what a selector has chosen. */
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
        return Map.of(); // it would see what YARN does not deduct
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
      return ((FifoCandidatesSelector) selector).getAllowQueuesBalanceAfterAllQueuesSatisfied() ? "BALANCE" : "GUARANTEE";
    }
  }
}
