package scheduler

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/views"
)

// Scheduler allocates containers and reserves nodes on a state that it owns. Each of its decisions
// is an event, which it applies to this state. It is not safe for concurrent use.
type Scheduler struct {
	rules
	eagerWork
	eager bool // also run passes between node heartbeats

	now      int64
	advanced bool     // the events of this input already have its time
	decided  decision // of the newest pass, kept here so that passes allocate no memory for it
	events   []event.Event
	changes  []change.Change
	recalled []state.ContainerSlot // containers that must end now because the room that they borrowed is needed
	ends     []containerEnd        // scratch space of enoughAt
	ranks    []nodeRank            // scratch space of nodesFor

	gangsCompared int64 // comparisons for gangs in this input

	// left is the work of inputs that have reached eagerGrants. An application may ask for thousands of
	// containers at once, and heartbeats would give it one each. A leader that begins knows nothing of it.
	left   eagerWork
	grants int // that are left of eagerGrants in this input
}

// rules are the questions of a scheduler that only the views answer: which nodes an ask may use and
// reserve, which applications may start, and what a gang has.
type rules struct{ *views.Views }

// New returns a scheduler that owns st from now on. With eager, it also runs passes when an ask
// arrives and when room is freed. Without eager, passes run only on node heartbeats, as in YARN.
// New fails if it cannot read the queue configuration in the state, which does not happen with a
// validated configuration.
func New(st *state.State, eager bool) (*Scheduler, error) {
	v, err := views.New(st)
	if err != nil {
		return nil, err
	}
	return &Scheduler{rules: rules{v}, eager: eager}, nil
}

// Fork returns a scheduler on a fork of the state. It copies the views, which New would derive from
// the state again. It shares the configuration, so the fork must create no dynamic queue. It must not be
// called while an input is planned.
func (s *Scheduler) Fork() *Scheduler {
	return &Scheduler{rules: rules{s.Views.Fork()}, eager: s.eager, now: s.now}
}

// Begin begins an input. now is in Unix milliseconds.
func (s *Scheduler) Begin(now int64) {
	s.now, s.advanced = max(now, s.State.Meta.NowMillis), false
	s.events, s.changes = s.events[:0], s.changes[:0]
	s.recalled, s.gangsCompared = nil, 0
	s.beginWork()
}

// Now returns the time of the current input, in Unix milliseconds.
func (s *Scheduler) Now() int64 { return s.now }

// Events returns the events of the current input. The slice is valid until the next Begin.
func (s *Scheduler) Events() []event.Event { return s.events }

// Changes returns what the events of the current input did. The slice is valid until the next Begin.
// Slots of records that were removed since may belong to other records.
func (s *Scheduler) Changes() []change.Change { return s.changes }

// Emit applies an event and appends it to the events of the input. It panics if the state rejects
// the event, which is a bug of the scheduler.
func (s *Scheduler) Emit(e event.Event) {
	s.AdvanceTime()
	s.record(e)
}

// AdvanceTime sets the state's clock to the time of the input, once.
func (s *Scheduler) AdvanceTime() {
	if s.now > s.State.Meta.NowMillis {
		s.Barrier()
	}
}

// Barrier makes the reply wait for the commit of an entry, even if nothing has changed. A leader
// that has been deposed does not know what its successor has decided. It cannot commit the entry,
// so it does not reply.
func (s *Scheduler) Barrier() {
	if !s.advanced {
		s.advanced = true
		s.record(&event.TimeAdvanced{NowMillis: s.now})
	}
}

func (s *Scheduler) record(e event.Event) {
	if err := s.Apply(e); err != nil {
		panic(fmt.Sprintf("scheduler: %v", err))
	}
	s.events = append(s.events, e)
	s.changes = append(s.changes, s.State.Changes()...)
}
