package scheduler

import (
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// queueView is what the planner derives for one queue.
type queueView struct {
	slot   uint32
	parent int32
	key    capacity.OrderKey
	listed bool // among its parent's children with pending asks

	children []int32 // of a parent: children with pending asks, in serving order

	active       []uint32 // of a leaf: activated applications with outstanding asks, in serving order
	pending      []uint32 // of a leaf: applications that wait for activation, in order
	reserving    int32    // reservations of its applications
	unmanaged    int32    // pending applications that no AM limit holds back
	dominantUsed yarn.Resource
	activeWeight yarn.Fraction
	changed      bool // the user limit must be computed again
	userLimit    yarn.Resource
	refused      bool // nothing has changed since every application was refused for its user's limit
}

// touch notes that something has changed that a leaf's limits depend on.
func (v *queueView) touch() { v.changed, v.refused = true, false }

// appView is where the lists have an application, and by which key.
type appView struct {
	leaf      int32
	active    bool
	pending   bool
	reserving int32
	key       appKey
	runnable  bool
	unmanaged bool
	user      state.NameID
}

// userView is what a user adds to its leaf's sums.
type userView struct {
	leaf   int32
	name   state.NameID
	known  bool
	active bool
	part   yarn.Resource
	weight yarn.Fraction
}

// rebuild derives everything from the state.
func (s *Scheduler) rebuild() error {
	v := s.st.Version()
	if v == nil {
		return nil
	}
	cfg, err := capacity.Parse(propertiesOf(v.Properties))
	if err != nil {
		return err
	}
	s.cfg = cfg
	s.queues = make([]queueView, len(cfg.Queues))
	s.indexOf = make([]int32, s.st.Queues.Cap())
	depth := 0
	for i := range cfg.Queues {
		depth = max(depth, cfg.Queues[i].Depth)
		slot := s.st.Queue(cfg.Queues[i].Path)
		s.indexOf[slot] = int32(i)
		s.queues[i] = queueView{slot: slot, parent: int32(cfg.Queues[i].Parent), activeWeight: yarn.Fraction{Num: 0, Den: 1}, changed: true}
	}
	s.levelLimits = make([]Limits, depth+1)
	s.apps, s.users, s.runnable = nil, nil, nil
	s.nodes.reset()
	s.tree, s.stale = cfg.Compute(s.st.Meta.Cluster), false
	for i := range s.queues {
		s.queues[i].key = s.orderKey(i)
	}
	s.st.Users.Each(func(slot uint32, _ *state.User) bool { s.refreshUser(slot); return true })
	s.st.Apps.Each(func(slot uint32, _ *state.App) bool { s.refreshApp(slot); return true })
	for i := range s.queues {
		s.refreshQueue(int32(i))
	}
	s.st.Nodes.Each(func(slot uint32, _ *state.Node) bool { s.refreshNode(slot); return true })
	return nil
}

func propertiesOf(in []state.Property) []capacity.Property {
	out := make([]capacity.Property, len(in))
	for i, q := range in {
		out[i] = capacity.Property{Name: q.Name, Value: q.Value}
	}
	return out
}

// follow brings the views up to date after an event.
func (s *Scheduler) follow(t state.Touched) {
	if t.Tree || t.Labels {
		if err := s.rebuild(); err != nil {
			panic("scheduler: the configuration just validated cannot be read: " + err.Error())
		}
		return
	}
	s.stale = s.stale || t.Cluster
	if t.App != 0 {
		s.refreshAll(t)
	}
	if t.Node != 0 {
		s.refreshNode(t.Node)
	}
}

// refreshAll refreshes an application with its user and its queues, and those that it had before
// the event if they are others.
func (s *Scheduler) refreshAll(t state.Touched) {
	s.refreshApp(t.App)
	s.refreshUser(t.User)
	if s.st.Apps.Has(t.App) {
		if a := s.st.Apps.Get(t.App); a.UserSlot != t.User || a.Queue != t.Queue {
			s.refreshUser(a.UserSlot)
			s.refreshChain(a.Queue)
		}
	}
	if t.Queue != 0 {
		s.refreshChain(t.Queue)
	}
}

func (s *Scheduler) refreshApp(slot uint32) {
	for int(slot) >= len(s.apps) {
		s.apps = append(s.apps, appView{})
	}
	v := s.apps[slot]
	var next appView
	if s.st.Apps.Has(slot) {
		a := s.st.Apps.Get(slot)
		if !a.State.Ended() {
			next = appView{leaf: s.LeafOf(a), reserving: a.Reserving, user: a.User, runnable: a.Runnable(), unmanaged: a.Unmanaged,
				active: a.Activated() && a.Outstanding > 0, pending: a.AttemptState == state.AttemptPending}
			next.key = s.appKey(a, &s.cfg.Queues[next.leaf])
		}
	}
	if v == next {
		return
	}
	s.unlistApp(slot, v)
	s.apps[slot] = next
	s.listApp(slot, next)
}

func (s *Scheduler) unlistApp(slot uint32, v appView) {
	q := &s.queues[v.leaf]
	if v.active {
		q.active = s.removeApp(q.active, slot)
	}
	if v.pending {
		q.pending = s.removeApp(q.pending, slot)
		q.unmanaged -= boolToInt(v.unmanaged)
	}
	q.reserving -= v.reserving
	s.countRunnable(v, -1)
}

func (s *Scheduler) listApp(slot uint32, v appView) {
	q := &s.queues[v.leaf]
	if v.active {
		q.active = s.insertApp(q.active, slot)
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

func (s *Scheduler) refreshUser(slot uint32) {
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
		next = userView{leaf: leaf, name: u.Name, known: true, active: u.IsActive(), weight: v.weight,
			part: capacity.DominantPart(s.cfg.Calculator, s.st.Meta.Cluster, u.Used)}
		if !v.known || v.leaf != leaf || v.name != u.Name {
			next.weight = s.cfg.Queues[leaf].Weight(s.st.NameOf(u.Name))
		}
	}
	// The slot may have come to mean another user's share in the same event, so
	// the old one's part goes as a whole.
	same := v.leaf == next.leaf && v.active == next.active && v.weight == next.weight
	if v.known {
		q := &s.queues[v.leaf]
		q.touch()
		q.dominantUsed = q.dominantUsed.Sub(v.part)
		if v.active && !same {
			q.activeWeight = addFraction(q.activeWeight, v.weight, -1)
		}
	}
	if next.known {
		q := &s.queues[next.leaf]
		q.touch()
		q.dominantUsed = q.dominantUsed.Add(next.part)
		if next.active && !same {
			q.activeWeight = addFraction(q.activeWeight, next.weight, 1)
		}
	}
	s.users[slot] = next
}

func addFraction(a, b yarn.Fraction, sign int64) yarn.Fraction {
	if a.Den == b.Den {
		return yarn.NewFraction(a.Num+sign*b.Num, a.Den)
	}
	return yarn.NewFraction(a.Num*b.Den+sign*b.Num*a.Den, a.Den*b.Den)
}

// refreshChain brings the order keys of a queue and its ancestors up to date.
func (s *Scheduler) refreshChain(slot uint32) {
	for i := s.indexOf[slot]; i >= 0; i = s.queues[i].parent {
		s.queues[i].touch()
		s.refreshQueue(i)
	}
}

func (s *Scheduler) orderKey(i int) capacity.OrderKey {
	q, e, total := s.Queue(int32(i)), &s.tree.Capacities[i], s.st.Meta.Cluster
	return capacity.OrderKey{
		Used:          capacity.Used(s.cfg.Calculator, total, q.Used, e.EffMin, s.cfg.MinAlloc),
		AbsUsed:       capacity.AbsUsed(s.cfg.Calculator, total, q.Used),
		AbsCapacity:   e.AbsFixed,
		ConfiguredMin: e.ConfiguredMin,
		Priority:      s.cfg.Queues[i].Priority,
	}
}

// refreshQueue moves a queue to its place among its parent's children.
func (s *Scheduler) refreshQueue(i int32) {
	v := &s.queues[i]
	if v.parent < 0 {
		return
	}
	key := s.orderKey(int(i))
	listed := !s.st.Queues.Get(v.slot).Pending.IsZero()
	if key == v.key && listed == v.listed {
		return
	}
	parent := &s.queues[v.parent]
	if v.listed {
		parent.children = s.removeChild(parent.children, i)
	}
	v.key, v.listed = key, listed
	if listed {
		parent.children = s.insertChild(parent.children, i)
	}
}

// refreshCapacities recomputes effective capacities when the cluster has changed.
func (s *Scheduler) refreshCapacities() {
	if !s.stale {
		return
	}
	s.stale = false
	s.tree = s.cfg.Compute(s.st.Meta.Cluster)
	for i := range s.queues {
		s.queues[i].dominantUsed, s.queues[i].activeWeight = yarn.Resource{}, yarn.Fraction{Num: 0, Den: 1}
	}
	s.users = s.users[:0]
	s.st.Users.Each(func(slot uint32, _ *state.User) bool { s.refreshUser(slot); return true })
	for i := range s.queues {
		s.queues[i].touch()
		s.refreshQueue(int32(i))
	}
}

// Rebase makes the scheduler one of another version of its state, with the same queues. It is for
// questions alone: the index of free nodes, which only passes look at, stays as it is.
func (s *Scheduler) Rebase(st *state.State) {
	old := s.st
	s.st = st
	s.stale = s.stale || old.Meta.Cluster != st.Meta.Cluster
	differ(&old.Users, &st.Users, s.refreshUser)
	differ(&old.Apps, &st.Apps, s.refreshApp)
	for i := range s.queues {
		s.queues[i].touch()
		s.refreshQueue(int32(i))
	}
}

// differ calls f with every slot whose record may not be the same in two versions
// of a table. Versions share the pages that neither has written to since they
// parted, so a record at the same place in memory is the same record.
func differ[T any](old, now *state.Table[T], f func(slot uint32)) {
	both := min(old.Cap(), now.Cap())
	for slot := uint32(1); slot < both; slot++ {
		if old.Get(slot) != now.Get(slot) {
			f(slot)
		}
	}
	for slot := max(both, 1); slot < max(old.Cap(), now.Cap()); slot++ {
		f(slot)
	}
}
