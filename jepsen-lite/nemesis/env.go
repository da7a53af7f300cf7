package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// ErrNotNow says that a fault has no victim at the moment, or that the cluster is
// not in a state in which it would mean anything. It is no failure.
var ErrNotNow = errors.New("not now")

// Env is what faults work on.
type Env struct {
	Cluster *harness.Cluster
	Rand    *rand.Rand
	Record  *history.Recorder
	// Note is told what is done, for people.
	Note func(format string, args ...any)
	// Violate is told what is wrong beyond doubt: an invariant, and what.
	Violate func(invariant, format string, args ...any)
	// Observe begins to watch a replica that was not watched: a new one.
	Observe func(r *harness.Replica)
	// BeatGap is the longest that a node which speaks Hadoop's wire waited for an answer
	// between two moments; nil where there is none.
	BeatGap func(from, to time.Time) time.Duration
	// Replaces is called before the cluster's log is replaced by another one, while it
	// can be read.
	Replaces func()
	// Until is when no fault is to hold any more; zero is no bound.
	Until time.Time
	// Old and New are the programs of a rolling upgrade.
	Old, New string

	faults  int
	moment  *Moment
	broken  func() error // tells that the fault was broken off
	reached map[string]int
	tried   map[string]int          // named places, reached or not
	set     harness.FailpointAction // the present one
}

// Reach notes that a replica came to a named place of its code at which it was to
// crash or to wait.
func (e *Env) Reach(point string) {
	if e.reached == nil {
		e.reached = map[string]int{}
	}
	e.reached[point]++
}

// Reached are those places, and how often each was come to.
func (e *Env) Reached() map[string]int { return e.reached }

// Moment is one fault as it was done.
type Moment struct {
	Fault    string
	Kind     string
	On       []string
	Text     string
	Began    time.Time
	Ended    time.Time
	OnLeader bool // the victim led
	// Lone says that one replica was killed and nothing else was done to the cluster: where it
	// led, the others were left to find a new leader.
	Lone bool
	Err  error
}

// Heal undoes a fault and waits until its victims take part again.
type Heal func(ctx context.Context) error

// Fault is one way to break the cluster.
type Fault struct {
	Name string
	Kind string // what the machine must offer: harness.Crash, …
	Text string // one line for the list
	// Hold draws how long the fault is to last; nil: it is over at once.
	Hold   func(r *rand.Rand) time.Duration
	Lone   bool // as in Moment
	Inject func(ctx context.Context, e *Env) (Heal, error)
}

// healWithin bounds what a fault takes to be undone and its victims to be back.
const healWithin = 60 * time.Second

// Do injects a fault, holds it and heals it. Scale stretches the hold.
func (e *Env) Do(ctx context.Context, f Fault, scale float64) Moment {
	e.faults++
	id := e.faults
	m := &Moment{Fault: f.Name, Kind: f.Kind, Lone: f.Lone, Began: time.Now()}
	e.moment, e.broken = m, ctx.Err
	heal, err := f.Inject(ctx, e)
	if errors.Is(err, ErrNotNow) {
		m.Err = err
		return *m
	}
	e.Record.Note(&history.Fault{Kind: f.Name, When: history.Begin, ID: id, On: m.On, Text: m.Text})
	if err == nil && f.Hold != nil {
		d := time.Duration(float64(f.Hold(e.Rand)) * scale)
		if !e.Until.IsZero() {
			d = min(d, time.Until(e.Until))
		}
		hold := time.NewTimer(d)
		select {
		case <-hold.C:
		case <-ctx.Done():
			hold.Stop()
		}
	}
	if heal != nil {
		// Also when the run is broken off: nothing stays broken on the machine.
		healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healWithin)
		err = errors.Join(err, heal(healing))
		cancel()
	}
	m.Ended, m.Err = time.Now(), err
	end := &history.Fault{Kind: f.Name, When: history.End, ID: id, On: m.On, Text: m.Text}
	if err != nil {
		end.Text += ": " + err.Error()
	}
	e.Record.Note(end)
	return *m
}

// violated tells what is wrong. What a fault that was broken off did not bring about
// says nothing.
func (e *Env) violated(invariant, format string, args ...any) {
	if e.broken == nil || e.broken() == nil {
		e.Violate(invariant, format, args...)
	}
}

// on notes who the victims are, and what is done to them.
func (e *Env) on(format string, of []*harness.Replica, args ...any) {
	e.moment.On = nil
	for _, r := range of {
		e.moment.On = append(e.moment.On, r.ID)
	}
	e.moment.Text = fmt.Sprintf(format, args...)
	e.Note("%s: %s", e.moment.Fault, e.moment.Text)
}

// members are the replicas that run and take part, as the leader lists them; the
// leader is nil when there is none.
func (e *Env) members(ctx context.Context) (leader *harness.Replica, voters []*harness.Replica) {
	leader = e.Cluster.Leader(ctx)
	if leader == nil {
		return nil, nil
	}
	facts, err := e.Cluster.Facts(ctx, leader)
	if err != nil {
		return nil, nil
	}
	for _, m := range facts.Members {
		if r := e.Cluster.Replica(m.ID); r != nil && m.Voter {
			voters = append(voters, r)
		}
	}
	return leader, voters
}

// victim picks one voter: the leader in one case of two, the newest voter in one
// of four, else anybody.
func (e *Env) victim(ctx context.Context) (*harness.Replica, error) {
	leader, voters := e.members(ctx)
	if leader == nil || len(voters) < 3 {
		return nil, fmt.Errorf("%w: no leader of three voters", ErrNotNow)
	}
	switch e.Rand.IntN(4) {
	case 0, 1:
		e.moment.OnLeader = true
		return leader, nil
	case 2:
		return voters[len(voters)-1], nil
	}
	return voters[e.Rand.IntN(len(voters))], nil
}

// follower picks a voter that does not lead.
func (e *Env) follower(ctx context.Context) (leader, follower *harness.Replica, err error) {
	leader, voters := e.members(ctx)
	if leader == nil || len(voters) < 3 {
		return nil, nil, fmt.Errorf("%w: no leader of three voters", ErrNotNow)
	}
	voters = slices.DeleteFunc(voters, func(r *harness.Replica) bool { return r == leader })
	return leader, voters[e.Rand.IntN(len(voters))], nil
}

// back starts a replica and waits until it takes part.
func (e *Env) back(ctx context.Context, r *harness.Replica) error {
	if err := r.Start(); err != nil {
		return err
	}
	return e.awaitBack(ctx, r)
}

// awaitBack waits until a replica takes part. One that ends by itself is told
// with its own words.
func (e *Env) awaitBack(ctx context.Context, r *harness.Replica) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := make(chan harness.Exit, 1)
	go func() { // it ends with ctx
		if x, err := r.AwaitExit(ctx); err == nil {
			gone <- x
			cancel()
		}
	}()
	err := e.Cluster.AwaitReady(ctx, r)
	select {
	case x := <-gone:
		return fmt.Errorf("%s ended with %d in place of taking part: %s", r.ID, x.Code, lastLines(x.Said, 3))
	default:
	}
	if err != nil {
		err = fmt.Errorf("%w; it says: %s", err, lastLines(r.Said(4000), 3))
	}
	return err
}

// seconds draws a time between two numbers of seconds.
func seconds(from, to float64) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration {
		return time.Duration((from + r.Float64()*(to-from)) * float64(time.Second))
	}
}
