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

// attempt is what the service remembers of an attempt whose AM calls here.
type attempt struct {
	id    yarn.AttemptID
	user  string
	keeps bool // its application keeps containers over attempts
	// wireID is its id, and logs the log aggregation of its submission, as they
	// are written in messages; with acls never changed.
	wireID, logs []byte
	acls         []*proto.ApplicationACLMapProto
	// heard is when it called last, Unix nanoseconds.
	heard atomic.Int64

	mu sync.Mutex
	// largest is the largest container of its queue, when it registered here.
	largest yarn.Resource
	known   bool
	// response is the last one given here; what was sent with it counts as told
	// when a call with another number comes.
	response  int32
	nodesTold uint64 // position in the log of nodes
	nodesSent uint64 // position after response
	tokens    map[yarn.NodeID]sentToken
	ownKey    int32 // of the last token for itself that was sent, and
	ownSent   int32 // with which response
}

// sentToken is an NM token that was sent: with which response, of which key, and
// to which registration of the node.
type sentToken struct {
	response   int32
	key        int32
	registered int64
}

// appOf is the application of an attempt that goes on; nil when it is not known
// or over.
func appOf(st *state.State, id yarn.AttemptID) *state.App {
	slot := st.AppByID(id.App)
	if slot == 0 {
		return nil
	}
	if a := st.Apps.Get(slot); a.Attempt == id.Attempt && a.AttemptState != state.AttemptEnded && !a.State.Ended() {
		return a
	}
	return nil
}

// enter finds what is remembered of an attempt, or begins to remember it. fresh
// says that its AM knows nothing yet.
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
	a := &attempt{id: id, user: st.NameOf(app.User), keeps: app.KeepContainers, wireID: appendAttempt(nil, id)}
	if c, err := wire.Submission([]byte(app.Details().Context)); err == nil {
		a.logs = appendLogs(c.GetLogAggregationContext())
		a.acls = c.GetAmContainerSpec().GetApplication_ACLs()
	}
	s.nodes.look(st)
	a.nodesTold = s.nodes.begin(app.AttemptMillis, fresh && id.Attempt == 1)
	a.nodesSent = a.nodesTold
	return s.attempts.add(a, now), nil
}

// attemptCache holds the attempts. What has been silent for long is dropped, and the
// longest silent when there are too many.
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

// add enters an attempt, or returns the one that another call has entered.
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

// evict drops the longest silent of a few: which it is matters little, and
// looking at all of them for each new one would.
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
