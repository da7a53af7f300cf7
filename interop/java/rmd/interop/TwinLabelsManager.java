package rmd.interop;

import java.util.AbstractSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;

/** TwinLabelsManager is Hadoop's, and says what a request must be for Hadoop to do what it says. */
final class TwinLabelsManager extends RMNodeLabelsManager {
  /**
   * inFull returns a request to label hosts (port 0) and NodeManagers that has the effect in YARN that it
   * has in rmd. YARN first drops a host that has the label, although its NodeManagers may have others,
   * and a NodeManager that has the label, although the host's then replaces it. It does not drop a
   * NodeManager that has the label from its host.
   */
  Map<NodeId, Set<String>> inFull(Map<NodeId, Set<String>> request) {
    Map<NodeId, Set<String>> full = new HashMap<>(request);
    request.forEach((id, labels) -> {
      Host host = nodeCollections.get(id.getHost());
      if (id.getPort() != 0 || host == null) {
        return;
      }
      host.nms.forEach((manager, node) -> {
        if (!host.labels.equals(labels)) {
          full.computeIfPresent(manager, (m, own) -> own.equals(node.labels) && !own.equals(labels) ? new Changed(own) : own);
        } else if (!getLabelsByNode(manager).equals(labels)) {
          full.putIfAbsent(manager, labels);
        }
      });
    });
    full.keySet().removeIf(id -> inherits(id, request));
    return full;
  }

  /** inherits returns whether a NodeManager has the label that is requested from its host, which keeps it. */
  private boolean inherits(NodeId id, Map<NodeId, Set<String>> request) {
    Host host = nodeCollections.get(id.getHost());
    if (id.getPort() == 0 || host == null) {
      return false;
    }
    Node node = host.nms.get(id);
    Set<String> ofHost = request.getOrDefault(NodeId.newInstance(id.getHost(), 0), host.labels);
    return (node == null || node.labels == null) && host.labels.equals(request.get(id)) && host.labels.equals(ofHost);
  }

  /** Changed has labels that YARN never takes for those that a node has already. */
  private static final class Changed extends AbstractSet<String> {
    private final Set<String> labels;

    Changed(Set<String> labels) {
      this.labels = labels;
    }

    @Override
    public Iterator<String> iterator() {
      return labels.iterator();
    }

    @Override
    public int size() {
      return -1;
    }
  }
}
