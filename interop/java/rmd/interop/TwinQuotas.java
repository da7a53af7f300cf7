package rmd.interop;

import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueResourceQuotas;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractCSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * TwinQuotas has the guarantees and maxima of a queue as exact parts of the nodes, rounded down.
 * YARN multiplies 32-bit floats, so that its result may be 1 more or less.
 */
final class TwinQuotas extends QueueResourceQuotas {
  private static final Field TRACKER = Twin.field(AbstractCSQueue.class, "usageTracker");
  private final Twin twin;
  private final CSQueue queue;

  private TwinQuotas(Twin twin, CSQueue queue) {
    this.twin = twin;
    this.queue = queue;
  }

  /** install gives a queue exact quotas. */
  static void install(Twin twin, CSQueue queue) throws IllegalAccessException {
    QueueResourceQuotas was = queue.getQueueResourceQuotas();
    if (was instanceof TwinQuotas) {
      return;
    }
    TwinQuotas exact = new TwinQuotas(twin, queue);
    for (String label : was.getExistingNodeLabels()) {
      exact.setConfiguredMinResource(label, was.getConfiguredMinResource(label));
      exact.setConfiguredMaxResource(label, was.getConfiguredMaxResource(label));
      exact.setEffectiveMinResource(label, was.getEffectiveMinResource(label));
      exact.setEffectiveMaxResource(label, was.getEffectiveMaxResource(label));
    }
    Object tracker = TRACKER.get(queue);
    Twin.field(tracker.getClass(), "queueResourceQuotas").set(tracker, exact);
  }

  /**
   * getConfiguredMinResource returns the amount of the template for an active leaf of a managed parent,
   * and nothing for an inactive one, as in rmd. In YARN a leaf that becomes active again has none, and
   * after a refresh every leaf has the amount.
   */
  @Override
  public Resource getConfiguredMinResource(String label) {
    Resource own = super.getConfiguredMinResource(label);
    Resource now = twin.managed.amounts.of(queue, label, own);
    if (!now.equals(own)) {
      twin.intended("managed parents: amounts of now");
    }
    return now;
  }

  @Override
  public Resource getConfiguredMinResource() {
    return getConfiguredMinResource(TwinLabels.NONE);
  }

  @Override
  public void setEffectiveMinResource(String label, Resource near) {
    Resource given = super.getConfiguredMinResource(label);
    super.setEffectiveMinResource(label, amount(label, given, near) ? fitting(label, given, near) : exact(label, ".capacity", near));
  }

  @Override
  public void setEffectiveMaxResource(String label, Resource near) {
    Resource given = getConfiguredMaxResource(label);
    super.setEffectiveMaxResource(label, amount(label, given, near) ? smaller(label, given, near) : exact(label, ".maximum-capacity", near));
  }

  /**
   * amount returns whether the configuration gives a queue an amount of a label with nodes. The leaves
   * of a managed parent have amounts from its template, see TwinManagedAmounts.
   */
  private boolean amount(String label, Resource given, Resource near) {
    return queue.getParent() != null && !(queue instanceof AutoCreatedLeafQueue) && !given.equals(Resources.none()) && !near.equals(Resources.none())
        && !twin.total(label).equals(Resources.none());
  }

  /**
   * fitting returns the guarantee of a queue with an amount. If those of all children exceed the
   * parent's in some kinds, these become smaller. YARN then changes all kinds.
   */
  private Resource fitting(String label, Resource given, Resource near) {
    Resource have = queue.getParent().getParent() == null ? twin.total(label)
        : queue.getParent().getQueueResourceQuotas().getEffectiveMinResource(label);
    Resource sum = Resources.clone(Resources.none());
    for (CSQueue sibling : queue.getParent().getChildQueues()) {
      Resources.addTo(sum, sibling.getQueueResourceQuotas().getConfiguredMinResource(label));
    }
    Resource fits = Resources.clone(given);
    for (int i = 0; i < fits.getResources().length; i++) {
      long all = sum.getResourceInformation(i).getValue();
      if (all > have.getResourceInformation(i).getValue()) {
        fits.setResourceValue(i, part(fits.getResourceInformation(i).getValue(), have.getResourceInformation(i).getValue(), all));
      }
    }
    if (!fits.equals(near)) {
      twin.intended(close(fits, near) && Resources.fitsIn(near, given) ? "exact numbers" : "guarantees that do not fit");
    }
    return fits;
  }

  /**
   * smaller returns the smaller maximum of a queue and its parent in each kind. In YARN one kind, or
   * the dominant share, decides for all.
   */
  private Resource smaller(String label, Resource given, Resource near) {
    Resource most = Resources.componentwiseMin(given, queue.getParent().getQueueResourceQuotas().getEffectiveMaxResource(label));
    if (!most.equals(near)) {
      twin.intended("maximum by kind");
    }
    return most;
  }

  private static long part(long n, long numerator, long denominator) {
    return BigInteger.valueOf(n).multiply(BigInteger.valueOf(numerator)).divide(BigInteger.valueOf(denominator)).longValueExact();
  }

  /** close returns whether two resources differ by at most 1 in each kind. */
  private static boolean close(Resource a, Resource b) {
    for (int i = 0; i < a.getResources().length; i++) {
      if (Math.abs(a.getResourceInformation(i).getValue() - b.getResourceInformation(i).getValue()) > 1) {
        return false;
      }
    }
    return true;
  }

  /**
   * exact returns the exact part of the nodes of a label if each kind of near differs by at most 1
   * from it, and otherwise near.
   */
  private Resource exact(String label, String what, Resource near) {
    BigInteger[] part = part(queue, label, what);
    if (part == null) {
      return near;
    }
    Resource exact = Resources.clone(twin.total(label));
    for (int i = 0; i < exact.getResources().length; i++) {
      long of = BigInteger.valueOf(exact.getResourceInformation(i).getValue()).multiply(part[0]).divide(part[1]).longValueExact();
      if (Math.abs(of - near.getResourceInformation(i).getValue()) > 1) {
        return near;
      }
      exact.setResourceValue(i, of);
    }
    if (!exact.equals(near)) {
      twin.intended("exact numbers");
    }
    return exact;
  }

  /**
   * part returns a queue's part of the nodes of a label as a fraction, or null if it is not
   * configured as one.
   */
  private BigInteger[] part(CSQueue q, String label, String what) {
    if (q.getParent() == null) {
      return new BigInteger[] {BigInteger.ONE, BigInteger.ONE};
    }
    BigInteger[] parent = part(q.getParent(), label, what);
    BigDecimal own = number(q, label, what);
    if (parent == null || own == null) { // amounts, or no capacity
      return null;
    }
    BigDecimal whole = BigDecimal.valueOf(100);
    if (text(q, label, what).endsWith("w")) {
      whole = BigDecimal.ZERO;
      for (CSQueue sibling : q.getParent().getChildQueues()) {
        BigDecimal weight = number(sibling, label, what);
        whole = weight == null ? whole : whole.add(weight);
      }
    }
    int scale = Math.max(own.scale(), whole.scale());
    return new BigInteger[] {parent[0].multiply(own.setScale(scale).unscaledValue()), parent[1].multiply(whole.setScale(scale).unscaledValue())};
  }

  /** number returns the percentage or the weight of a queue, or null if it has none. */
  private BigDecimal number(CSQueue q, String label, String what) {
    String text = text(q, label, what);
    return text.isEmpty() || text.startsWith("[") ? null : new BigDecimal(text.replace("w", ""));
  }

  private String text(CSQueue q, String label, String what) {
    String of = label.equals(TwinLabels.NONE) ? "" : ".accessible-node-labels." + label;
    boolean created = ((AbstractCSQueue) q).isDynamicQueue() && what.equals(".capacity"); // it may have a weight of a template
    String path = q instanceof AutoCreatedLeafQueue ? q.getParent().getQueuePath() + ".leaf-queue-template" : q.getQueuePath();
    return created ? q.getQueueCapacities().getWeight(label) + "w"
        : twin.cs.getConfiguration().get(CapacitySchedulerConfiguration.PREFIX + path + of + what, what.equals(".capacity") ? "" : "100");
  }
}
