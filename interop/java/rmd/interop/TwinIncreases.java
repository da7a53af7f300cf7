package rmd.interop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * TwinIncreases makes an increase ask for the label that the node of its container has now, or for none
 * if the node is lent to the container, as in rmd. In YARN it asks for the label with which the
 * container was asked for.
 */
final class TwinIncreases {
  private static final Field LABEL = Twin.field(RMContainerImpl.class, "nodeLabelExpression");
  private final Twin twin;
  /** asked has the labels with which containers were asked for that this class has changed. */
  private final Map<ContainerId, String> asked = new HashMap<>();

  TwinIncreases(Twin twin) {
    this.twin = twin;
  }

  /** labelled gives a container that is to grow the label for which its increase asks. */
  void labelled(RMContainer c) throws IllegalAccessException {
    String was = asked.getOrDefault(c.getContainerId(), c.getNodeLabelExpression());
    String now = label(c);
    if (!now.equals(c.getNodeLabelExpression())) {
      twin.intended("increase on a relabelled node");
      asked.put(c.getContainerId(), was);
      LABEL.set(c, now);
    }
  }

  /** relabelled asks again for the increases that wait on nodes that have another label now. */
  void relabelled() throws IllegalAccessException {
    for (FiCaSchedulerApp s : twin.attempts()) {
      for (SchedulerRequestKey k : new ArrayList<>(s.getAppSchedulingInfo().getSchedulerKeys())) {
        RMContainer c = k.getContainerToUpdate() == null ? null : twin.cs.getRMContainer(k.getContainerToUpdate());
        if (c == null || s.getAppPlacementAllocator(k).getPrimaryRequestedNodePartition().equals(label(c))) {
          continue;
        }
        labelled(c);
        Map<String, ResourceRequest> asks = new HashMap<>();
        s.getAppPlacementAllocator(k).getResourceRequests().forEach((name, ask) -> {
          ResourceRequest next = ResourceRequest.clone(ask);
          next.setNodeLabelExpression(c.getNodeLabelExpression());
          asks.put(name, next);
        });
        s.getAppSchedulingInfo().updateResourceRequests(Map.of(k, asks), false);
      }
    }
  }

  /**
   * offered lets the increases of containers on a lent node use it at once. In YARN they must miss as
   * many offers as asks that may use other nodes.
   */
  void offered(SchedulerNode node) {
    for (FiCaSchedulerApp s : twin.attempts()) {
      for (SchedulerRequestKey k : s.getAppSchedulingInfo().getSchedulerKeys()) {
        RMContainer c = k.getContainerToUpdate() == null ? null : twin.cs.getRMContainer(k.getContainerToUpdate());
        boolean lent = c != null && c.getAllocatedNode().equals(node.getNodeID()) && !node.getPartition().isEmpty()
            && s.getAppPlacementAllocator(k).getPrimaryRequestedNodePartition().isEmpty();
        if (lent && TwinMisses.of(s, k) + 1 < twin.cs.getNumClusterNodes()) {
          twin.intended("increase on a lent node");
          TwinMisses.set(s, k, twin.cs.getNumClusterNodes());
        }
      }
    }
  }

  /** label returns the label for which an increase of a container asks in rmd. */
  private String label(RMContainer c) {
    String of = twin.cs.getNode(c.getAllocatedNode()).getPartition();
    boolean none = asked.getOrDefault(c.getContainerId(), c.getNodeLabelExpression()).isEmpty();
    try {
      return none && !of.isEmpty() && !twin.context.getNodeLabelManager().isExclusiveNodeLabel(of) ? TwinLabels.NONE : of;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
