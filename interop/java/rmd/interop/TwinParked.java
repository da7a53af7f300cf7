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
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;

/** TwinParked treats applications that a limit on parallel ones holds back as rmd does. */
final class TwinParked {
  private static final Field ENFORCER = Twin.field(CapacityScheduler.class, "maxRunningEnforcer");
  private static final Field OF_USERS = Twin.field(CSMaxRunningAppsEnforcer.class, "usersNonRunnableApps");
  private static final Field OF_LEAF = Twin.field(AbstractLeafQueue.class, "nonRunnableApps");
  private static final Comparator<FiCaSchedulerApp> SUBMITTED = Comparator.comparing(FiCaSchedulerApp::getApplicationId);

  /** sort has those that are parked go by their submission. In YARN they go by the start of their attempts. */
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

  /** ends has an attempt that is parked counted as waiting: YARN takes it from those that wait when it ends. */
  static void ends(FiCaSchedulerApp s) {
    if (!s.isRunnable()) {
      ((AbstractLeafQueue) s.getQueue()).getUsersManager().getUserAndAddIfAbsent(s.getUser()).submitApplication();
    }
  }

  @SuppressWarnings("unchecked")
  private static ListMultimap<String, FiCaSchedulerApp> ofUsers(CapacityScheduler cs) throws IllegalAccessException {
    return (ListMultimap<String, FiCaSchedulerApp>) OF_USERS.get(ENFORCER.get(cs));
  }

  @SuppressWarnings("unchecked")
  private static List<FiCaSchedulerApp> ofLeaf(FiCaSchedulerApp s) throws IllegalAccessException {
    return (List<FiCaSchedulerApp>) OF_LEAF.get(s.getQueue());
  }

  private TwinParked() {
  }
}
