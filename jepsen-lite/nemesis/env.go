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

// ErrNotNow means that a fault has no victim now, or that it would mean nothing in the cluster's
// present state. It is not a failure. If Inject has changed something before it finds this out, it
// also returns a Heal.
var ErrNotNow = errors.New("not now")

// Env is the environment of faults.
type Env struct {
	Cluster *harness.Cluster
	Rand    *rand.Rand
	Record  *history.Recorder
	// Note receives a line for people about each fault.
	Note func(format string, args ...any)
	// Violate receives a certain violation: the invariant and a description.
	Violate func(invariant, format string, args ...any)
	// Observe begins to observe a new replica.
	Observe func(r *harness.Replica)
	// BeatGap returns the longest time that a node with Hadoop's protocol waited for an answer
	// between two times. It is nil if there are no such nodes.
	BeatGap func(from, to time.Time) time.Duration
	// Replaces is called before the cluster's log is replaced by another one, while the log can
	// still be read.
	Replaces func()
	// Until is the time at which every fault must have ended. Zero means no limit.
	Until time.Time
	// Old and New are the programs of a rolling upgrade.
	Old, New string

	faults  int
	moment  *Moment
	broken  func() error // returns an error if the fault was interrupted
	reached map[string]int
	tried   map[string]int          // how often each failpoint was chosen, reached or not
	set     harness.FailpointAction // the present failpoint
}

// Reach records that a replica reached a failpoint at which it had to crash or wait.
func (e *Env) Reach(point string) {
	if e.reached == nil {
		e.reached = map[string]int{}
	}
	e.reached[point]++
}

// Reached returns the failpoints that were reached, and how often.
func (e *Env) Reached() map[string]int { return e.reached }

// Moment is one execution of a fault.
type Moment struct {
	Fault    string
	Kind     string
	On       []string
	Text     string
	Began    time.Time
	Ended    time.Time
	OnLeader bool // the victim was the leader
	// Lone says that one replica was killed and nothing else was done to the cluster. If it was the
	// leader, the others had to elect a new one.
	Lone bool
	Err  error
}

// Heal ends a fault and waits until its victims take part again.
type Heal func(ctx context.Context) error

// Fault is a kind of fault.
type Fault struct {
	Name string
	Kind string // what the machine must support: harness.Crash, …
	Text string // one line for the list of faults
	// Hold draws how long the fault lasts. If it is nil, the fault ends at once.
	Hold func(r *rand.Rand) time.Duration
	Lone bool // as in Moment
	// Disk says that a running replica's disk is slow, full or hung, or fails. A majority of other
	// replicas must go on (L5).
	Disk   bool
	Inject func(ctx context.Context, e *Env) (Heal, error)
}

// All returns all faults.
func All() []Fault {
	return slices.Concat(Processes(), Stdio(), Links(), Disks(), Files(), Certificates(), Membership(), Clocks(),
		Failpoints(), Strangers(), Upgrades(), Others())
}

// Find returns a fault by its name.
func Find(name string) (Fault, bool) {
	for _, f := range All() {
		if f.Name == name {
			return f, true
		}
	}
	return Fault{}, false
}

// healWithin limits how long a Heal may take.
const healWithin = 60 * time.Second

// Do injects a fault, holds it and heals it. It multiplies the time of the hold by scale.
func (e *Env) Do(ctx context.Context, f Fault, scale float64) Moment {
	e.faults++
	id := e.faults
	m := &Moment{Fault: f.Name, Kind: f.Kind, Lone: f.Lone, Began: time.Now()}
	e.moment, e.broken = m, ctx.Err
	heal, err := f.Inject(ctx, e)
	if errors.Is(err, ErrNotNow) && heal == nil {
		m.Err = err
		return *m
	}
	e.Record.Note(&history.Fault{Kind: f.Name, When: history.Begin, ID: id, On: m.On, Text: m.Text, Disk: f.Disk})
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
		// Heal also when the run is interrupted, so that the machine is left in order.
		healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healWithin)
		healed := heal(healing)
		cancel()
		if healed != nil && errors.Is(err, ErrNotNow) {
			err = nil // the cluster is not in order: this is a failure
		}
		err = errors.Join(err, healed)
	}
	m.Ended, m.Err = time.Now(), err
	end := &history.Fault{Kind: f.Name, When: history.End, ID: id, On: m.On, Text: m.Text}
	if err != nil {
		end.Text += ": " + err.Error()
	}
	e.Record.Note(end)
	return *m
}

// violated reports a violation, except during a fault that was interrupted.
func (e *Env) violated(invariant, format string, args ...any) {
	if e.broken == nil || e.broken() == nil {
		e.Violate(invariant, format, args...)
	}
}

// recordVictims records the victims and the action of the present fault.
func (e *Env) recordVictims(format string, of []*harness.Replica, args ...any) {
	e.moment.On = nil
	for _, r := range of {
		e.moment.On = append(e.moment.On, r.ID)
	}
	e.moment.Text = fmt.Sprintf(format, args...)
	e.Note("%s: %s", e.moment.Fault, e.moment.Text)
}

// members returns the leader and the voters, as the leader lists them. The leader is nil if there
// is none.
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

// victim returns one voter: the leader in two of four cases, the newest voter in one of four,
// otherwise any voter.
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

// follower returns the leader and a voter that does not lead.
func (e *Env) follower(ctx context.Context) (leader, follower *harness.Replica, err error) {
	leader, voters := e.members(ctx)
	if leader == nil || len(voters) < 3 {
		return nil, nil, fmt.Errorf("%w: no leader of three voters", ErrNotNow)
	}
	voters = slices.DeleteFunc(voters, func(r *harness.Replica) bool { return r == leader })
	return leader, voters[e.Rand.IntN(len(voters))], nil
}

// restart starts a replica and waits until it is ready.
func (e *Env) restart(ctx context.Context, r *harness.Replica) error {
	if err := r.Start(); err != nil {
		return err
	}
	return e.awaitBack(ctx, r)
}

// awaitBack waits until a replica is ready. If the replica ends by itself, the error contains its
// last log lines.
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

// seconds returns a function that draws a duration between two numbers of seconds.
func seconds(from, to float64) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration {
		return time.Duration((from + r.Float64()*(to-from)) * float64(time.Second))
	}
}
