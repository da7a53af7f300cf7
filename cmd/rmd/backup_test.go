package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/snapshot"
)

// picture is the part of the state that a backup must keep, as REST shows it.
type picture struct {
	queues, nodes any
	apps          map[string]api.App
	containers    map[string][]api.Container
	reservations  []api.Reservation
}

func (c *processes) picture(p *process) picture {
	c.t.Helper()
	out := picture{apps: map[string]api.App{}, containers: map[string][]api.Container{}, reservations: c.reservations(p)}
	read := func(path string, doc any) {
		c.await(path+" is read", patience, func() bool { return c.get(p, path+"?consistent", doc) })
	}
	var conf struct {
		Properties any `json:"properties"`
	}
	read("/v1/conf", &conf)
	out.queues = conf.Properties
	var nodes struct {
		Nodes []map[string]any `json:"nodes"`
	}
	read("/v1/nodes", &nodes)
	for _, n := range nodes.Nodes {
		for name := range n {
			if name != "id" && name != "total" && name != "used" && name != "rack" && name != "state" && name != "reservation" {
				delete(n, name)
			}
		}
	}
	out.nodes = nodes.Nodes
	for _, a := range c.apps(p) {
		out.apps[a.ID] = a
		var doc struct {
			Containers []api.Container `json:"containers"`
		}
		read("/v1/apps/"+a.ID+"/containers", &doc)
		if len(doc.Containers) > 0 {
			out.containers[a.ID] = doc.Containers
		}
	}
	return out
}

// same compares two pictures without the fields that change with time.
func (p picture) same(t *testing.T, is picture) {
	t.Helper()
	if !reflect.DeepEqual(p.queues, is.queues) || p.queues == nil {
		t.Errorf("the queue configuration was %v and is %v", p.queues, is.queues)
	}
	if !reflect.DeepEqual(p.nodes, is.nodes) {
		t.Errorf("the nodes were %v and are %v", p.nodes, is.nodes)
	}
	for id, was := range p.apps {
		now, ok := is.apps[id]
		if !ok || now.User != was.User || now.Queue != was.Queue || now.State != was.State ||
			now.Outstanding != was.Outstanding || now.Reservations != was.Reservations || now.Priority != was.Priority {
			t.Errorf("application %s was %+v and is %+v", id, was, now)
		}
	}
	if len(is.apps) != len(p.apps) || len(p.containers) != len(is.containers) ||
		len(p.reservations) != len(is.reservations) {
		t.Errorf("%d applications, %d with containers, %d reservations; were %d, %d, %d", len(is.apps), len(is.containers),
			len(is.reservations), len(p.apps), len(p.containers), len(p.reservations))
	}
	for id, was := range p.containers {
		for i, x := range was {
			if i >= len(is.containers[id]) || is.containers[id][i].ID != x.ID || is.containers[id][i].Node != x.Node ||
				is.containers[id][i].State != x.State {
				t.Errorf("container %s was %+v and is not the same in %+v", x.ID, x, is.containers[id])
			}
		}
	}
	for i, x := range p.reservations {
		if i < len(is.reservations) {
			// the id may have been used by a container that the restore undid
			if y := is.reservations[i]; x.ID != y.ID || x.Node != y.Node || x.App != y.App || x.Container == y.Container ||
				!reflect.DeepEqual(x.Size, y.Size) || x.MadeMillis != y.MadeMillis {
				t.Errorf("the reservation was %+v and is %+v", x, y)
			}
		}
	}
}

// facts returns the cluster document. A restore changes parts of it.
func (c *processes) facts(p *process) api.Cluster {
	c.t.Helper()
	var doc api.Cluster
	c.await("the cluster is read", patience, func() bool { return c.get(p, "/v1/cluster", &doc) })
	return doc
}

// TestBackup saves the state under load, restores it into another cluster, and checks that
// scheduling continues there.
func TestBackup(t *testing.T) {
	t.Parallel()
	old := startProcesses(t, 3, calm, "")
	call := newCaller(t, old.addrs())
	h := call.hold()
	work := old.work(call, 2)
	work.goesOn()
	dir := t.TempDir()
	under, file := filepath.Join(dir, "under-load"), filepath.Join(dir, "quiet")
	old.done("snapshot", "save", under)
	inspect(old, under)
	work.goesOn()
	work.end()
	old.done("snapshot", "save", file, "--addr", old.others(old.leader())[0].http) // the follower forwards to the leader
	info := inspect(old, file)
	was, wasFacts := old.picture(old.all[0]), old.facts(old.all[0])
	if info.ClusterID != wasFacts.ClusterID || len(was.reservations) != 1 || len(was.containers) == 0 {
		t.Fatalf("%+v; %d reservations, %d with containers", info, len(was.reservations), len(was.containers))
	}
	old.stop()

	c := startProcesses(t, 3, calm, "")
	contains(t, "dry run", c.done("snapshot", "restore", under, "--dry-run"), "can be restored")
	contains(t, "restore", c.done("snapshot", "restore", file), fmt.Sprintf(": %d applications", len(was.apps)))
	c.awaitInStep()
	c.restored(info.ClusterID, info.Index)
	for _, p := range c.all {
		was.same(t, c.picture(p))
		facts := c.facts(p)
		if facts.Epoch <= wasFacts.Epoch || facts.ClusterTimestamp <= wasFacts.ClusterTimestamp ||
			facts.ClusterID == wasFacts.ClusterID {
			t.Errorf("%s: epoch %d, timestamp %d, cluster %s; were %d, %d, %s", p.id, facts.Epoch, facts.ClusterTimestamp,
				facts.ClusterID, wasFacts.Epoch, wasFacts.ClusterTimestamp, wasFacts.ClusterID)
		}
	}
	c.done("cluster", "verify")
	c.goesOnAfter(h, was, wasFacts)

	// Restore into this cluster, which has a state. The command needs its id.
	id := c.facts(c.all[0]).ClusterID
	earlier := inspect(c, under)
	c.done("snapshot", "restore", under, "--replace-state", id, "--yes")
	c.awaitInStep()
	c.restored(earlier.ClusterID, earlier.Index)
	c.done("cluster", "verify")
	for _, p := range c.all { // the replicas can also start with the restored state
		c.kill(p)
		c.start(p)
	}
	c.awaitReady(c.all...)
	c.awaitInStep()
	c.done("cluster", "verify")
}

// restored checks that the audit of every replica says the same of the last restore: who restored
// which snapshot, and when.
func (c *processes) restored(cluster string, index uint64) {
	c.t.Helper()
	var first api.AuditEntry
	for i, p := range c.all {
		var doc api.Audit
		if !c.get(p, "/v1/audit?action="+url.QueryEscape("snapshot restore"), &doc) || len(doc.Entries) == 0 {
			c.t.Errorf("%s: its audit has no restore", p.id)
			continue
		}
		e := doc.Entries[len(doc.Entries)-1]
		if i == 0 {
			first = e
		}
		want := fmt.Sprintf("snapshot of cluster %s at index %d", cluster, index)
		if e != first || !strings.HasPrefix(e.Target, want) || e.Who == "" || e.Result != "done" ||
			time.Since(time.UnixMilli(e.AtMillis)).Abs() > time.Hour {
			c.t.Errorf("%s: %+v; on the first replica %+v; want a target that begins with %q", p.id, e, first, want)
		}
	}
}

// goesOnAfter checks that scheduling continues after a restore: the reservation becomes its
// container, and new applications and containers have ids that were never used before.
func (c *processes) goesOnAfter(h held, was picture, wasFacts api.Cluster) {
	c.t.Helper()
	call := newCaller(c.t.(*testing.T), c.addrs())
	c.fulfill(call, h, c.reservations(c.all[0])[0])
	work := c.work(call, 2)
	work.goesOn()
	work.end()
	for _, id := range work.apps {
		if id.ClusterTimestamp <= wasFacts.ClusterTimestamp {
			c.t.Errorf("application %s could be one of before", id)
		}
	}
	got := must[*input.AllocateReply](call, &input.Allocate{Attempt: h.waiting, Response: 2, Asks: asks(1, 512)})
	for len(got.Granted) == 0 {
		must[*input.NodeHeartbeatReply](call, &input.NodeHeartbeat{ID: h.node})
		got = must[*input.AllocateReply](call, &input.Allocate{Attempt: h.waiting, Response: got.Response})
	}
	for _, g := range got.Granted {
		if uint32(g.Container.Number>>40) <= wasFacts.Epoch {
			c.t.Errorf("container %s has an epoch of before (%d)", g.Container, wasFacts.Epoch)
		}
	}
	c.done("cluster", "verify")
}

func inspect(c *processes, file string) snapshot.Info {
	c.t.Helper()
	var info snapshot.Info
	if err := json.Unmarshal([]byte(c.done("snapshot", "inspect", file, "-o", "json")), &info); err != nil {
		c.t.Fatal(err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 || st.Size() != info.Bytes {
		c.t.Fatalf("%s: %v %v, %d bytes inspected", file, st, err, info.Bytes)
	}
	return info
}
