package master

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// attempt is what the service remembers of an attempt whose AM calls this replica.
type attempt struct {
	id    yarn.AttemptID
	user  string
	keeps bool // its application keeps containers across attempts
	// wireID is the encoded id. logs are the encoded log aggregation settings of the submission.
	// They and acls never change.
	wireID, logs []byte
	acls         []*proto.ApplicationACLMapProto
	// heard is the time of its last call, in Unix nanoseconds.
	heard atomic.Int64

	mu sync.Mutex
	// response is the number of the last response given here. What was sent with it counts as
	// received when a call with another number comes.
	response  int32
	nodesTold uint64 // position in the log of nodes that the AM has received
	nodesSent uint64 // position that was sent with response
	tokens    map[yarn.NodeID]sentToken
	ownKey    int32 // key id of the last new AM token
	ownSent   int32 // number of the response with that token
}

// sentToken is a sent NM token: the number of the response, the key's id, and the time of the
// node's registration.
type sentToken struct {
	response   int32
	key        int32
	registered int64
}

// appOf returns the application of a running attempt. It returns nil if the attempt is unknown or
// has ended.
func appOf(st *state.State, id yarn.AttemptID) *state.App {
	slot := st.Apps.ByID(id.App)
	if slot == 0 {
		return nil
	}
	if a := st.Apps.Get(slot); a.Attempt == id.Attempt && a.AttemptState != state.AttemptEnded && !a.State.Ended() {
		return a
	}
	return nil
}

// enter returns what is remembered of an attempt, or creates it. fresh says that the AM has
// received nothing yet.
func (s *Service) enter(ctx context.Context, id yarn.AttemptID, fresh bool) (*attempt, error) {
	now := s.cfg.Now()
	if a := s.attempts.get(id, now); a != nil {
		return a, nil
	}
	st := s.cfg.Reader.Fork()
	app := appOf(st, id)
	if app == nil {
		if err := s.cfg.Reader.Current(ctx); err != nil {
			return nil, unavailable(err)
		}
		st = s.cfg.Reader.Fork()
		if app = appOf(st, id); app == nil {
			return nil, notFound(id)
		}
	}
	a := &attempt{id: id, user: st.Names.Text(app.User), keeps: app.KeepContainers, wireID: appendAttempt(nil, id)}
	if c, err := wire.Submission([]byte(app.Details().Context)); err == nil {
		a.logs = appendLogs(c.GetLogAggregationContext())
		a.acls = c.GetAmContainerSpec().GetApplication_ACLs()
	}
	s.nodes.look(st)
	a.nodesTold = s.nodes.begin(app.AttemptMillis, fresh && id.Attempt == 1)
	a.nodesSent = a.nodesTold
	return s.attempts.add(a, now), nil
}

// attemptCache remembers attempts. It drops attempts that have not called for a long time, and when
// there are too many.
type attemptCache struct {
	most  int
	after time.Duration

	mu    sync.RWMutex
	all   map[yarn.AttemptID]*attempt
	swept time.Time
}

func (b *attemptCache) init(most int, after time.Duration) {
	b.most, b.after, b.all = most, after, make(map[yarn.AttemptID]*attempt)
}

func (b *attemptCache) get(id yarn.AttemptID, now time.Time) *attempt {
	b.mu.RLock()
	a, due := b.all[id], now.Sub(b.swept) > b.after/4
	b.mu.RUnlock()
	if a != nil {
		a.heard.Store(now.UnixNano())
	}
	if due {
		b.sweep(now)
	}
	return a
}

// add adds an attempt, or returns the one that another call has added.
func (b *attemptCache) add(a *attempt, now time.Time) *attempt {
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.all[a.id]; other != nil {
		return other
	}
	if len(b.all) >= b.most {
		b.evict()
	}
	a.heard.Store(now.UnixNano())
	b.all[a.id] = a
	return a
}

// evict drops one of 16 attempts, the one that has not called for the longest time. It does not
// look at all attempts, because that would be slow and which one is dropped matters little.
func (b *attemptCache) evict() {
	var oldest *attempt
	seen := 0
	for _, a := range b.all {
		if oldest == nil || a.heard.Load() < oldest.heard.Load() {
			oldest = a
		}
		if seen++; seen == 16 {
			break
		}
	}
	delete(b.all, oldest.id)
}

func (b *attemptCache) sweep(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.swept) <= b.after/4 {
		return
	}
	b.swept = now
	for id, a := range b.all {
		if now.Sub(time.Unix(0, a.heard.Load())) > b.after {
			delete(b.all, id)
		}
	}
}

func (b *attemptCache) drop(id yarn.AttemptID) {
	b.mu.Lock()
	delete(b.all, id)
	b.mu.Unlock()
}

func (b *attemptCache) len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.all)
}
