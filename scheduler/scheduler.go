package scheduler

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
)

// Scheduler allocates containers and reserves nodes on a state that it owns. Everything that it
// decides is an event, which it applies to that state. It is not for concurrent use.
type Scheduler struct {
	st    *state.State
	eager bool             // run passes beyond those of node heartbeats
	cfg   *capacity.Config // nil before the cluster is initialized
	stale bool             // the trees of partitions are older than the cluster's resources or queues

	queues     []queueView  // parallel to cfg.Queues
	indexOf    []int32      // queue slot → index in queues
	partitions []*partition // by label; the first is the default one
	at         *partition   // the one that limits and passes are for: the default one but in a pass
	lends      bool         // some label is not exclusive
	backfills  bool         // some queue may borrow room of reserved nodes
	uses       uint64       // Touched.Uses of the present event
	changed    []*partition // whose views the present event may have changed; see setChanged
	apps       []appView    // by slot
	users      []userView   // by slot
	// runnable counts runnable applications by user name over all leaves.
	runnable []int32 // by NameID

	levelLimits []Limits // what a pass hands down, by depth of the tree

	now      int64
	stamped  bool // the input's time is among its events
	counting bool // the pass is a node's own heartbeat: delays count
	lending  bool // the pass offers a node of a label to asks without one
	loan     loan // the pass offers room of a reserved node
	events   []event.Event
	freed    []uint32       // nodes that got room back by this input
	asking   []uint32       // applications that ask for something new
	recalled []uint32       // containers that are to end now for room that they have borrowed
	ends     []containerEnd // of enoughAt; reused

	gangsCompared int64 // comparisons for gangs in this input
}

// New makes a scheduler that takes st over. With eager, passes also run when an ask arrives and when
// room is freed; without it they run on node heartbeats alone, as YARN's do. It fails when the queue
// configuration in the state cannot be read, which a validated one always can.
func New(st *state.State, eager bool) (*Scheduler, error) {
	s := &Scheduler{st: st, eager: eager}
	if err := s.rebuild(); err != nil {
		return nil, err
	}
	return s, nil
}

// State is the state that the scheduler plans on. It is for reading, and changes with Emit.
func (s *Scheduler) State() *state.State { return s.st }

// Config is the queue configuration in force; nil before the cluster is initialized.
func (s *Scheduler) Config() *capacity.Config { return s.cfg }

// Tree is the effective capacities for the cluster as it is; nil before the cluster is initialized.
func (s *Scheduler) Tree() *capacity.Tree {
	if s.cfg == nil {
		return nil
	}
	s.refreshCapacities()
	return s.partitions[0].tree
}

// TreeOf is the effective capacities for the nodes of a label; nil if the cluster does not know it.
func (s *Scheduler) TreeOf(label string) *capacity.Tree {
	id := s.st.Label(label)
	if label != "" && id == 0 {
		return nil
	}
	s.refreshCapacities()
	return s.partitions[id].tree
}

// LeafOf is the index in the configuration of an application's queue.
func (s *Scheduler) LeafOf(a *state.App) int32 { return s.indexOf[a.Queue] }

// IndexOf is the index in the configuration of the queue at a slot.
func (s *Scheduler) IndexOf(slot uint32) int32 { return s.indexOf[slot] }

// Queue is the record of the i-th queue of the configuration.
func (s *Scheduler) Queue(i int32) *state.Queue { return s.st.Queues.Get(s.queues[i].slot) }

// Begin begins an input at a time, in Unix milliseconds.
func (s *Scheduler) Begin(now int64) {
	s.now, s.stamped, s.counting = max(now, s.st.Meta.NowMillis), false, false
	s.events = s.events[:0]
	s.freed, s.asking, s.recalled, s.gangsCompared = s.freed[:0], s.asking[:0], nil, 0
}

// Events are those of the input so far. The slice is good until the next Begin.
func (s *Scheduler) Events() []event.Event { return s.events }

// Emit applies an event and appends it to the input's events. An event that the state refuses is a
// bug here, and stops the replica.
func (s *Scheduler) Emit(e event.Event) {
	s.Stamp()
	s.record(e)
}

// Stamp brings the state's clock to the input's time, once.
func (s *Scheduler) Stamp() {
	if s.now > s.st.Meta.NowMillis {
		s.Confirm()
	}
}

// Confirm makes the answer wait for an entry though nothing may have changed. A deposed leader, which
// does not know what a later one has decided, never gets the entry committed and so never answers.
func (s *Scheduler) Confirm() {
	if !s.stamped {
		s.stamped = true
		s.record(&event.TimeAdvanced{NowMillis: s.now})
	}
}

func (s *Scheduler) record(e event.Event) {
	if err := s.Apply(e); err != nil {
		panic(fmt.Sprintf("scheduler: %v", err))
	}
	s.events = append(s.events, e)
}

// Apply applies an event that was decided elsewhere and brings the views up to date. After an error
// the scheduler must not be used any more.
func (s *Scheduler) Apply(e event.Event) error {
	if err := s.st.Apply(e); err != nil {
		return err
	}
	s.follow(s.st.Touched())
	return nil
}
