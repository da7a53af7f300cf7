package rmd.hadooptests;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.authentication.KerberosTestUtils;
import org.apache.hadoop.yarn.conf.HAUtil;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Three processes of rmd. The first ones are the ResourceManagers that the test asked for, at their
 * ids and ports; when it asked for two, the third is a voter that no client knows. The system
 * property rmd.bin names the program, rmd.kill the seconds between two kills of the leader,
 * rmd.scheduling the setting of that name.
 */
public final class Replicas {
  private static final int COUNT = 3;
  private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(60);

  private final class Replica {
    private final String id;
    private final File dir;
    private final int peer = freePort();
    private final int web;
    private Process process;

    Replica(String id, int web) {
      this.id = id;
      this.web = web;
      dir = new File(root, id);
    }

    boolean answers(String path) {
      if (process == null || !process.isAlive()) {
        return false;
      }
      try {
        HttpURLConnection c = (HttpURLConnection) new URL("http://127.0.0.1:" + web + path).openConnection();
        c.setConnectTimeout(1000);
        c.setReadTimeout(1000);
        return c.getResponseCode() == 200;
      } catch (IOException e) {
        return false;
      }
    }
  }

  private final File root;
  private final int known; // to clients
  private final boolean kerberos; // over HTTP
  private final List<Replica> all = new ArrayList<>();
  private Thread killer;

  /** Lays out the replicas and writes their addresses into the configuration of the test. */
  public Replicas(File root, int managers, Configuration conf) throws IOException {
    this.root = root;
    kerberos = "kerberos".equals(conf.get("hadoop.http.authentication.type"));
    known = managers == 1 ? COUNT : managers;
    List<String> ids = new ArrayList<>(conf.getStringCollection(YarnConfiguration.RM_HA_IDS));
    boolean fixed = ids.size() == known
        && conf.getBoolean(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, false);
    if (ids.size() != known) {
      ids.clear();
      for (int i = 0; i < known; i++) {
        ids.add("rm" + i);
      }
    }
    conf.setBoolean(YarnConfiguration.RM_HA_ENABLED, true);
    conf.set(YarnConfiguration.RM_HA_IDS, String.join(",", ids));
    conf.setIfUnset(YarnConfiguration.RM_CLUSTER_ID, "hadoop-tests");
    conf.setIfUnset(YarnConfiguration.CLIENT_FAILOVER_SLEEPTIME_BASE_MS, "50");
    conf.setIfUnset(YarnConfiguration.CLIENT_FAILOVER_SLEEPTIME_MAX_MS, "200");
    Configuration hidden = new Configuration(conf); // where the voter that no client knows is
    for (int i = 0; i < COUNT; i++) {
      String id = i < known ? ids.get(i) : "hidden";
      Configuration to = i < known ? conf : hidden;
      if (!fixed || i >= known) {
        for (String key : YarnConfiguration.getServiceAddressConfKeys(conf)) {
          to.set(HAUtil.addSuffix(key, id), "127.0.0.1:" + freePort());
        }
      }
      all.add(new Replica(id, port(to.get(HAUtil.addSuffix(YarnConfiguration.RM_WEBAPP_ADDRESS, id)))));
    }
    for (int i = 0; i < COUNT; i++) {
      configure(all.get(i), i < known ? conf : hidden, ids);
    }
  }

  /** A port that was free a moment ago and that no other call returns. */
  public static int freePort() {
    try (ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return GIVEN.add(s.getLocalPort()) ? s.getLocalPort() : freePort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int port(String address) {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /** Writes what one replica reads: Hadoop's files as the test has them, and rmd.yaml. */
  private void configure(Replica r, Configuration conf, List<String> ids) throws IOException {
    File hadoop = new File(r.dir, "conf");
    File data = new File(r.dir, "data");
    if (!hadoop.mkdirs() || !data.mkdirs()) {
      throw new IOException("cannot make " + r.dir);
    }
    Files.setPosixFilePermissions(data.toPath(), java.nio.file.attribute.PosixFilePermissions.fromString("rwx------"));
    Configuration site = new Configuration(false);
    Configuration scheduler = new Configuration(false);
    scheduler.addResource("capacity-scheduler.xml");
    for (Map.Entry<String, String> e : conf) {
      String[] from = conf.getPropertySources(e.getKey());
      if (from != null && from.length > 0 && from[from.length - 1].endsWith("-default.xml")) {
        continue;
      }
      (e.getKey().startsWith("yarn.scheduler.capacity.") ? scheduler : site).set(e.getKey(), e.getValue());
    }
    for (String key : YarnConfiguration.getServiceAddressConfKeys(conf)) {
      String mine = HAUtil.addSuffix(key, r.id);
      if (conf.get(mine) != null) {
        site.set(mine, "127.0.0.1:" + port(conf.get(mine))); // tests name 0.0.0.0
      }
    }
    if (!ids.contains(r.id)) {
      site.set(YarnConfiguration.RM_HA_IDS, String.join(",", ids) + "," + r.id);
    }
    site.set(YarnConfiguration.RM_HA_ID, r.id);
    site.set(YarnConfiguration.YARN_ADMIN_ACL, "*");
    write(site, new File(hadoop, "yarn-site.xml"));
    write(scheduler, new File(hadoop, "capacity-scheduler.xml"));
    List<String> peers = new ArrayList<>();
    for (Replica o : all) {
      peers.add("127.0.0.1:" + o.peer);
    }
    String yaml = "id: " + r.id + "\ndata: " + data + "\nhadoop:\n  conf_dir: " + hadoop
        + "\nraft:\n  listen: 127.0.0.1:" + r.peer + "\n  join: [" + String.join(", ", peers) + "]\n  bootstrap_expect: " + COUNT
        + "\nscheduling: " + System.getProperty("rmd.scheduling", "eager") + "\n";
    Files.write(new File(r.dir, "rmd.yaml").toPath(), yaml.getBytes(StandardCharsets.UTF_8));
  }

  private static void write(Configuration conf, File file) throws IOException {
    try (OutputStream out = new FileOutputStream(file)) {
      conf.writeXml(out);
    }
  }

  public void startAll() throws InterruptedException {
    for (int i = 0; i < COUNT; i++) {
      start(i);
    }
    awaitReady();
    await("a replica leads", () -> leader() != null);
  }

  public synchronized void start(int i) {
    Replica r = all.get(i);
    if (r.process != null && r.process.isAlive()) {
      return;
    }
    ProcessBuilder b = new ProcessBuilder(System.getProperty("rmd.bin"), "server", "--config", new File(r.dir, "rmd.yaml").getPath());
    String krb5 = System.getProperty("java.security.krb5.conf"); // of a KDC that the test has started
    if (krb5 != null) {
      b.environment().put("KRB5_CONFIG", krb5);
    }
    File log = new File(r.dir, "log");
    b.redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(log));
    try {
      r.process = b.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Process p = r.process;
    Runtime.getRuntime().addShutdownHook(new Thread(p::destroyForcibly));
  }

  /** Ends a replica without a word. */
  public synchronized void kill(int i) {
    Process p = all.get(i).process;
    if (p != null) {
      p.destroyForcibly();
      try {
        p.waitFor();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  public void killAll() {
    for (int i = 0; i < COUNT; i++) {
      kill(i);
    }
  }

  public void awaitReady() throws InterruptedException {
    for (Replica r : all) {
      await(r.id + " is ready", () -> {
        if (!r.process.isAlive()) {
          throw new IllegalStateException(r.id + " ended with exit code " + r.process.exitValue() + ", see " + new File(r.dir, "log"));
        }
        return r.answers("/v1/ready");
      });
    }
  }

  private interface Condition {
    boolean holds();
  }

  private static void await(String what, Condition c) throws InterruptedException {
    for (long end = System.nanoTime() + PATIENCE; !c.holds(); Thread.sleep(50)) {
      if (System.nanoTime() > end) {
        throw new IllegalStateException("waited a minute: " + what);
      }
    }
  }

  private Replica leader() {
    for (Replica r : all) {
      if (r.answers("/v1/leader?role=leader")) {
        return r;
      }
    }
    return null;
  }

  /** The users of all applications, by the ids of these, as the first replica shows them to a caller with a ticket. */
  public Map<String, String> users() {
    try {
      return kerberos ? KerberosTestUtils.doAsClient(this::list) : list();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private Map<String, String> list() throws IOException {
    Map<String, String> out = new HashMap<>();
    URL url = new URL("http://localhost:" + all.get(0).web + "/ws/v1/cluster/apps");
    try (InputStream in = url.openStream()) {
      for (JsonNode app : new ObjectMapper().readTree(in).path("apps").path("app")) {
        out.put(app.path("id").asText(), app.path("user").asText());
      }
    }
    return out;
  }

  /** The number of the ResourceManager that leads; -1 when none comes to. One that clients do not know passes it on. */
  public int active() {
    try {
      await("a known replica leads", () -> {
        Replica r = leader();
        for (int i = 0; i < known && r != null && all.indexOf(r) >= known; i++) {
          if (ask(all.get(i))) {
            r = all.get(i);
          }
        }
        return r != null && all.indexOf(r) < known;
      });
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return -1;
    } catch (IllegalStateException e) {
      return -1;
    }
    return all.indexOf(leader());
  }

  public boolean leads(int i) {
    return all.get(i).answers("/v1/leader?role=leader");
  }

  /** Makes one replica the leader, as YARN's transitionToActive does; false when it does not come to lead. */
  public boolean transfer(int i) {
    try {
      await(all.get(i).id + " leads", () -> ask(all.get(i)));
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IllegalStateException e) {
      System.err.println(e);
    }
    return false;
  }

  /** Asks for a transfer of the leadership to a replica; false when that was refused. */
  private boolean ask(Replica to) {
    if (to.answers("/v1/leader?role=leader")) {
      return true;
    }
    if (!to.answers("/v1/ready")) {
      return false;
    }
    List<String> addresses = new ArrayList<>();
    for (Replica r : all) {
      addresses.add("127.0.0.1:" + r.web);
    }
    try {
      Process p = new ProcessBuilder(System.getProperty("rmd.bin"), "cluster", "transfer", to.id,
          "--addr", String.join(",", addresses), "--timeout", "10s").redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.appendTo(new File(root, "transfer.log"))).start();
      p.waitFor();
      return to.answers("/v1/leader?role=leader");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Begins to kill the leader every rmd.kill seconds. The killed replica comes back a second later. */
  public synchronized void startKilling() {
    long every = TimeUnit.SECONDS.toMillis(Long.getLong("rmd.kill", 0));
    if (every == 0 || killer != null) {
      return;
    }
    killer = new Thread(() -> {
      try {
        while (true) {
          Thread.sleep(every - 1000);
          awaitReady(); // a majority lives through the next kill
          Replica r = leader();
          if (r != null) {
            kill(all.indexOf(r));
            Run.killed();
            Thread.sleep(1000);
            start(all.indexOf(r));
          }
        }
      } catch (InterruptedException e) {
        // calm
      }
    }, "kills the leader");
    killer.setDaemon(true);
    killer.start();
  }

  /** Ends the killing and brings back what is missing, so that NodeManagers can say good-bye. */
  public void calm() throws InterruptedException {
    Thread k;
    synchronized (this) {
      k = killer;
      killer = null;
    }
    if (k != null) {
      k.interrupt();
      k.join();
    }
    if (all.get(0).process != null) {
      startAll();
    }
  }
}
