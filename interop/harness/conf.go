package harness

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rmd/internal/portblock"
)

// property is one property of a Hadoop file.
type property struct {
	Name  string `xml:"name"`
	Value string `xml:"value"`
}

// settings is a Hadoop file. Later properties have precedence.
type settings struct {
	XMLName    xml.Name   `xml:"configuration"`
	Properties []property `xml:"property"`
}

func (s *settings) set(name, value string) {
	s.Properties = append(s.Properties, property{name, value})
}

// add adds the properties of a file, if the file exists.
func (s *settings) add(t testing.TB, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var more settings
	if err := errors.Join(err, xml.Unmarshal(b, &more)); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	s.Properties = append(s.Properties, more.Properties...)
}

func (s *settings) setInt(name string, value int) { s.set(name, strconv.Itoa(value)) }

// ClientConf returns the folder of the Hadoop files for clients.
func (c *Cluster) ClientConf() string { return c.conf("client") }

// conf returns the configuration folder of one process.
func (c *Cluster) conf(name string) string { return c.path("conf", name) }

// render writes the configuration folders of all processes.
func (c *Cluster) render() {
	c.write("client", "", nil)
	for _, m := range c.Managers {
		c.write(m.ID, m.ID, nil)
	}
	for _, n := range c.Nodes {
		c.write(n.Name, "", n)
	}
	if c.History != nil {
		c.write("history", "", nil)
	}
	if c.FileSystem != nil {
		c.write("hdfs", "", nil)
	}
	const layout = "layout=org.apache.log4j.PatternLayout\nlog4j.appender.A.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n\n"
	const quiet = "log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR\nlog4j.logger.org.apache.zookeeper=WARN\n"
	toFile := "log4j.rootLogger=INFO,A\nlog4j.appender.A=org.apache.log4j.FileAppender\nlog4j.appender.A.File=${interop.log}\nlog4j.appender.A." + layout + quiet
	toError := "log4j.rootLogger=INFO,A\nlog4j.appender.A=org.apache.log4j.ConsoleAppender\nlog4j.appender.A.target=System.err\nlog4j.appender.A." + layout + quiet
	c.file(toFile, "conf", "log4j.properties")
	// ApplicationMasters have this folder on their class path, and no log of their own.
	c.file(toError, "conf", "client", "log4j.properties")
}

func (c *Cluster) file(text string, parts ...string) {
	c.t.Helper()
	if err := os.WriteFile(c.path(parts...), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// write writes the files of one process. rm is the id of a ResourceManager, or "". n is nil unless
// the process is a NodeManager.
func (c *Cluster) write(name, rm string, n *Node) {
	c.t.Helper()
	c.folder("conf", name)
	files := map[string]*settings{
		"core-site": c.coreSite(name), "yarn-site": c.yarnSite(name, rm, n), "mapred-site": c.mapredSite(n),
		"capacity-scheduler": c.capacityScheduler(),
	}
	if c.FileSystem != nil {
		files["hdfs-site"] = c.FileSystem.site()
	}
	for file, s := range files {
		if c.Extra != "" {
			s.add(c.t, filepath.Join(c.Extra, file+".xml"))
			s.add(c.t, filepath.Join(c.Extra, name, file+".xml"))
		}
		b, err := xml.MarshalIndent(s, "", "  ")
		if err != nil {
			c.t.Fatal(err)
		}
		c.file(xml.Header+string(b)+"\n", "conf", name, file+".xml")
	}
}

func (c *Cluster) coreSite(name string) *settings {
	s := &settings{}
	s.set("fs.defaultFS", "file:///")
	if c.FileSystem != nil {
		s.set("fs.defaultFS", c.FileSystem.uri())
	}
	s.set("hadoop.tmp.dir", c.path("tmp", name))
	s.set("hadoop.security.authentication", "simple")
	if c.Kerberos != nil {
		c.kerberosCore(s)
	}
	if c.zoo != nil {
		s.set("hadoop.zk.address", portblock.Loopback(c.zoo.port))
	}
	if c.Tuned {
		s.setInt("ipc.client.connect.timeout", 1000)
		s.setInt("ipc.ping.interval", 1500)
		s.setInt("ipc.client.rpc-timeout.ms", 8000)
		s.setInt("ipc.client.connect.max.retries", 1)
	}
	return s
}

func (c *Cluster) yarnSite(name, rm string, n *Node) *settings {
	s := &settings{}
	c.front(s, rm)
	s.set("yarn.resourcemanager.scheduler.class",
		"org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler")
	s.setInt("yarn.scheduler.minimum-allocation-mb", 256)
	s.setInt("yarn.scheduler.maximum-allocation-mb", c.NodeMB)
	s.setInt("yarn.scheduler.maximum-allocation-vcores", c.NodeVcores)
	s.set("yarn.resourcemanager.recovery.enabled", "true")
	s.set("yarn.resourcemanager.work-preserving-recovery.enabled", "true")
	if c.Kind == JavaHA {
		s.set("yarn.resourcemanager.store.class", "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore")
		if rm != "" { // 3.5 reads the old name; clients would print a warning
			s.set("yarn.resourcemanager.zk-address", portblock.Loopback(c.zoo.port))
		}
	} else {
		s.set("yarn.resourcemanager.store.class",
			"org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore")
		s.set("yarn.resourcemanager.fs.state-store.uri", "file://"+c.path("store"))
	}
	s.setInt("yarn.resourcemanager.am.max-attempts", 2)
	s.set("yarn.admin.acl", "*")
	if c.Tuned {
		s.setInt("yarn.client.failover-sleep-base-ms", 50)
		s.setInt("yarn.client.failover-sleep-max-ms", 200)
		s.setInt("yarn.resourcemanager.connect.retry-interval.ms", 200)
		s.setInt("yarn.resourcemanager.zk-timeout-ms", 2000)
		s.setInt("hadoop.zk.timeout-ms", 2000)
		s.setInt("yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", 0)
	}
	if c.Kerberos != nil {
		c.kerberosYarn(s)
	}
	s.set("yarn.application.classpath", c.conf("client")+","+c.Jars+"/*")
	if n != nil {
		n.site(s)
	} else if c.Spark {
		s.set("spark.shuffle.service.port", "${env."+sparkPort+"}")
	}
	for _, k := range slices.Sorted(maps.Keys(c.Site)) {
		s.set(k, c.Site[k])
	}
	return s
}

// front sets the addresses of the ResourceManagers.
func (c *Cluster) front(s *settings, rm string) {
	var ids []string
	for _, m := range c.Managers {
		suffix := "." + m.ID
		if c.Kind == Java {
			suffix = ""
		}
		ids = append(ids, m.ID)
		s.set("yarn.resourcemanager.hostname"+suffix, "127.0.0.1")
		s.set("yarn.resourcemanager.address"+suffix, portblock.Loopback(m.Client))
		s.set("yarn.resourcemanager.scheduler.address"+suffix, portblock.Loopback(m.Scheduler))
		s.set("yarn.resourcemanager.resource-tracker.address"+suffix, portblock.Loopback(m.Tracker))
		s.set("yarn.resourcemanager.admin.address"+suffix, portblock.Loopback(m.Admin))
		s.set("yarn.resourcemanager.webapp.address"+suffix, portblock.Loopback(m.Web))
		s.set("yarn.resourcemanager.webapp.https.address"+suffix, portblock.Loopback(m.https))
	}
	if c.Kind == Java {
		return
	}
	s.set("yarn.resourcemanager.cluster-id", "interop")
	s.set("yarn.resourcemanager.ha.enabled", "true")
	s.set("yarn.resourcemanager.ha.rm-ids", strings.Join(ids, ","))
	s.set("yarn.client.failover-proxy-provider", "org.apache.hadoop.yarn.client.ConfiguredRMFailoverProxyProvider")
	if rm != "" {
		s.set("yarn.resourcemanager.ha.id", rm)
	}
}

func (c *Cluster) mapredSite(n *Node) *settings {
	s := &settings{}
	small := func(mb int) string {
		return fmt.Sprintf("-Xmx%dm -XX:+UseSerialGC -XX:TieredStopAtLevel=1 %s", mb, strings.Join(opened(), " "))
	}
	s.set("mapreduce.framework.name", "yarn")
	// Jobs of 3.4 ask the NodeManager for the flags of small, in a form that older NodeManagers pass to the shell.
	s.set("mapreduce.jvm.add-opens-as-default", "false")
	s.set("mapreduce.application.classpath", c.conf("client")+","+c.Jars+"/*")
	s.set("yarn.app.mapreduce.am.staging-dir", c.staging())
	s.setInt("yarn.app.mapreduce.am.resource.mb", 512)
	s.set("yarn.app.mapreduce.am.command-opts", small(256))
	s.setInt("mapreduce.map.memory.mb", 512)
	s.setInt("mapreduce.reduce.memory.mb", 512)
	s.set("mapred.child.java.opts", small(200))
	s.setInt("mapreduce.task.io.sort.mb", 24)
	// Speculative attempts would look like tasks that ran again.
	s.set("mapreduce.map.speculative", "false")
	s.set("mapreduce.reduce.speculative", "false")
	if n != nil {
		s.setInt("mapreduce.shuffle.port", n.shuffle)
	}
	if c.History != nil {
		s.set("mapreduce.jobhistory.address", portblock.Loopback(c.History.rpc))
		s.set("mapreduce.jobhistory.webapp.address", portblock.Loopback(c.History.Web))
		s.set("mapreduce.jobhistory.admin.address", portblock.Loopback(c.History.admin))
		if c.Kerberos != nil {
			c.principal(s, "jhs", "mapreduce.jobhistory.principal", "mapreduce.jobhistory.keytab")
		}
	}
	return s
}

// capacityScheduler returns a configuration with two leaf queues that may each use the whole
// cluster.
func (c *Cluster) capacityScheduler() *settings {
	s := &settings{}
	if c.OwnQueues {
		return s
	}
	const at = "yarn.scheduler.capacity."
	s.set(at+"root.queues", "default,batch")
	for queue, share := range map[string]int{"default": 60, "batch": 40} {
		s.setInt(at+"root."+queue+".capacity", share)
		s.setInt(at+"root."+queue+".maximum-capacity", 100)
		s.setInt(at+"root."+queue+".user-limit-factor", 10)
	}
	s.set(at+"maximum-am-resource-percent", "0.5")
	for _, k := range slices.Sorted(maps.Keys(c.Scheduler)) {
		s.set(at+k, c.Scheduler[k])
	}
	return s
}
