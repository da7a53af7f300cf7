package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity;

import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;

/**
 * TwinParallel counts parallel applications that move as rmd does. In YARN the queues above the old leaf
 * go on counting them, and those above the new one count below what they have.
 */
public final class TwinParallel {
  /**
   * mayMove returns whether an application may move to a leaf. One that is not parked may not exceed a
   * limit there; queues above both leaves count it already.
   */
  public static boolean mayMove(FiCaSchedulerApp s, CSQueue to) {
    for (CSQueue q = to; s.isRunnable() && q != null && !below(s.getCSLeafQueue(), q); q = q.getParent()) {
      if (((AbstractCSQueue) q).getNumRunnableApps() >= q.getMaxParallelApps()) {
        return false;
      }
    }
    return true;
  }

  private static boolean below(CSQueue leaf, CSQueue q) {
    return (leaf.getQueuePath() + ".").startsWith(q.getQueuePath() + ".");
  }

  /** moved counts an application that has moved in the queues above it. */
  public static void moved(FiCaSchedulerApp s, CSQueue from) {
    if (!s.isRunnable()) {
      return;
    }
    for (CSQueue q = from.getParent(); q != null; q = q.getParent()) {
      ((AbstractParentQueue) q).decrementRunnableApps();
    }
    for (CSQueue q = s.getCSLeafQueue().getParent(); q != null; q = q.getParent()) {
      ((AbstractParentQueue) q).incrementRunnableApps();
    }
  }

  private TwinParallel() {
  }
}
