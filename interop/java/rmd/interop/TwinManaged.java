package rmd.interop;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerDynamicEditException;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractAutoCreatedLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueueUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.ManagedParentQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueueCapacities;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueueManagementDynamicEditPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.queuemanagement.GuaranteedOrZeroCapacityOverTimePolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.QueueEntitlement;
import org.apache.hadoop.yarn.util.resource.Resources;

/** TwinManaged plays parents with auto-create-child-queue, and their leaves. */
final class TwinManaged {
  private static final Field STATE = Twin.field(GuaranteedOrZeroCapacityOverTimePolicy.class, "parentQueueState");
  private static final Method DEACTIVATE = method(GuaranteedOrZeroCapacityOverTimePolicy.class, "deactivate",
      AbstractAutoCreatedLeafQueue.class, String.class);

  static Method method(Class<?> in, String name, Class<?>... args) {
    try {
      Method m = in.getDeclaredMethod(name, args);
      m.setAccessible(true);
      return m;
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    }
  }

  static final Field FAILS = Twin.field(ManagedParentQueue.class, "shouldFailAutoCreationWhenGuaranteedCapacityExceeded");

  private final Twin twin;
  final TwinManagedAmounts amounts;

  TwinManaged(Twin twin) {
    this.twin = twin;
    this.amounts = new TwinManagedAmounts(twin);
  }

  /** manage runs the policy that makes leaves active and inactive. */
  void manage() throws ReflectiveOperationException, SchedulerDynamicEditException {
    countActive();
    new QueueManagementDynamicEditPolicy(twin.context, twin.cs).editSchedule();
    limits(twin.cs.getRootQueue());
  }

  /**
   * countActive makes active leaves count with the capacity of the template as it is now, as in rmd.
   * In YARN they count with what it was when they became active, although the share of a parent with
   * a weight changes when queues are created beside it.
   */
  void countActive() throws ReflectiveOperationException, SchedulerDynamicEditException {
    countActive(twin.cs.getRootQueue());
  }

  private void countActive(CSQueue q) throws ReflectiveOperationException, SchedulerDynamicEditException {
    if (q instanceof ManagedParentQueue) {
      GuaranteedOrZeroCapacityOverTimePolicy policy = policy(q);
      amounts.share((ManagedParentQueue) q);
      policy.updateTemplateAbsoluteCapacities(q.getQueueCapacities());
      float active = 0;
      for (CSQueue leaf : q.getChildQueues()) {
        if (policy.isActive((AutoCreatedLeafQueue) leaf, TwinLabels.NONE)) {
          active += ((ManagedParentQueue) q).getLeafQueueTemplate().getQueueCapacities().getAbsoluteCapacity();
        }
      }
      if (Math.abs(policy.getAbsoluteActivatedChildQueueCapacity(TwinLabels.NONE) - active) > CSQueueUtils.EPSILON) {
        twin.intended("managed parents: capacity of now");
      }
      Object state = STATE.get(policy);
      Method count = state.getClass().getDeclaredMethod("setAbsActivatedChildQueueCapacityByLabel", String.class, float.class);
      count.setAccessible(true);
      count.invoke(state, TwinLabels.NONE, active);
    } else if (q.getChildQueues() != null) {
      for (CSQueue child : q.getChildQueues()) {
        countActive(child);
      }
    }
  }

  /**
   * mayCreate makes a parent with fail-on-exceeding-parent-capacity create a leaf that fits into its
   * capacity exactly. In YARN the rounded sum of the shares may be too large.
   */
  void mayCreate(CSQueue q) throws IllegalAccessException {
    if (!(q instanceof ManagedParentQueue) || !fails(q)) {
      return;
    }
    float room = q.getAbsoluteCapacity() - ((ManagedParentQueue) q).getLeafQueueTemplate().getQueueCapacities().getAbsoluteCapacity();
    for (CSQueue leaf : q.getChildQueues()) {
      room -= leaf.getAbsoluteCapacity();
    }
    if (room < 0 && room > -1e-6) {
      twin.intended("exact numbers");
      FAILS.setBoolean(q, false);
    }
  }

  /** hasCreated makes a parent fail again as it is configured. */
  void hasCreated(CSQueue q) throws IllegalAccessException {
    if (q instanceof ManagedParentQueue) {
      FAILS.setBoolean(q, fails(q));
    }
  }

  private boolean fails(CSQueue q) {
    return twin.cs.getConfiguration().getShouldFailAutoQueueCreationWhenGuaranteedCapacityExceeded(q.getQueuePath());
  }

  static GuaranteedOrZeroCapacityOverTimePolicy policy(CSQueue parent) {
    return (GuaranteedOrZeroCapacityOverTimePolicy) ((ManagedParentQueue) parent).getAutoCreatedQueueManagementPolicy();
  }

  /**
   * limits gives leaves the limits of now, as in rmd. In YARN an inactive leaf has a maximum of 0 until
   * the cluster changes, and the users of a leaf that becomes active keep the limit that they had
   * before, until its usage or its users with asks change.
   */
  void limits(CSQueue q) {
    if (q instanceof ManagedParentQueue) {
      for (CSQueue leaf : q.getChildQueues()) {
        QueueCapacities c = leaf.getQueueCapacities();
        if (TwinManagedAmounts.has(leaf)) {
          amounts.limits((ManagedParentQueue) q, leaf);
        } else if (c.getAbsoluteMaximumCapacity() == 0) {
          twin.intended("managed parents: maximum of a leaf");
          c.setAbsoluteMaximumCapacity(c.getMaximumCapacity() * q.getQueueCapacities().getAbsoluteMaximumCapacity());
          leaf.getQueueResourceQuotas().setEffectiveMaxResource(TwinLabels.NONE,
              Resources.multiply(twin.total(TwinLabels.NONE), c.getAbsoluteMaximumCapacity()));
        }
        if (((TwinUsers) ((AbstractLeafQueue) leaf).getUsersManager()).limitNow()) {
          twin.intended("managed parents: user limits of now");
        }
      }
    } else if (q.getChildQueues() != null) {
      q.getChildQueues().forEach(this::limits);
    }
  }

  /**
   * placed returns the result of the placement rule that leads to a leaf of a managed parent; null for
   * other queues.
   */
  ApplicationPlacementContext placed(String path) {
    int dot = path.lastIndexOf('.');
    boolean managed = dot > 0 && twin.cs.getQueue(path.substring(0, dot)) instanceof ManagedParentQueue;
    return managed ? new ApplicationPlacementContext(path.substring(dot + 1), path.substring(0, dot)) : null;
  }

  /** remove removes a new leaf of a managed parent, and returns false for other queues. */
  boolean remove(CSQueue q) {
    if (!(q instanceof AutoCreatedLeafQueue)) {
      return false;
    }
    AutoCreatedLeafQueue leaf = (AutoCreatedLeafQueue) q;
    GuaranteedOrZeroCapacityOverTimePolicy policy = policy(q.getParent());
    try {
      if (policy.isActive(leaf, TwinLabels.NONE)) {
        DEACTIVATE.invoke(policy, leaf, TwinLabels.NONE);
      }
      leaf.setEntitlement(new QueueEntitlement(0, 1));
      twin.cs.removeQueue(q.getQueuePath());
    } catch (SchedulerDynamicEditException | IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException(e);
    }
    return true;
  }

  /** expire removes the leaves of managed parents that are empty, which YARN keeps until a restart. */
  void expire() {
    for (CSQueue q : new ArrayList<>(twin.cs.getCapacitySchedulerQueueManager().getQueues().values())) {
      if (q instanceof AutoCreatedLeafQueue && q.getNumApplications() == 0 && remove(q)) {
        twin.intended("managed parents: idle leaves");
        twin.lookAtLimits();
      }
    }
  }
}
