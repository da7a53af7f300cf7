package rmd.interop;

import java.io.File;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerError;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.UpdatedContainer;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Resize is an ApplicationMaster that changes the size of a running container of 512 MB: to a
 * larger one, to a smaller one, to one that must wait for room, and in ways that are refused. args:
 * REPORT. After it has written "waiting" it continues when REPORT.go exists, and it finishes when
 * REPORT.stop exists.
 */
public final class Resize {
  private final AMRMClient<ContainerRequest> client = AMRMClient.createAMRMClient();
  private final NMClient nodes = NMClient.createNMClient();
  private final Lines lines;
  private Container container;

  private Resize(String report) throws Exception {
    lines = new Lines(report);
    YarnConfiguration conf = new YarnConfiguration();
    client.init(conf);
    client.start();
    nodes.init(conf);
    nodes.start();
  }

  public static void main(String[] args) throws Exception {
    Resize r = new Resize(args[0]);
    r.client.registerApplicationMaster("localhost", 0, "");
    r.launch();
    Container first = r.container;
    r.change("increase", first, ContainerUpdateType.INCREASE_RESOURCE, 1024);
    r.change("stale", first, ContainerUpdateType.INCREASE_RESOURCE, 1536);
    r.change("decrease", r.container, ContainerUpdateType.DECREASE_RESOURCE, 768);
    r.change("huge", r.container, ContainerUpdateType.INCREASE_RESOURCE, 1 << 20);
    r.change("stranger", r.nobody(), ContainerUpdateType.INCREASE_RESOURCE, 1536);
    r.lines.say("waiting");
    r.await(args[0] + ".go");
    r.change("waited", r.container, ContainerUpdateType.INCREASE_RESOURCE, 3072);
    r.await(args[0] + ".stop");
    r.client.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
    r.lines.close();
    System.exit(0);
  }

  private void await(String file) throws Exception {
    while (!new File(file).exists()) {
      client.allocate(0.5f);
      Thread.sleep(100);
    }
  }

  /** launch starts the container and waits until the ResourceManager knows that it runs. */
  private void launch() throws Exception {
    ContainerRequest request = new ContainerRequest(Resource.newInstance(512, 1), null, null, Priority.newInstance(1));
    client.addContainerRequest(request);
    for (List<Container> got = List.of(); got.isEmpty(); Thread.sleep(100)) {
      got = client.allocate(0.5f).getAllocatedContainers();
      container = got.isEmpty() ? null : got.get(0);
    }
    client.removeContainerRequest(request);
    nodes.startContainer(container, ContainerLaunchContext.newInstance(Map.of(), Map.of(), List.of("sleep 600"), Map.<String, ByteBuffer>of(), null, Map.of()));
    while (status().getState() != ContainerState.RUNNING) {
      Thread.sleep(100);
    }
    Thread.sleep(3000); // several heartbeats of its node
    lines.say("runs %d MB version %d", container.getResource().getMemorySize(), container.getVersion());
  }

  private ContainerStatus status() throws Exception {
    return nodes.getContainerStatus(container.getId(), container.getNodeId());
  }

  /** nobody returns a container that was never allocated. */
  private Container nobody() {
    ContainerId id = ContainerId.newContainerId(container.getId().getApplicationAttemptId(), 4711);
    return Container.newInstance(id, container.getNodeId(), "", container.getResource(), container.getPriority(), null, ExecutionType.GUARANTEED);
  }

  /** change requests one update of a container in its version and writes down the result. */
  private void change(String what, Container of, ContainerUpdateType type, long mb) throws Exception {
    client.requestContainerUpdate(of, UpdateContainerRequest.newInstance(of.getVersion(), of.getId(), type, Resource.newInstance(mb, 1), null));
    for (;;) {
      AllocateResponse reply = client.allocate(0.5f);
      for (UpdateContainerError e : reply.getUpdateErrors()) {
        lines.say("said %s: error %s, current version %d", what, e.getReason(), e.getCurrentContainerVersion());
      }
      for (UpdatedContainer u : reply.getUpdatedContainers()) {
        container = u.getContainer();
        lines.say("said %s: %s to %d MB version %d", what, u.getUpdateType(), container.getResource().getMemorySize(), container.getVersion());
        if (u.getUpdateType() == ContainerUpdateType.INCREASE_RESOURCE) {
          nodes.updateContainerResource(container);
        }
        while (status().getCapability().getMemorySize() != container.getResource().getMemorySize()) {
          Thread.sleep(100);
        }
        lines.say("said %s: its node agrees", what);
        Thread.sleep(3000); // until its node has reported the change
      }
      if (!reply.getUpdateErrors().isEmpty() || !reply.getUpdatedContainers().isEmpty()) {
        return;
      }
      Thread.sleep(100);
    }
  }
}
