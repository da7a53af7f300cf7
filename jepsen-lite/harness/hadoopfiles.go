package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hadoopDir returns the directory with Hadoop's configuration files: the addresses of the ports and
// the queues.
func (c *Cluster) hadoopDir() string { return filepath.Join(c.cfg.Dir, "hadoop") }

// queues are the leaf queues of a cluster, with their capacities. Each may grow to the whole
// cluster.
var queues = []struct{ name, percent string }{{"online", "40"}, {"train", "30"}, {"batch", "20"}, {"adhoc", "10"}}

// hadoopFiles writes Hadoop's configuration files, which the replicas and Hadoop's clients read.
func (c *Cluster) hadoopFiles() error {
	if err := os.MkdirAll(c.hadoopDir(), 0o700); err != nil {
		return err
	}
	site := []string{"yarn.resourcemanager.ha.enabled", "true", "yarn.resourcemanager.cluster-id", ClusterName,
		"yarn.scheduler.minimum-allocation-mb", "1024", "yarn.scheduler.minimum-allocation-vcores", "1",
		"yarn.scheduler.maximum-allocation-mb", "393216", "yarn.scheduler.maximum-allocation-vcores", "96",
		"yarn.cluster.max-application-priority", "10"}
	var ids []string
	for _, r := range c.Replicas {
		h := r.Place.Hadoop
		ids = append(ids, r.ID)
		site = append(site, "yarn.resourcemanager.address."+r.ID, h.Client,
			"yarn.resourcemanager.scheduler.address."+r.ID, h.Scheduler,
			"yarn.resourcemanager.resource-tracker.address."+r.ID, h.Tracker,
			"yarn.resourcemanager.admin.address."+r.ID, h.Admin)
	}
	site = append(site, "yarn.resourcemanager.ha.rm-ids", strings.Join(ids, ","))
	const of = "yarn.scheduler.capacity."
	var names []string
	tree := []string{of + "maximum-applications", "10000", of + "maximum-am-resource-percent", "0.5",
		of + "resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"}
	for _, q := range queues {
		names = append(names, q.name)
		at := of + "root." + q.name
		tree = append(tree, at+".capacity", q.percent, at+".maximum-capacity", "100", at+".user-limit-factor", "10")
	}
	tree = append(tree, of+"root.queues", strings.Join(names, ","))
	// the order does not matter: each is a separate file
	for name, pairs := range map[string][]string{"core-site.xml": nil, "yarn-site.xml": site,
		"capacity-scheduler.xml": tree} {
		if err := c.hadoopFile(name, pairs); err != nil {
			return err
		}
	}
	return nil
}

// hadoopFile writes a file with keys and values. It escapes nothing.
func (c *Cluster) hadoopFile(name string, pairs []string) error {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "  <property><name>%s</name><value>%s</value></property>\n", pairs[i], pairs[i+1])
	}
	b.WriteString("</configuration>\n")
	return os.WriteFile(filepath.Join(c.hadoopDir(), name), []byte(b.String()), 0o600)
}

// Trackers returns the addresses of the ports for NodeManagers of the replicas that bootstrap the
// cluster.
func (c *Cluster) Trackers() []string {
	var out []string
	for _, r := range c.Voters() {
		out = append(out, r.Place.Hadoop.Tracker)
	}
	return out
}
