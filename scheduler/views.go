package scheduler

import (
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// queueView has what the scheduler derives for one queue for all partitions together.
type queueView struct {
	slot   state.QueueSlot
	parent int32
	order  capacity.ParentPolicy // the order of its parent's children

	pending []state.AppSlot // of a leaf: applications that wait for activation, in order
	queueSums
	changes uint64 // counts changes on which its limits in any partition may depend
}

// queueSums are sums over the applications and users of a queue.
type queueSums struct {
	reserving    int32 // reservations of its applications
	unmanaged    int32 // pending applications that no AM limit holds back
	activeWeight yarn.Fraction
}

// noSums are the sums of a queue without applications.
var noSums = queueSums{activeWeight: yarn.Fraction{Num: 0, Den: 1}}

// touch records a change of something on which the queue's limits depend.
func (q *queueView) touch() { q.changes++ }

// appView has the position of an application in the scheduler's lists.
type appView struct {
	leaf      int32
	activated bool
	active    bool // activated, and has asks without a label
	pending   bool
	reserving int32
	key       appKey
	runnable  bool
	unmanaged bool
	user      state.NameSlot
}

// userView is what a user contributes to the sums of its leaf.
type userView struct {
	leaf   int32
	name   state.NameSlot
	known  bool
	active bool
	weight yarn.Fraction
}

// rebuild derives all views from the state.
func (s *Scheduler) rebuild() error {
	v := s.st.Versions.Current()
	if v == nil {
		return nil
	}
	cfg, err := capacity.ParseStored(propertiesOf(v.Properties))
	if err != nil {
		return err
	}
	if cfg, err = cfg.WithDynamic(s.st.DynamicQueueList()); err != nil {
		return err
	}
	s.cfg = cfg
	s.backfills = slices.ContainsFunc(cfg.Queues, backfills)
	s.queues = make([]queueView, len(cfg.Queues))
	s.indexOf = make([]int32, s.st.Queues.Cap())
	for i := range cfg.Queues {
		slot := s.st.Queues.Find(cfg.Queues[i].Path)
		s.indexOf[slot] = int32(i)
		s.queues[i] = s.viewOf(i, slot)
	}
	s.apps, s.users, s.runnable = nil, nil, nil
	s.hostOf, s.nodesOn = nil, map[state.NameSlot][]state.NodeSlot{}
	s.stale = false
	s.makePartitions()
	s.setChanged(allUses)
	for _, p := range s.partitions {
		for i := range p.queues {
			p.queues[i].key = s.orderKey(p, int32(i))
		}
	}
	s.st.Users.Each(func(slot state.UserSlot, _ *state.User) bool { s.refreshUser(slot); return true })
	s.st.Apps.Each(func(slot state.AppSlot, _ *state.App) bool { s.refreshApp(slot); return true })
	s.refreshQueues()
	s.st.Nodes.Each(func(slot state.NodeSlot, _ *state.Node) bool { s.refreshNode(slot); return true })
	return nil
}

// addQueue is rebuild for one new dynamic queue. Its siblings are updated when the capacities are
// computed again.
func (s *Scheduler) addQueue(slot state.QueueSlot) {
	q := s.st.Queues.Get(slot)
	i, err := s.cfg.Add(yarn.DynamicQueue{Path: q.Path, Leaf: q.Leaf})
	if err != nil {
		panic("scheduler: " + err.Error())
	}
	for int(slot) >= len(s.indexOf) {
		s.indexOf = append(s.indexOf, 0)
	}
	s.indexOf[slot] = int32(i)
	s.queues = append(s.queues, s.viewOf(i, slot))
	for _, p := range s.partitions {
		if p.cfg != s.cfg {
			p.cfg.AddFrom(s.cfg)
			p.uses = append(p.uses, 0)
		}
		p.queues = append(p.queues, queueShare{barred: !s.cfg.Queues[i].MayUse(p.name)})
		p.tree.Capacities = append(p.tree.Capacities, capacity.Capacity{})
		p.queues[i].key = s.orderKey(p, int32(i))
	}
	s.stale = true
	s.backfills = s.backfills || backfills(s.cfg.Queues[i])
}

// backfills reports whether the containers of a queue may borrow room of reserved nodes.
func backfills(q capacity.Queue) bool { return q.Leaf && q.Backfill != capacity.BackfillOff }

// viewOf returns the view of a queue without applications.
func (s *Scheduler) viewOf(i int, slot state.QueueSlot) queueView {
	order := capacity.ParentPolicy(0)
	parent := s.cfg.Queues[i].Parent
	if parent >= 0 {
		order = s.cfg.Queues[parent].ChildOrder
	}
	return queueView{slot: slot, order: order, parent: int32(parent), queueSums: noSums}
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
func touchedBy(changes []state.Change) (t touched) {
	for i := range changes {
		c := &changes[i]
		switch c.Kind {
		case state.QueuesChanged, state.LabelsChanged:
			t.rebuild = true
			return t
		case state.QueueCreated:
			t.created = c.Queue
			continue
		case state.WarningBegun, state.WarningEnded:
			t.warnings = true
			continue
		case state.NodeRegistered, state.NodePhase, state.NodeChanged:
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
func (s *Scheduler) follow() {
	t := touchedBy(s.st.Changes())
	if t.rebuild {
		if err := s.rebuild(); err != nil {
			panic("scheduler: the configuration just validated cannot be read: " + err.Error())
		}
		return
	}
	s.setChanged(s.st.LabelUses.Changed())
	if t.warnings || t.created != 0 {
		s.forgetAwaiting()
	}
	if t.created != 0 {
		s.addQueue(t.created)
	}
	if t.nodes {
		s.stale = true
		for _, p := range s.partitions {
			p.total = s.st.PartitionTotal(p.label)
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
func (s *Scheduler) setChanged(uses uint64) {
	s.uses, s.changed = uses, s.changed[:0]
	for _, p := range s.partitions {
		if s.useChanged(p) || p.lends && uses&1 != 0 {
			s.changed = append(s.changed, p)
		}
	}
}

// refreshAll updates the views of an application, its user and its queues, including the user and
// the queue that it had before the event.
func (s *Scheduler) refreshAll(t *touched) {
	s.refreshApp(t.app)
	s.refreshUser(t.user)
	if s.st.Apps.Has(t.app) {
		if a := s.st.Apps.Get(t.app); a.UserSlot != t.user || a.Queue != t.queue {
			s.refreshUser(a.UserSlot)
			s.refreshChain(a.Queue)
		}
	}
	if t.queue != 0 {
		s.refreshChain(t.queue)
	}
}

func (s *Scheduler) refreshApp(slot state.AppSlot) {
	for int(slot) >= len(s.apps) {
		s.apps = append(s.apps, appView{})
	}
	v := s.apps[slot]
	var next appView
	if s.st.Apps.Has(slot) {
		a := s.st.Apps.Get(slot)
		if !a.State.Ended() {
			next = appView{leaf: s.LeafOf(a), reserving: a.Reserving, user: a.User, runnable: a.Runnable(), unmanaged: a.Unmanaged,
				activated: a.Activated(), pending: a.AttemptState == state.AttemptPending}
			next.active = next.activated && s.asksFor(a, 0)
			next.key = s.appKey(a, &s.cfg.Queues[next.leaf])
		}
	}
	if len(s.partitions) > 1 {
		s.refreshLabelled(slot, v, next)
		return
	}
	s.relist(slot, v, next)
}

// relist moves an application to its new position in the lists of its leaf.
func (s *Scheduler) relist(slot state.AppSlot, v, next appView) {
	if v != next {
		s.unlistApp(slot, v)
		s.apps[slot] = next
		s.listApp(slot, next)
	}
}

// refreshLabelled is relist for a cluster with labels. It considers only those partitions in which
// the application's position or asks may have changed.
func (s *Scheduler) refreshLabelled(slot state.AppSlot, v, next appView) {
	among := s.changed
	moves := v.leaf != next.leaf || v.key != next.key || v.activated != next.activated
	if moves {
		among = s.partitions
	}
	for _, p := range among {
		if p.label != 0 && p.lists(slot) && (moves || !s.wants(slot, p)) {
			list := &p.queues[v.leaf].active
			*list, p.apps[slot] = s.removeApp(*list, slot), false
		}
	}
	s.relist(slot, v, next)
	for _, p := range among {
		if p.label != 0 && !p.lists(slot) && s.wants(slot, p) {
			list := &p.queues[next.leaf].active
			*list, p.apps[slot] = s.insertApp(*list, slot), true
		}
	}
}

// wants reports whether an activated application has asks for nodes of a label's partition.
func (s *Scheduler) wants(slot state.AppSlot, p *partition) bool {
	return s.apps[slot].activated && s.asksFor(s.st.Apps.Get(slot), p.label)
}

func (s *Scheduler) unlistApp(slot state.AppSlot, v appView) {
	q := &s.queues[v.leaf]
	if v.active {
		list := &s.partitions[0].queues[v.leaf].active
		*list = s.removeApp(*list, slot)
	}
	if v.pending {
		q.pending = s.removeApp(q.pending, slot)
		q.unmanaged -= boolToInt(v.unmanaged)
	}
	q.reserving -= v.reserving
	s.countRunnable(v, -1)
}

func (s *Scheduler) listApp(slot state.AppSlot, v appView) {
	q := &s.queues[v.leaf]
	if v.active {
		list := &s.partitions[0].queues[v.leaf].active
		*list = s.insertApp(*list, slot)
	}
	if v.pending {
		q.pending = s.insertApp(q.pending, slot)
		q.unmanaged += boolToInt(v.unmanaged)
	}
	q.reserving += v.reserving
	s.countRunnable(v, 1)
}

func boolToInt(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

func (s *Scheduler) countRunnable(v appView, by int32) {
	if !v.runnable {
		return
	}
	for int(v.user) >= len(s.runnable) {
		s.runnable = append(s.runnable, 0)
	}
	s.runnable[v.user] += by
}

func (s *Scheduler) refreshUser(slot state.UserSlot) {
	if slot == 0 {
		return
	}
	for int(slot) >= len(s.users) {
		s.users = append(s.users, userView{})
	}
	v := s.users[slot]
	var next userView
	if s.st.Users.Has(slot) {
		u := s.st.Users.Get(slot)
		leaf := s.indexOf[u.Queue]
		next = userView{leaf: leaf, name: u.Name, known: true, active: u.IsActive(), weight: v.weight}
		if !v.known || v.leaf != leaf || v.name != u.Name {
			next.weight = s.cfg.Queues[leaf].Weight(s.st.Names.Text(u.Name))
		}
	}
	among := s.changed
	if v.leaf != next.leaf || v.known != next.known {
		among = s.partitions
	}
	for _, p := range among {
		s.refreshShare(p, slot, &v, &next)
	}
	if v.leaf != next.leaf || v.active != next.active || v.weight != next.weight {
		if v.known && v.active {
			q := &s.queues[v.leaf]
			q.activeWeight = addFraction(q.activeWeight, v.weight, -1)
		}
		if next.known && next.active {
			q := &s.queues[next.leaf]
			q.activeWeight = addFraction(q.activeWeight, next.weight, 1)
		}
	}
	s.users[slot] = next
}

// refreshShare updates what a user contributes to the sums of its leaf in a partition. The event
// may have given the slot to another user, so the old contribution is subtracted completely.
func (s *Scheduler) refreshShare(p *partition, slot state.UserSlot, v, next *userView) {
	for int(slot) >= len(p.users) {
		p.users = append(p.users, userShare{})
	}
	share := &p.users[slot]
	if !s.useChanged(p) && v.leaf == next.leaf && v.known == next.known {
		return
	}
	if v.known {
		q := &p.queues[v.leaf]
		q.dominantUsed = q.dominantUsed.Sub(share.part)
	}
	if !next.known {
		*share = userShare{}
		return
	}
	used := &s.st.Users.Get(slot).Used
	if p.label != 0 {
		share.use = s.st.LabelUses.UserSlot(slot, p.label, share.use)
		used = &s.labelUse(share.use).Used
	}
	share.part = capacity.DominantPart(s.cfg.Calculator, p.total, *used)
	q := &p.queues[next.leaf]
	q.dominantUsed = q.dominantUsed.Add(share.part)
}

// addFraction adds a user's weight to a sum, or subtracts it. Weights have at most nine decimals,
// so all denominators divide 10^9, and so does their least common multiple. With the product of the
// denominators instead, the sum of twenty weights would not fit into 64 bits.
func addFraction(a, b yarn.Fraction, sign int64) yarn.Fraction {
	den := yarn.NewFraction(a.Den, b.Den).Num * b.Den
	return yarn.NewFraction(a.Num*(den/a.Den)+sign*b.Num*(den/b.Den), den)
}

// allUses is a Touched.Uses with all partitions.
const allUses = ^uint64(0)

// Rebase replaces the scheduler's state by another version of it with the same configuration.
func (s *Scheduler) Rebase(st *state.State) {
	old := s.st
	s.st = st
	other := old.DynamicQueues.Set() != st.DynamicQueues.Set() || st.Nodes.Cap() < old.Nodes.Cap()
	if other || len(s.partitions) > 1 || st.Labels.Len() > 0 { // the labels of nodes may differ
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
func differ[S ~uint32, T any](old, now *state.Table[S, T], f func(slot S)) {
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
