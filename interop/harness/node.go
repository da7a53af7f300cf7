package harness

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"rmd/internal/portblock"
)

// Node is a NodeManager. Kill does not end its containers. Start after Kill recovers them.
type Node struct {
	Process
	RPC, Web                      int
	localizer, shuffle, collector int
	spark                         int // port of Spark's shuffle service
	hadoop                        Install
	proxy                         int
	c                             *Cluster
}

func newNode(c *Cluster, i int) *Node {
	name := fmt.Sprintf("nm%d", i)
	n := &Node{c: c, hadoop: c.Install}
	if i <= len(c.NodeHadoop) {
		n.hadoop = FetchVersion(c.t, c.NodeHadoop[i-1])
	}
	n.Process = c.daemon(&n.hadoop, c.t, name, name, "200m", true, "org.apache.hadoop.yarn.server.nodemanager.NodeManager")
	n.RPC, n.Web = c.port(name+".rpc"), c.port(name+".web")
	n.localizer, n.shuffle = c.port(name+".localizer"), c.port(name+".shuffle")
	n.collector, n.proxy = c.port(name+".collector"), c.port(name+".proxy")
	if c.Spark {
		n.serveSpark()
	}
	for _, d := range []string{"local", "logs", "recovery"} {
		c.folder(name, d)
	}
	return n
}

// ID returns the node id at the ResourceManager, which uses the host name of 127.0.0.1.
func (n *Node) ID() string { return fmt.Sprintf("localhost:%d", n.RPC) }

// site sets the NodeManager's properties in yarn-site.xml.
func (n *Node) site(s *settings) {
	const at = "yarn.nodemanager."
	s.set(at+"hostname", "127.0.0.1")
	s.set(at+"address", portblock.Loopback(n.RPC))
	s.set(at+"webapp.address", portblock.Loopback(n.Web))
	s.set(at+"localizer.address", portblock.Loopback(n.localizer))
	s.set(at+"collector-service.address", portblock.Loopback(n.collector))
	s.set(at+"amrmproxy.address", portblock.Loopback(n.proxy))
	s.set(at+"local-dirs", n.c.path(n.Name, "local"))
	s.set(at+"log-dirs", n.c.path(n.Name, "logs"))
	s.set(at+"remote-app-log-dir", n.c.path("tmp", "app-logs"))
	s.setInt(at+"resource.memory-mb", n.c.NodeMB)
	s.setInt(at+"resource.cpu-vcores", n.c.NodeVcores)
	s.set(at+"recovery.enabled", "true")
	s.set(at+"recovery.dir", n.c.path(n.Name, "recovery"))
	s.set(at+"aux-services", "mapreduce_shuffle")
	s.set(at+"aux-services.mapreduce_shuffle.class", "org.apache.hadoop.mapred.ShuffleHandler")
	s.set(at+"env-whitelist", "JAVA_HOME,PATH,LANG,TZ,KRB5_CONFIG,JAVA_TOOL_OPTIONS,"+sparkPort)
	if n.c.Spark {
		n.sparkSite(s)
	}
	// Containers use less memory than they request, on every machine.
	s.set(at+"pmem-check-enabled", "false")
	s.set(at+"vmem-check-enabled", "false")
	// A nearly full disk must not make the node unhealthy.
	s.set(at+"disk-health-checker.max-disk-utilization-per-disk-percentage", "99.9")
}

// Use makes the next start run the NodeManager of another version of Hadoop, on the same folders.
func (n *Node) Use(version string) {
	n.t.Helper()
	n.hadoop = FetchVersion(n.t, version)
}

const registered = "Registered with ResourceManager as"

// AwaitRegistered waits until the current run has registered.
func (n *Node) AwaitRegistered() {
	n.t.Helper()
	n.AwaitLogged(regexp.QuoteMeta(registered), 2*time.Minute)
}

// Resyncs returns how often a ResourceManager made the node register again.
func (n *Node) Resyncs() int {
	return strings.Count(n.Logged(), "is out of sync with ResourceManager")
}

// Registrations returns how often the current run has registered.
func (n *Node) Registrations() int { return strings.Count(n.LoggedNow(), registered) }

var startRequest = regexp.MustCompile(`Start request for (container_\w+)`)

// Started returns the containers that the node was ordered to start, in order. A container that was
// ordered twice is in the list twice.
func (n *Node) Started() []string {
	var out []string
	for _, m := range startRequest.FindAllStringSubmatch(n.Logged(), -1) {
		out = append(out, m[1])
	}
	return out
}

// Running returns the containers with a process. The node has stored their process ids, so that it
// can recover them.
func (n *Node) Running() []string {
	files, err := filepath.Glob(n.c.path(n.Name, "local", "nmPrivate", "*", "*", "*.pid"))
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range files {
		out = append(out, filepath.Base(filepath.Dir(f)))
	}
	return out
}

// Started returns the containers that any node was ordered to start.
func (c *Cluster) Started() []string {
	var out []string
	for _, n := range c.Nodes {
		out = append(out, n.Started()...)
	}
	return out
}

// Of returns the ids of the containers of one application.
func Of(containers []string, app string) []string {
	var out []string
	mark := strings.TrimPrefix(app, "application")
	for _, id := range containers {
		if strings.Contains(id, mark+"_") {
			out = append(out, id)
		}
	}
	return out
}

// Distinct returns the number of different strings.
func Distinct(all []string) int {
	seen := map[string]bool{}
	for _, s := range all {
		seen[s] = true
	}
	return len(seen)
}

// History is the JobHistoryServer. MapReduce clients ask it for the result of a job.
type History struct {
	Process
	Web        int
	rpc, admin int
}

func newHistory(c *Cluster) *History {
	h := &History{Process: c.daemon(&c.Install, c.t, "history", "history", "200m", true,
		"org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer")}
	h.rpc, h.Web, h.admin = c.port("history.rpc"), c.port("history.web"), c.port("history.admin")
	return h
}

func (h *History) awaitOpen() {
	h.t.Helper()
	h.awaitPort(h.rpc, 2*time.Minute)
	h.awaitPort(h.Web, 2*time.Minute)
}

// Destroy kills the NodeManager and all its containers, like a machine that loses power.
func (n *Node) Destroy() {
	n.Kill()
	sweep(n.c.path(n.Name))
}
