package harness

import (
	"path/filepath"
	"strconv"

	"rmd/internal/portblock"
)

// hdfs is the NameNode and the DataNode of a cluster.
type hdfs struct {
	name, data                       Process
	rpc, web, transfer, dataWeb, ipc int
	c                                *Cluster
}

func newHDFS(c *Cluster) *hdfs {
	h := &hdfs{c: c, rpc: c.port("namenode.rpc"), web: c.port("namenode.web"), transfer: c.port("datanode.transfer"), dataWeb: c.port("datanode.web"), ipc: c.port("datanode.ipc")}
	h.name = c.daemon(&c.Install, c.t, "namenode", "hdfs", "200m", true, "org.apache.hadoop.hdfs.server.namenode.NameNode")
	h.data = c.daemon(&c.Install, c.t, "datanode", "hdfs", "200m", true, "org.apache.hadoop.hdfs.server.datanode.DataNode")
	return h
}

// uri returns the address of the file system.
func (h *hdfs) uri() string { return "hdfs://localhost:" + strconv.Itoa(h.rpc) }

// site returns hdfs-site.xml.
func (h *hdfs) site() *settings {
	s, c := &settings{}, h.c
	s.set("dfs.namenode.name.dir", "file://"+c.path("tmp", "name"))
	s.set("dfs.datanode.data.dir", "file://"+c.path("tmp", "data"))
	s.set("dfs.namenode.rpc-address", "localhost:"+strconv.Itoa(h.rpc))
	s.set("dfs.namenode.http-address", portblock.Loopback(h.web))
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
	s.set("ignore.secure.ports.for.testing", "true") // the DataNode's pages are not behind TLS
	c.principal(s, "nn", "dfs.namenode.kerberos.principal", "dfs.namenode.keytab.file")
	c.principal(s, "dn", "dfs.datanode.kerberos.principal", "dfs.datanode.keytab.file")
	c.principal(s, "HTTP", "dfs.web.authentication.kerberos.principal", "dfs.web.authentication.kerberos.keytab")
	return s
}

// start formats and starts the file system and waits until it has a DataNode.
func (h *hdfs) start() {
	h.c.t.Helper()
	for _, pages := range []string{"hdfs", "datanode", "static"} { // Hadoop's jars lack them
		h.c.folder("conf", "hdfs", "webapps", pages)
	}
	if r := h.c.program("hdfs", true, "128m", toolTime, "org.apache.hadoop.hdfs.server.namenode.NameNode", "-format", "-nonInteractive").Wait(); r.Code != 0 {
		h.c.t.Fatalf("format HDFS: %s", r.Last())
	}
	h.name.Start()
	h.data.Start()
	h.data.AwaitLogged("successfully registered with NN", toolTime)
}

// FS runs one command of Hadoop's file systems, such as "-ls", "/".
func (c *Cluster) FS(words ...string) Result {
	c.t.Helper()
	return c.client(false, "128m", toolTime, "org.apache.hadoop.fs.FsShell", words...).Wait()
}

// staging returns the address of a folder on the cluster's file system.
func (c *Cluster) staging(parts ...string) string {
	if c.hdfs != nil {
		return c.hdfs.uri() + "/" + filepath.Join(append([]string{"staging"}, parts...)...)
	}
	return "file://" + c.path(append([]string{"staging"}, parts...)...)
}
