package tracker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm/state"
	"rmd/internal/hadoopconf"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
)

// submitter is a function that implements Submitter.
type submitter func(ctx context.Context, in input.Input) (input.Reply, error)

func (d submitter) Do(ctx context.Context, req input.Request) (input.Reply, uint64, error) {
	r, err := d(ctx, req.Input)
	return r, 1, err
}

// batches records the nodes of each NodesHeard.
type batches struct {
	mu  sync.Mutex
	all [][]state.NodeSlot
}

func (b *batches) take(in input.Input) input.Reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, in.(*input.NodesHeard).Nodes)
	return in.NewReply()
}

func (b *batches) want(t *testing.T, want ...[]state.NodeSlot) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.EqualFunc(b.all, want, slices.Equal) {
		t.Fatalf("batches are %v, want %v", b.all, want)
	}
}

// running runs the loop of a service until the test ends.
func running(t *testing.T, s *Service) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
}

func TestIdleNodesBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got batches
		s := newService(t, newCluster(t), func(c *Config) {
			c.BatchNodesMax = 3
			c.Submitter = submitter(func(_ context.Context, in input.Input) (input.Reply, error) { return got.take(in), nil })
		})
		running(t, s)
		for _, n := range []state.NodeSlot{200, 3, 1, 64, 3, 2} {
			s.idle.add(n)
		}
		time.Sleep(s.cfg.BatchInterval - time.Millisecond)
		got.want(t)
		time.Sleep(time.Millisecond)
		got.want(t, []state.NodeSlot{1, 2, 3}, []state.NodeSlot{64, 200})
		time.Sleep(time.Minute)
		got.want(t, []state.NodeSlot{1, 2, 3}, []state.NodeSlot{64, 200})
		s.idle.add(3)
		time.Sleep(s.cfg.BatchInterval)
		got.want(t, []state.NodeSlot{1, 2, 3}, []state.NodeSlot{64, 200}, []state.NodeSlot{3})
	})
}

// TestIdleBatchesWithoutLeader checks that the nodes that are added while a batch is sent become
// one batch without duplicates, and that a failed batch is dropped.
func TestIdleBatchesWithoutLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got batches
		var leader atomic.Bool
		s := newService(t, newCluster(t), func(c *Config) {
			c.Submitter = submitter(func(_ context.Context, in input.Input) (input.Reply, error) {
				if !leader.Load() {
					time.Sleep(4 * time.Second) // as long as the forwarder waits for a leader
					return nil, errNoLeader
				}
				return got.take(in), nil
			})
		})
		running(t, s)
		s.idle.add(9)
		for range 3 {
			time.Sleep(time.Second)
			for n := range state.NodeSlot(3) {
				s.idle.add(n + 1)
			}
		}
		leader.Store(true)
		time.Sleep(2 * time.Second)
		got.want(t, []state.NodeSlot{1, 2, 3})
	})
}

// TestIdleHeartbeatsReachLeader checks that the leader learns of idle heartbeats by NodesHeard.
func TestIdleHeartbeatsReachLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, n := started(t)
		running(t, s)
		m := newNM(t, s, "node2")
		m.register()
		m.beat()
		c.took()
		n.beat()
		m.beat()
		time.Sleep(s.cfg.BatchInterval)
		synctest.Wait()
		in := c.took()
		if len(in) != 1 || !slices.Equal(in[0].(*input.NodesHeard).Nodes, []state.NodeSlot{c.slot(n.id), c.slot(m.id)}) {
			t.Fatalf("inputs are %v", in)
		}
	})
}

// TestReplicaThatIsCutOff checks that a replica that cannot reach a leader stops answering idle
// heartbeats, because the leader may be expiring the nodes.
func TestReplicaThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s, n := started(t)
		running(t, s)
		c.fail(always(errNoLeader), nil)
		for range 10 { // shorter than CutAfter: it may be a change of leaders
			n.beat()
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		_, err := n.try()
		var e *ipc.Error
		if !errors.As(err, &e) || e.Class != ipc.ClassStandby {
			t.Fatalf("a heartbeat at a replica that is cut off ends with %v", err)
		}
		c.fail(nil, nil)
		c.took()
		n.beat()
		wantInputs(t, c, "heartbeat(0 full) ")
		n.beat()
		wantInputs(t, c, "")
	})
}

func TestSilentNodesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, n := started(t)
		running(t, s)
		m := newNM(t, s, "node2")
		m.register()
		for range 200 { // sessions are kept for two expiry intervals, which are 20 minutes
			time.Sleep(10 * time.Second)
			n.beat()
		}
		synctest.Wait()
		if s.sessionsKept() != 1 || s.session(n.id) == nil {
			t.Fatalf("%d sessions are kept", s.sessionsKept())
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if s.sessionsKept() != 0 {
			t.Fatalf("%d sessions are kept for ever", s.sessionsKept())
		}
	})
}

func TestConfig(t *testing.T) {
	good := newService(t, newCluster(t)).cfg
	for name, change := range map[string]func(*Config){
		"no submitter": func(c *Config) { c.Submitter = nil },
		"no racks":     func(c *Config) { c.Racks = nil },
		"no look-up":   func(c *Config) { c.CheckHost, c.Lookup = true, nil },
		"no version":   func(c *Config) { c.MinimumVersion = "" },
		"interval":     func(c *Config) { c.HeartbeatInterval = 0 },
		"expiry":       func(c *Config) { c.Expiry = c.HeartbeatInterval / 2 },
		"batch":        func(c *Config) { c.BatchNodesMax = 0 },
		"lists":        func(c *Config) { c.ContainersMax = 0 },
		"diagnostics":  func(c *Config) { c.DiagnosticsMax = 0 },
	} {
		c := good
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if p := newService(t, newCluster(t)).Protocol(); len(p.Methods) != 3 || p.Name == "" || p.Version != 1 {
		t.Errorf("the protocol is %+v", p)
	}
}

func TestConfigOfFiles(t *testing.T) {
	read := func(props string) *hadoopconf.Config { return confOf(t, props) }
	c, err := ConfigOf(read(""))
	if err != nil || c.HeartbeatInterval != time.Second || c.Expiry != 10*time.Minute ||
		c.MinimumVersion != AnyVersion || c.CheckHost {
		t.Fatalf("without files: %+v, %v", c, err)
	}
	c, err = ConfigOf(read(`
		<property><name>yarn.resourcemanager.nodemanagers.heartbeat-interval-ms</name><value>250</value></property>
		<property><name>yarn.nm.liveness-monitor.expiry-interval-ms</name><value>5000</value></property>
		<property><name>yarn.resourcemanager.nodemanager.minimum.version</name><value>EqualToRM</value></property>
		<property><name>yarn.resourcemanager.resource-tracker.nm.ip-hostname-check</name><value>true</value></property>`))
	if err != nil || c.HeartbeatInterval != 250*time.Millisecond || c.Expiry != 5*time.Second ||
		c.MinimumVersion != EqualToRM || !c.CheckHost {
		t.Fatalf("with files: %+v, %v", c, err)
	}
	if _,
		err = ConfigOf(
		read(
			`<property><name>yarn.nm.liveness-monitor.expiry-interval-ms</name><value>soon</value></property>`)); err == nil {
		t.Fatal("a time that is none is accepted")
	}
}
