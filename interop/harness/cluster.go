package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/internal/portblock"
)

// Kind says which ResourceManager a cluster has.
type Kind string

// The kinds.
const (
	RMD    Kind = "rmd"     // replicas of rmd
	Java   Kind = "java"    // one Java ResourceManager with a store on disk
	JavaHA Kind = "java-ha" // several, with ZooKeeper
)

// Options say what a cluster consists of. The zero value of a field stands for
// its default.
type Options struct {
	Kind       Kind // RMD
	Managers   int  // 3; Java has 1
	Nodes      int  // 2
	NodeMB     int  // 4096
	NodeVcores int  // 4
	History    bool // with a JobHistoryServer, which MapReduce clients need
	Spark      bool // NodeManagers run Spark's shuffle service
	// Tuned gives clients, NodeManagers and ApplicationMasters the settings
	// advised for quick failover; otherwise they are Hadoop's defaults.
	Tuned bool
	// Heap is of a Java ResourceManager: 512m.
	Heap string
	// Quick gives the replicas the shortest advised Raft timers.
	Quick bool
	// Site has further properties of yarn-site.xml, by name; Scheduler those of
	// capacity-scheduler.xml, by what follows yarn.scheduler.capacity.
	Site, Scheduler map[string]string
	// Extra is a folder with files of Hadoop whose properties are added to those of every process, and,
	// in folders with the names of processes, of one.
	Extra string
	// OwnQueues has the queues of Extra stand alone, without those of the harness.
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
	return o
}

// Cluster is one Hadoop on this machine.
type Cluster struct {
	Options
	Install
	Dir      string // everything of it lies here
	Managers []*Manager
	Nodes    []*Node
	History  *History

	t     testing.TB
	ports *portblock.Block
	names map[int]string // what Normal calls a port
	zoo   *zookeeper
	began map[string]int // how often a name was used for a log
}

// DefaultKind is the kind that RMD_INTEROP_RM names, else RMD.
func DefaultKind() Kind {
	if k := os.Getenv("RMD_INTEROP_RM"); k != "" {
		return Kind(k)
	}
	return RMD
}

// Start runs a cluster and waits until one ResourceManager is active and every
// NodeManager has registered with it.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	c := New(t, o)
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

// New lays out a cluster; nothing runs yet.
func New(t testing.TB, o Options) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "rmd-interop-")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Options: o.filled(), Install: Fetch(t), Dir: dir, t: t, ports: portblock.Open(t), names: map[int]string{}, began: map[string]int{}}
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
	c.render()
	return c
}

// path is a place in the cluster's folder.
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

// end ends everything that the cluster started: NodeManagers first, for one that
// cannot tell its ResourceManager good-bye waits.
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

// report shows what the daemons complained of.
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

// port is the next free port of the cluster's block; name is what Normal calls it.
func (c *Cluster) port(name string) int {
	p := c.ports.Take()
	c.names[p] = name
	return p
}
