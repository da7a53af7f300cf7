package org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.allocator;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceLimits;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerAppUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSAssignment;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.SchedulingMode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.CandidateNodeSet;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.CandidateNodeSetUtils;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TwinAllocator is Hadoop's allocator with rmd's differences about hosts and racks, with the names
 * in docs/design/differences-from-yarn.md. It is in Hadoop's package because it overrides a
 * package-private method.
 */
public final class TwinAllocator extends RegularContainerAllocator {
  private static final Logger LOG = LoggerFactory.getLogger(TwinAllocator.class);
  private final FiCaSchedulerApp app;
  private final RMContext context;
  private final Consumer<String> intended;
  /** labelLast is true if Hadoop's own allocator looks at the label of a node after the limits. It does since 3.5. */
  private final boolean labelLast;
  /**
   * givesUpOn receives the label of the nodes on which an application may give up a reservation.
   * null means any label.
   */
  private final Consumer<String> givesUpOn;

  public TwinAllocator(FiCaSchedulerApp app, ResourceCalculator calculator, RMContext context, Consumer<String> intended,
      Consumer<String> givesUpOn) {
    super(app, calculator, context, null);
    this.app = app;
    this.context = context;
    this.intended = intended;
    this.givesUpOn = givesUpOn;
    this.labelLast = Arrays.stream(RegularContainerAllocator.class.getDeclaredMethods()).anyMatch(m -> m.getName().equals("preCheckRequest"));
  }

  /**
   * assignContainers leaves out increases of containers on other nodes and, since 3.5, asks that may
   * not use the label of the node. Hadoop checks their headroom and counts their visits first.
   */
  @Override
  public CSAssignment assignContainers(Resource cluster, CandidateNodeSet<FiCaSchedulerNode> candidates, SchedulingMode mode,
      ResourceLimits limits, RMContainer reserved) {
    FiCaSchedulerNode node = CandidateNodeSetUtils.getSingleNode(candidates);
    if (reserved != null || node == null) {
      return super.assignContainers(cluster, candidates, mode, limits, reserved);
    }
    Collection<SchedulerRequestKey> keys = app.getSchedulerKeys();
    List<SchedulerRequestKey> others = new ArrayList<>();
    for (SchedulerRequestKey key : keys) {
      String why = whyNotHere(key, node, mode);
      if (why != null) {
        intended.accept(why);
        others.add(key);
      }
    }
    keys.removeAll(others);
    CSAssignment assignment = super.assignContainers(cluster, candidates, mode, limits, null);
    keys.addAll(others);
    return assignment;
  }

  /** whyNotHere returns the difference because of which rmd passes over a key on a node, or null. */
  private String whyNotHere(SchedulerRequestKey key, FiCaSchedulerNode node, SchedulingMode mode) {
    RMContainer grows = key.getContainerToUpdate() == null ? null : app.getRMContainer(key.getContainerToUpdate());
    if (grows != null && !grows.getAllocatedNode().equals(node.getNodeID())) {
      return grows.getAllocatedNode().getHost().equals(node.getNodeName()) ? "increase beside its node" : "increase elsewhere";
    }
    return labelLast && !app.getAppSchedulingInfo().precheckNode(key, node, mode, Optional.empty()) ? "label first" : null;
  }

  @Override
  ContainerAllocation tryAllocateOnNode(Resource cluster, FiCaSchedulerNode node, SchedulingMode mode, ResourceLimits limits,
      SchedulerRequestKey key, RMContainer reserved) {
    AppPlacementAllocator<FiCaSchedulerNode> placement = app.getAppPlacementAllocator(key);
    if (placement == null || SchedulerAppUtils.isPlaceBlacklisted(app, node, LOG)) {
      return super.tryAllocateOnNode(cluster, node, mode, limits, key, reserved);
    }
    Map<String, ResourceRequest> asked = placement.getResourceRequests();
    boolean host = asks(asked, node.getNodeName());
    boolean rack = asks(asked, node.getRackName());
    boolean any = asked.get(ResourceRequest.ANY).getRelaxLocality();
    boolean relaxedRack = rack && asked.get(node.getRackName()).getRelaxLocality();
    if (reserved != null && (!host && !(rack ? relaxedRack : any) || !labelled(placement.getPrimaryRequestedNodePartition(), node))) {
      intended.accept("ask narrowed");
      return new ContainerAllocation(reserved, null, AllocationState.QUEUE_SKIPPED);
    }
    int visits = app.getSchedulingOpportunities(key);
    boolean waits = relaxedRack && !(Math.min(context.getScheduler().getNumClusterNodes(), app.getCSLeafQueue().getNodeLocalityDelay()) < visits + 1);
    if (reserved != null && waits && !any) {
      intended.accept("strict rack"); // it had waited for its rack before it reserved the node
      count(key, context.getScheduler().getNumClusterNodes() + 1);
    }
    ResourceRequest lent = null;
    if (host && !rack) {
      lent = ResourceRequest.clone(asked.get(node.getNodeName()));
      lent.setResourceName(node.getRackName());
      lent.setNumContainers(1);
      asked.put(node.getRackName(), lent);
    }
    givesUpOn.accept(reserved == null && needsRoom(placement, cluster, limits) ? node.getPartition() : null);
    ContainerAllocation result = super.tryAllocateOnNode(cluster, node, mode, limits, key, reserved);
    givesUpOn.accept(null);
    if (reserved != null && waits && !any) {
      count(key, visits + 1);
    }
    if (lent != null) {
      intended.accept("host without rack");
      if (result.getAllocationState() != AllocationState.ALLOCATED || result.getContainerNodeType() != NodeType.NODE_LOCAL) {
        asked.remove(node.getRackName(), lent);
      }
    }
    if (reserved == null && result.getAllocationState() == AllocationState.PRIORITY_SKIPPED && waits && !any) {
      intended.accept("strict rack");
      app.addSchedulingOpportunity(key);
    }
    return result;
  }

  /**
   * needsRoom returns whether an allocation is within the limits only if a reservation is given up.
   */
  private boolean needsRoom(AppPlacementAllocator<?> placement, Resource cluster, ResourceLimits limits) {
    Resource more = Resources.subtract(placement.getPendingAsk(ResourceRequest.ANY).getPerAllocationResource(), limits.getHeadroom());
    return rc.isAnyMajorResourceAboveZero(Resources.max(rc, cluster, more, limits.getAmountNeededUnreserve()));
  }

  /** labelled returns whether asks with a label may use a node. */
  private boolean labelled(String label, FiCaSchedulerNode node) {
    if (label.equals(node.getPartition())) {
      return true;
    }
    try {
      return label.isEmpty() && !context.getNodeLabelManager().isExclusiveNodeLabel(node.getPartition())
          && (!app.isWaitingForAMContainer() || context.getYarnConfiguration()
              .getBoolean(YarnConfiguration.AM_ALLOW_NON_EXCLUSIVE_ALLOCATION, false));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean asks(Map<String, ResourceRequest> asked, String name) {
    ResourceRequest r = asked.get(name);
    return r != null && r.getNumContainers() > 0;
  }

  private void count(SchedulerRequestKey key, int visits) {
    app.resetSchedulingOpportunities(key);
    for (int i = 0; i < visits; i++) {
      app.addSchedulingOpportunity(key);
    }
  }
}
