package rmd.interop;

import java.lang.reflect.Field;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.thirdparty.com.google.common.collect.ListMultimap;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSMaxRunningAppsEnforcer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.TwinParallel;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;

/**
 * TwinParked handles parked applications as rmd does: those that exceed a limit of parallel ones.
 */
final class TwinParked {
  private static final Field ENFORCER = Twin.field(CapacityScheduler.class, "maxRunningEnforcer");
  private static final Field OF_USERS = Twin.field(CSMaxRunningAppsEnforcer.class, "usersNonRunnableApps");
  private static final Field OF_LEAF = Twin.field(AbstractLeafQueue.class, "nonRunnableApps");
  private static final Comparator<FiCaSchedulerApp> SUBMITTED = Comparator.comparing(FiCaSchedulerApp::getApplicationId);

  /**
   * sort orders parked applications by submission. In YARN they are in the order in which their
   * attempts started.
   */
  static void sort(CapacityScheduler cs, ApplicationAttemptId id, Consumer<String> intended) throws IllegalAccessException {
    FiCaSchedulerApp s = cs.getApplicationAttempt(id);
    if (s.isRunnable()) {
      return;
    }
    List<FiCaSchedulerApp> ofUser = ofUsers(cs).get(s.getUser());
    List<FiCaSchedulerApp> ofLeaf = ofLeaf(s);
    if (ofUser.get(0) != s && ofLeaf.get(0) != s && id.getAttemptId() > 1) {
      intended.accept("parked in order");
    }
    ofUser.sort(SUBMITTED);
    ofLeaf.sort(SUBMITTED);
  }

  /**
   * ends counts a parked attempt as waiting, because YARN subtracts it from the waiting ones when
   * it ends.
   */
  static void ends(FiCaSchedulerApp s) {
    if (!s.isRunnable()) {
      ((AbstractLeafQueue) s.getQueue()).getUsersManager().getUserAndAddIfAbsent(s.getUser()).submitApplication();
    }
  }

  /**
   * moved counts an application that has moved in its present queues, and makes those runnable for which
   * there is room now.
   */
  static void moved(CapacityScheduler cs, FiCaSchedulerApp s, AbstractLeafQueue from, Consumer<String> intended) {
    TwinParallel.moved(s, from);
    try {
      if (!s.isRunnable()) {
        ofLeaf(s).sort(SUBMITTED);
      }
      int before = ofUsers(cs).size();
      ((CSMaxRunningAppsEnforcer) ENFORCER.get(cs)).updateRunnabilityOnReload();
      if (ofUsers(cs).size() < before) {
        intended.accept("parallel after a move");
      }
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  @SuppressWarnings("unchecked")
  private static ListMultimap<String, FiCaSchedulerApp> ofUsers(CapacityScheduler cs) throws IllegalAccessException {
    return (ListMultimap<String, FiCaSchedulerApp>) OF_USERS.get(ENFORCER.get(cs));
  }

  private static List<FiCaSchedulerApp> ofLeaf(FiCaSchedulerApp s) {
    return in((AbstractLeafQueue) s.getQueue());
  }

  /** in returns the parked applications of a leaf. */
  @SuppressWarnings("unchecked")
  static List<FiCaSchedulerApp> in(AbstractLeafQueue leaf) {
    try {
      return (List<FiCaSchedulerApp>) OF_LEAF.get(leaf);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  private TwinParked() {
  }
}
