package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"rmd/internal/portblock"
)

// Manager is one ResourceManager process: a replica of rmd, or a Java one.
type Manager struct {
	Process
	ID                                string
	Client, Scheduler, Tracker, Admin int
	Web                               int
	https, peer                       int
	witness                           bool
	c                                 *Cluster
}

func newManager(c *Cluster, i int) *Manager {
	m := &Manager{ID: fmt.Sprintf("rm%d", i), c: c}
	take := func(what string) int { return c.port(m.ID + "." + what) }
	m.Client, m.Scheduler, m.Tracker, m.Admin = take("client"), take("scheduler"), take("tracker"), take("admin")
	m.Web, m.https, m.peer = take("web"), take("https"), take("peer")
	if c.Kind == RMD {
		m.Process = c.replica(m)
	} else {
		m.Process = c.java(m)
	}
	return m
}

const resourceManager = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"

// java returns the process of Hadoop's own ResourceManager.
func (c *Cluster) java(m *Manager) Process {
	return c.daemon(&c.Install, c.t, m.ID, m.ID, c.Heap, false, resourceManager)
}

// replica returns the process of an rmd that reads the same folder as the Java ResourceManager with
// its id.
func (c *Cluster) replica(m *Manager) Process {
	bin := Program(c.t)
	log := c.path("log", m.ID+".log")
	return Process{Name: m.ID, Log: log, out: log, t: c.t, start: func() *exec.Cmd {
		cmd := exec.Command(bin, "server", "--config", c.path("conf", m.ID, "rmd.yaml"))
		cmd.Dir, cmd.Env = c.Dir, c.environment()
		return cmd
	}}
}

// configure writes the replica's rmd.yaml, with the settings that are not in Hadoop's files. Unless
// expect is 0, that many replicas bootstrap a cluster.
func (m *Manager) configure(expect int) {
	c := m.c
	var peers []string
	for _, o := range c.Managers {
		peers = append(peers, portblock.Loopback(o.peer))
	}
	timers := ""
	if c.Quick {
		timers = "  heartbeat: 150ms\n  election: 150ms\n  lease: 100ms\n"
	}
	text := fmt.Sprintf("id: %s\ndata: %s\nhadoop:\n  conf_dir: %s\nraft:\n  listen: %s\n  join: [%s]\n  bootstrap_expect: %d\n  allow_even: true\n%s",
		m.ID, c.path("data", m.ID), c.conf(m.ID), portblock.Loopback(m.peer), strings.Join(peers, ", "), expect, timers)
	if m.witness {
		text = strings.Replace(text, "hadoop:\n", "http: {listen: "+portblock.Loopback(m.Web)+"}\nhadoop:\n  ports: false\n", 1)
	}
	data := c.folder("data", m.ID)
	if err := os.Chmod(data, 0o700); err != nil {
		c.t.Fatal(err)
	}
	c.file(text, "conf", m.ID, "rmd.yaml")
}

// StartManagers starts all ResourceManagers and waits until one is active.
func (c *Cluster) StartManagers() {
	c.t.Helper()
	if c.zoo != nil {
		c.zoo.Start()
		c.zoo.awaitPort(c.zoo.port, time.Minute)
	}
	for _, m := range c.Managers {
		if c.Kind == RMD {
			m.configure(len(c.Managers))
		}
		m.Start()
	}
	for _, m := range c.Managers {
		m.AwaitReady()
	}
	c.Active()
}

// AwaitOpen waits until the port of the pages is open.
func (m *Manager) AwaitOpen() { m.t.Helper(); m.awaitPort(m.Web, 2*time.Minute) }

// AwaitReady waits until the process serves its ports.
func (m *Manager) AwaitReady() {
	m.t.Helper()
	if m.c.Kind == RMD {
		Await(m.t, m.ID+" is ready", time.Minute, func() bool { m.mustLive(); return Get(m.Web, "/v1/ready", nil) == nil })
		return
	}
	m.AwaitOpen()
}

// mustLive fails the test if the process has ended.
func (p *Process) mustLive() {
	p.t.Helper()
	if !p.Alive() {
		p.t.Fatalf("%s ended:\n%s\n%s", p.Name, Tail(p.Log, 30), Tail(p.out, 30))
	}
}

func (p *Process) awaitPort(port int, within time.Duration) {
	p.t.Helper()
	Await(p.t, fmt.Sprintf("%s listens on %d", p.Name, port), within, func() bool {
		p.mustLive()
		conn, err := net.DialTimeout("tcp", portblock.Loopback(port), time.Second)
		if err == nil {
			_ = conn.Close() // only checks that the port is open
		}
		return err == nil
	})
}

// active reports whether this ResourceManager is the leader.
func (m *Manager) active() bool {
	if !m.Alive() || m.Held() {
		return false
	}
	if m.c.Kind == RMD {
		return Get(m.Web, "/v1/leader?role=leader", nil) == nil
	}
	var doc struct {
		Info struct {
			State string `json:"haState"`
		} `json:"clusterInfo"`
	}
	return Get(m.Web, "/ws/v1/cluster/info", &doc) == nil && doc.Info.State == "ACTIVE"
}

// Active waits until there is a leader and returns it.
func (c *Cluster) Active() *Manager {
	c.t.Helper()
	var found *Manager
	Await(c.t, "a ResourceManager is active", 2*time.Minute, func() bool {
		for _, m := range c.Managers {
			if m.active() {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// Lead makes one replica of rmd the leader.
func (c *Cluster) Lead(to *Manager) {
	c.t.Helper()
	Await(c.t, to.ID+" leads", time.Minute, func() bool {
		if to.active() {
			return true
		}
		cmd := exec.Command(Program(c.t), "cluster", "transfer", to.ID, "--addr", c.addresses(), "--timeout", "10s")
		cmd.Env = c.environment()
		_ = cmd.Run() // refused while the replica lags; the loop tries again
		return to.active()
	})
}

// addresses returns the addresses of rmd's REST interface.
func (c *Cluster) addresses() string {
	var all []string
	for _, m := range c.Managers {
		all = append(all, portblock.Loopback(m.Web))
	}
	return strings.Join(all, ",")
}

// Connected returns, by ResourceManager, the numbers of connections to the ports for
// ApplicationMasters and for NodeManagers.
func (c *Cluster) Connected() (masters, nodes map[string]int) {
	masters, nodes = map[string]int{}, map[string]int{}
	text := ""
	for _, f := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, _ := os.ReadFile(f) // a machine may have only one of the files
		text += string(b)
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		const established = "01"
		if len(f) < 4 || f[3] != established {
			continue
		}
		port := 0
		if _, err := fmt.Sscanf(f[2][strings.LastIndexByte(f[2], ':')+1:], "%X", &port); err != nil {
			continue
		}
		for _, m := range c.Managers {
			switch port {
			case m.Scheduler:
				masters[m.ID]++
			case m.Tracker:
				nodes[m.ID]++
			}
		}
	}
	return masters, nodes
}

// zookeeper is the ZooKeeper of Java ResourceManagers.
type zookeeper struct {
	Process
	port int
}

func newZookeeper(c *Cluster) *zookeeper {
	z := &zookeeper{port: c.port("zookeeper")}
	tick := 2000
	if c.Tuned {
		tick = 500
	}
	c.file(
		fmt.Sprintf("dataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%d\ntickTime=%d\nadmin.enableServer=false\nmaxClientCnxns=0\n", c.folder("zookeeper"), z.port, tick), "conf", "zookeeper")
	z.Process = c.daemon(&c.Install, c.t, "zookeeper", "client", "128m", true,
		"org.apache.zookeeper.server.ZooKeeperServerMain", c.path("conf", "zookeeper"))
	host, err := os.Hostname()
	if err != nil {
		c.t.Fatal(err)
	}
	c.file("127.0.0.1 localhost "+host+" 127.0.0.1/<unresolved>\n", "conf", "hosts")
	return z
}

// hosts returns the flag of a JVM with which a client of ZooKeeper 3.4 finds the server on JDK 14 and
// later. It takes the text of an unresolved address for the host's name (ZOOKEEPER-3779).
func (c *Cluster) hosts() []string {
	old, _ := filepath.Glob(filepath.Join(c.Jars, "zookeeper-3.4.*.jar")) // the pattern is valid
	if c.zoo == nil || len(old) == 0 {
		return nil
	}
	return []string{"-Djdk.net.hosts.file=" + c.path("conf", "hosts")}
}
