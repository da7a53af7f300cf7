package rmd.interop;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;

/**
 * TwinNodes has a scheduler's nodes in the order in which they registered first, as rmd has. In YARN,
 * a hash of their names orders them.
 */
final class TwinNodes extends HashMap<NodeId, FiCaSchedulerNode> {
  private static final long serialVersionUID = 1L;
  private static final Field NODES = Twin.field(ClusterNodeTracker.class, "nodes");

  private final List<NodeId> registered = new ArrayList<>();

  /** order gives a scheduler without nodes the order of rmd. */
  static void order(CapacityScheduler cs) throws IllegalAccessException {
    NODES.set(cs.getNodeTracker(), new TwinNodes());
  }

  @Override
  public FiCaSchedulerNode put(NodeId id, FiCaSchedulerNode node) {
    if (!registered.contains(id)) {
      registered.add(id);
    }
    return super.put(id, node);
  }

  @Override
  public Collection<FiCaSchedulerNode> values() {
    List<FiCaSchedulerNode> nodes = new ArrayList<>(super.values());
    nodes.sort(Comparator.comparing(n -> registered.indexOf(n.getNodeID())));
    return nodes;
  }
}
