package org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.apache.log4j.Level;
import org.apache.log4j.LogManager;

/**
 * TwinEntitlement computes with Hadoop's PreemptableResourceCalculator what queues must give to
 * others. Standard input has partitions in the syntax of twin/entitlement.go. Standard output has
 * one line for each of their queues. The class is in Hadoop's package because the results are
 * package-private.
 */
final class TwinEntitlement {
  private final ResourceCalculator rc;
  private final Resource cluster;
  private final Resource total;
  private final float perRound;
  private final double ignored;
  private final double natural;
  private final boolean reserved;
  private final boolean balance;

  private final List<String[]> lines = new ArrayList<>();
  private final Map<String, TempQueuePerPartition> queues = new LinkedHashMap<>();
  private final List<TempQueuePerPartition> list = new ArrayList<>();

  private TwinEntitlement(String[] w) {
    rc = w[1].equals("dominant") ? new DominantResourceCalculator() : new DefaultResourceCalculator();
    cluster = resource(w[2]);
    total = resource(w[3]);
    perRound = Float.parseFloat(w[4]);
    ignored = Double.parseDouble(w[5]);
    natural = Double.parseDouble(w[6]);
    reserved = Boolean.parseBoolean(w[7]);
    balance = Boolean.parseBoolean(w[8]);
  }

  public static void main(String[] args) throws IOException {
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, "UTF-8");
    System.setOut(System.err);
    LogManager.getLoggerRepository().setThreshold(Level.OFF);
    Configuration conf = new Configuration(false);
    if (args.length > 0) {
      conf.set("yarn.resource-types", args[0]);
    }
    ResourceUtils.resetResourceTypes(conf);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    TwinEntitlement partition = null;
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] w = line.split(" ");
      switch (w[0]) {
        case "partition":
          partition = new TwinEntitlement(w);
          break;
        case "queue":
          partition.lines.add(w);
          break;
        default:
          String ours = partition.compute(true);
          out.print(ours);
          out.println(ours.equals(partition.compute(false)) ? "same" : "leftover for queues without a guarantee");
          out.flush();
      }
    }
  }

  private static Resource resource(String text) {
    Resource r = Resource.newInstance(0, 0);
    String[] values = text.split(",");
    for (int i = 0; i < r.getResources().length; i++) {
      r.setResourceValue(i, Long.parseLong(values[i]));
    }
    return r;
  }

  private static String text(Resource r) {
    StringBuilder b = new StringBuilder();
    for (int i = 0; i < r.getResources().length; i++) {
      b.append(i == 0 ? "" : ",").append(r.getResourceInformation(i).getValue());
    }
    return b.toString();
  }

  private void add(String[] w) {
    String name = list.isEmpty() ? "root" : "root.q" + list.size();
    TempQueuePerPartition q = new TempQueuePerPartition(name, resource(w[7]), Boolean.parseBoolean(w[2]), "", resource(w[11]),
        Float.parseFloat(w[4]), 0, total, resource(w[8]), null, resource(w[5]), resource(w[6]));
    q.relativePriority = Integer.parseInt(w[3]);
    q.pending = resource(w[9]);
    q.pendingDeductReserved = resource(w[10]);
    int parent = Integer.parseInt(w[1]);
    q.parent = parent < 0 ? null : list.get(parent);
    queues.put(name, q);
    list.add(q);
  }

  /** compute returns what the queues must give. countAll is that of TwinCalculator. */
  private String compute(boolean countAll) {
    queues.clear();
    list.clear();
    lines.forEach(this::add);
    for (int i = list.size() - 1; i > 0; i--) {
      list.get(i).parent.addChild(list.get(i));
    }
    CapacitySchedulerPreemptionContext context = (CapacitySchedulerPreemptionContext) Proxy.newProxyInstance(
        getClass().getClassLoader(), new Class<?>[] {CapacitySchedulerPreemptionContext.class}, (proxy, method, args) -> {
          switch (method.getName()) {
            case "getResourceCalculator": return rc;
            case "getQueueByPartition": return queues.get((String) args[0]);
            case "getQueuePartitions": return Set.of(queues.get((String) args[0]));
            case "getAllPartitions": return Set.of("");
            case "getLeafQueueNames": return leaves();
            case "getMaxIgnoreOverCapacity": return ignored;
            case "getNaturalTerminationFactor": return natural;
            case "addPartitionToUnderServedQueues": return null;
            default: throw new UnsupportedOperationException(method.getName());
          }
        });
    new TwinCalculator(context, reserved, balance, Comparator.comparingInt(list::indexOf), countAll).computeIdealAllocation(cluster, Resources.multiply(cluster, perRound));
    StringBuilder out = new StringBuilder();
    for (TempQueuePerPartition q : list) {
      out.append(text(q.idealAssigned)).append(' ').append(text(q.untouchableExtra)).append(' ').append(text(q.toBePreempted))
          .append(' ').append(text(q.getActuallyToBePreempted())).append('\n');
    }
    return out.toString();
  }

  private Set<String> leaves() {
    Set<String> names = new LinkedHashSet<>();
    for (TempQueuePerPartition q : list) {
      if (q.children.isEmpty()) {
        names.add(q.queueName);
      }
    }
    return names;
  }
}
