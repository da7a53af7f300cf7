package rmd.interop;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMAppManager;
import org.apache.hadoop.yarn.server.resourcemanager.RMServerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;

/** TwinLabels does what a ResourceManager does about node labels outside of its scheduler. */
final class TwinLabels {
  static final String NONE = RMNodeLabelsManager.NO_LABEL;
  private final TwinContext context;
  private final TwinLabelsManager manager;
  private final RMAppManager submissions;
  /** known has all labels of the history so far, including removed ones. */
  final Collection<String> known = new TreeSet<>();

  TwinLabels(TwinContext context) {
    this.context = context;
    this.manager = (TwinLabelsManager) context.getNodeLabelManager();
    this.submissions = new RMAppManager(context, context.scheduler, null, null, context.getYarnConfiguration());
  }

  /** add executes the step "label NAME [shared]". */
  String add(String[] w) {
    known.add(w[1]);
    return accepted(() -> manager.addToCluserNodeLabels(List.of(NodeLabel.newInstance(w[1], w.length < 3))));
  }

  String remove(String name) {
    return accepted(() -> manager.removeFromClusterNodeLabels(List.of(name)));
  }

  /** replace executes the step "relabel HOST[:PORT]=[LABEL]…". Without a port it labels all NodeManagers of the host. */
  String replace(String[] w, Consumer<String> intended) {
    Map<NodeId, Set<String>> labels = new HashMap<>();
    for (int i = 1; i < w.length; i++) {
      String[] p = w[i].split("=", 2);
      String[] at = p[0].split(":");
      labels.put(NodeId.newInstance(at[0], at.length > 1 ? Integer.parseInt(at[1]) : 0), p[1].isEmpty() ? Collections.emptySet() : Set.of(p[1]));
    }
    Map<NodeId, Set<String>> full = manager.inFull(labels);
    if (full.size() < labels.size()) {
      intended.accept("label stays");
    } else if (!full.equals(labels)) {
      intended.accept("host and NodeManager labelled");
    }
    return accepted(() -> manager.replaceLabelsOnNode(full));
  }

  /** stays returns whether a node has the labels that the scheduler knows. */
  boolean stays(SchedulerNode node) {
    return manager.getLabelsOnNode(node.getNodeID()).equals(node.getLabels());
  }

  /** shared returns whether there is a label that is not exclusive. */
  boolean shared() {
    return known.stream().anyMatch(label -> manager.containsNodeLabel(label) && !exclusive(label));
  }

  private boolean exclusive(String label) {
    try {
      return manager.isExclusiveNodeLabel(label);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** mayUse returns whether a queue may use a label. null means no label. */
  boolean mayUse(String queue, String label) {
    CSQueue q = context.scheduler.getQueue(queue);
    return label == null || q == null || SchedulerUtils.checkQueueLabelExpression(q.getAccessibleNodeLabels(), label, null);
  }

  /** lentToMasters returns whether AMs may run on lent nodes. */
  boolean lentToMasters() {
    return context.getYarnConfiguration().getBoolean(YarnConfiguration.AM_ALLOW_NON_EXCLUSIVE_ALLOCATION, false);
  }

  private interface Change {
    void run() throws IOException;
  }

  private static String accepted(Change change) {
    try {
      change.run();
      return "accepted";
    } catch (IOException e) {
      return "refused";
    }
  }

  /**
   * masterAsks returns the requests for an application's AM, with its label, as RMAppManager
   * creates and checks them.
   */
  @SuppressWarnings("unchecked")
  List<ResourceRequest> masterAsks(ApplicationSubmissionContext c) throws YarnException {
    try {
      return (List<ResourceRequest>) MASTER_ASKS.invoke(submissions, c, false);
    } catch (InvocationTargetException e) {
      throw (YarnException) e.getCause();
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  private static final Method MASTER_ASKS;

  static {
    try {
      MASTER_ASKS = RMAppManager.class.getDeclaredMethod("validateAndCreateResourceRequest", ApplicationSubmissionContext.class, boolean.class);
      MASTER_ASKS.setAccessible(true);
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * check sets the labels of an AM's asks as DefaultAMSProcessor does, and returns whether that
   * would accept them.
   */
  boolean check(TwinContext.App a, List<ResourceRequest> asks) {
    YarnConfiguration conf = new YarnConfiguration(context.getYarnConfiguration());
    boolean labelled = YarnConfiguration.areNodeLabelsEnabled(conf);
    String ofApp = a.submission.getNodeLabelExpression();
    for (ResourceRequest r : labelled ? asks : List.<ResourceRequest>of()) {
      if (r.getResourceName().equals(ResourceRequest.ANY)) {
        if (r.getNodeLabelExpression() == null) {
          r.setNodeLabelExpression(ofApp);
        }
        SchedulerUtils.enforcePartitionExclusivity(r, YarnConfiguration.getExclusiveEnforcedPartitions(conf), ofApp);
      }
    }
    try {
      RMServerUtils.normalizeAndValidateRequests(asks, context.scheduler.getMaximumResourceCapability(a.queue), a.queue, context.scheduler,
          context, labelled);
      return true;
    } catch (YarnException e) {
      return false;
    }
  }
}
