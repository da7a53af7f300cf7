package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/internal/portblock"
)

// Kind is the kind of ResourceManager of a cluster.
type Kind string

// The kinds.
const (
	RMD    Kind = "rmd"     // replicas of rmd
	Java   Kind = "java"    // one Java ResourceManager with its state store on disk
	JavaHA Kind = "java-ha" // several Java ResourceManagers with ZooKeeper
)

// Options configures a cluster. The comments name the defaults of zero values.
type Options struct {
	Kind       Kind // RMD
	Managers   int  // 3; Java has 1
	Nodes      int  // 2
	NodeMB     int  // 4096
	NodeVcores int  // 4
	History    bool // with a JobHistoryServer, which MapReduce clients need
	Spark      bool // NodeManagers run Spark's shuffle service
	// NodeHadoop has the versions of Hadoop of the first NodeManagers. The others, and everything else,
	// have that of RMD_INTEROP_HADOOP.
	NodeHadoop []string
	// Tuned gives clients, NodeManagers and ApplicationMasters the settings recommended for quick
	// failover. Otherwise they have Hadoop's defaults.
	Tuned bool
	// Heap is the heap size of a Java ResourceManager: 512m.
	Heap string
	// Quick gives the replicas the shortest recommended Raft timers.
	Quick bool
	// Site has additional properties of yarn-site.xml by name. Scheduler has those of
	// capacity-scheduler.xml by the part of the name after "yarn.scheduler.capacity.".
	Site, Scheduler map[string]string
	// Extra is a folder with Hadoop files. Their properties are added to those of every process.
	// Files in a subfolder with the name of a process are only for that process.
	Extra string
	// Environment has additional variables of the environment of every process, NAME=VALUE.
	Environment []string
	HDFS        bool      // the file system is an HDFS, not this machine's
	NameNodes   int       // 1
	Kerberos    *Kerberos // not behind Kerberos
	// OwnQueues uses only the queues of Extra, without those of the harness.
	OwnQueues bool
}

func (o Options) filled() Options {
	set := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	if o.Kind == "" {
		o.Kind = RMD
	}
	if o.Kind == Java {
		o.Managers = 1
	}
	if o.Heap == "" {
		o.Heap = "512m"
	}
	set(&o.Managers, 3)
	set(&o.Nodes, 2)
	set(&o.NodeMB, 4096)
	set(&o.NodeVcores, 4)
	set(&o.NameNodes, 1)
	return o
}

// Cluster is one Hadoop cluster on this machine.
type Cluster struct {
	Options
	Install
	Dir        string // contains all files of the cluster
	Managers   []*Manager
	Nodes      []*Node
	History    *History
	FileSystem *HDFS // nil without HDFS

	t     testing.TB
	ports *portblock.Block
	names map[int]string // names of ports for Normal
	zoo   *zookeeper
	began map[string]int // number of logs by name
}

// DefaultKind returns the kind in RMD_INTEROP_RM, or RMD.
func DefaultKind() Kind {
	if k := os.Getenv("RMD_INTEROP_RM"); k != "" {
		return Kind(k)
	}
	return RMD
}

// Start runs a cluster. It waits until one ResourceManager is active and every NodeManager has
// registered.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	c := New(t, o)
	if c.FileSystem != nil {
		c.FileSystem.start()
	}
	c.StartManagers()
	for _, n := range c.Nodes {
		n.Start()
	}
	if c.History != nil {
		c.History.Start()
	}
	for _, n := range c.Nodes {
		n.AwaitRegistered()
	}
	if c.History != nil {
		c.History.awaitOpen()
	}
	c.AwaitNodes(len(c.Nodes), time.Minute)
	return c
}

// New creates the files of a cluster. It starts nothing.
func New(t testing.TB, o Options) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "rmd-interop-")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Options: o.filled(), Install: Fetch(t), Dir: dir, t: t, ports: portblock.Open(t),
		names: map[int]string{}, began: map[string]int{}}
	t.Cleanup(c.end)
	for _, d := range []string{"conf", "log", "home", "staging", "tmp"} {
		c.folder(d)
	}
	for i := range c.Options.Managers {
		c.Managers = append(c.Managers, newManager(c, i+1))
	}
	if c.Kind == JavaHA {
		c.zoo = newZookeeper(c)
	}
	for i := range c.Options.Nodes {
		c.Nodes = append(c.Nodes, newNode(c, i+1))
	}
	if c.Options.History {
		c.History = newHistory(c)
	}
	if c.Options.HDFS {
		c.FileSystem = newHDFS(c)
	}
	if c.Kerberos != nil {
		c.secure()
	}
	c.render()
	return c
}

// path returns a path in the cluster's folder.
func (c *Cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

func (c *Cluster) folder(parts ...string) string {
	c.t.Helper()
	d := c.path(parts...)
	if err := os.MkdirAll(d, 0o755); err != nil {
		c.t.Fatal(err)
	}
	return d
}

// end stops all processes of the cluster. NodeManagers are first, because they would wait if they
// could not unregister at a ResourceManager.
func (c *Cluster) end() {
	for _, n := range c.Nodes {
		n.Kill()
	}
	if c.History != nil {
		c.History.Kill()
	}
	for _, m := range c.Managers {
		m.Kill()
	}
	if c.zoo != nil {
		c.zoo.Kill()
	}
	if c.FileSystem != nil {
		c.FileSystem.data.Kill()
		for _, n := range c.FileSystem.names {
			n.Kill()
		}
	}
	sweep(c.Dir)
	if c.t.Failed() {
		c.report()
	}
	if os.Getenv("RMD_INTEROP_KEEP") != "" {
		c.t.Logf("kept: %s", c.Dir)
		return
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		c.t.Logf("remove %s: %v", c.Dir, err)
	}
}

// report logs errors of the daemons.
func (c *Cluster) report() {
	logs, err := filepath.Glob(c.path("log", "*.log"))
	if err != nil {
		return
	}
	for _, log := range logs {
		b, err := os.ReadFile(log)
		if err != nil {
			continue
		}
		var bad []string
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, " WARN ") || strings.Contains(line, " ERROR ") || strings.Contains(line, "Exception") {
				bad = append(bad, strings.TrimRight(line, "\n"))
			}
		}
		if len(bad) > 0 {
			c.t.Logf("%s:\n%s", filepath.Base(log), strings.Join(bad[max(0, len(bad)-15):], "\n"))
		}
	}
}

// port returns the next free port of the cluster's block. name replaces the port in Normal.
func (c *Cluster) port(name string) int {
	p := c.ports.Take()
	c.names[p] = name
	return p
}
