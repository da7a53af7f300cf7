package rmd.interop;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMServerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.TwinPreemption;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdateContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceLimits;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerAppUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerDynamicEditException;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractCSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractCSQueue.CapacityConfigType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractParentQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AutoCreatedQueueDeletionPolicy;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSAssignment;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueueUsageTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.QueuePath;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.TwinParallel;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.PendingAsk;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.apache.log4j.Level;
import org.apache.log4j.LogManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Twin plays histories into Hadoop's CapacityScheduler. Each line of standard input is a step in
 * the syntax of twin/history.go, and "end" ends a history. After each step, Twin prints the state
 * of the scheduler and a line with only a dot.
 */
public final class Twin {
  private static final Logger LOG = LoggerFactory.getLogger(Twin.class);
  private final Configuration conf = new Configuration(false);
  /**
   * set has the totals that an administrator has set. In rmd a node that comes back keeps its
   * total.
   */
  final Map<String, Resource> set = new HashMap<>();
  final TreeMap<String, TwinContext.Node> nodes = new TreeMap<>();
  /** sick has the nodes that report that they are unhealthy. The scheduler does not know them. */
  final Map<String, TwinContext.Node> sick = new HashMap<>();
  final TreeMap<Integer, TwinContext.App> apps = new TreeMap<>();
  /**
   * known also has the applications that have ended, because nodes report their containers later.
   */
  private final Map<Integer, TwinContext.App> known = new HashMap<>();
  private final Map<ApplicationId, Integer> numbers = new HashMap<>();
  final Set<ContainerId> running = new HashSet<>();
  TwinContext context;
  CapacityScheduler cs;
  TwinLabels labels;
  private final TwinPlaces places = new TwinPlaces(this);
  private final TwinPass pass = new TwinPass(this);
  final TwinManaged managed = new TwinManaged(this);
  final TwinKept kept = new TwinKept(this);
  private final TwinIncreases increases = new TwinIncreases(this);
  /** anyNode is a node that the scheduler knows or has known. */
  private SchedulerNode anyNode;
  private String givesUpOn;
  /** offered is the label of the node that is being offered, or NONE. */
  String offered = TwinLabels.NONE;
  private String result;
  /** eager is true if only the amounts at rest are compared, with those of rmd's eager mode. */
  private boolean eager;
  /** drained is true after a node began to drain. */
  private boolean drained;
  private final List<String> intended = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 16));
    System.setOut(System.err);
    LogManager.getLoggerRepository().setThreshold(Level.OFF);
    Twin twin = new Twin();
    StringBuilder text = new StringBuilder();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      if (line.equals("end")) {
        twin.close();
        twin = new Twin();
        out.flush();
        continue;
      }
      text.setLength(0);
      try {
        twin.step(line.split(" "), text);
      } catch (Exception | Error e) { // the JVM would not end, because Hadoop has threads
        StringWriter trace = new StringWriter();
        e.printStackTrace(new PrintWriter(trace));
        text.append("error ").append(trace.toString().replace('\n', '|')).append('\n');
      }
      out.print(text);
      out.print(".\n");
    }
    out.flush();
    System.exit(0);
  }

  private void close() {
    if (cs != null) {
      cs.stop();
    }
  }

  private void step(String[] w, StringBuilder text) throws Exception {
    result = null;
    intended.clear();
    switch (w[0]) {
      case "set":
        conf.set(w[1], w.length > 2 ? w[2] : "");
        return;
      case "unset":
        conf.unset(w[1]);
        return;
      case "eager":
        eager = true;
        return;
      case "start":
        start();
        break;
      case "quiet":
        rest();
        break;
      case "preempt":
        preempt(text);
        tell(text);
        return;
      default:
        play(w);
    }
    if (eager) {
      if (w[0].equals("quiet") && !nodes.isEmpty()) {
        amounts(text);
      }
      return;
    }
    tell(text);
    if (result != null) {
      text.append("result ").append(result).append('\n');
    }
    new TwinView(this, text).write();
  }

  /** tell writes the names of the differences that have had an effect in this step. */
  private void tell(StringBuilder text) {
    intended.forEach(name -> text.append("intended ").append(name).append('\n'));
  }

  private void play(String... w) throws Exception {
    deriveLimits();
    TwinMisses misses = new TwinMisses(this);
    act(w);
    context.later();
    if (drained) {
      largest();
    }
    unmanaged();
    deriveLimits();
    activeUsers();
    masters();
    unmanaged();
    activeUsers();
    places(w[0].equals("allocate"));
    misses.bound();
    withoutNodes(cs.getRootQueue());
    shareOfOwnNodes(cs.getRootQueue());
  }

  /** rest lets the AMs call and the nodes send heartbeats until nothing changes any more. */
  private void rest() throws Exception {
    String last = "";
    while (true) {
      for (Integer number : new ArrayList<>(apps.keySet())) {
        play("allocate", number.toString());
      }
      for (String name : new ArrayList<>(nodes.keySet())) {
        for (RMContainer c : cs.getNode(nodes.get(name).id).getCopiedListOfRunningContainers()) {
          if (c.getState() == RMContainerState.ACQUIRED && running.add(c.getContainerId())) {
            nodes.get(name).launched.add(ContainerStatus.newInstance(c.getContainerId(), ContainerState.RUNNING, "", 0));
          }
        }
        play("beat", name);
      }
      StringBuilder now = new StringBuilder();
      new TwinView(this, now).write();
      if (last.contentEquals(now)) {
        return;
      }
      last = now.toString();
    }
  }

  /** amounts writes the lines that do not depend on the choice of nodes; see twin/quiet.go. */
  private void amounts(StringBuilder text) {
    StringBuilder all = new StringBuilder();
    new TwinView(this, all).write();
    all.toString().lines().filter(line -> !line.startsWith("node ") && !line.startsWith("ask ") && !line.startsWith("container "))
        .forEach(line -> text.append(line).append('\n'));
  }

  /** done ends a container that its AM knows, wherever it runs. */
  private void done(String name) throws Exception {
    ContainerId id = container(name);
    RMContainer c = id == null ? null : cs.getRMContainer(id);
    if (c == null || isMaster(id) || c.getState() == RMContainerState.ALLOCATED) {
      return;
    }
    for (Map.Entry<String, TwinContext.Node> n : nodes.entrySet()) {
      if (n.getValue().id.equals(c.getAllocatedNode())) {
        if (c.getState() == RMContainerState.ACQUIRED) {
          beat(new String[] {"beat", n.getKey(), "run=" + name});
        }
        beat(new String[] {"beat", n.getKey(), "done=" + name});
      }
    }
  }

  private void start() throws Exception {
    // The largest container is that of the largest node from the beginning.
    conf.set("yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "-1");
    ResourceUtils.resetResourceTypes(conf);
    constants();
    QueueMetrics.clearQueueMetrics(); // static; a pass reads a parent's reserved resources from them
    context = new TwinContext(conf);
    cs = context.scheduler;
    TwinNodes.order(cs);
    labels = new TwinLabels(context);
    pass.watch(cs.getRootQueue());
  }

  /**
   * constants gives Hadoop's static resources the kinds of this history. Nothing equals a "none" of
   * other kinds, and a pass that waits for an assignment of nothing would not end.
   */
  private static void constants() throws ReflectiveOperationException {
    Method kinds = Resources.none().getClass().getDeclaredMethod("initResourceMap");
    kinds.setAccessible(true);
    kinds.invoke(Resources.none());
    kinds.invoke(Resources.unbounded());
    CSAssignment.NULL_ASSIGNMENT.setResource(Resources.createResource(0, 0));
    CSAssignment.SKIP_ASSIGNMENT.setResource(Resources.createResource(0, 0));
  }

  /**
   * preempt writes the containers that Hadoop's policy would preempt: those of the first selector
   * that chooses any.
   */
  private void preempt(StringBuilder text) throws ReflectiveOperationException {
    boolean balances = conf.getBoolean("yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied.enabled", false);
    forgetShares(cs.getRootQueue()); // YARN has computed them again when a node got a label
    TwinPass.ownOrders(cs.getRootQueue());
    limitUsersNow(cs.getRootQueue());
    Map<FiCaSchedulerApp, Object> reservations = new HashMap<>();
    for (FiCaSchedulerApp s : attempts()) {
      reservations.put(s, RESERVED.get(s));
      RESERVED.set(s, new OldestFirst(s));
    }
    TwinPreemption policy = new TwinPreemption(context, cs, created);
    for (Map.Entry<FiCaSchedulerApp, Object> e : reservations.entrySet()) {
      RESERVED.set(e.getKey(), e.getValue());
    }
    pass.watch(cs.getRootQueue());
    policy.intended.forEach(this::intended);
    Map<String, List<RMContainer>> chosen = policy.chosen;
    for (Map.Entry<String, List<RMContainer>> e : chosen.entrySet()) {
      if (e.getKey().equals("BALANCE") && e.getValue().stream().anyMatch(c -> c.getState() == RMContainerState.RESERVED)) {
        return; // see twin/preemption.go
      }
      Set<String> lines = new TreeSet<>();
      for (RMContainer c : e.getValue()) {
        TwinContext.App a = known.get(number(c.getApplicationAttemptId().getApplicationId()));
        if (c.getState() != RMContainerState.RESERVED) {
          lines.add("preempt " + e.getKey() + " " + number(a.id) + "." + a.ordinal.get(c.getContainerId()));
        } else if (!balances) { // see twin/preemption.go
          lines.add("preempt reservation " + number(a.id) + " " + TwinView.text(c.getReservedResource()));
        }
      }
      lines.forEach(line -> text.append(line).append('\n'));
      if (!lines.isEmpty()) {
        return;
      }
    }
  }

  /**
   * limitUsersNow makes leaves compute the limits of their users again. YARN keeps them until the
   * usage or the users with asks change.
   */
  private static void limitUsersNow(CSQueue q) {
    if (q.getChildQueues() != null) {
      q.getChildQueues().forEach(Twin::limitUsersNow);
    } else {
      ((AbstractLeafQueue) q).getUsersManager().userLimitNeedsRecompute();
    }
  }

  /** attempts returns the current attempts of the applications that have not ended. */
  Collection<FiCaSchedulerApp> attempts() {
    List<FiCaSchedulerApp> all = new ArrayList<>();
    apps.values().forEach(a -> all.add(cs.getApplicationAttempt(a.attempt.id)));
    return all;
  }

  /** places makes applications treat hosts and racks as in rmd. */
  private void places(boolean asked) throws IllegalAccessException {
    for (FiCaSchedulerApp s : attempts()) {
      places.before(s);
      places.after(s);
      places.cameBack(s, asked);
    }
  }

  /**
   * givesUpOn sets the label of the nodes on which an application may give up a reservation now.
   * null means any label.
   */
  void givesUpOn(String label) {
    givesUpOn = label;
  }

  /** intended records the name of a difference that has had an effect in this step. */
  void intended(String name) {
    intended.add(name);
  }

  private void act(String[] w) throws Exception {
    switch (w[0]) {
      case "node":
        node(w[1], w[2], resource(w[3]));
        break;
      case "lose":
        lose(w[1]);
        break;
      case "sick":
        sick(w[1]);
        break;
      case "well":
        well(w[1]);
        break;
      case "drain":
        drain(w[1]);
        break;
      case "back":
        back(w[1]);
        break;
      case "overdue":
        overdue(w[1]);
        break;
      case "size":
        size(w[1], resource(w[2]));
        break;
      case "beat":
        beat(w);
        break;
      case "restart":
        new TwinRestart(this).restart(w);
        break;
      case "done":
        done(w[1]);
        break;
      case "submit":
        submit(w);
        break;
      case "allocate":
        allocate(w);
        break;
      case "fail":
        if (apps.containsKey(Integer.parseInt(w[1]))) {
          fail(Integer.parseInt(w[1]), true);
        }
        break;
      case "finish":
        end(Integer.parseInt(w[1]), RMAppAttemptState.FINISHED, RMAppState.FINISHED);
        break;
      case "move":
        move(Integer.parseInt(w[1]), w[2]);
        break;
      case "priority":
        priority(Integer.parseInt(w[1]), Integer.parseInt(w[2]));
        break;
      case "manage":
        managed.manage();
        break;
      case "expire":
        expire();
        break;
      case "refresh":
        refresh();
        break;
      case "label":
        result = labels.add(w);
        break;
      case "unlabel":
        result = labels.remove(w[1]);
        relabelled();
        break;
      case "relabel":
        result = labels.replace(w, this::intended);
        relabelled();
        break;
      default:
        throw new IllegalArgumentException("no step " + w[0]);
    }
  }

  static Resource resource(String text) {
    String[] p = text.split(",");
    Resource r = Resource.newInstance(Long.parseLong(p[0]), Integer.parseInt(p[1]));
    for (int i = 2; i < p.length; i++) {
      r.setResourceValue(r.getResources()[i].getName(), Long.parseLong(p[i]));
    }
    return r;
  }

  int number(ApplicationId id) {
    return numbers.get(id);
  }

  private void node(String host, String rack, Resource total) {
    if (!nodes.containsKey(host) && !sick.containsKey(host)) {
      if (!total.equals(set.getOrDefault(host, total))) {
        intended("set totals");
        total = set.get(host);
      }
      TwinContext.Node n = new TwinContext.Node(host, rack, total, context.getNodeLabelManager());
      nodes.put(host, n);
      context.getRMNodes().put(n.id, n.face);
      cs.handle(new NodeAddedSchedulerEvent(n.face));
      anyNode = cs.getNode(n.id);
    }
  }

  private void lose(String host) {
    TwinContext.Node n = nodes.remove(host);
    if (n != null) {
      context.getRMNodes().remove(n.id);
      listed(n);
      cs.handle(new NodeRemovedSchedulerEvent(n.face));
    }
  }

  private void sick(String host) {
    TwinContext.Node n = nodes.get(host);
    if (n != null && !n.draining()) {
      lose(host);
      sick.put(host, n);
    }
  }

  private void well(String host) {
    TwinContext.Node n = sick.remove(host);
    if (n != null) {
      nodes.put(host, n);
      context.getRMNodes().put(n.id, n.face);
      cs.handle(new NodeAddedSchedulerEvent(n.face));
    }
  }

  /** drain starts the drain of a node. Its heartbeats then lower its total to what it uses. */
  private void drain(String host) {
    TwinContext.Node n = nodes.get(host);
    if (n == null || n.draining()) {
      return;
    }
    n.whole = n.total;
    drained = true;
    RMContainer held = cs.getNode(n.id).getReservedContainer();
    if (held != null) {
      cancel("reserved when the drain begins", held);
    }
  }

  /** back ends the drain of a node, unless it has containers that have not started or have ended. */
  private void back(String host) throws IllegalAccessException {
    TwinContext.Node n = nodes.get(host);
    if (n == null || !n.draining()) {
      return;
    }
    for (ContainerId id : launched(cs.getNode(n.id)).keySet()) {
      RMContainer c = cs.getRMContainer(id);
      if (c == null || c.getState() != RMContainerState.RUNNING) {
        return;
      }
    }
    Resource total = n.whole;
    n.whole = null;
    changeTotal(n, total);
  }

  /** overdue decommissions a draining node with what runs there. */
  private void overdue(String host) {
    TwinContext.Node n = nodes.get(host);
    if (n != null && n.draining()) {
      lose(host);
    }
  }

  /**
   * listed creates YARN's list of the nodes with this node's label if there is none. YARN does not
   * create it if the only node without a label had a label before.
   */
  void listed(TwinContext.Node n) {
    String label = cs.getNode(n.id).getPartition();
    if (cs.getNodeTracker().getNodesPerPartition(label) == null) {
      intended("first without a label");
      cs.getNodeTracker().updateNodesPerPartition(label, Set.of(n.id));
    }
  }

  /**
   * size changes a node's total. YARN then announces the node's labels again, which kills its
   * reservation. If rmd keeps the reservation, it is hidden from YARN meanwhile.
   */
  private void size(String host, Resource total) throws IllegalAccessException {
    TwinContext.Node n = nodes.get(host);
    if (n == null || n.draining()) {
      return;
    }
    set.put(host, total);
    resize(n, total);
  }

  void resize(TwinContext.Node n, Resource total) throws IllegalAccessException {
    RMContainer held = hideReservation(n, total);
    changeTotal(n, total);
    RESERVED_ON.set(cs.getNode(n.id), held);
  }

  /**
   * hideReservation hides a node's reservation and returns it; null if it has none. It cancels a
   * reservation that does not fit the node's next total.
   */
  RMContainer hideReservation(TwinContext.Node n, Resource next) throws IllegalAccessException {
    SchedulerNode node = cs.getNode(n.id);
    RMContainer held = node.getReservedContainer();
    if (held != null && !Resources.fitsIn(cs.getResourceCalculator(), held.getReservedResource(), next)) {
      cancel("larger than node", held);
    }
    held = node.getReservedContainer();
    RESERVED_ON.set(node, null);
    return held;
  }

  private void changeTotal(TwinContext.Node n, Resource total) throws IllegalAccessException {
    n.total = total;
    listed(n);
    cs.handle(new NodeResourceUpdateSchedulerEvent(n.face, ResourceOption.newInstance(total, -1)));
    announceLabels();
  }

  /**
   * relabelled announces labels that have changed, which kills the reservations on all nodes that are
   * named then. rmd keeps one on a node whose label stays.
   */
  private void relabelled() throws IllegalAccessException {
    Map<SchedulerNode, RMContainer> kept = new HashMap<>();
    for (TwinContext.Node n : nodes.values()) {
      SchedulerNode node = cs.getNode(n.id);
      if (node.getReservedContainer() != null && context.announces(n.id) && labels.stays(node)) {
        intended("label stays");
        kept.put(node, node.getReservedContainer());
        RESERVED_ON.set(node, null);
      }
    }
    announceLabels();
    for (Map.Entry<SchedulerNode, RMContainer> e : kept.entrySet()) {
      RESERVED_ON.set(e.getKey(), e.getValue());
    }
    increases.relabelled();
  }

  /**
   * announceLabels tells the scheduler the labels of the nodes, and hides the containers that have
   * ended there. In YARN the resources of such a container move as well if its node gets another
   * label before it reports the end.
   */
  void announceLabels() throws IllegalAccessException {
    Map<SchedulerNode, Map<ContainerId, Object>> hidden = new HashMap<>();
    for (TwinContext.Node n : nodes.values()) {
      SchedulerNode node = cs.getNode(n.id);
      Map<ContainerId, Object> launched = launched(node);
      Map<ContainerId, Object> ended = new HashMap<>(launched);
      ended.keySet().removeIf(id -> cs.getRMContainer(id) != null);
      launched.keySet().removeAll(ended.keySet());
      hidden.put(node, ended);
    }
    Map<FiCaSchedulerApp, String> lent = chargeLent();
    Map<SchedulerNode, String> before = new HashMap<>();
    hidden.keySet().forEach(node -> before.put(node, node.getPartition()));
    context.later();
    lent.forEach(FiCaSchedulerApp::setAppAMNodePartitionName);
    for (Map.Entry<SchedulerNode, Map<ContainerId, Object>> e : hidden.entrySet()) {
      launched(e.getKey()).putAll(e.getValue());
      if (!e.getValue().isEmpty() && !e.getKey().getPartition().equals(before.get(e.getKey()))) {
        intended("relabelled with what has ended");
      }
    }
  }

  /**
   * chargeLent handles AMs on lent nodes. If the node gets another label, the AM is charged to the
   * node's present label; in YARN it stays charged as an AM without a label, and is later
   * subtracted from the node's label. chargeLent returns the labels of the AMs whose nodes keep
   * their label; in YARN they get the node's label when it is announced again.
   */
  private Map<FiCaSchedulerApp, String> chargeLent() {
    Map<FiCaSchedulerApp, String> kept = new HashMap<>();
    for (TwinContext.App a : apps.values()) {
      RMContainer master = a.attempt.master == null ? null : cs.getRMContainer(a.attempt.master.getId());
      if (master == null) {
        continue;
      }
      FiCaSchedulerApp s = cs.getApplicationAttempt(a.attempt.id);
      String from = s.getAppAMNodePartitionName();
      String at = cs.getNode(master.getAllocatedNode()).getPartition();
      if (from.equals(at)) {
        continue;
      }
      if (context.getNodeLabelManager().getLabelsOnNode(master.getAllocatedNode()).equals(Set.of(at))) {
        kept.put(s, from);
      } else {
        intended("AM on a lent node");
        Resource am = s.getAMResource(from);
        count((AbstractLeafQueue) s.getQueue(), from, a, Resources.negate(am));
        count((AbstractLeafQueue) s.getQueue(), at, a, am);
        s.setAMResource(from, Resources.none());
        s.setAMResource(at, am);
        s.setAppAMNodePartitionName(at);
      }
    }
    return kept;
  }

  @SuppressWarnings("unchecked")
  static Map<ContainerId, Object> launched(SchedulerNode node) throws IllegalAccessException {
    return (Map<ContainerId, Object>) LAUNCHED.get(node);
  }

  /**
   * largest limits the largest container by the nodes that do not drain. In YARN a draining node
   * counts with what it uses.
   */
  private void largest() throws ReflectiveOperationException {
    boolean any = false;
    long[] most = (long[]) MOST.get(cs.getNodeTracker());
    Arrays.fill(most, -1);
    for (TwinContext.Node n : nodes.values()) {
      for (int i = 0; i < most.length && !n.draining(); i++) {
        any = true;
        most[i] = Math.max(most[i], n.total.getResources()[i].getValue());
      }
    }
    REPORTED.set(cs.getNodeTracker(), any);
    if (nodes.values().stream().anyMatch(TwinContext.Node::draining)) {
      intended("largest container");
    }
  }

  private static final Field MOST = field(ClusterNodeTracker.class, "maxAllocation");
  private static final Field REPORTED = field(ClusterNodeTracker.class, "reportedMaxAllocation");
  private static final Field LAUNCHED = field(SchedulerNode.class, "launchedContainers");

  /**
   * beat is a heartbeat. run= names containers that the node reports as running, done= those that
   * have ended.
   */
  private void beat(String[] w) throws ReflectiveOperationException {
    TwinContext.Node n = nodes.get(w[1]);
    if (n == null) {
      return;
    }
    report(n, w);
    dropIncreases(n);
    increases.offered(cs.getNode(n.id));
    offered = cs.getNode(n.id).getPartition();
    context.drains = n.draining();
    cs.handle(new NodeUpdateSchedulerEvent(n.face));
    context.drains = false;
    offered = TwinLabels.NONE;
    drainEnds(n, w[1]);
    apps.values().forEach(this::reorder); // YARN does not reorder when a reservation is fulfilled
  }

  /** report makes a node report the changes that the words of a step name. */
  void report(TwinContext.Node n, String[] w) {
    for (String word : w) {
      boolean run = word.startsWith("run=");
      if (!run && !word.startsWith("done=")) {
        continue;
      }
      for (String name : word.substring(word.indexOf('=') + 1).split(",")) {
        ContainerId id = container(name);
        if (id != null && run) {
          RMContainer c = cs.getRMContainer(id);
          if (c != null && c.getState() == RMContainerState.ACQUIRED && c.getAllocatedNode().equals(n.id) && running.add(id)) {
            n.launched.add(ContainerStatus.newInstance(id, ContainerState.RUNNING, "", 0));
          }
        } else if (id != null && running.contains(id) && !isMaster(id) && cs.getNode(n.id).getCopiedListOfRunningContainers().stream()
            .anyMatch(c -> c.getContainerId().equals(id))) {
          running.remove(id);
          n.completed.add(ContainerStatus.newInstance(id, ContainerState.COMPLETE, "", 0));
        }
      }
    }
  }

  /** dropIncreases drops the increases of the containers that a node reports as ended. */
  void dropIncreases(TwinContext.Node n) throws ReflectiveOperationException {
    Set<ContainerId> ending = new HashSet<>();
    n.completed.forEach(c -> ending.add(c.getContainerId()));
    for (FiCaSchedulerApp s : attempts()) {
      dropIncreases(s, ending);
    }
  }

  /** drainEnds removes a draining node that has no containers left. */
  void drainEnds(TwinContext.Node n, String host) throws IllegalAccessException {
    if (n.draining()) {
      if (!n.total.equals(cs.getNode(n.id).getTotalResource())) {
        intended("nothing starts on a draining node");
      }
      listed(n);
      announceLabels();
      if (launched(cs.getNode(n.id)).isEmpty()) {
        lose(host);
      }
    }
  }

  /**
   * isMaster returns whether a container is the AM of a live attempt. Its end is a step of its own.
   */
  private boolean isMaster(ContainerId id) {
    TwinContext.App a = apps.get(number(id.getApplicationAttemptId().getApplicationId()));
    return a != null && a.attempt.master != null && a.attempt.master.getId().equals(id);
  }

  /**
   * container returns the container with a name such as 3.2, the second one granted to application
   * 3.
   */
  private ContainerId container(String name) {
    int dot = name.indexOf('.');
    TwinContext.App a = known.get(Integer.parseInt(name.substring(0, dot)));
    int n = Integer.parseInt(name.substring(dot + 1));
    return a == null || n < 1 || n > a.granted.size() ? null : a.granted.get(n - 1);
  }

  /** submit NUMBER QUEUE USER PRIORITY SIZE [unmanaged] [keep] [label=LABEL] [am=LABEL]. */
  private void submit(String[] w) throws ReflectiveOperationException, YarnException {
    int number = Integer.parseInt(w[1]);
    if (apps.containsKey(number)) {
      return;
    }
    ApplicationId id = ApplicationId.newInstance(1, number);
    numbers.put(id, number);
    boolean unmanaged = false;
    boolean keep = false;
    String label = null;
    String ofMaster = null;
    for (int i = 6; i < w.length; i++) {
      unmanaged |= w[i].equals("unmanaged");
      keep |= w[i].equals("keep");
      label = w[i].startsWith("label=") ? w[i].substring(6) : label;
      ofMaster = w[i].startsWith("am=") ? w[i].substring(3) : ofMaster;
    }
    Priority priority = Priority.newInstance(Integer.parseInt(w[4]));
    ApplicationSubmissionContext c = ApplicationSubmissionContext.newInstance(id, "", w[2], priority, null, unmanaged, false, 2, resource(w[5]),
        "", keep);
    c.setNodeLabelExpression(label);
    ResourceRequest master = ResourceRequest.newInstance(Priority.newInstance(0), ResourceRequest.ANY, resource(w[5]), 1);
    master.setNodeLabelExpression(ofMaster);
    c.setAMContainerResourceRequests(List.of(master));
    context.rejected = false;
    CSQueue created = create(w[2]);
    List<ResourceRequest> am = null;
    try {
      am = labels.masterAsks(c);
    } catch (YarnException e) {
      context.rejected = true;
    }
    TwinContext.App a = new TwinContext.App(id, w[3], w[2], c, am);
    context.getRMApps().put(id, a.face);
    try {
      priority = cs.checkAndGetApplicationPriority(priority, UserGroupInformation.createRemoteUser(w[3]), w[2], id);
    } catch (YarnException e) {
      context.rejected = true;
    }
    if (!context.rejected) {
      applications(cs.getQueue(w[2]));
      cs.handle(new AppAddedSchedulerEvent(w[3], c, false, priority, managed.placed(w[2])));
    }
    if (created != null && context.rejected) {
      intended("nothing half created");
      remove(created);
    }
    result = context.rejected ? "refused" : "accepted";
    if (context.rejected && cs.getQueue(w[2]) instanceof AbstractLeafQueue) {
      ((TwinUsers) ((AbstractLeafQueue) cs.getQueue(w[2])).getUsersManager()).refused(w[3]);
    }
    if (!context.rejected) {
      apps.put(number, a);
      known.put(number, a);
      attempt(a, false);
    }
  }

  /** created has the queues that submissions have created, in this order, without those below them. */
  final List<String> created = new ArrayList<>();
  boolean creates; // a submission is creating queues, or queues expire

  /**
   * create creates the queue of a submission as YARN does, if it may, and returns the highest new
   * queue. It does so before YARN would, because the new queues need this twin's parts.
   */
  private CSQueue create(String path) throws ReflectiveOperationException, YarnException {
    if (cs.getQueue(path) != null) {
      return null;
    }
    String highest = path;
    while (cs.getQueue(parent(highest)) == null) {
      highest = parent(highest);
    }
    for (String q = path; q.length() >= highest.length(); q = parent(q)) {
      mayUseLabels(q, cs.getQueue(parent(highest)));
    }
    managed.countActive();
    CSQueue above = cs.getQueue(parent(path));
    managed.mayCreate(above);
    creates = true;
    try {
      cs.getCapacitySchedulerQueueManager().createQueue(new QueuePath(path));
    } catch (YarnException | IOException e) {
      context.rejected = true;
    } finally {
      creates = false;
      managed.hasCreated(above);
    }
    created.remove(highest);
    created.add(highest);
    pass.watch(cs.getRootQueue());
    return cs.getQueue(highest);
  }

  /**
   * mayUseLabels gives a queue that a submission creates the weight 1 for the labels of the queue above,
   * as rmd does. YARN gives it this weight, too, but no resources by it.
   */
  private void mayUseLabels(String path, CSQueue above) {
    if (!conf.getBoolean("yarn.node-labels.enabled", false)) {
      return;
    }
    Set<String> may = new HashSet<>(Set.of(TwinLabels.NONE));
    for (String label : List.of("x", "y", "z")) {
      if (labels.mayUse(above.getQueuePath(), label)) {
        String key = CapacitySchedulerConfiguration.PREFIX + path + ".accessible-node-labels." + label + ".capacity";
        conf.set(key, "1w");
        cs.getConfiguration().set(key, "1w");
        cs.getConfiguration().reinitializeConfigurationProperties(); // for a refused refresh
        may.add(label);
        intended("labels of a dynamic queue");
      }
    }
    cs.getCapacitySchedulerQueueManager().getConfiguredNodeLabelsForAllQueues().setLabelsByQueue(path, may);
  }

  /** divides returns whether the configuration divides a label, apart from what mayUseLabels has added. */
  boolean divides(String label) {
    if (label.equals(TwinLabels.NONE)) {
      return true;
    }
    for (Map.Entry<String, String> e : cs.getConfiguration()) {
      String key = e.getKey();
      if (key.contains(".accessible-node-labels." + label + ".")
          && created.stream().noneMatch(path -> key.startsWith(CapacitySchedulerConfiguration.PREFIX + path + "."))) {
        return true;
      }
    }
    return false;
  }

  /**
   * applications limits the applications of a dynamic leaf as rmd does: at least one, even if its share
   * allows none, and without the labels that mayUseLabels gives it.
   */
  private void applications(CSQueue q) {
    if (!(q instanceof AbstractLeafQueue) || !((AbstractLeafQueue) q).isDynamicQueue()) {
      return;
    }
    AbstractLeafQueue leaf = (AbstractLeafQueue) q;
    CapacitySchedulerConfiguration c = cs.getConfiguration();
    int most = leaf.getMaxApplications();
    if (conf.getBoolean("yarn.node-labels.enabled", false) && !hasMaxApplications(q)
        && c.getGlobalMaximumApplicationsPerQueue() <= 0) {
      most = Math.min(most, (int) (c.getMaximumSystemApplications() * q.getAbsoluteCapacity()));
    }
    if (most == 0) {
      intended("one application");
      most = 1;
    }
    if (most != leaf.getMaxApplications()) {
      leaf.setMaxApplications(most);
      float factor = leaf.getUserLimitFactor();
      leaf.setMaxApplicationsPerUser(factor < 0 ? most : Math.min(most, (int) (most * (leaf.getUserLimit() / 100) * factor)));
    }
  }

  /**
   * expire removes the queues that submissions have created and that are empty, as if all were old. The
   * policy finds them when it begins, and again in its first run.
   */
  private void expire() throws ReflectiveOperationException {
    for (CSQueue q : cs.getCapacitySchedulerQueueManager().getQueues().values()) {
      ((CSQueueUsageTracker) USAGE.get(q)).setLastSubmittedTimestamp(Long.MIN_VALUE / 2);
    }
    AutoCreatedQueueDeletionPolicy policy = new AutoCreatedQueueDeletionPolicy();
    policy.init(conf, context, cs);
    creates = true;
    policy.editSchedule();
    managed.expire();
    creates = false;
  }

  private static final Field USAGE = field(AbstractCSQueue.class, "usageTracker");

  private void remove(CSQueue q) {
    if (managed.remove(q)) {
      return;
    }
    if (q.getChildQueues() != null) {
      new ArrayList<>(q.getChildQueues()).forEach(this::remove);
    }
    try {
      ((AbstractParentQueue) q.getParent()).removeChildQueue(q);
    } catch (SchedulerDynamicEditException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String parent(String path) {
    return path.substring(0, path.lastIndexOf('.'));
  }

  private void attempt(TwinContext.App a, boolean transfer) throws ReflectiveOperationException {
    a.attempts++;
    a.attempt = new TwinContext.Attempt(ApplicationAttemptId.newInstance(a.id, a.attempts), context);
    cs.handle(new AppAttemptAddedSchedulerEvent(a.attempt.id, transfer));
    startTime(cs.getApplicationAttempt(a.attempt.id));
    TwinParked.sort(cs, a.attempt.id, this::intended);
    if (transfer) {
      kept.begins(a);
    }
    askForMasters(null);
  }

  /**
   * askForMasters requests the AM containers of all runnable attempts except one. A parked attempt
   * requests nothing in rmd; in YARN its AM counts as demand.
   */
  void askForMasters(Object but) {
    for (TwinContext.App a : new ArrayList<>(apps.values())) {
      FiCaSchedulerApp s = cs.getApplicationAttempt(a.attempt.id);
      if (a.am == null || a.attempt.asked || s == null || s == but || !s.getApplicationAttemptId().equals(a.attempt.id)) {
        continue;
      }
      if (!s.isRunnable()) {
        intended("parked");
        continue;
      }
      a.attempt.asked = true;
      List<ResourceRequest> asks = new ArrayList<>();
      for (ResourceRequest r : a.am) {
        asks.add(ResourceRequest.clone(r));
      }
      askInFull(a, asks);
    }
  }

  /**
   * askInFull asks for an AM container. YARN would round and cut it again, by the largest node of
   * now; rmd keeps the size that was accepted with the submission.
   */
  private void askInFull(TwinContext.App a, List<ResourceRequest> asks) {
    Resource size = asks.get(0).getCapability();
    if (!cs.getNormalizedResource(size, cs.getMaximumResourceCapability()).equals(size)) {
      intended("size of an AM");
      cs.getNodeTracker().setConfiguredMaxAllocation(size);
      cs.getNodeTracker().setConfiguredMaxAllocationWaitTime(Long.MAX_VALUE / 2);
      cs.getNodeTracker().setForceConfiguredMaxAllocation(true);
    }
    call(a, asks, Collections.emptyList(), null, null, new ContainerUpdates());
    cs.getNodeTracker().setConfiguredMaxAllocation(cs.getMaximumAllocation());
    cs.getNodeTracker().setConfiguredMaxAllocationWaitTime(-1);
  }

  /**
   * startTime makes ties in a fair order go by the application, as in rmd. In YARN they go by the
   * attempt's start time.
   */
  private void startTime(FiCaSchedulerApp s) throws ReflectiveOperationException {
    AbstractLeafQueue leaf = (AbstractLeafQueue) s.getQueue();
    boolean active = leaf.getOrderingPolicy().removeSchedulableEntity(s);
    boolean waits = leaf.getPendingAppsOrderingPolicy().removeSchedulableEntity(s);
    STARTED.set(s, (long) number(s.getApplicationId()));
    if (active) {
      leaf.getOrderingPolicy().addSchedulableEntity(s);
    } else if (waits) {
      leaf.getPendingAppsOrderingPolicy().addSchedulableEntity(s);
    }
  }

  private static final Field STARTED = field(SchedulerApplicationAttempt.class, "startTime");

  private void call(TwinContext.App a, List<ResourceRequest> asks, List<ContainerId> releases, List<String> add, List<String> remove,
      ContainerUpdates updates) {
    cs.allocate(a.attempt.id, asks, Collections.emptyList(), releases, add, remove, updates);
  }

  /** allocate NUMBER [ask=KEY:NAME:COUNT:SIZE[:strict][:label=LABEL]]… [release=CONTAINER]… [refuse=NAME]… [admit=NAME]…. */
  private void allocate(String[] w) throws IllegalAccessException {
    TwinContext.App a = apps.get(Integer.parseInt(w[1]));
    if (a == null || a.attempt == null || (a.am != null && a.attempt.master == null)) {
      return;
    }
    List<ResourceRequest> asks = new ArrayList<>();
    List<ContainerId> releases = new ArrayList<>();
    List<String> add = new ArrayList<>();
    List<String> remove = new ArrayList<>();
    List<UpdateContainerRequest> updates = new ArrayList<>();
    for (int i = 2; i < w.length; i++) {
      String v = w[i].substring(w[i].indexOf('=') + 1);
      if (w[i].startsWith("ask=")) {
        asks.add(ask(v.split(":")));
      } else if (w[i].startsWith("release=")) {
        ContainerId id = container(v);
        if (id != null && !isMaster(id) && id.getApplicationAttemptId().equals(a.attempt.id) && told(id)) {
          releases.add(id);
        }
      } else if (w[i].startsWith("grow=") || w[i].startsWith("shrink=")) {
        update(a, w[i].startsWith("grow="), v.split(":"), updates);
      } else if (w[i].startsWith("refuse=")) {
        add.add(v);
      } else if (w[i].startsWith("admit=")) {
        remove.add(v);
      }
    }
    withdrawn(a, asks);
    if (!labels.check(a, asks)) {
      result = "refused";
      return;
    }
    FiCaSchedulerApp s = cs.getApplicationAttempt(a.attempt.id);
    sizeChanged(s, asks);
    AllocateRequest request = AllocateRequest.newBuilder().updateRequests(updates).build();
    call(a, asks, releases, add, remove, RMServerUtils.validateAndSplitUpdateResourceRequests(context, request,
        cs.getMaximumResourceCapability(a.queue), new ArrayList<>()));
    increaseChanged(s);
    blacklisted(s);
  }

  /** withdrawn makes asks of no container small, which YARN would refuse because of their size. */
  private void withdrawn(TwinContext.App a, List<ResourceRequest> asks) {
    Resource most = cs.getMaximumResourceCapability(a.queue);
    for (ResourceRequest r : asks) {
      if (r.getNumContainers() == 0 && !Resources.fitsIn(r.getCapability(), most)) {
        intended("withdrawn too large");
        r.setCapability(most);
      }
    }
  }

  private void update(TwinContext.App a, boolean grows, String[] p, List<UpdateContainerRequest> updates) throws IllegalAccessException {
    ContainerId id = container(p[0]);
    if (id != null && !isMaster(id) && id.getApplicationAttemptId().equals(a.attempt.id) && told(id) && !cutInOtherKinds(a, resource(p[1]))) {
      increases.labelled(cs.getRMContainer(id));
      updates.add(UpdateContainerRequest.newInstance(cs.getRMContainer(id).getContainer().getVersion(), id,
          grows ? ContainerUpdateType.INCREASE_RESOURCE : ContainerUpdateType.DECREASE_RESOURCE, resource(p[1]), null));
    }
  }

  /**
   * cutInOtherKinds returns whether rmd refuses the new size of a container, of which YARN would cut
   * what is neither memory nor vcores.
   */
  private boolean cutInOtherKinds(TwinContext.App a, Resource size) {
    Resource most = cs.getMaximumResourceCapability(a.queue);
    if (size.getMemorySize() > most.getMemorySize() || size.getVirtualCores() > most.getVirtualCores() || Resources.fitsIn(size, most)) {
      return false;
    }
    intended("other kinds of an update");
    return true;
  }

  /** told returns whether a container exists and its AM knows of it. */
  private boolean told(ContainerId id) {
    RMContainer c = cs.getRMContainer(id);
    return c != null && c.getState() != RMContainerState.ALLOCATED;
  }

  /** lookAtLimits activates the applications that the limits of AMs allow now, where only rmd does. */
  void lookAtLimits() {
    Resource cluster = cs.getClusterResource();
    cs.getRootQueue().updateClusterResource(cluster, new ResourceLimits(cluster));
  }

  /** cancel ends a reservation that rmd ends but YARN would keep. */
  void cancel(String name, RMContainer held) {
    intended.add(name);
    cs.killReservedContainer(held);
  }

  /** increaseChanged cancels the reservations for increases that an AM has changed since. */
  private void increaseChanged(FiCaSchedulerApp s) {
    for (RMContainer held : s.getReservedContainers()) {
      SchedulerRequestKey key = held.getReservedSchedulerKey();
      PendingAsk ask = s.getPendingAsk(key, ResourceRequest.ANY);
      if (key.getContainerToUpdate() != null && ask.getCount() > 0 && !ask.getPerAllocationResource().equals(held.getReservedResource())) {
        cancel("size changed", held);
      }
    }
  }

  private void sizeChanged(FiCaSchedulerApp s, List<ResourceRequest> asks) {
    Map<SchedulerRequestKey, ResourceRequest> last = new LinkedHashMap<>(); // the last ask of a call counts
    asks.stream().filter(r -> r.getResourceName().equals(ResourceRequest.ANY)).forEach(r -> last.put(SchedulerRequestKey.create(r), r));
    for (ResourceRequest r : last.values()) {
      Resource size = cs.getNormalizedResource(r.getCapability(), cs.getMaximumResourceCapability(s.getQueueName()));
      for (RMContainer held : s.getReservedContainers()) {
        if (r.getNumContainers() > 0 && !held.getReservedResource().equals(size)
            && held.getReservedSchedulerKey().equals(SchedulerRequestKey.create(r))) {
          cancel("size changed", held);
          TwinMisses.ends(s, held.getReservedSchedulerKey());
        }
      }
    }
  }

  private void blacklisted(FiCaSchedulerApp s) {
    for (RMContainer held : s.getReservedContainers()) {
      if (SchedulerAppUtils.isPlaceBlacklisted(s, cs.getNode(held.getReservedNode()), LOG)) {
        cancel("blacklisted", held);
      }
    }
  }

  private static ResourceRequest ask(String[] p) {
    int dot = p[0].indexOf('.');
    ResourceRequest r = ResourceRequest.newInstance(Priority.newInstance(Integer.parseInt(p[0].substring(0, dot))), p[1], resource(p[3]),
        Integer.parseInt(p[2]));
    r.setAllocationRequestId(Long.parseLong(p[0].substring(dot + 1)));
    for (int i = 4; i < p.length; i++) {
      if (p[i].equals("strict")) {
        r.setRelaxLocality(false);
      } else {
        r.setNodeLabelExpression(p[i].substring("label=".length()));
      }
    }
    return r;
  }

  /**
   * masters acts as RMAppAttemptImpl for each attempt: it takes the AM container, and fails the
   * attempt when that has ended.
   */
  private void masters() throws ReflectiveOperationException {
    for (Map.Entry<Integer, TwinContext.App> e : new TreeMap<>(apps).entrySet()) {
      TwinContext.App a = e.getValue();
      FiCaSchedulerApp s = cs.getApplicationAttempt(a.attempt.id);
      if (s == null || !s.getApplicationAttemptId().equals(a.attempt.id)) {
        continue;
      }
      dropIncreases(s, Set.of());
      s.pullNewlyIncreasedContainers(); // a container has grown only when its AM calls; its queue uses the amount before
      count(a, s);
      newestFirst(s);
      if (a.am == null) {
        continue;
      }
      if (a.attempt.master == null) {
        for (RMContainer c : s.getLiveContainers()) {
          if (c.getState() == RMContainerState.ALLOCATED && c.getContainerId().getApplicationAttemptId().equals(a.attempt.id)) {
            call(a, Collections.emptyList(), Collections.emptyList(), null, null, new ContainerUpdates());
            a.attempt.master = c.getContainer();
            ((org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl) c).setAMContainer(true);
          }
        }
      } else if (cs.getRMContainer(a.attempt.master.getId()) == null) {
        fail(e.getKey(), false);
      }
    }
  }

  /**
   * newestFirst makes an application give up its newest reservation first, as in rmd. YARN takes
   * the first one in the order of a hash of the nodes' names.
   */
  private void newestFirst(FiCaSchedulerApp s) {
    for (Map.Entry<SchedulerRequestKey, Map<NodeId, RMContainer>> e : reservations(s).entrySet()) {
      if (!(e.getValue() instanceof NewestFirst)) {
        e.setValue(new NewestFirst(e.getValue()));
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static Map<SchedulerRequestKey, Map<NodeId, RMContainer>> reservations(FiCaSchedulerApp s) {
    try {
      return (Map<SchedulerRequestKey, Map<NodeId, RMContainer>>) RESERVED.get(s);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * OldestFirst has the reservations of an application by their age, as rmd drops them. YARN drops
   * them in the order of a hash of their keys and nodes.
   */
  private final class OldestFirst extends HashMap<SchedulerRequestKey, Map<NodeId, RMContainer>> {
    private static final long serialVersionUID = 1L;
    private final Set<Map.Entry<SchedulerRequestKey, Map<NodeId, RMContainer>>> entries = new LinkedHashSet<>();

    OldestFirst(FiCaSchedulerApp s) {
      super(reservations(s));
      List<RMContainer> was = s.getReservedContainers();
      List<RMContainer> list = new ArrayList<>(was);
      list.sort(Comparator.comparing(RMContainer::getContainerId));
      if (!list.equals(was)) {
        intended("dropped reservations");
      }
      list.forEach(c -> entries.add(Map.entry(c.getReservedSchedulerKey(), Map.of(c.getReservedNode(), c))));
    }

    @Override
    public Set<Map.Entry<SchedulerRequestKey, Map<NodeId, RMContainer>>> entrySet() {
      return entries;
    }
  }

  private final class NewestFirst extends LinkedHashMap<NodeId, RMContainer> {
    private static final long serialVersionUID = 1L;

    NewestFirst(Map<NodeId, RMContainer> m) {
      super(m);
    }

    @Override
    public Set<Map.Entry<NodeId, RMContainer>> entrySet() {
      List<Map.Entry<NodeId, RMContainer>> list = new ArrayList<>(super.entrySet());
      if (givesUpOn != null && list.removeIf(e -> !cs.getNode(e.getKey()).getPartition().equals(givesUpOn))) {
        intended("exchange on another label");
      }
      if (list.size() > 1) {
        intended("newest victim");
      }
      Collections.reverse(list);
      return new LinkedHashSet<>(list);
    }
  }

  /**
   * deriveLimits gives each leaf the limit that its ancestors would pass to it now, as in rmd. YARN
   * keeps the limit of the last pass, and computes AM limits from it.
   */
  void deriveLimits() throws ReflectiveOperationException {
    if (cs != null) {
      deriveLimits(cs.getRootQueue(), new ResourceLimits(total(TwinLabels.NONE)));
    }
  }

  /** total returns the resources of the nodes with a label. */
  Resource total(String label) {
    return context.getNodeLabelManager().getResourceByLabel(label, cs.getClusterResource());
  }

  private void deriveLimits(CSQueue q, ResourceLimits limits) throws ReflectiveOperationException {
    Resource cluster = cs.getClusterResource();
    if (q instanceof AbstractParentQueue) {
      for (CSQueue child : q.getChildQueues()) {
        deriveLimits(child, ((AbstractParentQueue) q).getResourceLimitsOfChild(child, cluster, limits, TwinLabels.NONE, false));
      }
      return;
    }
    UPDATE_LIMITS.invoke(q, limits, cluster);
    SET_LIMITS.invoke(q, cluster);
  }

  private static final Method UPDATE_LIMITS = method("updateCurrentResourceLimits", ResourceLimits.class, Resource.class);
  private static final Method SET_LIMITS = method("setQueueResourceLimitsInfo", Resource.class);

  static Method method(String name, Class<?>... args) {
    try {
      Method m = AbstractLeafQueue.class.getDeclaredMethod(name, args);
      m.setAccessible(true);
      return m;
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    }
  }

  static final Field RESERVED_ON = field(SchedulerNode.class, "reservedContainer");
  private static final Field RESERVED = field(SchedulerApplicationAttempt.class, "reservedContainers");

  static Field field(Class<?> c, String name) {
    try {
      Field f = c.getDeclaredField(name);
      f.setAccessible(true);
      return f;
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException(e);
    }
  }

  private FiCaSchedulerApp moving; // null if no application moves
  private AbstractLeafQueue movesTo;
  private boolean staysActive; // moving was active in its old leaf

  /**
   * leafOf returns the leaf of an application. One that moves is in its new leaf, as in rmd. In YARN its
   * asks count in the old one until both leaves have looked at the applications that wait there.
   */
  AbstractLeafQueue leafOf(FiCaSchedulerApp s) {
    return s == moving ? movesTo : (AbstractLeafQueue) s.getQueue();
  }

  /**
   * arrives makes an application that was active when it moved active in its new leaf, as in rmd. In
   * YARN it waits there until the AM limit allows it, although its AM runs, and its user may count as
   * one who waits.
   */
  void arrives(Object s) {
    if (s == moving && staysActive) {
      intended("moved while active");
      activate(movesTo, moving);
    }
  }

  private void moveNow(TwinContext.App a, String queue) throws YarnException {
    FiCaSchedulerApp s = cs.getApplicationAttempt(a.attempt.id);
    AbstractLeafQueue from = (AbstractLeafQueue) s.getQueue();
    AbstractLeafQueue leaf = (AbstractLeafQueue) cs.getQueue(queue);
    moving = s;
    movesTo = leaf;
    staysActive = from.getApplications().contains(s);
    TwinParked.ends(s);
    try {
      if (staysActive) {
        moveActive(a, s, from, leaf);
      } else {
        cs.moveApplication(a.id, queue);
      }
    } finally {
      moving = null;
    }
    TwinParked.moved(cs, s, from, this::intended);
  }

  private void moveActive(TwinContext.App a, FiCaSchedulerApp s, AbstractLeafQueue from, AbstractLeafQueue leaf) throws YarnException {
    String label = s.getAppAMNodePartitionName();
    Resource am = s.getAMResource(label);
    count(from, label, a, Resources.negate(am)); // applications that wait in either queue must already see the AM in the new one
    count(leaf, label, a, am);
    s.setAMResource(label, Resources.none());
    boolean done = false;
    try {
      cs.moveApplication(a.id, leaf.getQueuePath());
      done = true;
      for (RMContainer held : s.getReservedContainers()) { // YARN leaves them in the old queue
        intended("moved with the application");
        String where = cs.getNode(held.getReservedNode()).getPartition();
        reserved(from, where, Resources.negate(held.getReservedResource()));
        reserved(leaf, where, held.getReservedResource());
      }
    } finally {
      s.setAMResource(label, am);
      if (!done) {
        count(leaf, label, a, Resources.negate(am));
        count(from, label, a, am);
      }
    }
  }

  private static void reserved(CSQueue q, String label, Resource r) {
    for (; q != null; q = q.getParent()) {
      q.getQueueResourceUsage().incReserved(label, r);
    }
  }

  private static void count(AbstractLeafQueue leaf, String label, TwinContext.App a, Resource am) {
    leaf.getQueueResourceUsage().incAMUsed(label, am);
    leaf.getUsersManager().getUserAndAddIfAbsent(a.user).getResourceUsage().incAMUsed(label, am);
  }

  private static void activate(AbstractLeafQueue leaf, FiCaSchedulerApp s) {
    leaf.getUser(s.getUser()).activateApplication();
    leaf.getOrderingPolicy().addSchedulableEntity(s);
    leaf.getPendingAppsOrderingPolicy().removeSchedulableEntity(s);
  }

  /**
   * unmanaged activates applications without an AM, as in rmd. The AM limit does not concern them.
   */
  private void unmanaged() {
    for (TwinContext.App a : apps.values()) {
      FiCaSchedulerApp s = cs.getApplicationAttempt(a.attempt.id);
      AbstractLeafQueue leaf = (AbstractLeafQueue) s.getQueue();
      if (a.am == null && leaf.getPendingAppsOrderingPolicy().getSchedulableEntities().contains(s)) {
        intended("unmanaged");
        activate(leaf, s);
      }
    }
  }

  /**
   * activeUsers counts a user if one of its applications is active and one asks for something, as
   * in rmd. YARN decides this when an ask is made, so a user whose ask came before the activation
   * is not counted later.
   */
  private void activeUsers() {
    for (TwinContext.App a : apps.values()) {
      FiCaSchedulerApp s = cs.getApplicationAttempt(a.attempt.id);
      TwinUsers users = (TwinUsers) ((AbstractLeafQueue) s.getQueue()).getUsersManager();
      if (!s.isRunnable()) { // a container may have come back while the previous attempt ended
        users.deactivateApplication(a.user, a.id);
      }
      if (s.getAppSchedulingInfo().getSchedulerKeys().isEmpty() || users.getUser(a.user) == null) {
        continue;
      }
      int before = users.asking();
      users.forgetLeftOver(a.user);
      if (users.getUser(a.user).getActiveApplications() > 0) {
        users.activateApplication(a.user, a.id);
      } else {
        users.deactivateApplication(a.user, a.id);
      }
      if (users.asking() != before) {
        intended.add("active users");
      }
    }
  }

  /**
   * dropIncreases drops the increases of containers that have ended or are about to, as rmd does.
   * YARN keeps asking for them.
   */
  private void dropIncreases(FiCaSchedulerApp s, Set<ContainerId> ending) throws ReflectiveOperationException {
    for (SchedulerRequestKey k : new ArrayList<>(s.getAppSchedulingInfo().getSchedulerKeys())) {
      ContainerId id = k.getContainerToUpdate();
      if (id != null && (ending.contains(id) || cs.getRMContainer(id) == null)) {
        intended("increase of an ended container");
        CANCEL_INCREASE.invoke(s.getUpdateContext(), anyNode, k);
        s.getAppSchedulingInfo().getSchedulerKeys().remove(k);
      }
    }
  }

  private static final Method CANCEL_INCREASE;

  static {
    try {
      CANCEL_INCREASE = ContainerUpdateContext.class.getDeclaredMethod("cancelPreviousRequest", SchedulerNode.class, SchedulerRequestKey.class);
      CANCEL_INCREASE.setAccessible(true);
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException(e);
    }
  }

  /** count names the containers of an application in the order of their ids. */
  private void count(TwinContext.App a, FiCaSchedulerApp s) {
    Collection<RMContainer> live = s.getLiveContainers();
    live.stream().map(RMContainer::getContainerId).filter(id -> !a.ordinal.containsKey(id)).sorted().forEach(id -> {
      a.granted.add(id);
      a.ordinal.put(id, a.granted.size());
    });
  }

  private void fail(int number, boolean counts) throws ReflectiveOperationException {
    TwinContext.App a = apps.get(number);
    if (a == null) {
      return;
    }
    a.failures += counts ? 1 : 0;
    boolean last = a.am == null || a.failures >= 2 || a.attempts / 4 >= 2;
    if (last) {
      end(number, RMAppAttemptState.FAILED, RMAppState.FAILED);
      return;
    }
    boolean keep = a.submission.getKeepContainersAcrossApplicationAttempts();
    if (keep) {
      masterEnds(a);
    }
    ends(a, RMAppAttemptState.FAILED, keep);
    attempt(a, keep);
  }

  /**
   * masterEnds ends the AM's container of an attempt that fails and keeps its containers. YARN waits
   * until the node reports its end.
   */
  private void masterEnds(TwinContext.App a) {
    RMContainer master = a.attempt.master == null ? null : cs.getRMContainer(a.attempt.master.getId());
    if (master != null && master.getState() == RMContainerState.RUNNING) {
      intended("AM of a failed attempt");
      cs.completedContainer(master, SchedulerUtils.createAbnormalContainerStatus(master.getContainerId(), ""), RMContainerEventType.KILL);
    }
  }

  private void end(int number, RMAppAttemptState attempt, RMAppState app) {
    TwinContext.App a = apps.remove(number);
    if (a != null) {
      ends(a, attempt, false);
      cs.handle(new AppRemovedSchedulerEvent(a.id, app));
      context.getRMApps().remove(a.id);
    }
  }

  private void ends(TwinContext.App a, RMAppAttemptState as, boolean keep) {
    asksNothing(a);
    TwinParked.ends(cs.getApplicationAttempt(a.attempt.id));
    cs.handle(new AppAttemptRemovedSchedulerEvent(a.attempt.id, as, keep));
    askForMasters(null);
  }

  /**
   * asksNothing makes the user of an ending attempt not count as active. In YARN the user still
   * counts in the activation of waiting applications that follows, and a user without other asks is
   * then left out of the active users of its next attempt.
   */
  private void asksNothing(TwinContext.App a) {
    ((AbstractLeafQueue) cs.getApplicationAttempt(a.attempt.id).getQueue()).getUsersManager().deactivateApplication(a.user, a.id);
  }

  private void move(int number, String queue) {
    TwinContext.App a = apps.get(number);
    if (a == null) {
      return;
    }
    if (a.queue.equals(queue)) {
      intended("moved to its own queue");
      result = "accepted"; // YARN loses the user's usage when an application moves to its own queue
      return;
    }
    try {
      askedNow(a, cs.getApplicationAttempt(a.attempt.id));
      if (!labels.mayUse(queue, a.submission.getNodeLabelExpression())) {
        intended("labels asked for now");
        throw new YarnException("the queue may not use the label of further asks");
      }
      applications(cs.getQueue(queue));
      cs.preValidateMoveApplication(a.id, queue);
      if (!TwinParallel.mayMove(cs.getApplicationAttempt(a.attempt.id), cs.getQueue(queue))) {
        intended("parallel after a move");
        throw new YarnException("the queue runs its maximum of applications");
      }
      moveNow(a, queue);
      a.queue = queue;
      askForMasters(null);
      reorder(a);
      result = "accepted";
    } catch (YarnException e) {
      result = "refused";
    }
  }

  /**
   * askedNow makes an application move with the labels that it and its AM request now. In YARN
   * every label counts that it ever requested. A parked application requests its AM already in YARN.
   */
  private void askedNow(TwinContext.App a, FiCaSchedulerApp s) {
    Set<String> now = new HashSet<>();
    s.getAppSchedulingInfo().getSchedulerKeys().forEach(k -> now.add(s.getAppPlacementAllocator(k).getPrimaryRequestedNodePartition()));
    now.add(TwinLabels.NONE);
    Set<String> requested = s.getAppSchedulingInfo().getRequestedPartitions();
    if (a.am != null && a.am.get(0).getNodeLabelExpression() != null) {
      now.add(a.am.get(0).getNodeLabelExpression());
      requested.add(a.am.get(0).getNodeLabelExpression());
    }
    if (requested.retainAll(now)) {
      intended("labels asked for now");
    }
  }

  private void priority(int number, int to) throws YarnException {
    TwinContext.App a = apps.get(number);
    if (a != null) {
      Priority set = cs.updateApplicationPriority(Priority.newInstance(to), a.id, SettableFuture.create(),
          UserGroupInformation.createRemoteUser(a.user));
      // In YARN the application's record keeps its first priority. Therefore it cannot be set back,
      // and a later attempt has the first one again.
      if (!set.equals(cs.getSchedulerApplications().get(a.id).getPriority())) {
        intended("priority set back");
        cs.getSchedulerApplications().get(a.id).setPriority(set);
      }
      FiCaSchedulerApp s = cs.getApplicationAttempt(a.attempt.id);
      if (!s.isRunnable()) { // YARN makes it wait for activation although it exceeds the limit of parallel applications
        intended("parked");
        ((AbstractLeafQueue) s.getQueue()).getPendingAppsOrderingPolicy().removeSchedulableEntity(s);
      }
      reorder(a);
    }
  }

  /**
   * reorder makes a leaf's order use the application's present usage. YARN does not do this when it
   * removes an application and adds it again.
   */
  void reorder(TwinContext.App a) {
    FiCaSchedulerApp s = cs.getApplicationAttempt(a.attempt.id);
    AbstractLeafQueue leaf = (AbstractLeafQueue) s.getQueue();
    if (leaf.getApplications().contains(s)) {
      leaf.getOrderingPolicy().containerReleased(s, null);
    }
  }

  private CapacitySchedulerConfiguration beforeRefresh; // null if none is under way

  /** refuses returns whether YARN reads its old queues again, because it refuses a refresh. */
  boolean refuses() {
    return cs.getConfiguration() == beforeRefresh;
  }

  boolean refreshing() {
    return beforeRefresh != null;
  }

  private void refresh() throws ReflectiveOperationException, SchedulerDynamicEditException {
    beforeRefresh = cs.getConfiguration();
    Configuration next = new Configuration(conf);
    TwinManagedRefresh leaves = new TwinManagedRefresh(this, managed, next);
    try {
      forgetAmounts(cs.getRootQueue(), new CapacitySchedulerConfiguration(conf, false));
      cs.reinitialize(next, context);
      beforeRefresh = null;
      leaves.accepted();
      forgetShares(cs.getRootQueue());
      result = "accepted";
    } catch (Exception e) {
      beforeRefresh = null;
      leaves.refused();
      result = "refused";
    }
    pass.watch(cs.getRootQueue()); // YARN makes new orders, even if it refuses the refresh
    if (result.equals("accepted")) {
      askForMasters(null);
    }
    apps.values().forEach(this::reorder);
  }

  /**
   * withoutNodes sets the amounts of queues to zero for labels without nodes; YARN keeps them. A
   * leaf with absolute amounts and no nodes of its labels accepts applications, as in an empty
   * cluster. withoutNodes returns whether anything changes.
   */
  boolean withoutNodes(CSQueue q) throws ReflectiveOperationException {
    boolean changes = false;
    boolean anyNode = false;
    for (String label : q.getConfiguredNodeLabels()) {
      boolean empty = total(label).equals(Resources.none());
      anyNode |= !empty;
      if (empty && !q.getEffectiveCapacity(label).equals(Resources.none())) {
        q.getQueueResourceQuotas().setEffectiveMinResource(label, Resources.none());
        changes = true;
      }
      if (empty) {
        q.getQueueResourceQuotas().setEffectiveMaxResource(label, Resources.none());
      }
    }
    if (q.getChildQueues() != null) {
      for (CSQueue child : q.getChildQueues()) {
        changes |= withoutNodes(child);
      }
    } else if (!anyNode && q.getCapacityConfigType() == CapacityConfigType.ABSOLUTE_RESOURCE
        && !hasMaxApplications(q)) {
      setMaxApplications((AbstractLeafQueue) q, cs.getConfiguration().getMaximumSystemApplications());
    }
    return changes;
  }

  private static void setMaxApplications(AbstractLeafQueue q, int most) throws ReflectiveOperationException {
    q.setMaxApplications(most);
    MAX_PER_USER.invoke(q);
  }

  /**
   * shareOfOwnNodes sets how many applications a leaf with absolute amounts may have, from its
   * dominant share of the nodes of each label. YARN weighs the kinds of resources by all nodes of
   * the cluster.
   */
  void shareOfOwnNodes(CSQueue q) throws ReflectiveOperationException {
    if (q.getChildQueues() != null) {
      for (CSQueue child : q.getChildQueues()) {
        shareOfOwnNodes(child);
      }
      return;
    }
    CapacitySchedulerConfiguration conf = cs.getConfiguration();
    if (q.getCapacityConfigType() != CapacityConfigType.ABSOLUTE_RESOURCE || hasMaxApplications(q)) {
      return;
    }
    int perQueue = conf.getGlobalMaximumApplicationsPerQueue();
    int base = perQueue > 0 ? Math.min(perQueue, conf.getMaximumSystemApplications()) : conf.getMaximumSystemApplications();
    AbstractLeafQueue leaf = (AbstractLeafQueue) q;
    int own = -1;
    for (String label : q.getConfiguredNodeLabels()) {
      Resource nodes = total(label);
      if (nodes.equals(cs.getClusterResource())) {
        return; // the weights are the same
      }
      if (!nodes.equals(Resources.none())) {
        own = Math.max(own, (int) (base * cs.getResourceCalculator().divide(nodes, q.getEffectiveCapacity(label), nodes)));
      }
    }
    if (own >= 0 && own != leaf.getMaxApplications()) {
      intended("share of its own nodes");
      setMaxApplications(leaf, own);
    }
  }

  private static final Method MAX_PER_USER = method("updateMaxAppsPerUser");

  /**
   * forgetShares sets a queue's shares to zero for labels of which it no longer has any. YARN keeps
   * them.
   */
  void forgetShares(CSQueue q) {
    for (String label : labels.known) {
      if (!q.getConfiguredNodeLabels().contains(label)) {
        if (!q.getEffectiveMaxCapacity(label).equals(Resources.none())) {
          intended("label taken from a queue");
        }
        q.getQueueResourceQuotas().setEffectiveMinResource(label, Resources.none());
        q.getQueueResourceQuotas().setEffectiveMaxResource(label, Resources.none());
        q.getQueueCapacities().setAbsoluteCapacity(label, 0);
        q.getQueueCapacities().setAbsoluteMaximumCapacity(label, 0);
      }
    }
    if (q.getChildQueues() != null) {
      q.getChildQueues().forEach(this::forgetShares);
    }
  }

  /** hasMaxApplications reads the key by its name: its getter takes another type since 3.5. */
  private boolean hasMaxApplications(CSQueue q) {
    return cs.getConfiguration().get(CapacitySchedulerConfiguration.PREFIX + q.getQueuePath() + ".maximum-applications") != null;
  }

  /**
   * forgetAmounts removes the amounts of labels from queues to which a configuration gives none. In
   * YARN they still count in the sum of the siblings.
   */
  private void forgetAmounts(CSQueue q, CapacitySchedulerConfiguration next) {
    Set<String> given = next.getConfiguredNodeLabelsByQueue().getOrDefault(q.getQueuePath(), Set.of());
    for (String label : q.getConfiguredNodeLabels()) {
      if (q.getParent() != null && !label.isEmpty() && !given.contains(label) && !q.getQueueResourceQuotas().getConfiguredMinResource(label).equals(Resources.none())) {
        intended("label taken from a queue");
        q.getQueueResourceQuotas().setConfiguredMinResource(label, Resources.none());
        q.getQueueResourceQuotas().setConfiguredMaxResource(label, Resources.none());
      }
    }
    if (q.getChildQueues() != null) {
      q.getChildQueues().forEach(child -> forgetAmounts(child, next));
    }
  }

  private Twin() {
  }
}
