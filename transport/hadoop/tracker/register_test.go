package tracker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"rmd/internal/hadoopconf"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// confOf returns a configuration with the given properties.
func confOf(t *testing.T, props string) *hadoopconf.Config {
	t.Helper()
	conf, err := hadoopconf.Parse(strings.NewReader("<configuration>"+props+"</configuration>"), "test.xml")
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func TestRegistrationInput(t *testing.T) {
	c := newCluster(t)
	n := newNM(t, newService(t, c), "node1")
	n.register()
	in := c.took()[0].(*input.RegisterNode)
	if in.ID != n.id || in.HTTPPort != 8042 || in.Rack != DefaultRack || in.Total != yarn.NewResource(8192, 8) ||
		in.Version != "3.4.2" || !in.NodeManager {
		t.Fatalf("the input is %+v", in)
	}
}

// TestRefusedRegistrations checks the registrations that are refused. The NodeManager then exits.
func TestRefusedRegistrations(t *testing.T) {
	for _, r := range []struct {
		name    string
		props   []input.Property
		config  func(*Config)
		change  func(*proto.RegisterNodeManagerRequestProto)
		exclude string
		says    string // in the refusal; empty if the registration succeeds
	}{
		{name: "large enough", change: resource(1024, 1)},
		{name: "too little memory", change: resource(1023, 1), says: "the smallest container is 1024 MB"},
		{name: "no vcores", change: resource(4096, 0), says: "1 vcores"},
		{name: "no resource", change: func(p *proto.RegisterNodeManagerRequestProto) { p.Resource = nil },
			says: "minimum allocations"},
		{name: "smaller minimum", change: resource(512, 1),
			props: []input.Property{{Name: "yarn.scheduler.minimum-allocation-mb", Value: "512"}}},
		{name: "larger minimum", change: resource(2047, 1),
			props: []input.Property{{Name: "yarn.resource-types.memory-mb.minimum-allocation", Value: "2048"}}, says: "2048 MB"},
		{name: "excluded host", exclude: "node1", says: "node1"},
		{name: "old version", config: minimum("3.4.3"), says: `"3.4.2" of node1:45454 is older than 3.4.3`},
		{name: "version equal", config: minimum(EqualToRM)},
		{name: "no version", config: minimum("2.0"),
			change: func(p *proto.RegisterNodeManagerRequestProto) { p.NmVersion = nil }, says: "older than"},
		{name: "unresolved", config: resolve(errors.New("no such host")), says: "cannot be resolved"},
		{name: "resolved", config: resolve(nil)},
	} {
		t.Run(r.name, func(t *testing.T) {
			c := newCluster(t, r.props...)
			if r.exclude != "" {
				c.must(&input.SetHosts{Exclude: []string{r.exclude}})
			}
			change := r.config
			if change == nil {
				change = func(*Config) {}
			}
			s := newService(t, c, change)
			n := newNM(t, s, "node1")
			req := n.registration()
			if r.change != nil {
				r.change(req)
			}
			out, err := s.registerNodeManager(context.Background(), &ipc.Call{}, req)
			if err != nil {
				t.Fatal(err)
			}
			if r.says == "" {
				if out.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_NORMAL {
					t.Fatalf("it is answered %v", out)
				}
				return
			}
			if out.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_SHUTDOWN ||
				!strings.Contains(out.GetDiagnosticsMessage(), r.says) {
				t.Fatalf("it is answered %v, want SHUTDOWN for %q", out, r.says)
			}
			if s.sessionsKept() != 0 || c.Fork().Nodes.Find(n.id) != 0 {
				t.Fatal("a refused node has a session, or a record")
			}
		})
	}
}

func resource(mb, vcores int64) func(*proto.RegisterNodeManagerRequestProto) {
	return func(p *proto.RegisterNodeManagerRequestProto) {
		p.Resource = wire.ResourceProto(yarn.NewResource(mb, vcores), yarn.DefaultKinds())
	}
}

func minimum(v string) func(*Config) { return func(c *Config) { c.MinimumVersion = v } }

func resolve(err error) func(*Config) {
	return func(c *Config) {
		c.CheckHost = true
		c.Lookup = func(context.Context, string) ([]string, error) { return []string{"10.0.0.1"}, err }
	}
}

func TestDecommissionedNodeIsShutDown(t *testing.T) {
	c, _, n := started(t)
	c.must(&input.DrainNode{ID: n.id, Now: true})
	if out := n.register(); out.GetNodeAction() != proto.NodeActionProto_NODE_ACTION_SHUTDOWN ||
		!strings.Contains(out.GetDiagnosticsMessage(), "decommissioned") {
		t.Fatalf("it is answered %v", out)
	}
}

func TestBadRegistrations(t *testing.T) {
	c := newCluster(t)
	s := newService(t, c)
	for name, change := range map[string]func(*proto.RegisterNodeManagerRequestProto){
		"no node":        func(p *proto.RegisterNodeManagerRequestProto) { p.NodeId = nil },
		"option as host": func(p *proto.RegisterNodeManagerRequestProto) { p.NodeId.Host = new("--help") },
		"host of spaces": func(p *proto.RegisterNodeManagerRequestProto) { p.NodeId.Host = new("a b") },
		"long host":      func(p *proto.RegisterNodeManagerRequestProto) { p.NodeId.Host = new(strings.Repeat("a", 300)) },
		"http port":      func(p *proto.RegisterNodeManagerRequestProto) { p.HttpPort = new(int32(-1)) },
		"empty container": func(p *proto.RegisterNodeManagerRequestProto) {
			p.ContainerStatuses = []*proto.NMContainerStatusProto{{}}
		},
		"empty application": func(p *proto.RegisterNodeManagerRequestProto) {
			p.RunningApplications = []*proto.ApplicationIdProto{{}}
		},
		"too many applications": func(p *proto.RegisterNodeManagerRequestProto) {
			p.RunningApplications = make([]*proto.ApplicationIdProto, s.cfg.ApplicationsMax+1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := newNM(t, s, "node1").registration()
			change(req)
			_, err := s.registerNodeManager(context.Background(), &ipc.Call{}, req)
			var e *ipc.Error
			if !errors.As(err, &e) || e.Class != ipc.ClassYarn {
				t.Fatalf("the error is %v", err)
			}
		})
	}
	if s.sessionsKept() != 0 || c.took() != nil {
		t.Fatal("a registration that cannot be read has left something")
	}
}

func TestExtraResourceTypes(t *testing.T) {
	c := newCluster(t, input.Property{Name: "yarn.resource-types", Value: "yarn.io/gpu"},
		input.Property{Name: confPrefix + "resource-calculator",
			Value: "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"})
	s := newService(t, c)
	n := newNM(t, s, "node1")
	req := n.registration()
	total := yarn.NewResource(8192, 8)
	total[2] = 4
	req.Resource = wire.ResourceProto(total, yarn.Kinds{yarn.MemoryName, yarn.VCoresName, yarn.GPUName})
	if _, err := s.registerNodeManager(context.Background(), &ipc.Call{}, req); err != nil {
		t.Fatal(err)
	}
	if got := c.node(n.id).Total; got != total {
		t.Fatalf("the node has %v, want %v", got, total)
	}
}

func TestNoLeader(t *testing.T) {
	c, s, n := started(t)
	c.fail(always(errNoLeader), nil)
	_, reg := s.registerNodeManager(context.Background(), &ipc.Call{}, n.registration())
	_, unreg := s.unRegisterNodeManager(context.Background(), &ipc.Call{},
		&proto.UnRegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(n.id)})
	for _, err := range []error{reg, unreg} {
		var e *ipc.Error
		if !errors.As(err, &e) || e.Class != ipc.ClassStandby {
			t.Errorf("the error is %v", err)
		}
	}
	n.beat() // an idle heartbeat needs no leader
}

func TestClusterThatIsNotInitialized(t *testing.T) {
	c := newCluster(t)
	s := newService(t, c)
	c.committed, c.fork = newCluster(t).committed, nil
	c.committed.Versions = nil
	_, err := s.registerNodeManager(context.Background(), &ipc.Call{}, newNM(t, s, "node1").registration())
	var e *ipc.Error
	if !errors.As(err, &e) || e.Class != ipc.ClassStandby {
		t.Fatalf("the error is %v", err)
	}
}

func TestUnregister(t *testing.T) {
	c, s, n := started(t)
	unregister := func(id yarn.NodeID) {
		t.Helper()
		if _, err := s.unRegisterNodeManager(context.Background(), &ipc.Call{},
			&proto.UnRegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(id)}); err != nil {
			t.Fatal(err)
		}
	}
	unregister(n.id)
	if got := c.node(n.id).State; got != yarn.NodeShutdown || s.sessionsKept() != 0 {
		t.Fatalf("the node is %v, %d sessions are kept", got, s.sessionsKept())
	}
	unregister(yarn.NodeID{Host: "nobody", Port: 1})
	n.register()
	n.beat()
}

func TestVersions(t *testing.T) {
	for _, v := range []struct {
		a, b string
		want int
	}{
		{"3.4.2", "3.4.2", 0}, {"3.4.2", "3.4.10", -1}, {"3.4", "3.4.0", 0}, {"3.4.0.0", "3.4", 0}, {"3.4.1", "3.4", 1},
		{"3.4.2-SNAPSHOT", "3.4.2", -1}, {"3.5.0-alpha1", "3.5.0-beta1", -1}, {"3.5.0-beta2", "3.5.0-rc0", -1},
		{"3.5.0-alpha1", "3.4.9", 1},
		{"3.4.2-cdh7", "3.4.2", 1}, {"3.4.2.1", "3.4.2-cdh7", 1}, {"2.10.2", "3.0.0", -1}, {"10.0", "9.99", 1},
		{"3.4.2-ga", "3.4.2", 0},
		{"99999999999999999999999", "99999999999999999999998", 1}, {"", "1", -1}, {"..1", "0.0.1", 0},
	} {
		if got := compareVersions(v.a, v.b); got != v.want {
			t.Errorf("%q against %q is %d, want %d", v.a, v.b, got, v.want)
		}
		if got := compareVersions(v.b, v.a); got != -v.want {
			t.Errorf("%q against %q is %d, want %d", v.b, v.a, got, -v.want)
		}
	}
}
