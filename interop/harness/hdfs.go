package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"rmd/internal/portblock"
)

// HDFS is the NameNodes and the DataNode of a cluster.
type HDFS struct {
	names                  []*NameNode // the active one first
	data                   Process
	transfer, dataWeb, ipc int
	c                      *Cluster
}

// NameNode is one of two NameNodes of a cluster, or the only one.
type NameNode struct {
	Process
	rpc, web int
	c        *Cluster
}

// The main classes of NameNodes and of the commands for file systems.
const (
	nameNode = "org.apache.hadoop.hdfs.server.namenode.NameNode"
	fsShell  = "org.apache.hadoop.fs.FsShell"
)

func newHDFS(c *Cluster) *HDFS {
	h := &HDFS{c: c}
	for i := range c.Options.NameNodes {
		h.names = append(h.names, newNameNode(c, i+1))
	}
	h.transfer, h.dataWeb, h.ipc = c.port("datanode.transfer"), c.port("datanode.web"), c.port("datanode.ipc")
	h.data = c.daemon(&c.Install, c.t, "datanode", "hdfs", "200m", true, "org.apache.hadoop.hdfs.server.datanode.DataNode")
	return h
}

func newNameNode(c *Cluster, i int) *NameNode {
	n := &NameNode{c: c}
	name := fmt.Sprintf("nn%d", i)
	n.rpc, n.web = c.port(name+".rpc"), c.port(name+".web")
	n.Process = c.daemon(&c.Install, c.t, name, "hdfs", "200m", true, nameNode, n.identity(name)...)
	return n
}

// identity says in the arguments of a program which NameNode it is. Both have the same files, and
// are on the same host.
func (n *NameNode) identity(name string) []string {
	args := []string{"-Ddfs.namenode.name.dir=file://" + n.c.path("tmp", name)}
	if n.c.Options.NameNodes > 1 {
		args = append(args, "-Ddfs.ha.namenode.id="+name)
	}
	return args
}

// nameService is the name of a file system with two NameNodes.
const nameService = "interop"

// pair reports whether there are two NameNodes.
func (h *HDFS) pair() bool { return len(h.names) > 1 }

// uri returns the address of the file system.
func (h *HDFS) uri() string {
	if h.pair() {
		return "hdfs://" + nameService
	}
	return "hdfs://localhost:" + strconv.Itoa(h.names[0].rpc)
}

// site returns hdfs-site.xml.
func (h *HDFS) site() *settings {
	s, c := &settings{}, h.c
	h.addresses(s)
	s.set("dfs.datanode.data.dir", "file://"+c.path("tmp", "data"))
	s.set("dfs.datanode.address", portblock.Loopback(h.transfer))
	s.set("dfs.datanode.http.address", portblock.Loopback(h.dataWeb))
	s.set("dfs.datanode.ipc.address", portblock.Loopback(h.ipc))
	s.setInt("dfs.replication", 1)
	s.setInt("dfs.namenode.safemode.extension", 0)
	if c.Kerberos == nil {
		return s
	}
	s.set("dfs.block.access.token.enable", "true")
	s.set("dfs.data.transfer.protection", c.Kerberos.Protection)
	if life := c.Kerberos.TokenLife; life != 0 {
		s.setInt("dfs.namenode.delegation.token.renew-interval", int(life.Milliseconds()))
	}
	if latest := c.Kerberos.TokenMax; latest != 0 {
		s.setInt("dfs.namenode.delegation.token.max-lifetime", int(latest.Milliseconds()))
	}
	s.set("ignore.secure.ports.for.testing", "true") // the DataNode's pages are not behind TLS
	c.principal(s, "nn", "dfs.namenode.kerberos.principal", "dfs.namenode.keytab.file")
	c.principal(s, "dn", "dfs.datanode.kerberos.principal", "dfs.datanode.keytab.file")
	c.principal(s, "HTTP", "dfs.web.authentication.kerberos.principal", "dfs.web.authentication.kerberos.keytab")
	return s
}

// addresses sets where the NameNodes are. Two of them share a folder with their edits.
func (h *HDFS) addresses(s *settings) {
	if !h.pair() {
		s.set("dfs.namenode.rpc-address", "localhost:"+strconv.Itoa(h.names[0].rpc))
		s.set("dfs.namenode.http-address", portblock.Loopback(h.names[0].web))
		return
	}
	var ids []string
	for _, n := range h.names {
		ids = append(ids, n.Name)
		s.set("dfs.namenode.rpc-address."+nameService+"."+n.Name, "localhost:"+strconv.Itoa(n.rpc))
		s.set("dfs.namenode.http-address."+nameService+"."+n.Name, "localhost:"+strconv.Itoa(n.web))
	}
	s.set("dfs.nameservices", nameService)
	s.set("dfs.ha.namenodes."+nameService, strings.Join(ids, ","))
	s.set("dfs.client.failover.proxy.provider."+nameService,
		"org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider")
	s.set("dfs.namenode.shared.edits.dir", "file://"+h.c.path("tmp", "edits"))
	s.set("dfs.ha.fencing.methods", "shell(/bin/true)")
	s.set("dfs.ha.tail-edits.period", "1s")
	// The standby would ask the active one to roll its edits. If the KDC is down then, it loses its own
	// ticket, and tells clients about that instead of sending them to the active one.
	s.setInt("dfs.ha.log-roll.period", -1)
}

// start formats and starts the file system and waits until it has a DataNode.
func (h *HDFS) start() {
	t, c := h.c.t, h.c
	t.Helper()
	for _, pages := range []string{"hdfs", "datanode", "static"} { // Hadoop's jars lack them
		c.folder("conf", "hdfs", "webapps", pages)
	}
	first := h.names[0]
	if r := c.program("hdfs", true, "128m", toolTime, nameNode,
		append(first.identity(first.Name), "-format", "-nonInteractive")...).Wait(); r.Code != 0 {
		t.Fatalf("format HDFS: %s", r.Last())
	}
	for _, n := range h.names {
		if n != first {
			if err := os.CopyFS(c.path("tmp", n.Name), os.DirFS(c.path("tmp", first.Name))); err != nil {
				t.Fatal(err)
			}
		}
		n.Start()
	}
	if h.pair() {
		first.awaitPort(first.rpc, 2*time.Minute)
		h.admin("-transitionToActive", first.Name)
	}
	h.data.Start()
	h.data.AwaitLogged("successfully registered with NN", toolTime)
}

// admin runs one command of HDFS's administrator for two NameNodes, until it succeeds.
func (h *HDFS) admin(words ...string) {
	h.c.t.Helper()
	Await(h.c.t, "haadmin "+strings.Join(words, " "), time.Minute, func() bool {
		return h.c.program("hdfs", false, "128m", toolTime, "org.apache.hadoop.hdfs.tools.DFSHAAdmin",
			words...).Wait().Code == 0
	})
}

// FailOver makes the other NameNode the active one, and kills the first and starts it again.
func (h *HDFS) FailOver() {
	h.c.t.Helper()
	names := h.names
	h.admin("-failover", names[0].Name, names[1].Name)
	names[0], names[1] = names[1], names[0]
	names[1].Kill()
	names[1].Start()
	names[1].awaitPort(names[1].rpc, 2*time.Minute)
}

// PutFiles puts a number of small files into a folder of the cluster's file system and returns its
// address.
func (h *HDFS) PutFiles(folder string, count int) string {
	c := h.c
	c.t.Helper()
	from := c.folder("tmp", folder)
	for i := range count {
		c.file(fmt.Sprintf("file %d\n", i), "tmp", folder, strconv.Itoa(i))
	}
	if r := c.client(false, "128m", jobTime, fsShell, "-put", from, "/").Wait(); r.Code != 0 {
		c.t.Fatalf("put %s: %s", from, r.Last())
	}
	return h.uri() + "/" + folder
}

// FS runs one command of Hadoop's file systems, such as "-ls", "/".
func (c *Cluster) FS(words ...string) Result {
	c.t.Helper()
	return c.client(false, "128m", toolTime, fsShell, words...).Wait()
}

// staging returns the address of a folder on the cluster's file system.
func (c *Cluster) staging(parts ...string) string {
	if c.FileSystem != nil {
		return c.FileSystem.uri() + "/" + filepath.Join(append([]string{"staging"}, parts...)...)
	}
	return "file://" + c.path(append([]string{"staging"}, parts...)...)
}
