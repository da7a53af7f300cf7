package rmd.interop;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerDynamicEditException;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedLeafQueueConfig;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.ManagedParentQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueueCapacities;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueueManagementChange;

/** TwinManagedRefresh plays what a refresh does to parents with auto-create-child-queue. */
final class TwinManagedRefresh {
  private final Twin twin;
  private final TwinManaged managed;
  private final List<ManagedParentQueue> parents = new ArrayList<>();
  private final Set<CSQueue> active = new HashSet<>(); // leaves, before the refresh
  private final List<ManagedParentQueue> failingBefore;
  private final List<ManagedParentQueue> failing;

  TwinManagedRefresh(Twin twin, TwinManaged managed, Configuration next) throws SchedulerDynamicEditException {
    this.twin = twin;
    this.managed = managed;
    for (CSQueue q : twin.cs.getCapacitySchedulerQueueManager().getQueues().values()) {
      if (q instanceof ManagedParentQueue) {
        parents.add((ManagedParentQueue) q);
      }
    }
    for (ManagedParentQueue p : parents) {
      for (CSQueue leaf : p.getChildQueues()) {
        if (TwinManaged.policy(p).isActive((AutoCreatedLeafQueue) leaf, TwinLabels.NONE)) {
          active.add(leaf);
        }
      }
    }
    failing = lenient(next);
    for (ManagedParentQueue p : failing) {
      float sum = 0;
      for (CSQueue leaf : p.getChildQueues()) {
        sum += leaf.getCapacity();
      }
      if (p.getCapacity() < sum) {
        twin.intended("managed parents: refresh");
      }
    }
    failingBefore = lenient(twin.cs.getConfiguration());
  }

  /**
   * lenient removes fail-on-exceeding-parent-capacity from a configuration for a refresh, and returns
   * where it was set. YARN refuses a refresh if the active leaves' shares of such a parent are together
   * larger than the share that the parent has of its own parent.
   */
  private List<ManagedParentQueue> lenient(Configuration c) {
    List<ManagedParentQueue> set = new ArrayList<>();
    for (ManagedParentQueue p : parents) {
      if (c.getBoolean(fails(p), false)) {
        c.unset(fails(p));
        set.add(p);
      }
    }
    return set;
  }

  private static String fails(CSQueue q) {
    return CapacitySchedulerConfiguration.PREFIX + q.getQueuePath() + ".auto-create-child-queue.fail-on-exceeding-parent-capacity";
  }

  /** accepted sets again what lenient has removed, and gives leaves the limits of now. */
  void accepted() throws IllegalAccessException {
    failAgain(failing);
  }

  /**
   * refused gives the capacity of the template to the leaves that had it before the refresh. YARN
   * reads its old queues again, and decides afresh.
   */
  void refused() throws IllegalAccessException {
    try {
      for (ManagedParentQueue p : parents) {
        TwinManaged.policy(p).updateTemplateAbsoluteCapacities(p.getQueueCapacities());
        List<QueueManagementChange> changes = new ArrayList<>();
        for (CSQueue q : p.getChildQueues()) {
          AutoCreatedLeafQueue leaf = (AutoCreatedLeafQueue) q;
          if (TwinManaged.policy(p).isActive(leaf, TwinLabels.NONE) != active.contains(leaf)) {
            twin.intended("managed parents: refused refresh");
            changes.add(change(p, leaf, active.contains(leaf)));
          }
        }
        p.validateAndApplyQueueManagementChanges(changes);
      }
    } catch (IOException | SchedulerDynamicEditException e) {
      throw new IllegalStateException(e);
    }
    failAgain(failingBefore);
  }

  private static QueueManagementChange change(ManagedParentQueue p, AutoCreatedLeafQueue leaf, boolean active) {
    QueueCapacities template = p.getLeafQueueTemplate().getQueueCapacities();
    QueueCapacities c = new QueueCapacities(false);
    c.setMaximumCapacity(template.getMaximumCapacity());
    c.setAbsoluteMaximumCapacity(template.getAbsoluteMaximumCapacity());
    c.setCapacity(active ? template.getCapacity() : 0);
    c.setAbsoluteCapacity(active ? template.getAbsoluteCapacity() : 0);
    return new QueueManagementChange.UpdateQueue(leaf, new AutoCreatedLeafQueueConfig.Builder().capacities(c)
        .resourceQuotas(p.getLeafQueueTemplate().getResourceQuotas()).build());
  }

  private void failAgain(List<ManagedParentQueue> set) throws IllegalAccessException {
    for (ManagedParentQueue p : set) {
      twin.cs.getConfiguration().setBoolean(fails(p), true);
      TwinManaged.FAILS.setBoolean(p, true);
    }
    managed.limits(twin.cs.getRootQueue());
  }
}
