package views

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/fsm/state/table"
	"rmd/internal/boolint"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/order"
	"rmd/yarn"
)

// Views has a state and what the scheduler derives from it: the orders of queues and applications,
// the sums for the limits, and the index of free nodes. Apply and Rebase keep all this up to date.
// It is not safe for concurrent use.
type Views struct {
	State  *state.State     // only Apply and Rebase may change it
	Config *capacity.Config // the queue configuration; nil before the cluster is initialized
	stale  bool             // the cluster or the queues changed: capacities are outdated

	Queues     []Queue      // parallel to Config.Queues
	indexOf    []int32      // queue slot → index in queues
	Partitions []*Partition // by label; the first is the default one
	Lends      bool         // some label is not exclusive
	Backfills  bool         // some queue may borrow the room of reserved nodes
	uses       uint64       // LabelUses.Changed of the current event: a bit for each label
	// partitions whose views the current event may have changed; see setChanged
	changed []*Partition
	Apps    []App                               // by slot of the application
	Users   []User                              // by slot of the user
	hostOf  []state.NameSlot                    // by slot of the node
	NodesOn map[state.NameSlot][]state.NodeSlot // nodes by host, in slot order; looked up by host only
	// runnable counts runnable applications by user name over all leaves.
	runnable []int32 // by NameSlot
}

// New returns the views of a state. It fails if it cannot read the queue configuration in the
// state, which does not happen with a validated configuration.
func New(st *state.State) (*Views, error) {
	s := &Views{State: st}
	if err := s.rebuild(); err != nil {
		return nil, err
	}
	return s, nil
}

// Fork returns the views of a fork of the state. It copies them, where New would derive them from the
// state again. It shares the configuration, so the fork must create no dynamic queue.
func (s *Views) Fork() *Views {
	f := &Views{State: s.State.Fork(), Config: s.Config, stale: s.stale, Lends: s.Lends, Backfills: s.Backfills,
		Queues: slices.Clone(s.Queues), indexOf: slices.Clone(s.indexOf), Apps: slices.Clone(s.Apps),
		Users:  slices.Clone(s.Users),
		hostOf: slices.Clone(s.hostOf), NodesOn: make(map[state.NameSlot][]state.NodeSlot, len(s.NodesOn)),
		runnable: slices.Clone(s.runnable)}
	for i := range f.Queues {
		f.Queues[i].Pending = slices.Clone(f.Queues[i].Pending)
	}
	for host, nodes := range s.NodesOn { // order is harmless: each is copied
		f.NodesOn[host] = slices.Clone(nodes)
	}
	for _, p := range s.Partitions {
		f.Partitions = append(f.Partitions, p.fork())
	}
	return f
}

// Queue has what the scheduler derives for one queue for all partitions together.
type Queue struct {
	Slot   state.QueueSlot
	Parent int32
	order  order.ParentPolicy // the order of its parent's children

	Pending []state.AppSlot // of a leaf: applications that wait for activation, in order
	queueSums
	Changes uint64 // counts changes on which its limits in any partition may depend
}

// queueSums are sums over the applications and users of a queue.
type queueSums struct {
	Reserving    int32 // reservations of its applications
	Unmanaged    int32 // pending applications that no AM limit holds back
	activeWeight yarn.Fraction
}

// noSums are the sums of a queue without applications.
var noSums = queueSums{activeWeight: yarn.Fraction{Num: 0, Den: 1}}

// touch records a change of something on which the queue's limits depend.
func (q *Queue) touch() { q.Changes++ }

// App has the position of an application in the scheduler's lists.
type App struct {
	Leaf      int32
	Activated bool
	active    bool // activated, and has asks without a label
	Pending   bool
	reserving int32
	Key       AppKey
	runnable  bool
	unmanaged bool
	user      state.NameSlot
}

// User is what a user contributes to the sums of its leaf.
type User struct {
	Leaf   int32
	name   state.NameSlot
	Known  bool
	active bool
	Weight yarn.Fraction
}

// rebuild derives all views from the state.
func (s *Views) rebuild() error {
	v := s.State.Versions.Current()
	if v == nil {
		return nil
	}
	cfg, err := capacity.ParseStored(propertiesOf(v.Properties))
	if err != nil {
		return err
	}
	if cfg, err = cfg.WithDynamic(s.State.DynamicQueueList()); err != nil {
		return err
	}
	s.Config = cfg
	s.Backfills = slices.ContainsFunc(cfg.Queues, backfills)
	s.Queues = make([]Queue, len(cfg.Queues))
	s.indexOf = make([]int32, s.State.Queues.Cap())
	for i := range cfg.Queues {
		slot := s.State.Queues.Find(cfg.Queues[i].Path)
		s.indexOf[slot] = int32(i)
		s.Queues[i] = s.viewOf(i, slot)
	}
	s.Apps, s.Users, s.runnable = nil, nil, nil
	s.hostOf, s.NodesOn = nil, map[state.NameSlot][]state.NodeSlot{}
	s.stale = false
	s.makePartitions()
	s.setChanged(allUses)
	for _, p := range s.Partitions {
		for i := range p.Queues {
			p.Queues[i].Key = s.orderKey(p, int32(i))
		}
	}
	s.State.Users.Each(func(slot state.UserSlot, _ *state.User) bool { s.refreshUser(slot); return true })
	s.State.Apps.Each(func(slot state.AppSlot, _ *state.App) bool { s.refreshApp(slot); return true })
	s.refreshQueues()
	s.State.Nodes.Each(func(slot state.NodeSlot, _ *state.Node) bool { s.refreshNode(slot); return true })
	return nil
}

// addQueue is rebuild for one new dynamic queue. Its siblings are updated when the capacities are
// computed again.
func (s *Views) addQueue(slot state.QueueSlot) {
	q := s.State.Queues.Get(slot)
	i, err := s.Config.Add(yarn.DynamicQueue{Path: q.Path, Leaf: q.Leaf})
	if err != nil {
		panic("scheduler: " + err.Error())
	}
	for int(slot) >= len(s.indexOf) {
		s.indexOf = append(s.indexOf, 0)
	}
	s.indexOf[slot] = int32(i)
	s.Queues = append(s.Queues, s.viewOf(i, slot))
	for _, p := range s.Partitions {
		if p.Config != s.Config {
			p.Config.AddFrom(s.Config)
			p.Uses = append(p.Uses, 0)
		}
		p.Queues = append(p.Queues, QueueShare{barred: !s.Config.Queues[i].MayUse(p.name)})
		p.Tree.Capacities = append(p.Tree.Capacities, capacity.Capacity{})
		p.Queues[i].Key = s.orderKey(p, int32(i))
	}
	s.stale = true
	s.Backfills = s.Backfills || backfills(s.Config.Queues[i])
}

// backfills reports whether the containers of a queue may borrow room of reserved nodes.
func backfills(q capacity.Queue) bool { return q.Leaf && q.Backfill != capacity.BackfillOff }

// viewOf returns the view of a queue without applications.
func (s *Views) viewOf(i int, slot state.QueueSlot) Queue {
	order := order.ParentPolicy(0)
	parent := s.Config.Queues[i].Parent
	if parent >= 0 {
		order = s.Config.Queues[parent].ChildOrder
	}
	return Queue{Slot: slot, order: order, Parent: int32(parent), queueSums: noSums}
}

func propertiesOf(in []state.Property) []capacity.Property {
	out := make([]capacity.Property, len(in))
	for i, q := range in {
		out[i] = capacity.Property{Name: q.Name, Value: q.Value}
	}
	return out
}

// touched is what an event changed on which the views depend. Slots are 0 for none.
type touched struct {
	app      state.AppSlot
	user     state.UserSlot
	queue    state.QueueSlot // an application, and its user and leaf before the event
	node     state.NodeSlot
	created  state.QueueSlot // a dynamic queue
	nodes    bool            // the sum of usable nodes may have changed
	rebuild  bool            // all views must be derived again
	warnings bool
}

// touchedBy returns what the changes of one event touch. An event changes at most one application
// and one node, unless all views must be derived again.
func touchedBy(changes []change.Change) (t touched) {
	for i := range changes {
		c := &changes[i]
		switch c.Kind {
		case change.QueuesChanged, change.LabelsChanged:
			t.rebuild = true
			return t
		case change.QueueCreated:
			t.created = c.Queue
			continue
		case change.WarningBegun, change.WarningEnded:
			t.warnings = true
			continue
		case change.NodeRegistered, change.NodePhase, change.NodeChanged:
			t.nodes = true
		}
		if c.App != 0 {
			t.app, t.user, t.queue = c.App, c.User, c.Queue
		}
		if c.Node != 0 {
			t.node = c.Node
		}
	}
	return t
}

// follow updates the views after an event.
func (s *Views) follow() {
	t := touchedBy(s.State.Changes())
	if t.rebuild {
		if err := s.rebuild(); err != nil {
			panic("scheduler: the configuration just validated cannot be read: " + err.Error())
		}
		return
	}
	s.setChanged(s.State.LabelUses.Changed())
	if t.warnings || t.created != 0 {
		s.forgetAwaiting()
	}
	if t.created != 0 {
		s.addQueue(t.created)
	}
	if t.nodes {
		s.stale = true
		for _, p := range s.Partitions {
			p.Total = s.State.PartitionTotal(p.Label)
		}
	}
	if t.app != 0 {
		s.refreshAll(&t)
	}
	if t.node != 0 {
		s.refreshNode(t.node)
	}
}

// setChanged records which partitions' views the current event may have changed: those whose use it
// has changed and, if asks without a label may have changed, those that lend.
func (s *Views) setChanged(uses uint64) {
	s.uses, s.changed = uses, s.changed[:0]
	for _, p := range s.Partitions {
		if s.useChanged(p) || p.Lends && uses&1 != 0 {
			s.changed = append(s.changed, p)
		}
	}
}

// refreshAll updates the views of an application, its user and its queues, including the user and
// the queue that it had before the event.
func (s *Views) refreshAll(t *touched) {
	s.refreshApp(t.app)
	s.refreshUser(t.user)
	if s.State.Apps.Has(t.app) {
		if a := s.State.Apps.Get(t.app); a.UserSlot != t.user || a.Queue != t.queue {
			s.refreshUser(a.UserSlot)
			s.refreshChain(a.Queue)
		}
	}
	if t.queue != 0 {
		s.refreshChain(t.queue)
	}
}

func (s *Views) refreshApp(slot state.AppSlot) {
	for int(slot) >= len(s.Apps) {
		s.Apps = append(s.Apps, App{})
	}
	v := s.Apps[slot]
	var next App
	if s.State.Apps.Has(slot) {
		a := s.State.Apps.Get(slot)
		if !a.State.Ended() {
			next = App{Leaf: s.LeafOf(a), reserving: a.Reserving, user: a.User, runnable: a.Runnable(), unmanaged: a.Unmanaged,
				Activated: a.Activated(), Pending: a.AttemptState == state.AttemptPending}
			next.active = next.Activated && s.asksFor(a, 0)
			next.Key = s.appKey(a, &s.Config.Queues[next.Leaf])
		}
	}
	if len(s.Partitions) > 1 {
		s.refreshLabelled(slot, v, next)
		return
	}
	s.relist(slot, v, next)
}

// relist moves an application to its new position in the lists of its leaf.
func (s *Views) relist(slot state.AppSlot, v, next App) {
	if v != next {
		s.unlistApp(slot, v)
		s.Apps[slot] = next
		s.listApp(slot, next)
	}
}

// refreshLabelled is relist for a cluster with labels. It considers only those partitions in which
// the application's position or asks may have changed.
func (s *Views) refreshLabelled(slot state.AppSlot, v, next App) {
	among := s.changed
	moves := v.Leaf != next.Leaf || v.Key != next.Key || v.Activated != next.Activated
	if moves {
		among = s.Partitions
	}
	for _, p := range among {
		if p.Label != 0 && p.lists(slot) && (moves || !s.wants(slot, p)) {
			list := &p.Queues[v.Leaf].Active
			*list, p.apps[slot] = s.removeApp(*list, slot), false
		}
	}
	s.relist(slot, v, next)
	for _, p := range among {
		if p.Label != 0 && !p.lists(slot) && s.wants(slot, p) {
			list := &p.Queues[next.Leaf].Active
			*list, p.apps[slot] = s.insertApp(*list, slot), true
		}
	}
}

// wants reports whether an activated application has asks for nodes of a label's partition.
func (s *Views) wants(slot state.AppSlot, p *Partition) bool {
	return s.Apps[slot].Activated && s.asksFor(s.State.Apps.Get(slot), p.Label)
}

func (s *Views) unlistApp(slot state.AppSlot, v App) {
	q := &s.Queues[v.Leaf]
	if v.active {
		list := &s.Partitions[0].Queues[v.Leaf].Active
		*list = s.removeApp(*list, slot)
	}
	if v.Pending {
		q.Pending = s.removeApp(q.Pending, slot)
		q.Unmanaged -= boolint.Of[int32](v.unmanaged)
	}
	q.Reserving -= v.reserving
	s.countRunnable(v, -1)
}

func (s *Views) listApp(slot state.AppSlot, v App) {
	q := &s.Queues[v.Leaf]
	if v.active {
		list := &s.Partitions[0].Queues[v.Leaf].Active
		*list = s.insertApp(*list, slot)
	}
	if v.Pending {
		q.Pending = s.insertApp(q.Pending, slot)
		q.Unmanaged += boolint.Of[int32](v.unmanaged)
	}
	q.Reserving += v.reserving
	s.countRunnable(v, 1)
}

func (s *Views) countRunnable(v App, by int32) {
	if !v.runnable {
		return
	}
	for int(v.user) >= len(s.runnable) {
		s.runnable = append(s.runnable, 0)
	}
	s.runnable[v.user] += by
}

// allUses has the bits of all labels.
const allUses = ^uint64(0)

// Rebase replaces the scheduler's state by another version of it with the same configuration.
func (s *Views) Rebase(st *state.State) {
	old := s.State
	s.State = st
	other := old.DynamicQueues.Set() != st.DynamicQueues.Set() || st.Nodes.Cap() < old.Nodes.Cap()
	if other || len(s.Partitions) > 1 || st.Labels.Len() > 0 { // the labels of nodes may differ
		if err := s.rebuild(); err != nil {
			panic("scheduler: the configuration in force cannot be read: " + err.Error())
		}
		return
	}
	s.forgetAwaiting()
	s.stale = s.stale || old.Meta.Cluster != st.Meta.Cluster
	s.setChanged(allUses)
	differ(&old.Users.Table, &st.Users.Table, s.refreshUser)
	differ(&old.Apps.Table, &st.Apps.Table, s.refreshApp)
	differ(&old.Nodes.Table, &st.Nodes.Table, s.refreshNode)
	s.refreshQueues()
}

// differ calls f with every slot whose record may differ between two versions of a table. Versions
// share the pages that neither has written since they were forked, so records with equal addresses
// are the same record.
func differ[S ~uint32, T any](old, now *table.Table[S, T], f func(slot S)) {
	both := min(old.Cap(), now.Cap())
	for slot := S(1); slot < both; slot++ {
		if old.Get(slot) != now.Get(slot) {
			f(slot)
		}
	}
	for slot := max(both, 1); slot < max(old.Cap(), now.Cap()); slot++ {
		f(slot)
	}
}

// Apply applies an event that was decided elsewhere, and updates the views. After an error the
// scheduler must not be used any more.
func (s *Views) Apply(e event.Event) error {
	if err := s.State.Apply(e); err != nil {
		return err
	}
	s.follow()
	return nil
}

func (s *Views) RunnableOf(user state.NameSlot) int32 {
	if int(user) < len(s.runnable) {
		return s.runnable[user]
	}
	return 0
}
