package rmd.interop;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceUsage;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.UsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;

/**
 * TwinView writes the state of a CapacityScheduler in the syntax of twin/view.go, one object per
 * line.
 */
final class TwinView {
  private final Twin twin;
  private final StringBuilder out;

  TwinView(Twin twin, StringBuilder out) {
    this.twin = twin;
    this.out = out;
  }

  void write() {
    line("cluster", twin.cs.getClusterResource(), " nodes=" + twin.cs.getNumClusterNodes());
    for (Map.Entry<String, TwinContext.Node> n : twin.nodes.entrySet()) {
      node(n.getKey(), twin.cs.getNode(n.getValue().id));
    }
    queue(twin.cs.getRootQueue());
    for (Map.Entry<Integer, TwinContext.App> a : twin.apps.entrySet()) {
      app(a.getKey(), a.getValue());
    }
  }

  private void line(String what, Resource r, String rest) {
    out.append(what).append(' ').append(text(r)).append(rest).append('\n');
  }

  static String text(Resource r) {
    StringBuilder b = new StringBuilder().append(r.getMemorySize()).append(',').append(r.getVirtualCores());
    for (int i = 2; i < r.getResources().length; i++) {
      b.append(',').append(r.getResourceValue(r.getResources()[i].getName()));
    }
    return b.toString();
  }

  /** counted returns the part of a resource that the calculator counts. */
  private String counted(Resource r) {
    return twin.cs.getResourceCalculator() instanceof DefaultResourceCalculator ? String.valueOf(r.getMemorySize()) : text(r);
  }

  private void node(String host, FiCaSchedulerNode n) {
    RMContainer held = n.getReservedContainer();
    String by = held == null ? "" : " reserved=" + twin.number(held.getApplicationAttemptId().getApplicationId()) + "/"
        + key(held.getReservedSchedulerKey()) + "/" + text(held.getReservedResource());
    line("node " + host, n.getTotalResource(), " used=" + text(n.getAllocatedResource()) + by + label(n.getPartition()));
  }

  /** label returns the end of the line of an object that may have a label. */
  private static String label(String name) {
    return name == null || name.isEmpty() ? "" : " label=" + name;
  }

  private void queue(CSQueue q) {
    share(q, TwinLabels.NONE);
    twin.labels.known.forEach(label -> share(q, label));
    List<CSQueue> children = q.getChildQueues();
    if (children != null) {
      TreeMap<String, CSQueue> sorted = new TreeMap<>();
      children.forEach(c -> sorted.put(c.getQueuePath(), c));
      sorted.values().forEach(this::queue);
      return;
    }
    AbstractLeafQueue leaf = (AbstractLeafQueue) q;
    ResourceUsage u = q.getQueueResourceUsage();
    out.append("leaf ").append(q.getQueuePath()).append(" active=").append(leaf.getNumActiveApplications()).append(" waiting=")
        .append(leaf.getNumPendingApplications()).append(" am=").append(text(u.getAMUsed())).append(" users=")
        .append(((TwinUsers) leaf.getUsersManager()).asking()).append('\n');
    for (Map.Entry<String, UsersManager.User> e : new TreeMap<>(leaf.getUsersManager().getUsers()).entrySet()) {
      UsersManager.User v = e.getValue();
      if (v.getTotalApplications() == 0) {
        continue; // a user whose application was refused
      }
      line("user " + q.getQueuePath() + " " + e.getKey(), v.getUsed(), " am=" + text(v.getConsumedAMResources()) + " active="
          + v.getActiveApplications() + " waiting=" + v.getPendingApplications());
      for (String l : twin.labels.known) {
        line("user " + q.getQueuePath() + " " + e.getKey(), v.getUsed(l), " am=" + text(v.getConsumedAMResources(l)) + label(l));
      }
    }
  }

  /** share writes a queue's share of a label. */
  private void share(CSQueue q, String label) {
    ResourceUsage u = q.getQueueResourceUsage();
    boolean divided = !twin.nodes.isEmpty() && q.getConfiguredNodeLabels().contains(label) && (q.getParent() != null || twin.divides(label));
    String shares = divided ? " min=" + counted(q.getEffectiveCapacity(label)) + " max=" + counted(q.getEffectiveMaxCapacity(label)) : "";
    String masters = q.getChildQueues() == null && !label.isEmpty() ? " am=" + text(u.getAMUsed(label)) : "";
    line("queue " + q.getQueuePath(), u.getUsed(label), " reserved=" + text(u.getReserved(label)) + " pending=" + text(u.getPending(label))
        + shares + masters + label(label));
  }

  static String key(SchedulerRequestKey k) {
    return k.getPriority().getPriority() + "." + Math.max(k.getAllocationRequestId(), 0) + (k.getContainerToUpdate() == null ? "" : "+");
  }

  private void app(int number, TwinContext.App a) {
    FiCaSchedulerApp s = twin.cs.getApplicationAttempt(a.attempt.id);
    if (s == null || s.isStopped()) {
      return;
    }
    ResourceUsage u = s.getAppAttemptResourceUsage();
    AbstractLeafQueue leaf = (AbstractLeafQueue) s.getQueue();
    boolean active = leaf.getApplications().contains(s);
    line("app " + number + " " + leaf.getQueuePath() + (active ? " active" : " waiting"), u.getAllUsed(), " reserved="
        + text(u.getAllReserved()) + " pending=" + text(u.getAllPending()) + " priority=" + s.getPriority().getPriority()
        + label(s.getAppAMNodePartitionName()));
    TreeSet<SchedulerRequestKey> keys = new TreeSet<>(s.getAppSchedulingInfo().getSchedulerKeys());
    s.getReservedContainers().forEach(c -> keys.add(c.getReservedSchedulerKey()));
    keys.forEach(k -> ask(number, s, k));
    containers(number, a, s);
  }

  private void ask(int number, FiCaSchedulerApp s, SchedulerRequestKey k) {
    AppPlacementAllocator<?> p = s.getAppSchedulingInfo().getAppPlacementAllocator(k);
    Map<String, ResourceRequest> requests = p == null ? Collections.emptyMap() : p.getResourceRequests();
    ResourceRequest any = requests.get(ResourceRequest.ANY);
    int held = s.getNumReservedContainers(k);
    out.append("ask ").append(number).append(' ').append(key(k)).append(" held=").append(held);
    if (held > 0 && k.getContainerToUpdate() == null) {
      out.append(" again=").append(s.getReReservations(k));
    }
    if (any != null && any.getNumContainers() > 0 && k.getContainerToUpdate() != null) { // its place is its container's node
      out.append(' ').append(text(any.getCapability()));
    } else if (any != null && any.getNumContainers() > 0) {
      out.append(' ').append(text(any.getCapability()));
      if (requests.size() > 1) {
        out.append(" missed=").append(s.getSchedulingOpportunities(k));
      }
      for (ResourceRequest r : new TreeMap<>(requests).values()) {
        if (r.getNumContainers() > 0) {
          out.append(' ').append(r.getResourceName()).append('=').append(r.getNumContainers()).append(r.getRelaxLocality() ? "" : "!");
        }
      }
      if (TwinMisses.of(s, k) > 0) {
        out.append(" waited=").append(TwinMisses.of(s, k));
      }
      out.append(label(any.getNodeLabelExpression()));
    }
    out.append('\n');
  }

  /** name returns a node's name in the history. */
  private static String name(NodeId id) {
    return id.getPort() == 1 ? id.getHost() : id.getHost() + ":" + id.getPort();
  }

  private void containers(int number, TwinContext.App a, FiCaSchedulerApp s) {
    TreeMap<Integer, RMContainer> live = new TreeMap<>();
    for (RMContainer c : s.getLiveContainers()) {
      Integer n = a.ordinal.get(c.getContainerId());
      if (n != null) {
        live.put(n, c);
      }
    }
    for (Map.Entry<Integer, RMContainer> e : live.entrySet()) {
      RMContainer c = e.getValue();
      line("container " + number + "." + e.getKey() + " " + name(c.getAllocatedNode()) + " " + key(c.getAllocatedSchedulerKey()),
          c.getAllocatedResource(), " " + c.getState());
    }
  }
}
