package org.apache.hadoop.yarn.server.resourcemanager;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.service.AbstractService;
import org.apache.hadoop.test.GenericTestUtils;
import org.apache.hadoop.yarn.conf.HAUtil;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import rmd.hadooptests.Inside;
import rmd.hadooptests.Replicas;

/**
 * The ResourceManager that Hadoop's tests of its web services start, with as much of the face of
 * Hadoop's own class of this name as those that ask it over HTTP use. It is three processes of rmd. The
 * first is at the port that the tests name.
 */
public class MockRM extends AbstractService {
  private static final int PORT = 8088;
  private static MockRM last; // a test that fails does not stop it

  private final Replicas replicas;
  private final Inside inside;

  public MockRM(Configuration conf) throws IOException {
    super("MockRM");
    Configuration own = new YarnConfiguration(conf);
    own.unset(YarnConfiguration.RM_SCHEDULER); // tests of the web services name the simplest one
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      String id = "rm" + i;
      ids.add(id);
      for (String key : YarnConfiguration.getServiceAddressConfKeys(own)) {
        boolean named = i == 0 && key.equals(YarnConfiguration.RM_WEBAPP_ADDRESS);
        own.set(HAUtil.addSuffix(key, id), "localhost:" + (named ? PORT : Replicas.freePort()));
      }
    }
    own.set(YarnConfiguration.RM_HA_IDS, String.join(",", ids));
    own.setBoolean(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, true);
    if (own.get(YarnConfiguration.RM_KEYTAB) != null) { // Hadoop's class does not log in
      own.setIfUnset(YarnConfiguration.RM_PRINCIPAL, "HTTP/localhost@EXAMPLE.COM");
    }
    File dir = new File(GenericTestUtils.getTestDir("MockRM"), "rmd-" + System.nanoTime());
    FileUtil.fullyDelete(dir);
    if (!dir.mkdirs()) {
      throw new FileNotFoundException("cannot make " + dir);
    }
    replicas = new Replicas(dir, ids.size(), own);
    inside = new Inside(replicas);
    init(own); // clients read the addresses from it
  }

  private static synchronized void succeed(MockRM next) {
    if (last != null) {
      last.stop();
    }
    last = next;
  }

  @Override
  protected void serviceStart() throws Exception {
    succeed(this);
    replicas.startAll();
    super.serviceStart();
  }

  @Override
  protected void serviceStop() throws Exception {
    replicas.killAll();
    super.serviceStop();
  }

  public RMContext getRMContext() {
    return inside.shown();
  }
}
