package shadow

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/http/v1/api"
)

// Options say how a shadow runs.
type Options struct {
	Eager bool   // as the leader schedules
	Seed  uint64 // of lengths that are not known
	// BehindMillis is how far a shadow that goes its own way stays behind the log. What it starts
	// earlier than the cluster, by at most so much, ends when it should.
	BehindMillis int64
	MaxHeld      int // events kept for that; with more it is less far behind
	// MaxApps, MaxContainers and MaxOps bound what is remembered of applications that have not ended on
	// both sides: MaxOps what AMs asked for that the shadow's have not. A shadow that needs more ends
	// with ErrTooLarge.
	MaxApps, MaxContainers, MaxOps int
}

// DefaultOptions are the options when nothing else is wanted.
func DefaultOptions() Options {
	return Options{Eager: true, Seed: 1, BehindMillis: 600_000, MaxHeld: 1_000_000, MaxApps: 50_000, MaxContainers: 1_000_000, MaxOps: 1_000_000}
}

// ErrTooLarge ends a shadow that would need more memory than it may take.
var ErrTooLarge = errors.New("the shadow has reached its bound of memory")

// Shadow is another configuration beside a cluster. It is not for concurrent use.
type Shadow struct {
	o       Options
	changes []capacity.Change // from the configuration in force when it began
	index   uint64            // of the last entry
	entries uint64
	decided uint64 // events, while in step
	began   int64

	real    *scheduler.Scheduler // the cluster: it only applies
	own     *planner.Planner     // with the other configuration
	record  *record              // what applications ask for, and how long containers run
	course  *course              // nil while in step
	apart   *api.ShadowDivergence
	probed  int64 // when it was last tried whether the other configuration would decide more
	rounded int64 // when a round of preemption was last tried

	realMeter, ownMeter *meter
	series              series

	// Apart, the two sides are behind the log, so that the lengths of containers are known in time.
	ahead      *state.State // the cluster's as the log has it
	held       []entry      // from where the sides are to where ahead is
	heldEvents int
}

// New begins a shadow beside a state, which it takes over, as it was after an entry of the log. A
// configuration that would be refused is an *input.Fault.
func New(st *state.State, index uint64, properties []input.Property, o Options) (*Shadow, []string, error) {
	if st.Version() == nil {
		return nil, nil, input.Faultf(input.NotInitialized, "run \"rmd cluster init\" on one replica", "this cluster is not initialized")
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

// configure gives the shadow its configuration. One that changes nothing is not applied: it would only
// be a new version.
func (s *Shadow) configure(properties []input.Property) ([]string, error) {
	list := make([]capacity.Property, len(properties))
	for i, p := range properties {
		list[i] = capacity.Property(p)
	}
	if cfg, err := capacity.Parse(list); err == nil {
		if s.changes = capacity.Diff(s.own.Config(), cfg); len(s.changes) == 0 {
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

// Apply takes in an entry of the log: its events, which nobody may change.
func (s *Shadow) Apply(index uint64, events []event.Event) error {
	s.index = index
	s.entries++
	if s.course == nil { // what it would have decided since the last entry
		if err := s.probe(timeIn(events)); err != nil {
			return err
		}
	}
	for len(events) > 0 && s.course == nil {
		n, err := s.follow(events)
		if err != nil {
			return err
		}
		for _, e := range events[:n] {
			s.record.add(s.real.State(), e)
			if err := s.applyReal(e); err != nil {
				return err
			}
		}
		events = events[n:]
	}
	if s.course == nil {
		if err := s.probe(s.Now()); err != nil {
			return err
		}
		s.sample()
	}
	if s.course != nil {
		if err := s.hold(events); err != nil {
			return err
		}
	}
	if r := s.record; len(r.jobs) > s.o.MaxApps || r.containers > s.o.MaxContainers || r.ops > s.o.MaxOps {
		return fmt.Errorf("%w: %d applications, %d containers, %d changes of asks", ErrTooLarge, len(r.jobs), r.containers, r.ops)
	}
	return nil
}

// applyReal takes one event to the cluster's side.
func (s *Shadow) applyReal(e event.Event) error {
	if err := s.real.Apply(e); err != nil {
		return err
	}
	s.realMeter.add(s.real.State(), e)
	return nil
}

// entry is a part of the log that both sides take later.
type entry struct {
	at     int64
	events []event.Event
}

// hold notes what applications do, and keeps the events for when both sides are so far.
func (s *Shadow) hold(events []event.Event) error {
	for _, e := range events {
		s.record.add(s.ahead, e)
		if err := s.ahead.Apply(e); err != nil {
			return err
		}
		s.course.news(e)
	}
	s.held = append(s.held, entry{s.ahead.Meta.NowMillis, events})
	s.heldEvents += len(events)
	return s.catchUp(s.ahead.Meta.NowMillis - s.o.BehindMillis)
}

// catchUp brings both sides to a time, and further if more is kept than may be.
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
			s.course.hear(s.real.State(), e)
		}
		s.course.advance(x.at)
		s.sample()
	}
	s.course.advance(to)
	s.sample()
	return nil
}

// Advance lets time pass without an entry.
func (s *Shadow) Advance(now int64) error {
	if s.course == nil {
		return nil
	}
	return s.catchUp(now - s.o.BehindMillis)
}

// Now is the time of both sides, in Unix milliseconds.
func (s *Shadow) Now() int64 { return s.real.State().Meta.NowMillis }

// Index is that of the last entry taken in.
func (s *Shadow) Index() uint64 { return s.index }

// Digests are those of the cluster's state and of the shadow's.
func (s *Shadow) Digests() (cluster, own uint64) {
	return s.real.State().Digest(), s.own.State().Digest()
}

// LogDigest is the digest of the cluster's state at Index.
func (s *Shadow) LogDigest() uint64 {
	if s.ahead != nil {
		return s.ahead.Digest()
	}
	return s.real.State().Digest()
}

// Waits says whether something waits in a shadow that goes its own way.
func (s *Shadow) Waits() bool { return s.course != nil && (len(s.held) > 0 || s.course.wants()) }

// Same says whether its configuration is the one that was in force when it began.
func (s *Shadow) Same() bool { return len(s.changes) == 0 }

// leave has the shadow go its own way from the present state on.
func (s *Shadow) leave() error {
	own, err := planner.New(s.own.State(), planner.Options{Eager: s.o.Eager})
	if err != nil {
		return err
	}
	s.own = own
	s.ownMeter.sched = own.Scheduler()
	s.ahead = s.real.State().Fork()
	s.course = newCourse(own, s.record, s.ownMeter, rand.New(rand.NewPCG(s.o.Seed, s.index)))
	return nil
}

// diverge notes the first difference and has the shadow go its own way from a state before it.
func (s *Shadow) diverge(before *state.State, cluster, own string) error {
	s.apart = &api.ShadowDivergence{Index: s.index, AtMillis: s.Now(), Cluster: cluster, Shadow: own}
	if err := s.restore(before); err != nil {
		return err
	}
	return s.leave()
}

// restore takes the shadow back to a state.
func (s *Shadow) restore(before *state.State) error {
	own, err := planner.New(before, planner.Options{Eager: s.o.Eager})
	if err != nil {
		return err
	}
	s.own = own
	s.ownMeter.sched = own.Scheduler()
	return nil
}

// sample notes what both sides use.
func (s *Shadow) sample() {
	now := s.Now()
	if s.course != nil {
		now = max(now, s.course.now)
	}
	s.realMeter.sample(now)
	s.ownMeter.sample(now)
	s.fold()
	s.series.add(now, s.realMeter, s.ownMeter)
}

// sorted are the keys of a map in order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m { // order is harmless: they are sorted
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
