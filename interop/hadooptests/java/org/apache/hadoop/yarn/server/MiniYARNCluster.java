package org.apache.hadoop.yarn.server;

import java.io.File;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.service.AbstractService;
import org.apache.hadoop.service.CompositeService;
import org.apache.hadoop.service.Service;
import org.apache.hadoop.test.GenericTestUtils;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.applicationhistoryservice.ApplicationHistoryServer;
import org.apache.hadoop.yarn.server.applicationhistoryservice.ApplicationHistoryStore;
import org.apache.hadoop.yarn.server.applicationhistoryservice.MemoryApplicationHistoryStore;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.timeline.MemoryTimelineStore;
import org.apache.hadoop.yarn.server.timeline.TimelineStore;
import org.apache.hadoop.yarn.server.timeline.recovery.MemoryTimelineStateStore;
import org.apache.hadoop.yarn.server.timeline.recovery.TimelineStateStore;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;
import org.apache.hadoop.yarn.util.timeline.TimelineUtils;
import org.apache.hadoop.yarn.webapp.util.WebAppUtils;
import rmd.hadooptests.Inside;
import rmd.hadooptests.Replicas;

/**
 * The cluster that Hadoop's tests start, with the face of Hadoop's own class of this name. Its
 * ResourceManagers are three processes of rmd; its NodeManagers are Hadoop's, in this JVM, and talk
 * to rmd over the wire.
 */
public class MiniYARNCluster extends CompositeService {
  static {
    DefaultMetricsSystem.setMiniClusterMode(true);
  }

  private final int managers;
  private final NodeManager[] nodes;
  private final int localDirs;
  private final int logDirs;
  private final boolean history;
  private final File dir;
  private boolean nodeWeb = true;
  private Replicas replicas;
  private Inside inside;
  private ApplicationHistoryServer historyServer;

  public MiniYARNCluster(String name, int managers, int nodes, int localDirs, int logDirs, boolean history) {
    super(name.replace("$", ""));
    this.managers = managers;
    this.nodes = new NodeManager[nodes];
    this.localDirs = localDirs;
    this.logDirs = logDirs;
    this.history = history;
    dir = new File(GenericTestUtils.getTestDir(getName()), "yarn-" + System.nanoTime());
    FileUtil.fullyDelete(dir);
    dir.mkdirs();
  }

  public MiniYARNCluster(String name, int managers, int nodes, int localDirs, int logDirs) {
    this(name, managers, nodes, localDirs, logDirs, false);
  }

  public MiniYARNCluster(String name, int nodes, int localDirs, int logDirs) {
    this(name, 1, nodes, localDirs, logDirs);
  }

  public MiniYARNCluster(String name, int nodes, int localDirs, int logDirs, boolean nodeWeb) {
    this(name, 1, nodes, localDirs, logDirs);
    this.nodeWeb = nodeWeb;
  }

  @Override
  public void serviceInit(Configuration conf) throws Exception {
    conf.setBoolean(YarnConfiguration.IS_MINI_YARN_CLUSTER, true);
    ResourceUtils.resetResourceTypes(conf);
    boolean timeline = history
        || conf.getBoolean(YarnConfiguration.TIMELINE_SERVICE_ENABLED, YarnConfiguration.DEFAULT_TIMELINE_SERVICE_ENABLED);
    if (timeline) {
      conf.set(YarnConfiguration.TIMELINE_SERVICE_ADDRESS, getHostname() + ":0");
      conf.set(YarnConfiguration.TIMELINE_SERVICE_WEBAPP_ADDRESS, getHostname() + ":" + Replicas.freePort());
    }
    replicas = new Replicas(new File(dir, "rmd"), managers, conf);
    inside = new Inside(this, replicas);
    addService(new Managers());
    for (int i = 0; i < nodes.length; i++) {
      addService(new Node(i));
    }
    if (timeline) {
      addService(new History());
    }
    super.serviceInit(conf instanceof YarnConfiguration ? conf : new YarnConfiguration(conf));
  }

  @Override
  protected synchronized void serviceStart() throws Exception {
    super.serviceStart();
    waitForNodeManagersToConnect(60_000);
    replicas.startKilling();
  }

  @Override
  protected void serviceStop() throws Exception {
    if (replicas != null) {
      replicas.calm();
    }
    if (inside != null) {
      inside.close();
    }
    super.serviceStop();
  }

  public File getTestWorkDir() {
    return dir;
  }

  public static String getHostname() {
    return "localhost";
  }

  public int getNumOfResourceManager() {
    return managers;
  }

  public NodeManager getNodeManager(int i) {
    return nodes[i];
  }

  public NodeManager[] nodeManagers() {
    return nodes;
  }

  public int getActiveRMIndex() {
    return managers == 1 ? 0 : replicas.active();
  }

  public ResourceManager getResourceManager() {
    return inside.manager(getActiveRMIndex());
  }

  public ResourceManager getResourceManager(int i) {
    return inside.manager(i);
  }

  public void stopResourceManager(int i) {
    replicas.kill(i);
  }

  public void restartResourceManager(int i) throws InterruptedException {
    replicas.kill(i);
    replicas.start(i);
    replicas.awaitReady();
  }

  public ApplicationHistoryServer getApplicationHistoryServer() {
    return historyServer;
  }

  /** Says whether all NodeManagers run, for the ResourceManager, within a time in milliseconds. */
  public boolean waitForNodeManagersToConnect(long timeout) throws YarnException, InterruptedException {
    for (long end = System.nanoTime() + timeout * 1_000_000; System.nanoTime() < end; Thread.sleep(20)) {
      if (inside.runningNodes() == nodes.length) {
        return true;
      }
    }
    return false;
  }

  private final class Managers extends AbstractService {
    Managers() {
      super("rmd");
    }

    @Override
    protected void serviceStart() throws Exception {
      replicas.startAll();
      super.serviceStart();
    }

    @Override
    protected void serviceStop() throws Exception {
      replicas.killAll();
      super.serviceStop();
    }
  }

  private final class Node extends AbstractService {
    private final int index;

    Node(int index) {
      super("NodeManager " + index);
      this.index = index;
      nodes[index] = new NodeManager() {
        @Override
        protected void doSecureLogin() throws IOException {
          // tests have no keytab
        }
      };
    }

    @Override
    protected void serviceInit(Configuration shared) throws Exception {
      Configuration conf = new YarnConfiguration(shared);
      conf.set(YarnConfiguration.NM_LOCAL_DIRS, dirs("local", localDirs));
      conf.set(YarnConfiguration.NM_LOG_DIRS, dirs("log", logDirs));
      conf.setInt(YarnConfiguration.NM_PMEM_MB, conf.getInt(
          YarnConfiguration.YARN_MINICLUSTER_NM_PMEM_MB, YarnConfiguration.DEFAULT_YARN_MINICLUSTER_NM_PMEM_MB));
      conf.set(YarnConfiguration.NM_ADDRESS, getHostname() + ":0");
      conf.set(YarnConfiguration.NM_LOCALIZER_ADDRESS, getHostname() + ":0");
      conf.set(YarnConfiguration.NM_COLLECTOR_SERVICE_ADDRESS, getHostname() + ":" + Replicas.freePort());
      WebAppUtils.setNMWebAppHostNameAndPort(conf, getHostname(), 0);
      conf.setBoolean(YarnConfiguration.NM_ENABLE_HARDWARE_CAPABILITY_DETECTION, false);
      if (!conf.getBoolean(YarnConfiguration.YARN_MINICLUSTER_CONTROL_RESOURCE_MONITORING,
          YarnConfiguration.DEFAULT_YARN_MINICLUSTER_CONTROL_RESOURCE_MONITORING)) {
        conf.setBoolean(YarnConfiguration.NM_CONTAINER_MONITOR_ENABLED, false);
        conf.setLong(YarnConfiguration.NM_RESOURCE_MON_INTERVAL_MS, 0);
      }
      nodes[index].init(conf);
      super.serviceInit(conf);
    }

    private String dirs(String kind, int count) {
      StringBuilder all = new StringBuilder();
      for (int i = 0; i < count; i++) {
        File d = new File(dir, MiniYARNCluster.this.getName() + "-" + kind + "Dir-nm-" + index + "_" + i);
        d.mkdirs();
        all.append(i > 0 ? "," : "").append(d.getAbsolutePath());
      }
      return all.toString();
    }

    @Override
    protected void serviceStart() throws Exception {
      if (!nodeWeb) {
        nodes[index].disableWebServer();
      }
      nodes[index].start();
      if (nodes[index].getServiceState() != Service.STATE.STARTED) {
        throw new IOException("NodeManager " + index + " did not start");
      }
      super.serviceStart();
    }

    @Override
    protected void serviceStop() throws Exception {
      nodes[index].stop();
      super.serviceStop();
    }
  }

  private final class History extends AbstractService {
    History() {
      super("ApplicationHistoryServer");
    }

    @Override
    protected void serviceInit(Configuration conf) throws Exception {
      historyServer = new ApplicationHistoryServer();
      conf.setClass(YarnConfiguration.APPLICATION_HISTORY_STORE,
          MemoryApplicationHistoryStore.class, ApplicationHistoryStore.class);
      if (!TimelineUtils.timelineServiceV1_5Enabled(conf)) {
        conf.setClass(YarnConfiguration.TIMELINE_SERVICE_STORE, MemoryTimelineStore.class, TimelineStore.class);
      }
      conf.setClass(YarnConfiguration.TIMELINE_SERVICE_STATE_STORE_CLASS,
          MemoryTimelineStateStore.class, TimelineStateStore.class);
      historyServer.init(conf);
      super.serviceInit(conf);
    }

    @Override
    protected void serviceStart() throws Exception {
      historyServer.start();
      if (historyServer.getServiceState() != Service.STATE.STARTED) {
        throw new IOException("ApplicationHistoryServer did not start", historyServer.getFailureCause());
      }
      super.serviceStart();
    }

    @Override
    protected void serviceStop() throws Exception {
      historyServer.stop();
      super.serviceStop();
    }
  }
}
