package shadow

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"rmd/analysis/runner"
	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/diff"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
)

// Options configures a shadow.
type Options struct {
	Eager bool   // whether the leader schedules eagerly
	Seed  uint64 // of the random numbers that estimate unknown run times
	// BehindMillis is how far a shadow that has diverged stays behind the log, in milliseconds. If
	// it starts a container at most this much earlier than the cluster, it knows in time how long
	// the container runs.
	BehindMillis int64
	MaxHeld      int // the most events kept for that; with more of them the shadow stays less far behind
	// MaxApps, MaxContainers and MaxOps limit what is remembered of applications that have not
	// ended on both sides. MaxOps limits the asks of the cluster's AMs that the shadow's AMs have
	// not made yet. A shadow that exceeds a limit ends with ErrTooLarge.
	MaxApps, MaxContainers, MaxOps int
}

// DefaultOptions returns the default options.
func DefaultOptions() Options {
	return Options{Eager: true, Seed: 1, BehindMillis: 600_000, MaxHeld: 1_000_000, MaxApps: 50_000,
		MaxContainers: 1_000_000, MaxOps: 1_000_000}
}

// ErrTooLarge ends a shadow that has reached a limit of Options.
var ErrTooLarge = errors.New("the shadow has reached its bound of memory")

// Shadow runs another configuration in parallel with a cluster. Its methods must not be called
// concurrently.
type Shadow struct {
	o       Options
	changes []diff.Change // compared to the configuration at the start
	index   uint64        // index of the last entry
	entries uint64
	decided uint64 // number of events that the shadow decided as the cluster did
	began   int64

	real     *scheduler.Scheduler // the cluster's side, which only applies events
	own      *planner.Planner     // the shadow's side, with the other configuration
	record   *record              // the asks of applications, and how long containers run
	diverged *divergedRun         // nil while the shadow decides as the cluster does
	apart    *api.ShadowDivergence
	probed   int64 // when it was last checked whether the other configuration would decide more
	rounded  int64 // when a round of preemption was last tried

	realMeter, ownMeter *meter
	series              series

	// After the shadow has diverged, both sides stay behind the log, so that the run times of
	// containers are known in time.
	ahead      *state.State // the cluster's state at the end of the log
	held       []entry      // the entries that ahead has applied and the two sides have not
	heldEvents int
}

// New starts a shadow. st is the cluster's state at index, and belongs to the shadow from now on.
// If the configuration is invalid, the error is an *input.Refusal. New also returns warnings about
// the configuration.
func New(st *state.State, index uint64, properties []input.Property, o Options) (*Shadow, []string, error) {
	if st.Versions.Current() == nil {
		return nil, nil, input.NoFirstQueues()
	}
	s := &Shadow{o: o, index: index, began: st.Meta.NowMillis, probed: st.Meta.NowMillis, rounded: st.Meta.NowMillis}
	var err error
	if s.own, err = planner.New(st.Fork(), planner.Options{Eager: o.Eager}); err != nil {
		return nil, nil, err
	}
	if s.real, err = scheduler.New(st, o.Eager); err != nil {
		return nil, nil, err
	}
	warnings, err := s.configure(properties)
	if err != nil {
		return nil, nil, err
	}
	s.record = newRecord(st, o)
	s.realMeter, s.ownMeter = newMeter(s.real), newMeter(s.own.Scheduler())
	s.series = newSeries(s.began)
	if s.apart != nil {
		err = s.leave()
	}
	return s, warnings, err
}

// configure applies the shadow's configuration. It does not apply one that changes nothing, since
// that would create a new version.
func (s *Shadow) configure(properties []input.Property) ([]string, error) {
	list := make([]capacity.Property, len(properties))
	for i, p := range properties {
		list[i] = capacity.Property(p)
	}
	if cfg, err := capacity.Parse(list); err == nil {
		if s.changes = diff.Of(s.own.Config(), cfg); len(s.changes) == 0 {
			return nil, nil
		}
	}
	reply, events := s.own.Plan(s.began, input.Request{Input: &input.SetQueues{Properties: properties, Comment: "shadow"}})
	if f := reply.Refused(); f != nil {
		return nil, f
	}
	for _, e := range events {
		if e.Kind() != event.KindQueuesConfigured {
			s.apart = &api.ShadowDivergence{Index: s.index, AtMillis: s.began, Cluster: "nothing", Shadow: event.Describe(e)}
			break
		}
	}
	return reply.(*input.SetQueuesReply).Warnings, nil
}

// Apply applies an entry of the log. Nobody may change its events afterwards.
func (s *Shadow) Apply(index uint64, events []event.Event) error {
	s.index = index
	s.entries++
	if s.diverged == nil { // what would the shadow have decided since the last entry?
		if err := s.probe(event.TimeIn(events)); err != nil {
			return err
		}
	}
	for len(events) > 0 && s.diverged == nil {
		n, err := s.follow(events)
		if err != nil {
			return err
		}
		for _, e := range events[:n] {
			if err := s.applyReal(e); err != nil {
				return err
			}
			s.record.add(s.real.State, e)
		}
		events = events[n:]
	}
	if s.diverged == nil {
		if err := s.probe(s.Now()); err != nil {
			return err
		}
		s.sample()
	}
	if s.diverged != nil {
		if err := s.hold(events); err != nil {
			return err
		}
	}
	if r := s.record; len(r.jobs) > s.o.MaxApps || r.containers > s.o.MaxContainers || r.ops > s.o.MaxOps {
		return fmt.Errorf("%w: %d applications, %d containers, %d changes of asks", ErrTooLarge, len(r.jobs),
			r.containers, r.ops)
	}
	return nil
}

// applyReal applies an event to the cluster's side.
func (s *Shadow) applyReal(e event.Event) error {
	if err := s.real.Apply(e); err != nil {
		return err
	}
	s.realMeter.add(s.real.State, s.real.State.Changes())
	return nil
}

// entry is an entry of the log that both sides apply later.
type entry struct {
	at     int64
	events []event.Event
}

// hold records what applications do, and keeps the events until both sides apply them.
func (s *Shadow) hold(events []event.Event) error {
	for _, e := range events {
		if err := s.ahead.Apply(e); err != nil {
			return err
		}
		s.record.add(s.ahead, e)
		s.diverged.runMasters(s.ahead.Changes())
	}
	s.held = append(s.held, entry{s.ahead.Meta.NowMillis, events})
	s.heldEvents += len(events)
	return s.catchUp(s.ahead.Meta.NowMillis - s.o.BehindMillis)
}

// catchUp advances both sides to a time, or further if more than MaxHeld events are kept.
func (s *Shadow) catchUp(to int64) error {
	for len(s.held) > 0 && (s.held[0].at <= to || s.heldEvents > s.o.MaxHeld) {
		x := s.held[0]
		s.held[0] = entry{}
		s.held = s.held[1:]
		s.heldEvents -= len(x.events)
		for _, e := range x.events {
			if err := s.applyReal(e); err != nil {
				return err
			}
			s.diverged.applyExternal(s.real.State, e)
		}
		s.diverged.advance(x.at)
		s.sample()
	}
	s.diverged.advance(to)
	s.sample()
	return nil
}

// Advance advances the time without an entry.
func (s *Shadow) Advance(now int64) error {
	if s.diverged == nil {
		return nil
	}
	return s.catchUp(now - s.o.BehindMillis)
}

// Now returns the time of both sides, in Unix milliseconds.
func (s *Shadow) Now() int64 { return s.real.State.Meta.NowMillis }

// Index returns the index of the last applied entry.
func (s *Shadow) Index() uint64 { return s.index }

// Digests returns the digests of the cluster's state and of the shadow's.
func (s *Shadow) Digests() (cluster, own uint64) {
	return s.real.State.Digest(), s.own.State().Digest()
}

// LogDigest returns the digest of the cluster's state at Index.
func (s *Shadow) LogDigest() uint64 {
	if s.ahead != nil {
		return s.ahead.Digest()
	}
	return s.real.State.Digest()
}

// Waits reports whether a shadow that has diverged still has entries to apply or waiting
// containers.
func (s *Shadow) Waits() bool { return s.diverged != nil && (len(s.held) > 0 || s.diverged.wants()) }

// Same reports whether the shadow's configuration equals the cluster's at the start.
func (s *Shadow) Same() bool { return len(s.changes) == 0 }

// leave makes the shadow decide by itself, starting with its current state.
func (s *Shadow) leave() error {
	own, err := runner.New(s.own.State(), s.o.Eager)
	if err != nil {
		return err
	}
	s.own = own.Planner
	s.ownMeter.sched = own.Scheduler()
	s.ahead = s.real.State.Fork()
	s.diverged = newDivergedRun(own, s.record, s.ownMeter, rand.New(rand.NewPCG(s.o.Seed, s.index)))
	return nil
}

// diverge records the first difference, and makes the shadow decide by itself from a state before
// it.
func (s *Shadow) diverge(before *state.State, cluster, own string) error {
	s.apart = &api.ShadowDivergence{Index: s.index, AtMillis: s.Now(), Cluster: cluster, Shadow: own}
	if err := s.restore(before); err != nil {
		return err
	}
	return s.leave()
}

// restore sets the shadow's side to a state.
func (s *Shadow) restore(before *state.State) error {
	own, err := planner.New(before, planner.Options{Eager: s.o.Eager})
	if err != nil {
		return err
	}
	s.own = own
	s.ownMeter.sched = own.Scheduler()
	return nil
}

// sample records the usage of both sides.
func (s *Shadow) sample() {
	now := s.Now()
	if s.diverged != nil {
		now = max(now, s.diverged.Now)
	}
	s.realMeter.sample(now)
	s.ownMeter.sample(now)
	s.fold()
	s.series.add(now, s.realMeter, s.ownMeter)
}

// sorted returns the sorted keys of a map.
func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m { // the order does not matter: they are sorted
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
