package rmd.interop;

import java.lang.reflect.Field;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.thirdparty.com.google.common.collect.Multiset;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * TwinMisses counts missed offers as rmd does. An ask must miss a number of offers before a node
 * with a label may be lent to it. YARN counts them for every key without a label, without a limit,
 * and keeps the count when the key ends.
 */
final class TwinMisses {
  private static final Field MISSED = Twin.field(SchedulerApplicationAttempt.class, "missedNonPartitionedReqSchedulingOpportunity");
  private final Twin twin;
  private final Map<FiCaSchedulerApp, Map<SchedulerRequestKey, Integer>> before;
  private final Set<ContainerId> started = new HashSet<>();

  /** TwinMisses saves the counts before a step. */
  TwinMisses(Twin twin) {
    this.twin = twin;
    this.before = of(twin.attempts());
    for (FiCaSchedulerApp s : twin.attempts()) {
      s.getLiveContainers().forEach(c -> started.add(c.getContainerId()));
      s.getReservedContainers().forEach(c -> started.add(c.getContainerId())); // a fulfillment resets no count
    }
  }

  static Map<FiCaSchedulerApp, Map<SchedulerRequestKey, Integer>> of(Collection<FiCaSchedulerApp> apps) {
    Map<FiCaSchedulerApp, Map<SchedulerRequestKey, Integer>> all = new HashMap<>();
    for (FiCaSchedulerApp s : apps) {
      Map<SchedulerRequestKey, Integer> counts = new HashMap<>();
      missed(s).elementSet().forEach(k -> counts.put(k, missed(s).count(k)));
      all.put(s, counts);
    }
    return all;
  }

  static void set(FiCaSchedulerApp s, SchedulerRequestKey k, int n) {
    missed(s).setCount(k, n);
  }

  static int of(FiCaSchedulerApp s, SchedulerRequestKey k) {
    return missed(s).count(k);
  }

  /** ends resets the count of a key that has neither an ask nor a reservation. */
  static void ends(FiCaSchedulerApp s, SchedulerRequestKey k) {
    if (!asked(s, k)) {
      set(s, k, 0);
    }
  }

  /**
   * bound reduces counts above the number that suffices now, unless they were that high before the
   * step.
   */
  void bound() {
    for (FiCaSchedulerApp s : twin.attempts()) {
      for (SchedulerRequestKey k : of(List.of(s)).get(s).keySet()) {
        int was = before.getOrDefault(s, Map.of()).getOrDefault(k, 0);
        int most = !asked(s, k) ? 0 : counts(s) ? Math.max(was, twin.cs.getNumClusterNodes()) : startsNow(s, k) ? 0 : was;
        if (of(s, k) > most) {
          set(s, k, most);
          if (twin.labels.shared()) {
            twin.intended("missed offers");
          }
        }
      }
    }
  }

  /** startsNow returns whether a container of a key has started in this step on a node without a label, which resets its count. */
  private boolean startsNow(FiCaSchedulerApp s, SchedulerRequestKey k) {
    return s.getLiveContainers().stream().anyMatch(c -> c.getAllocatedSchedulerKey().equals(k) && !started.contains(c.getContainerId())
        && twin.cs.getNode(c.getAllocatedNode()).getPartition().equals(TwinLabels.NONE));
  }

  private static boolean asked(FiCaSchedulerApp s, SchedulerRequestKey k) {
    AppPlacementAllocator<?> p = s.getAppSchedulingInfo().getAppPlacementAllocator(k);
    return s.getNumReservedContainers(k) > 0 || p != null && p.getOutstandingAsksCount(ResourceRequest.ANY) > 0;
  }

  /** counts returns whether a node can be lent to an application's asks. */
  private boolean counts(FiCaSchedulerApp s) {
    return twin.labels.shared() && (!s.isWaitingForAMContainer() || twin.labels.lentToMasters());
  }

  @SuppressWarnings("unchecked")
  private static Multiset<SchedulerRequestKey> missed(FiCaSchedulerApp s) {
    try {
      return (Multiset<SchedulerRequestKey>) MISSED.get(s);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }
}
