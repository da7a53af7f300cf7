package rmd.interop;

import java.lang.reflect.Field;
import java.math.BigInteger;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.SchedulingMode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.UsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * TwinUsers is a leaf's UsersManager that computes its users' share of the cluster exactly. YARN
 * adds a float with each change, and rounds the result up to the next container.
 */
final class TwinUsers extends UsersManager {
  private static final Field ASKING = Twin.field(UsersManager.class, "usersApplications");
  private static final Field SHARING = Twin.field(UsersManager.class, "activeUsersSet");
  private static final Field USERS = Twin.field(AbstractLeafQueue.class, "usersManager");
  private final Twin twin;
  private final AbstractLeafQueue leaf;
  /** held is the number of users at the start of an activation that is run in parts, or 0. */
  private int held;

  private TwinUsers(Twin twin, QueueMetrics metrics, AbstractLeafQueue leaf) {
    super(metrics, leaf, twin.context.getNodeLabelManager(), twin.cs.getResourceCalculator());
    this.twin = twin;
    this.leaf = leaf;
  }

  /** install gives a leaf without users its TwinUsers. */
  static void install(Twin twin, AbstractLeafQueue leaf) throws IllegalAccessException {
    UsersManager was = leaf.getUsersManager();
    if (was instanceof TwinUsers) {
      return;
    }
    TwinUsers users = new TwinUsers(twin, leaf.getMetrics(), leaf);
    users.setUserLimit(was.getUserLimit());
    users.setUserLimitFactor(was.getUserLimitFactor());
    USERS.set(leaf, users);
  }

  /**
   * forgetLeftOver drops the asks of a user that YARN has removed with an attempt and knows again.
   * Such a user still counts as asking, but has no part in the shares of active users.
   */
  void forgetLeftOver(String user) {
    try {
      Set<?> left = (Set<?>) ((Map<?, ?>) ASKING.get(this)).get(user);
      if (left != null && !((Set<?>) SHARING.get(this)).contains(user)) {
        new HashSet<>(left).forEach(id -> deactivateApplication(user, (ApplicationId) id));
      }
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * removeUser keeps a user whose containers are kept for the next attempt, or who has a parked
   * application. YARN forgets the user's usage with the attempt, and subtracts it when the containers
   * end; of two users with parked applications it counts the one who had no other.
   */
  @Override
  public void removeUser(String user) {
    if (!getUser(user).getResourceUsage().getAllUsed().equals(Resources.none())) {
      twin.intended("usage of kept containers");
    } else if (TwinParked.in(leaf).stream().anyMatch(s -> s.getUser().equals(user))) {
      twin.intended("parked");
    } else {
      super.removeUser(user);
    }
  }

  /** refused removes the user of a refused submission, whom YARN counts among the users of the leaf. */
  void refused(String user) {
    User u = getUser(user);
    if (u != null && u.getTotalApplications() == 0) {
      twin.intended("nothing half created");
      removeUser(user);
    }
  }

  /** limitNow computes the limit of a user again, and returns whether it was another one. */
  boolean limitNow() {
    Resource was = limit();
    userLimitNeedsRecompute();
    return !limit().equals(was);
  }

  private Resource limit() {
    return getComputedResourceLimitForActiveUsers("", twin.cs.getClusterResource(), TwinLabels.NONE,
        SchedulingMode.RESPECT_PARTITION_EXCLUSIVITY);
  }

  /** asking returns the number of users with an active application and an ask. */
  int asking() {
    return super.getNumActiveUsers() - getNumActiveUsersWithOnlyPendingApps();
  }

  /** hold keeps the number of users until release. */
  void hold() {
    held = Math.max(getNumActiveUsers(), 1);
  }

  void release() {
    held = 0;
  }

  /**
   * getNumActiveUsers counts the users with only waiting applications at each call. YARN counts
   * them when it computes a user limit.
   */
  @Override
  public int getNumActiveUsers() {
    if (held > 0) {
      return held;
    }
    int waiting = 0;
    for (User u : getUsers().values()) {
      waiting += u.getPendingApplications() > 0 && u.getActiveApplications() <= 0 ? 1 : 0;
    }
    Set<String> asking = new HashSet<>();
    for (TwinContext.App a : twin.apps.values()) {
      FiCaSchedulerApp s = twin.cs.getApplicationAttempt(a.attempt.id);
      User u = s == null || twin.leafOf(s) != leaf ? null : getUser(a.user);
      if (u != null && u.getActiveApplications() > 0 && !s.getAppSchedulingInfo().getSchedulerKeys().isEmpty()) {
        asking.add(a.user);
      }
    }
    return asking.size() + waiting;
  }

  @Override
  public float getUsageRatio(String label) {
    Resource total = twin.total(label);
    BigInteger num = BigInteger.ZERO;
    BigInteger den = BigInteger.ONE;
    for (User u : getUsers().values()) {
      long[] share = share(u.getUsed(label), total);
      num = num.multiply(BigInteger.valueOf(share[1])).add(BigInteger.valueOf(share[0]).multiply(den));
      den = den.multiply(BigInteger.valueOf(share[1]));
    }
    float near = (float) (num.doubleValue() / den.doubleValue());
    return near == 0 || below(near, num, den) ? near : Math.nextDown(near);
  }

  /** below returns whether a float is at most a fraction. */
  private static boolean below(float f, BigInteger num, BigInteger den) {
    return new java.math.BigDecimal(f).multiply(new java.math.BigDecimal(den)).compareTo(new java.math.BigDecimal(num)) <= 0;
  }

  /** share returns the largest share of a resource type that counts, as a fraction. */
  private long[] share(Resource used, Resource total) {
    long[] most = {0, 1};
    boolean memoryAlone = twin.cs.getResourceCalculator() instanceof DefaultResourceCalculator;
    for (int i = 0; i < (memoryAlone ? 1 : total.getResources().length); i++) {
      long of = total.getResourceInformation(i).getValue();
      long is = used.getResourceInformation(i).getValue();
      if (of > 0 && BigInteger.valueOf(is).multiply(BigInteger.valueOf(most[1]))
          .compareTo(BigInteger.valueOf(most[0]).multiply(BigInteger.valueOf(of))) > 0) {
        most = new long[] {is, of};
      }
    }
    return most;
  }
}
