package rmd.interop;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.AbstractComparatorOrderingPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.FairOrderingPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.OrderingPolicy;
import org.apache.hadoop.yarn.util.resource.Resources;

/** TwinKept treats an attempt that has kept the containers of the one before as rmd does. */
final class TwinKept {
  private final Twin twin;

  TwinKept(Twin twin) {
    this.twin = twin;
  }

  /**
   * begins makes a new attempt begin with an empty blacklist, and makes its containers count in its
   * leaf's order at once. In YARN it has the blacklist of the attempt before, and its place in a fair
   * order is that of an attempt without containers.
   */
  void begins(TwinContext.App a) {
    FiCaSchedulerApp s = twin.cs.getApplicationAttempt(a.attempt.id);
    List<String> refused = new ArrayList<>(s.getAppSchedulingInfo().getBlackListCopy());
    if (!refused.isEmpty()) {
      twin.intended("blacklist of an attempt with kept containers");
      s.getAppSchedulingInfo().updatePlacesBlacklistedByApp(null, refused);
    }
    Resource used = s.getAppAttemptResourceUsage().getAllUsed();
    AbstractLeafQueue leaf = (AbstractLeafQueue) s.getQueue();
    if (!used.equals(Resources.none()) && leaf.getOrderingPolicy().getConfigName().equals("fair")) {
      twin.intended("order of an attempt with kept containers");
      leaf.getOrderingPolicy().containerReleased(s, null);
    }
  }

  /**
   * leavesOut returns whether a call of a fair order is about the end of a kept container whose
   * application waits. YARN then puts the application into the order, so that it gets containers
   * although the limit of AMs or of parallel applications does not allow it.
   */
  boolean leavesOut(OrderingPolicy<FiCaSchedulerApp> order, Method method, Object[] args) {
    if (!method.getName().equals("containerReleased") || !(order instanceof FairOrderingPolicy)
        || order.getSchedulableEntities().contains((FiCaSchedulerApp) args[0])) {
      return false;
    }
    if (args[1] != null) {
      twin.intended("kept containers of a waiting application");
    }
    AbstractComparatorOrderingPolicy.updateSchedulingResourceUsage(((FiCaSchedulerApp) args[0]).getSchedulingResourceUsage());
    return true;
  }
}
