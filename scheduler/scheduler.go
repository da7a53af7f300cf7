package scheduler

import (
	"fmt"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
)

// Scheduler allocates containers and reserves nodes on a state that it owns. Each of its decisions
// is an event, which it applies to this state. It is not safe for concurrent use.
type Scheduler struct {
	st    *state.State
	eager bool             // also run passes between node heartbeats
	cfg   *capacity.Config // nil before the cluster is initialized
	stale bool             // the cluster or the queues changed: capacities are outdated

	queues     []queueView                         // parallel to cfg.Queues
	indexOf    []int32                             // queue slot → index in queues
	partitions []*partition                        // by label; the first is the default one
	lends      bool                                // some label is not exclusive
	backfills  bool                                // some queue may borrow the room of reserved nodes
	uses       uint64                              // Touched.Uses of the current event
	changed    []*partition                        // partitions whose views the current event may have changed; see setChanged
	apps       []appView                           // by slot of the application
	users      []userView                          // by slot of the user
	hostOf     []state.NameSlot                    // by slot of the node
	nodesOn    map[state.NameSlot][]state.NodeSlot // nodes by host, in slot order; looked up by host only
	// runnable counts runnable applications by user name over all leaves.
	runnable []int32 // by NameSlot

	now      int64
	stamped  bool     // the events of this input already have its time
	decided  decision // of the newest pass, kept here so that passes allocate no memory for it
	events   []event.Event
	changes  []state.Change
	freed    []state.NodeSlot      // nodes on which this input has freed room
	asking   []state.AppSlot       // applications with new asks
	recalled []state.ContainerSlot // containers that must end now because the room that they borrowed is needed
	ends     []containerEnd        // scratch space of enoughAt
	offering []offeringNode        // scratch space of lookAtNodes
	offers   []victim              // the same
	ranks    []nodeRank            // scratch space of nodesFor

	gangsCompared int64 // comparisons for gangs in this input
}

// New returns a scheduler that owns st from now on. With eager, it also runs passes when an ask
// arrives and when room is freed. Without eager, passes run only on node heartbeats, as in YARN.
// New fails if it cannot read the queue configuration in the state, which does not happen with a
// validated configuration.
func New(st *state.State, eager bool) (*Scheduler, error) {
	s := &Scheduler{st: st, eager: eager}
	if err := s.rebuild(); err != nil {
		return nil, err
	}
	return s, nil
}

// Fork returns a scheduler on a fork of the state. It copies the views, which New would derive from
// the state again. It shares the configuration, so the fork must create no dynamic queue. It must not be
// called while an input is planned.
func (s *Scheduler) Fork() *Scheduler {
	f := &Scheduler{st: s.st.Fork(), eager: s.eager, cfg: s.cfg, stale: s.stale, lends: s.lends, backfills: s.backfills,
		queues: slices.Clone(s.queues), indexOf: slices.Clone(s.indexOf), apps: slices.Clone(s.apps), users: slices.Clone(s.users),
		hostOf: slices.Clone(s.hostOf), nodesOn: make(map[state.NameSlot][]state.NodeSlot, len(s.nodesOn)), runnable: slices.Clone(s.runnable),
		now: s.now}
	for i := range f.queues {
		f.queues[i].pending = slices.Clone(f.queues[i].pending)
	}
	for host, nodes := range s.nodesOn { // order is harmless: each is copied
		f.nodesOn[host] = slices.Clone(nodes)
	}
	for _, p := range s.partitions {
		f.partitions = append(f.partitions, p.fork())
	}
	return f
}

// State returns the state that the scheduler plans on. The caller must not change it, except with
// Emit.
func (s *Scheduler) State() *state.State { return s.st }

// Config returns the current queue configuration, or nil before the cluster is initialized.
func (s *Scheduler) Config() *capacity.Config { return s.cfg }

// Tree returns the effective capacities for the current cluster, or nil before the cluster is
// initialized.
func (s *Scheduler) Tree() *capacity.Tree {
	if s.cfg == nil {
		return nil
	}
	s.refreshCapacities()
	return s.partitions[0].tree
}

// TreeOf returns the effective capacities for the nodes of a label, or nil if the cluster does not
// know the label.
func (s *Scheduler) TreeOf(label string) *capacity.Tree {
	id := s.st.Labels.Find(label)
	if label != "" && id == 0 {
		return nil
	}
	s.refreshCapacities()
	return s.partitions[id].tree
}

// LeafOf returns the index of an application's queue in the configuration.
func (s *Scheduler) LeafOf(a *state.App) int32 { return s.indexOf[a.Queue] }

// IndexOf returns the index of the queue at a slot in the configuration.
func (s *Scheduler) IndexOf(slot state.QueueSlot) int32 { return s.indexOf[slot] }

// Queue returns the record of the i-th queue of the configuration.
func (s *Scheduler) Queue(i int32) *state.Queue { return s.st.Queues.Get(s.queues[i].slot) }

// Begin begins an input. now is in Unix milliseconds.
func (s *Scheduler) Begin(now int64) {
	s.now, s.stamped = max(now, s.st.Meta.NowMillis), false
	s.events, s.changes = s.events[:0], s.changes[:0]
	s.freed, s.asking, s.recalled, s.gangsCompared = s.freed[:0], s.asking[:0], nil, 0
}

// Events returns the events of the current input. The slice is valid until the next Begin.
func (s *Scheduler) Events() []event.Event { return s.events }

// Changes returns what the events of the current input did. The slice is valid until the next Begin.
// Slots of records that were removed since may belong to other records.
func (s *Scheduler) Changes() []state.Change { return s.changes }

// Emit applies an event and appends it to the events of the input. It panics if the state rejects
// the event, which is a bug of the scheduler.
func (s *Scheduler) Emit(e event.Event) {
	s.Stamp()
	s.record(e)
}

// Stamp sets the state's clock to the time of the input, once.
func (s *Scheduler) Stamp() {
	if s.now > s.st.Meta.NowMillis {
		s.Confirm()
	}
}

// Confirm makes the reply wait for the commit of an entry, even if nothing has changed. A leader
// that has been deposed does not know what its successor has decided. It cannot commit the entry,
// so it does not reply.
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
	s.changes = append(s.changes, s.st.Changes()...)
}

// Apply applies an event that was decided elsewhere, and updates the views. After an error the
// scheduler must not be used any more.
func (s *Scheduler) Apply(e event.Event) error {
	if err := s.st.Apply(e); err != nil {
		return err
	}
	s.follow()
	return nil
}
