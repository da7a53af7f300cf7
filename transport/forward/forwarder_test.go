package forward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/leadership"
	"rmd/internal/outcome"
	"rmd/scheduler/input"
	"rmd/transport/caller"
	"rmd/transport/peer"
	"rmd/yarn"
)

// network simulates the connections between replicas.
type network struct {
	mu       sync.Mutex
	handlers map[string]func(context.Context, string, []byte) ([]byte, error)
	cut      map[string]bool // calls to this replica get no answer
	refuse   map[string]bool // calls to this replica are not sent
	drop     int             // number of the next replies to lose
	seen     [][]byte
}

func newNetwork() *network {
	return &network{handlers: map[string]func(context.Context, string, []byte) ([]byte, error){}, cut: map[string]bool{},
		refuse: map[string]bool{}}
}

func (n *network) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// port is one replica's access to the network.
type port struct {
	n    *network
	name string
}

func (p port) Handle(method byte, h func(context.Context, string, []byte) ([]byte, error)) {
	if method != MethodInput {
		panic(method)
	}
	p.n.set(func() { p.n.handlers[p.name] = h })
}

func (p port) CallUntil(ctx context.Context, over <-chan struct{}, addr string, _ byte, req []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-over:
			cancel()
		case <-ended:
		}
	}()
	p.n.mu.Lock()
	h, cut, refuse := p.n.handlers[addr], p.n.cut[addr], p.n.refuse[addr]
	p.n.seen = append(p.n.seen, bytes.Clone(req))
	p.n.mu.Unlock()
	switch {
	case refuse || h == nil:
		return nil, fmt.Errorf("dial %s: %w", addr, peer.ErrNotSent)
	case cut:
		<-ctx.Done()
		return nil, fmt.Errorf("%w: %w", peer.ErrOutcomeUnknown, ctx.Err())
	}
	b, err := h(ctx, p.name, req)
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	if p.n.drop > 0 {
		p.n.drop--
		return nil, peer.ErrOutcomeUnknown
	}
	return b, err
}

// seqError is an error with a code, like those of package leader.
type seqError struct {
	code  string
	after int64
}

func (e *seqError) Error() string           { return e.code }
func (e *seqError) ErrorCode() string       { return e.code }
func (e *seqError) RetryAfterMillis() int64 { return e.after }

// sequencer returns the errors of a script, and then succeeds.
type sequencer struct {
	mu     sync.Mutex
	script []error
	calls  int
	index  uint64
	took   time.Duration
	got    input.Request // the last request
}

func (s *sequencer) Do(ctx context.Context, req input.Request) (input.Reply, uint64, error) {
	s.mu.Lock()
	s.calls++
	s.got = req
	var err error
	if len(s.script) > 0 {
		err, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	if s.took > 0 {
		select {
		case <-time.After(s.took):
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return &input.SubmitApplicationReply{ID: yarn.ApplicationID{ClusterTimestamp: 1, Seq: 9}, Queue: "root.a"}, s.index,
		nil
}

// replica is a Forwarder with its dependencies.
type replica struct {
	*Forwarder
	seq     *sequencer
	tracker *Tracker
	applied func(uint64) error
}

func newReplica(t *testing.T, n *network, name string, change func(*Config)) *replica {
	t.Helper()
	r := &replica{seq: &sequencer{index: 42}, tracker: NewTracker(), applied: func(uint64) error { return nil }}
	cfg := DefaultConfig()
	cfg.Logger, cfg.Sequencer, cfg.Peer, cfg.Leader = hclog.NewNullLogger(), r.seq, port{n, name}, r.tracker.Leader
	cfg.WaitApplied = func(_ context.Context, index uint64) error { return r.applied(index) }
	if change != nil {
		change(&cfg)
	}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Forwarder = d
	return r
}

var (
	leaderA = leadership.Leadership{Term: 1, Address: "a"}
	leaderB = leadership.Leadership{Term: 2, Address: "b"}
	request = input.Request{Key: "cli/1", BodyHash: 7, Input: &input.SubmitApplication{Name: "x", User: "ann", Queue: "a"}}
)

func here(l leadership.Leadership) leadership.Leadership { l.IsLeader = true; return l }

func (r *replica) must(t *testing.T) {
	t.Helper()
	reply, index, err := r.Do(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if got := reply.(*input.SubmitApplicationReply); got.ID.Seq != 9 || got.Queue != "root.a" || index != 42 {
		t.Errorf("reply %+v at %d", got, index)
	}
}

func TestLocalAndForwardedInputs(t *testing.T) {
	n := newNetwork()
	a, b := newReplica(t, n, "a", nil), newReplica(t, n, "b", nil)
	a.tracker.Set(here(leaderA))
	b.tracker.Set(leaderA)
	a.must(t)
	waited := uint64(0)
	b.applied = func(index uint64) error { waited = index; return nil }
	b.must(t)
	if a.seq.calls != 2 || b.seq.calls != 0 || waited != 42 {
		t.Errorf("calls %d and %d, waited for %d", a.seq.calls, b.seq.calls, waited)
	}
}

func TestRefusalOfThePlannerIsAReply(t *testing.T) {
	a := answerTo(input.Refuse(request.Input, input.Refusef(input.QueueFull, "wait", "full")), 3, nil)
	o := resultOf(request.Input, a.encode())
	if f := o.reply.Refused(); o.kind != verdictDone || o.err != nil || f == nil || f.Reason != input.QueueFull ||
		o.index != 3 {
		t.Errorf("resultOf a refusal = %+v, want it done at index 3 and refused with %s",
			o, input.QueueFull)
	}
}

func TestReplyWaitsUntilAppliedHere(t *testing.T) {
	n := newNetwork()
	a, b := newReplica(t, n, "a", nil), newReplica(t, n, "b", nil)
	a.tracker.Set(here(leaderA))
	b.tracker.Set(leaderA)
	b.applied = func(uint64) error { return errors.New("stopped") }
	if _, _, err := b.Do(t.Context(), request); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("a reply left though its index is not applied here: %v", err)
	}
}

func TestHeldUntilThereIsALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, b := newReplica(t, n, "a", nil), newReplica(t, n, "b", nil)
		time.AfterFunc(3*time.Second, func() {
			a.tracker.Set(here(leaderA))
			b.tracker.Set(leaderA)
		})
		began := time.Now()
		b.must(t)
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("took %s, the leader was there after 3 s", d)
		}
		if b.Held() != 0 {
			t.Errorf("%d held", b.Held())
		}
	})
}

func TestHoldExpires(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(n *network, a, b *replica)
		want    error
	}{
		"no leader":   {func(*network, *replica, *replica) {}, ErrStandby},
		"unreachable": {func(n *network, _, b *replica) { n.refuse["a"] = true; b.tracker.Set(leaderA) }, ErrStandby},
		"not leading": {func(_ *network, a, b *replica) {
			b.tracker.Set(leaderA)
			a.seq.script = endless("NOT_LEADER")
		}, ErrStandby},
		"always busy": {func(_ *network, a, b *replica) { b.tracker.Set(leaderA); a.seq.script = endless("BUSY") }, ErrBusy},
		"once unknown": {func(_ *network, a, b *replica) {
			b.tracker.Set(leaderA)
			a.seq.script = append([]error{&seqError{code: "UNKNOWN_OUTCOME"}}, endless("NOT_LEADER")...)
		}, ErrUnknownOutcome},
		"reply always lost": {func(n *network, _, b *replica) {
			n.drop = 1 << 20
			b.tracker.Set(leaderA)
		}, ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				a, b := newReplica(t, n, "a", nil), newReplica(t, n, "b", nil)
				c.prepare(n, a, b)
				began := time.Now()
				_, _, err := b.Do(t.Context(), request)
				if !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if d := time.Since(began); d != b.cfg.Hold {
					t.Errorf("held for %s, want %s", d, b.cfg.Hold)
				}
				if b.Held() != 0 || b.calls.Load() != 0 {
					t.Errorf("%d held, %d in flight", b.Held(), b.calls.Load())
				}
			})
		})
	}
}

func endless(code string) []error {
	out := make([]error, 10_000)
	for i := range out {
		out[i] = &seqError{code: code, after: 20}
	}
	return out
}

func TestRefuse(t *testing.T) {
	n := newNetwork()
	a, b := newReplica(t, n, "a", nil), newReplica(t, n, "b", func(c *Config) { c.Refuse = true })
	a.tracker.Set(here(leaderA))
	b.tracker.Set(leaderA)
	if _, _, err := b.Do(t.Context(), request); !errors.Is(err, ErrStandby) {
		t.Errorf("Do on a follower that refuses = %v, want ErrStandby", err)
	}
	b.tracker.Set(here(leaderB))
	b.must(t)
}

func TestUnknownOutcomeIsRepeatedWithTheSameRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, b := newReplica(t, n, "a", nil), newReplica(t, n, "b", nil)
		a.tracker.Set(here(leaderA))
		b.tracker.Set(leaderA)
		n.drop = 2
		a.seq.script = []error{nil, nil, &seqError{code: "UNKNOWN_OUTCOME"}, &seqError{code: "NOT_LEADER"},
			&seqError{code: "BUSY", after: 30}}
		b.must(t)
		if a.seq.calls != 6 || len(n.seen) != 6 {
			t.Fatalf("%d tries", a.seq.calls)
		}
		for _, s := range n.seen {
			if !bytes.Equal(s, n.seen[0]) {
				t.Error("a repetition differs from the first try")
			}
		}
		a.seq.script = []error{&seqError{code: "UNKNOWN_OUTCOME"}}
		a.must(t) // also at the leader itself
	})
}

func TestFinalErrorIsNotRepeated(t *testing.T) {
	n := newNetwork()
	a, b := newReplica(t, n, "a", nil), newReplica(t, n, "b", nil)
	a.tracker.Set(here(leaderA))
	b.tracker.Set(leaderA)
	a.seq.script = []error{&seqError{code: "TOO_LARGE"}, &seqError{code: "TOO_LARGE"}}
	for _, r := range []*replica{a, b} {
		if _, _, err := r.Do(t.Context(), request); outcome.Code(err) != "TOO_LARGE" {
			t.Errorf("Do of a too large input = %v, want code TOO_LARGE", err)
		}
	}
	if a.seq.calls != 2 {
		t.Errorf("%d tries", a.seq.calls)
	}
}

// TestChangeOfLeaderFreesAHangingCall checks that a call to a leader that is cut off, and never
// answers, continues at the next leader.
func TestChangeOfLeaderFreesAHangingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		newReplica(t, n, "a", nil)
		b, c := newReplica(t, n, "b", nil), newReplica(t, n, "c", nil)
		n.cut["a"] = true
		c.tracker.Set(leaderA)
		time.AfterFunc(time.Second, func() { c.tracker.Set(leadership.Leadership{Term: 2}) })
		time.AfterFunc(2*time.Second, func() {
			b.tracker.Set(here(leaderB))
			c.tracker.Set(leaderB)
		})
		began := time.Now()
		c.must(t)
		if d := time.Since(began); d != 2*time.Second || b.seq.calls != 1 {
			t.Errorf("after %s, %d calls at the new leader", d, b.seq.calls)
		}
	})
}

// TestHoldTimeStartsAtFirstFailure checks that the hold time begins with the first failure and not
// with the call.
func TestHoldTimeStartsAtFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, b := newReplica(t, n, "a", nil), newReplica(t, n, "b", nil)
		b.tracker.Set(leaderA)
		a.seq.took = 10 * time.Second
		a.seq.script = []error{&seqError{code: "NOT_LEADER"}}
		b.must(t)
	})
}

func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		newReplica(t, n, "a", nil)
		b := newReplica(t, n, "b", nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := b.Do(ctx, request); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("without a try: %v", err)
		}
		n.cut["a"] = true
		b.tracker.Set(leaderA)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := b.Do(ctx, request); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("with a try under way: %v", err)
		}
	})
}

func TestHeldIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newReplica(t, newNetwork(), "b", func(c *Config) { c.HeldMax = 2 })
		errs := make(chan error, 3)
		for range 3 {
			go func() {
				_, _, err := b.Do(t.Context(), request)
				errs <- err
			}()
		}
		synctest.Wait()
		if len(errs) != 1 {
			t.Fatalf("%d of 3 turned away, one expected", len(errs))
		}
		if err := <-errs; !errors.Is(err, ErrBusy) {
			t.Errorf("Do over the bound of waiting requests = %v, want ErrBusy", err)
		}
		<-errs
		<-errs
	})
}

func TestVersions(t *testing.T) {
	n := newNetwork()
	a, b := newReplica(t, n, "a", nil), newReplica(t, n, "b", nil)
	good := encodeRequest(request)
	for what, bad := range map[string][]byte{
		"frame": append([]byte{version + 1}, good[1:]...),
		"codec": append([]byte{version, 99}, good[2:]...),
		"kind":  append([]byte{version, input.Version, 100}, good[3:]...),
		"empty": nil,
	} {
		out, err := a.serve(t.Context(), "b", bad)
		if err != nil {
			t.Fatal(err)
		}
		if o := resultOf(request.Input, out); !errors.Is(o.err, ErrVersion) || o.kind != verdictDone {
			t.Errorf("resultOf the answer to another %s = %+v, want it done with ErrVersion", what, o)
		}
	}
	out, _ := a.serve(t.Context(), "b", good[:len(good)-1])
	if o := resultOf(request.Input, out); outcome.Code(o.err) != string(input.InvalidRequest) {
		t.Errorf("cut request: %+v", o)
	}
	b.tracker.Set(leaderA)
	n.set(func() {
		n.handlers["a"] = func(context.Context, string, []byte) ([]byte, error) {
			return nil, &peer.RemoteError{Code: "NO_METHOD", Text: "method 32 is not served here"}
		}
	})
	if _, _, err := b.Do(t.Context(), request); !errors.Is(err, ErrVersion) {
		t.Errorf("Do without the method at the leader = %v, want ErrVersion", err)
	}
}

func FuzzWire(f *testing.F) {
	f.Add(encodeRequest(request))
	for _, a := range []answer{{status: statusDone, index: 4, reply: []byte{0}}, {status: statusBusy, retryAfterMillis: 5},
		{status: statusRefused, code: "C", text: "t"}, {status: statusUnknown}} {
		f.Add(a.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeRequest(b); err == nil && !bytes.Equal(encodeRequest(r), b) {
			t.Error("a request decodes from bytes that are not its own")
		}
		if a, err := decodeAnswer(b); err == nil && !bytes.Equal(a.encode(), b) {
			t.Error("an answer decodes from bytes that are not its own")
		}
		resultOf(request.Input, b)
	})
}

// TestIdempotencyKeyOwners checks that a call has the same key at every replica, and that equal keys
// of two callers differ.
func TestIdempotencyKeyOwners(t *testing.T) {
	n := newNetwork()
	submit := func(who string) string {
		r := newReplica(t, n, "a", nil)
		r.tracker.Set(leadership.Leadership{Term: 1, Address: "a", IsLeader: true})
		ctx := caller.With(t.Context(), input.Caller{Who: who})
		if _, _, err := r.Do(ctx, input.Request{Key: "laptop/1", Input: &input.SubmitApplication{}}); err != nil {
			t.Fatal(err)
		}
		return r.seq.got.Key
	}
	alice := submit("alice")
	if alice != input.OwnedKey("laptop/1", "alice") || alice != submit("alice") || alice == submit("bob") {
		t.Errorf("alice's key is %q", alice)
	}
}
