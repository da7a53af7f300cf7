package tracker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// protocolName is the protocol's name in request headers.
const protocolName = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"

// Service answers the NodeManagers that are connected to this replica.
type Service struct {
	cfg   Config
	start time.Time
	seen  atomic.Pointer[view]
	idle  idleNodes
	// queues is the replicated configuration: it says how small a container may be, and who tells the
	// labels of nodes.
	queues frontend.QueueConf
	// unreachableSince is when heartbeats began to fail to reach the leader, as time since
	// start plus one; 0: the last ones did.
	unreachableSince atomic.Int64
	// mismatchNext is when the next mismatch is named in the log, as time since start.
	mismatchNext atomic.Int64

	mu       sync.RWMutex
	sessions map[yarn.NodeID]*session
}

// view is a committed state with what every heartbeat needs of it.
type view struct {
	st           *state.State
	at           time.Duration
	containerKey int32 // the newest keys' ids
	nmKey        int32
}

// New returns a service. Its Run must be running for idle nodes to be scheduled
// on.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Service{cfg: cfg, start: time.Now(), idle: newIdleNodes(), sessions: map[yarn.NodeID]*session{}}, nil
}

// Protocol is what the resource-tracker port serves.
func (s *Service) Protocol() ipc.Protocol {
	return ipc.Protocol{Name: protocolName, Version: 1, Methods: map[string]ipc.Method{
		"registerNodeManager":   ipc.Handle(s.registerNodeManager),
		"nodeHeartbeat":         ipc.HandleBytes(s.nodeHeartbeat).Inline(),
		"unRegisterNodeManager": ipc.Handle(s.unRegisterNodeManager),
	}}
}

// Sessions is how many nodes this replica keeps a session of.
func (s *Service) Sessions() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.sessions)
}

// Run passes the heartbeats of idle nodes on and forgets nodes that are not heard any
// more, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	sweep := time.NewTicker(max(s.cfg.Expiry/4, time.Millisecond))
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			s.sweep()
		case <-s.idle.wake:
			select {
			case <-ctx.Done():
				return
			case <-time.After(s.cfg.BatchInterval):
			}
			s.flush(ctx)
		}
	}
}

// flush hands the idle nodes that were gathered to the leader. When that fails they
// are dropped: the nodes' next heartbeats come soon.
func (s *Service) flush(ctx context.Context) {
	for {
		nodes := s.idle.take(s.cfg.BatchNodesMax)
		if len(nodes) == 0 {
			return
		}
		reply, _, err := s.cfg.Submitter.Do(ctx, input.Request{Input: &input.NodesHeard{Nodes: nodes}})
		if err == nil {
			if f := reply.Refused(); f != nil {
				err = f
			}
		}
		s.reached(err)
		if err != nil {
			s.cfg.Logger.Debug("heartbeats of idle nodes dropped", "nodes", len(nodes), "error", err)
			return
		}
	}
}

// reached notes whether the leader could be reached.
func (s *Service) reached(err error) {
	if err == nil {
		if s.unreachableSince.Load() != 0 {
			s.unreachableSince.Store(0)
		}
		return
	}
	s.unreachableSince.CompareAndSwap(0, int64(s.now())+1)
}

// leaderUnreachable says whether this replica has not reached a leader for so long that it must
// not tell nodes that all is well: the leader may be losing them meanwhile, and
// another replica may reach it.
func (s *Service) leaderUnreachable(now time.Duration) bool {
	since := s.unreachableSince.Load()
	return since != 0 && now-time.Duration(since) >= s.cfg.CutAfter
}

// sweep forgets the nodes that are not heard any more.
func (s *Service) sweep() {
	now := s.now()
	var gone []*session
	s.mu.RLock()
	for _, ss := range s.sessions { // the order does not matter
		if ss.silent(now) > 2*s.cfg.Expiry {
			gone = append(gone, ss)
		}
	}
	s.mu.RUnlock()
	for _, ss := range gone {
		s.forget(ss)
	}
}

// now is the time since the service began, on the monotonic clock.
func (s *Service) now() time.Duration { return time.Since(s.start) }

// recent is a view that is at most ViewFor old.
func (s *Service) recent(now time.Duration) *view {
	if v := s.seen.Load(); v != nil && now-v.at < s.cfg.ViewFor {
		return v
	}
	return s.fresh(now)
}

// fresh is the view of what this replica has applied by now.
func (s *Service) fresh(now time.Duration) *view {
	st := s.cfg.Reader.Fork()
	v := s.seen.Load()
	if v != nil && v.st == st && now-v.at < s.cfg.ViewFor {
		return v
	}
	ring := token.NewRing(st)
	v = &view{st: st, at: now, containerKey: ring.Newest(yarn.KeyContainer).ID, nmKey: ring.Newest(yarn.KeyNM).ID}
	s.seen.Store(v)
	return v
}

// session returns a node's session; nil when there is none.
func (s *Service) session(id yarn.NodeID) *session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sessions[id]
}

// find is session for a host that is still in the request's bytes.
func (s *Service) find(host []byte, port uint16) *session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sessions[yarn.NodeID{Host: string(host), Port: port}]
}

// open puts a node's new session in the place of the one before, unless that
// came after old was looked up.
func (s *Service) open(old, ss *session) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.sessions[ss.id]; now != nil && now != old {
		return now
	}
	s.sessions[ss.id] = ss
	return ss
}

// forget drops a session.
func (s *Service) forget(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[ss.id] == ss {
		delete(s.sessions, ss.id)
	}
}

// do has an input planned. What the forwarder cannot do now becomes a
// StandbyException: the node tries the next replica, and then this one again.
func (s *Service) do(ctx context.Context, in input.Input) (input.Reply, error) {
	reply, _, err := s.cfg.Submitter.Do(ctx, input.Request{Input: in})
	if err != nil {
		return nil, ipc.Standby(err.Error())
	}
	s.reached(nil)
	if f := reply.Refused(); f != nil && f.Reason == input.NotInitialized {
		return nil, ipc.Standby(f.Error())
	}
	return reply, nil
}

// current waits until this replica has applied what the leader had committed.
func (s *Service) current(ctx context.Context) error {
	if err := s.cfg.Reader.Current(ctx); err != nil {
		return ipc.Standby(err.Error())
	}
	return nil
}

// invalid is the refusal of a call that no NodeManager makes.
func invalid(format string, args ...any) error {
	return &ipc.Error{Class: ipc.ClassYarn, Message: fmt.Sprintf(format, args...)}
}
