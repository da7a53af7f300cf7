package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/config"
	"rmd/fsm/event"
	"rmd/internal/portblock"
	"rmd/leader"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
)

// planned sends the inputs that the planner gets to a channel, in order.
type planned struct {
	leader.Planner
	inputs chan input.Input
}

func (p planned) Plan(nowMillis int64, req input.Request) (input.Reply, []event.Event) {
	if _, tick := req.Input.(*input.Tick); !tick {
		p.inputs <- req.Input
	}
	return p.Planner.Plan(nowMillis, req)
}

// TestNewClusterHostLists checks that the first input of a cluster contains the include and exclude
// lists, so that no excluded node can register before they are in force.
func TestNewClusterHostLists(t *testing.T) {
	dir, free := t.TempDir(), portblock.Open(t)
	exclude := filepath.Join(dir, "exclude")
	text := ""
	put := func(name, value string) {
		text += fmt.Sprintf("<property><name>%s</name><value>%s</value></property>", name, value)
	}
	put("yarn.resourcemanager.nodes.exclude-path", exclude)
	put("yarn.scheduler.capacity.root.queues", "a")
	put("yarn.scheduler.capacity.root.a.capacity", "100")
	for _, key := range []string{"", "scheduler.", "resource-tracker.", "admin."} {
		put("yarn.resourcemanager."+key+"address", portblock.Loopback(free.Take()))
	}
	for name, text := range map[string]string{exclude: "gone\nn1 # broken\n",
		filepath.Join(dir, "yarn-site.xml"): "<configuration>" + text + "</configuration>"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k := config.Default()
	k.ID, k.Cluster, k.Data, k.HadoopConfDir = "rm1", "prod", filepath.Join(t.TempDir(), "data"), dir
	k.Raft.Listen, k.HTTP.Listen = portblock.Loopback(free.Take()), portblock.Loopback(free.Take())
	inputs := make(chan input.Input, 64)
	r := openAlone(t, Options{Config: k, Parts: Parts{Planner: func(p *planner.Planner) leader.Planner {
		return planned{p, inputs}
	}}})
	soon(t, "the cluster is initialized", func() bool { st, _ := r.machine.Fork(); return st.Meta.ClusterID != "" })
	in, ok := (<-inputs).(*input.InitCluster)
	if !ok || !slices.Equal(in.Exclude, []string{"gone", "n1"}) || len(in.Include) > 0 {
		t.Errorf("the first input is %+v", in)
	}
	if st, _ := r.machine.Fork(); st.Hosts.Allowed("n1") || !st.Hosts.Allowed("n2") {
		t.Errorf("the lists are %+v", st.Hosts)
	}
}

// TestFirstQueuesTooLarge checks that a first configuration which no log entry can hold is refused
// once, with the reason, and that the leader goes on. It ended each leadership again, for ever.
func TestFirstQueuesTooLarge(t *testing.T) {
	free := portblock.Open(t)
	k := config.Default()
	k.ID, k.Cluster, k.Data = "rm1", "prod", filepath.Join(t.TempDir(), "data")
	k.Raft.Listen, k.HTTP.Listen = portblock.Loopback(free.Take()), portblock.Loopback(free.Take())
	queues := []capacity.Property{{Name: "yarn.scheduler.capacity.root.queues", Value: "a"},
		{Name: "yarn.scheduler.capacity.root.a.capacity", Value: "100"}}
	users := strings.Repeat("user,", entryMax/80) // a sixteenth
	for i := range 17 {
		queues = append(queues, capacity.Property{Name: fmt.Sprintf("yarn.scheduler.capacity.root.a.note%d", i),
			Value: users})
	}
	r := openAlone(t, Options{Config: k, Queues: queues})
	soon(t, "the configuration is refused", func() bool { return r.seeding.refusal() != nil })
	if e := r.seeding.refusal(); !strings.Contains(e.Message, "larger than a log entry") || e.Remedy == "" {
		t.Errorf("refused with %v", e)
	}
	soon(t, "the leader goes on", func() bool { _, ok := r.seq.Leading(); return ok })
}

// openAlone opens a replica and creates a cluster of it alone. The end of the test closes it.
func openAlone(t *testing.T, opt Options) *Replica {
	t.Helper()
	opt.Version, opt.Logger = "test", hclog.NewNullLogger()
	r, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.cluster.Init(false); err != nil {
		t.Fatal(err)
	}
	return r
}
