package rmd.interop;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.LocalResource;
import org.apache.hadoop.yarn.api.records.LocalResourceType;
import org.apache.hadoop.yarn.api.records.LocalResourceVisibility;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.URL;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.security.AMRMTokenIdentifier;

/**
 * Stream is an ApplicationMaster that runs one container after the other, each with a file of its
 * own from the cluster's file system, which the NodeManager brings with the tokens of the
 * application. args: REPORT MB MILLIS FOLDER. MILLIS is the time from one request to the next, and
 * FOLDER has the files. It lists them at its start, and needs no token itself afterwards. It
 * finishes when the file REPORT.stop exists and the last container has ended, or when it has no
 * more files.
 */
public final class Stream {
  private final AMRMClient<ContainerRequest> client = AMRMClient.createAMRMClient();
  private final NMClient nodes = NMClient.createNMClient();
  private final Lines lines;
  private final FileStatus[] files;
  private final byte[] tokens;
  private final Queue<ContainerRequest> requests = new ArrayDeque<>();
  private final Set<ContainerId> running = new HashSet<>();
  private int used;
  private int open;

  private Stream(Lines lines, FileStatus[] files, byte[] tokens) {
    this.lines = lines;
    this.files = files;
    this.tokens = tokens;
  }

  public static void main(String[] args) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    Path folder = new Path(args[3]);
    Stream s = new Stream(new Lines(args[0]), folder.getFileSystem(conf).listStatus(folder), tokens());
    FileSystem.closeAll();
    s.client.init(conf);
    s.client.start();
    s.nodes.init(conf);
    s.nodes.start();
    s.client.registerApplicationMaster("localhost", 0, "");
    s.lines.say("registered %d", s.files.length);
    s.run(new File(args[0] + ".stop"), Resource.newInstance(Long.parseLong(args[1]), 1), Long.parseLong(args[2]));
    s.client.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
    s.lines.say("finished");
    System.exit(0);
  }

  /** tokens returns the tokens of this process, but that for the ResourceManager. */
  private static byte[] tokens() throws IOException {
    Credentials own = UserGroupInformation.getCurrentUser().getCredentials();
    Credentials out = new Credentials();
    for (Token<?> t : own.getAllTokens()) {
      if (!t.getKind().equals(AMRMTokenIdentifier.KIND_NAME)) {
        out.addToken(new Text(t.getService()), t);
      }
    }
    DataOutputBuffer b = new DataOutputBuffer();
    out.writeTokenStorageToStream(b);
    return Arrays.copyOf(b.getData(), b.getLength());
  }

  private void run(File stop, Resource size, long millis) throws Exception {
    long next = System.currentTimeMillis();
    int asked = 0;
    while (true) {
      boolean last = stop.exists() || asked >= files.length;
      if (last && open == 0) {
        return;
      }
      if (!last && System.currentTimeMillis() >= next) {
        ContainerRequest r = new ContainerRequest(size, null, null, Priority.newInstance(1));
        requests.add(r);
        client.addContainerRequest(r);
        asked++;
        open++;
        next = Math.max(next + millis, System.currentTimeMillis());
      }
      AllocateResponse reply = client.allocate(0.5f);
      for (Container c : reply.getAllocatedContainers()) {
        take(c);
      }
      for (ContainerStatus st : reply.getCompletedContainersStatuses()) {
        if (running.remove(st.getContainerId())) {
          open--;
        }
        lines.say("ended %s %d %s", st.getContainerId(), st.getExitStatus(), st.getDiagnostics().replaceAll("\\s+", " "));
      }
      Thread.sleep(500);
    }
  }

  private void take(Container c) {
    if (requests.isEmpty()) { // the request was served twice
      client.releaseAssignedContainer(c.getId());
      return;
    }
    client.removeContainerRequest(requests.remove());
    FileStatus f = files[used++];
    running.add(c.getId());
    LocalResource input = LocalResource.newInstance(URL.fromPath(f.getPath()), LocalResourceType.FILE, LocalResourceVisibility.APPLICATION,
        f.getLen(), f.getModificationTime());
    try {
      nodes.startContainer(c, ContainerLaunchContext.newInstance(Collections.singletonMap("input", input), new HashMap<>(),
          Collections.singletonList("cat input 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr && sleep 4"), null, ByteBuffer.wrap(tokens), null));
      lines.say("started %s %s", c.getId(), f.getPath().getName());
    } catch (YarnException | IOException e) {
      lines.say("refused %s %s", c.getId(), e.toString().replaceAll("\\s+", " "));
      client.releaseAssignedContainer(c.getId());
    }
  }
}
