package org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.util.resource.Resources;

/** TwinCalculator visits queues in a given order. Hadoop's own order is that of a HashSet. */
class TwinCalculator extends PreemptableResourceCalculator {
  private final Comparator<TempQueuePerPartition> order;
  private final boolean countAll;

  /**
   * TwinCalculator visits queues by order. If countAll is true, it deducts everything that it has
   * assigned.
   */
  TwinCalculator(CapacitySchedulerPreemptionContext context, boolean reserved, boolean balance,
      Comparator<TempQueuePerPartition> order, boolean countAll) {
    super(context, reserved, balance);
    this.order = order;
    this.countAll = countAll;
  }

  @Override
  protected void computeFixpointAllocation(Resource guaranteed, Collection<TempQueuePerPartition> some, Resource unassigned,
      boolean ignoreGuarantee) {
    List<TempQueuePerPartition> sorted = new ArrayList<>(some);
    sorted.sort(order);
    Resource left = Resources.clone(unassigned);
    super.computeFixpointAllocation(guaranteed, sorted, unassigned, ignoreGuarantee);
    if (!countAll) {
      return;
    }
    // The difference "leftover for queues without a guarantee": in Hadoop the caller sees only the
    // first assignment deducted.
    for (TempQueuePerPartition q : sorted) {
      Resources.subtractFrom(left, q.idealAssigned);
    }
    for (int i = 0; i < left.getResources().length; i++) {
      unassigned.setResourceValue(i, left.getResourceInformation(i).getValue());
    }
  }
}
