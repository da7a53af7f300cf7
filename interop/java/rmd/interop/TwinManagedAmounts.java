package rmd.interop;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueResourceQuotas;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerDynamicEditException;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractCSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractParentQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueueUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.ManagedParentQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueueCapacities;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueueManagementChange;
import org.apache.hadoop.yarn.util.resource.Resources;

/** TwinManagedAmounts plays leaves of managed parents whose template has absolute resources. */
final class TwinManagedAmounts {
  private static final Method RATIO = TwinManaged.method(AbstractParentQueue.class, "recalculateEffectiveMinRatio", String.class, Resource.class);
  private static final Method SHARES = TwinManaged.method(ManagedParentQueue.class, "updateQueueCapacities", QueueCapacities.class);
  private static final Method EFFECTIVE = TwinManaged.method(AbstractCSQueue.class, "updateEffectiveResources", Resource.class);

  private final Twin twin;

  TwinManagedAmounts(Twin twin) {
    this.twin = twin;
  }

  /**
   * limits computes the guarantee and the maximum of a leaf with absolute resources again. In YARN it
   * has them as a rounded share of the cluster until the cluster changes, and the maximum 0 if its
   * parent has none.
   */
  void limits(ManagedParentQueue parent, CSQueue leaf) {
    QueueResourceQuotas quotas = leaf.getQueueResourceQuotas();
    Resource most = quotas.getEffectiveMaxResource();
    try {
      RATIO.invoke(parent, TwinLabels.NONE, twin.cs.getClusterResource());
      EFFECTIVE.invoke(leaf, twin.cs.getClusterResource());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
    if (!most.equals(quotas.getEffectiveMaxResource())) {
      twin.intended("managed parents: maximum of a leaf");
    }
  }

  static boolean has(CSQueue q) {
    return ((AbstractCSQueue) q).getCapacityConfigType() == AbstractCSQueue.CapacityConfigType.ABSOLUTE_RESOURCE;
  }

  /** of returns the configured guarantee of a queue: own, unless it is a leaf of a managed parent. */
  Resource of(CSQueue q, String label, Resource own) {
    if (!(q instanceof AutoCreatedLeafQueue) || !has(q)) {
      return own;
    }
    ManagedParentQueue parent = (ManagedParentQueue) q.getParent();
    try {
      if (twin.refreshing() && TwinManaged.policy(parent).getAbsoluteActivatedChildQueueCapacity(label) == 0) {
        decide(parent);
      }
      return TwinManaged.policy(parent).isActive((AutoCreatedLeafQueue) q, label)
          ? parent.getLeafQueueTemplate().getResourceQuotas().getConfiguredMinResource(label) : Resources.none();
    } catch (SchedulerDynamicEditException e) { // a refresh has not come so far yet
      return own;
    }
  }

  /**
   * decide makes leaves with amounts active during a refresh. YARN decides before their parent has a
   * share of the cluster again, so that none becomes active before the next round.
   */
  private void decide(ManagedParentQueue parent) throws SchedulerDynamicEditException {
    try {
      share(parent);
      List<QueueManagementChange> changes = TwinManaged.policy(parent).computeQueueManagementChanges();
      if (!changes.isEmpty()) {
        twin.intended("managed parents: amounts of now");
        parent.validateAndApplyQueueManagementChanges(changes);
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * share computes the share of leaves with amounts again. YARN does so when it creates a leaf.
   * A refresh computes it from the parent's old amount.
   */
  void share(ManagedParentQueue parent) {
    if (!has(parent)) {
      return;
    }
    QueueCapacities template = parent.getLeafQueueTemplate().getQueueCapacities();
    float was = template.getCapacity();
    try {
      SHARES.invoke(parent, template);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
    if (Math.abs(template.getCapacity() - was) > CSQueueUtils.EPSILON) {
      twin.intended("managed parents: amounts of now");
    }
  }
}
