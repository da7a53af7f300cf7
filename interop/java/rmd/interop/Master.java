package rmd.interop;

import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;

/**
 * Master is an ApplicationMaster that measures. args: REPORT MODE MB COUNT MILLIS. It writes its
 * observations to REPORT (see Lines) and finishes when the file REPORT.stop exists.
 *
 * <p>churn: COUNT requests of MB are always open; each container is released with the next call,
 * MILLIS later. latency: COUNT single requests on an idle cluster, MILLIS apart, each timed from
 * the call that asks to the reply with the container. idle: only heartbeats. linger: like idle, but
 * the process stays after it has finished, until REPORT.exit exists.
 */
public final class Master {
  private static final Priority PRIORITY = Priority.newInstance(1);

  private final AMRMClient<ContainerRequest> client = AMRMClient.createAMRMClient();
  private final Lines lines;
  private final File stop;
  private final Resource size;
  private final int count;
  private final long millis;

  private Master(String[] args) throws IOException {
    lines = new Lines(args[0]);
    stop = new File(args[0] + ".stop");
    size = Resource.newInstance(Long.parseLong(args[2]), 1);
    count = Integer.parseInt(args[3]);
    millis = Long.parseLong(args[4]);
  }

  public static void main(String[] args) throws Exception {
    Master m = new Master(args);
    m.client.init(new YarnConfiguration());
    m.client.start();
    m.lines.say("started %s", System.getenv("CONTAINER_ID"));
    int before = m.client.registerApplicationMaster("localhost", 0, "").getContainersFromPreviousAttempts().size();
    m.lines.say("registered %d", before);
    switch (args[1]) {
      case "churn":
        m.churn();
        break;
      case "latency":
        m.latency();
        break;
      default:
        m.idle();
    }
    m.client.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
    m.lines.say("finished");
    if (args[1].equals("linger")) {
      while (!new File(args[0] + ".exit").exists()) {
        Thread.sleep(50);
      }
    }
    m.lines.close();
    System.exit(0);
  }

  /** call makes one allocate call and writes down its begin, its end and the containers. */
  private List<Container> call() throws YarnException, IOException {
    long began = Lines.now();
    AllocateResponse reply = client.allocate(0.5f);
    long ended = Lines.now();
    List<Container> got = reply.getAllocatedContainers();
    lines.say(ended, "reply %d %d %s", began, got.size(), got.isEmpty() ? "-" : got.get(0).getId());
    return got;
  }

  private ContainerRequest ask() {
    ContainerRequest r = new ContainerRequest(size, null, null, PRIORITY);
    client.addContainerRequest(r);
    return r;
  }

  /** giveBack releases a container and removes its request, which would otherwise be sent again. */
  private void giveBack(Container c, ContainerRequest r) {
    client.removeContainerRequest(r);
    client.releaseAssignedContainer(c.getId());
  }

  private void churn() throws Exception {
    Map<Integer, ContainerRequest> open = new HashMap<>();
    for (int i = 0; i < count; i++) {
      open.put(i, ask());
    }
    while (!stop.exists()) {
      int i = 0;
      for (Container c : call()) {
        int slot = i++ % count;
        giveBack(c, open.get(slot));
        open.put(slot, ask());
      }
      Thread.sleep(millis);
    }
  }

  private void latency() throws Exception {
    call();
    for (int i = 0; i < count && !stop.exists(); i++) {
      ContainerRequest r = ask();
      long began = Lines.now();
      List<Container> got = call();
      int calls = 1;
      while (got.isEmpty()) {
        Thread.sleep(millis);
        got = call();
        calls++;
      }
      lines.say("latency %d %d", Lines.now() - began, calls);
      for (Container c : got) {
        giveBack(c, r);
      }
      call();
      Thread.sleep(millis);
    }
    lines.say("done");
    idle();
  }

  private void idle() throws Exception {
    while (!stop.exists()) {
      for (Container c : call()) {
        client.releaseAssignedContainer(c.getId());
      }
      Thread.sleep(Math.min(millis, 200));
    }
  }
}
