package org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.impl.LightWeightResource;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy.IntraQueuePreemptionOrderPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.SchedulingMode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.UsersManager.User;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy.FairOrderingPolicy;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * TwinInside computes what applications of a leaf with the fair order must give to each other. It
 * puts users with equal usage in rmd's order. Hadoop's comparator says of two such users that each
 * comes after the other if their usage differs in a kind that does not count.
 */
final class TwinInside extends FifoIntraQueuePreemptionPlugin {
  TwinInside(CapacitySchedulerPreemptionContext context, Set<String> intended) {
    super(byAge(context.getResourceCalculator(), intended), context);
  }

  /**
   * byAge returns a calculator for which the smaller of two equal uses is that of the user with the
   * oldest application.
   */
  private static ResourceCalculator byAge(ResourceCalculator of, Set<String> intended) {
    if (of instanceof DefaultResourceCalculator) {
      return new DefaultResourceCalculator() {
        @Override
        public int compare(Resource cluster, Resource a, Resource b, boolean single) {
          return orByAge(super.compare(cluster, a, b, single), a, b, intended);
        }
      };
    }
    return new DominantResourceCalculator() {
      @Override
      public int compare(Resource cluster, Resource a, Resource b, boolean single) {
        return orByAge(super.compare(cluster, a, b, single), a, b, intended);
      }
    };
  }

  private static int orByAge(int compared, Resource a, Resource b, Set<String> intended) {
    if (compared != 0 || a == b || !(a instanceof UserUse) || !(b instanceof UserUse)) {
      return compared;
    }
    UserUse x = (UserUse) a;
    UserUse y = (UserUse) b;
    int age = x.oldest.compareTo(y.oldest);
    boolean apart = (age < 0 ? x : y).newest.compareTo((age < 0 ? y : x).oldest) < 0;
    if (!x.sameAmount(y) || !apart) {
      intended.add("equal users inside a queue");
    }
    return age;
  }

  /** computeAppsIdealAllocation creates the users as the superclass does, but each with a UserUse. */
  @Override
  public void computeAppsIdealAllocation(Resource cluster, TempQueuePerPartition q, Map<ApplicationAttemptId, Set<RMContainer>> selected,
      Resource allowed, Resource reassignable, float most) {
    Collection<FiCaSchedulerApp> apps = q.leafQueue.getAllApplications();
    if (apps.size() > 1 && q.leafQueue.getOrderingPolicy() instanceof FairOrderingPolicy
        && context.getIntraQueuePreemptionOrderPolicy() == IntraQueuePreemptionOrderPolicy.USERLIMIT_FIRST) {
      Map<String, Resource> masters = new HashMap<>();
      for (FiCaSchedulerApp app : q.leafQueue.getApplications()) {
        masters.merge(app.getUser(), app.getAMResource(q.partition), Resources::add);
      }
      for (FiCaSchedulerApp app : apps) {
        AgedUser user = (AgedUser) q.getUsersPerPartition().get(app.getUser());
        if (user == null) {
          user = new AgedUser(q, app, masters.getOrDefault(app.getUser(), Resources.none()), cluster);
          q.addUserPerPartition(app.getUser(), user);
        }
        user.use.add(app.getApplicationId());
      }
    }
    super.computeAppsIdealAllocation(cluster, q, selected, allowed, reassignable, most);
  }

  /** AgedUser is a user with a UserUse. */
  private static final class AgedUser extends TempUserPerPartition {
    private final UserUse use;

    AgedUser(TempQueuePerPartition q, FiCaSchedulerApp app, Resource masters, Resource cluster) {
      this(q, q.leafQueue.getOrCreateUser(app.getUser()), app.getApplicationId(), masters);
      setUserLimit(Resources.subtract(
          q.leafQueue.getResourceLimitForAllUsers(app.getUser(), cluster, q.partition, SchedulingMode.RESPECT_PARTITION_EXCLUSIVITY), amUsed));
    }

    private AgedUser(TempQueuePerPartition q, User user, ApplicationId app, Resource masters) {
      super(user, q.queueName, Resources.clone(user.getResourceUsage().getUsed(q.partition)), Resources.clone(masters),
          Resources.clone(user.getResourceUsage().getReserved(q.partition)), Resources.none());
      use = new UserUse(super.getUsedDeductAM(), app);
    }

    @Override
    public Resource getUsedDeductAM() {
      return use;
    }
  }

  /**
   * UserUse is what a user uses without AMs. It equals that of no other user, so that Hadoop does not
   * order the applications of two users by age.
   */
  private static final class UserUse extends LightWeightResource {
    private ApplicationId oldest;
    private ApplicationId newest;

    UserUse(Resource amount, ApplicationId app) {
      super(amount.getMemorySize(), amount.getVirtualCores(), amount.getResources());
      oldest = app;
      newest = app;
    }

    void add(ApplicationId app) {
      oldest = app.compareTo(oldest) < 0 ? app : oldest;
      newest = app.compareTo(newest) > 0 ? app : newest;
    }

    boolean sameAmount(UserUse other) {
      return super.equals(other);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof UserUse ? this == other : super.equals(other);
    }

    @Override
    public int hashCode() {
      return super.hashCode();
    }
  }
}
