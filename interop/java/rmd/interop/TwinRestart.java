package rmd.interop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;

/**
 * TwinRestart lets a NodeManager register again while its node runs or drains. It sends the events
 * of RMNodeImpl.ReconnectNodeTransition.
 */
final class TwinRestart {
  private final Twin twin;

  TwinRestart(Twin twin) {
    this.twin = twin;
  }

  /** restart HOST SIZE [run=C,…] [done=C,…], or restart HOST SIZE lost. */
  void restart(String[] w) throws ReflectiveOperationException {
    TwinContext.Node n = twin.nodes.getOrDefault(w[1], twin.sick.get(w[1]));
    if (n == null) {
      return;
    }
    Resource total = Twin.resource(w[2]);
    boolean resized = !total.equals(n.total); // YARN then looks at limits again
    if (!total.equals(twin.set.getOrDefault(w[1], total))) {
      twin.intended("set totals");
      total = twin.set.get(w[1]);
    }
    if (twin.sick.containsKey(w[1])) { // it stays so until a heartbeat says otherwise
      twin.cs.handle(new NodeRemovedSchedulerEvent(n.face));
      n.total = total;
      return;
    }
    twin.report(n, w);
    List<ContainerId> runs = new ArrayList<>(Twin.launched(twin.cs.getNode(n.id)).keySet());
    runs.retainAll(twin.running);
    boolean lost = Arrays.asList(w).contains("lost");
    if (n.draining()) {
      n.whole = total;
      reports(n, lost ? runs : List.of());
      if (lost && !Twin.launched(twin.cs.getNode(n.id)).isEmpty()) {
        twin.intended("allocated just before a drain");
      }
      twin.drainEnds(n, w[1]);
      twin.lookAtLimits();
    } else if (lost || runs.isEmpty() && n.completed.isEmpty()) {
      addedAgain(n, total);
    } else {
      if (resized) {
        twin.resize(n, total);
      }
      reports(n, List.of());
      twin.lookAtLimits();
    }
    twin.apps.values().forEach(twin::reorder);
  }

  /**
   * reports processes what the registration says about containers, as rmd does. YARN keeps it until
   * the node's first heartbeat.
   */
  private void reports(TwinContext.Node n, List<ContainerId> lost) throws ReflectiveOperationException {
    for (ContainerId id : lost) {
      twin.running.remove(id);
      n.completed.add(ContainerStatus.newInstance(id, ContainerState.COMPLETE, "", 0));
    }
    if (!n.launched.isEmpty() || !n.completed.isEmpty()) {
      twin.intended("reported at the registration");
    }
    twin.dropIncreases(n);
    twin.context.drains = true; // nothing is allocated
    twin.cs.handle(new NodeUpdateSchedulerEvent(n.face));
    twin.context.drains = false;
  }

  /**
   * addedAgain removes and adds a node, which has no containers any more. The containers that it has
   * not started and its reservation stay, as in rmd.
   */
  private void addedAgain(TwinContext.Node n, Resource total) throws ReflectiveOperationException {
    RMContainer held = twin.hideReservation(n, total);
    SchedulerNode node = twin.cs.getNode(n.id);
    List<RMContainer> waiting = node.getCopiedListOfRunningContainers();
    waiting.removeIf(c -> twin.running.contains(c.getContainerId()));
    for (RMContainer c : waiting) {
      Twin.launched(node).remove(c.getContainerId());
    }
    if (held != null || !waiting.isEmpty()) {
      twin.intended("kept at a restart");
    }
    twin.listed(n);
    twin.cs.handle(new NodeRemovedSchedulerEvent(n.face));
    n.total = total;
    twin.cs.handle(new NodeAddedSchedulerEvent(n.face));
    waiting.forEach(twin.cs.getNode(n.id)::allocateContainer);
    twin.announceLabels();
    Twin.RESERVED_ON.set(twin.cs.getNode(n.id), held);
    ContainerId grows = held == null ? null : held.getReservedSchedulerKey().getContainerToUpdate();
    if (grows != null && waiting.stream().noneMatch(c -> c.getContainerId().equals(grows))) {
      twin.cancel("increase of an ended container", held);
    }
  }
}
