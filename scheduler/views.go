package scheduler

import (
	"rmd/fsm/event"
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
	reserving    int32    // reservations held by its applications
	unmanaged    int32    // pending applications that no AM limit holds back
	dominantUsed yarn.Resource
	activeWeight yarn.Fraction
	changed      bool // the user limit must be computed anew
	userLimit    yarn.Resource
	refused      bool // nothing has changed since every application was refused for its user's limit
}

// touch notes that something has changed that a leaf's limits depend on.
func (v *queueView) touch() { v.changed, v.refused = true, false }

// appView is where the planner's lists hold an application, and by which key.
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

// rebuild derives everything anew from the state.
func (p *Planner) rebuild() error {
	v := p.st.Version()
	if v == nil {
		return nil
	}
	cfg, err := capacity.Parse(propertiesOf(v.Properties))
	if err != nil {
		return err
	}
	p.cfg = cfg
	p.queues = make([]queueView, len(cfg.Queues))
	p.indexOf = make([]int32, p.st.Queues.Cap())
	depth := 0
	for i := range cfg.Queues {
		depth = max(depth, cfg.Queues[i].Depth)
		slot := p.st.Queue(cfg.Queues[i].Path)
		p.indexOf[slot] = int32(i)
		p.queues[i] = queueView{slot: slot, parent: int32(cfg.Queues[i].Parent), activeWeight: yarn.Fraction{Num: 0, Den: 1}, changed: true}
	}
	p.handed = make([]limits, depth+1)
	p.apps, p.users, p.runnable = nil, nil, nil
	p.room.reset()
	p.tree, p.stale = cfg.Compute(p.st.Meta.Cluster), false
	for i := range p.queues {
		p.queues[i].key = p.orderKey(i)
	}
	p.st.Users.Each(func(slot uint32, _ *state.User) bool { p.refreshUser(slot); return true })
	p.st.Apps.Each(func(slot uint32, _ *state.App) bool { p.refreshApp(slot); return true })
	for i := range p.queues {
		p.refreshQueue(int32(i))
	}
	p.st.Nodes.Each(func(slot uint32, _ *state.Node) bool { p.refreshNode(slot); return true })
	return nil
}

func propertiesOf(in []state.Property) []capacity.Property {
	out := make([]capacity.Property, len(in))
	for i, q := range in {
		out[i] = capacity.Property{Name: q.Name, Value: q.Value}
	}
	return out
}

// subject is what an event is about, looked up before it is applied.
type subject struct {
	app, user, node, queue uint32
}

func (p *Planner) subjectOf(e event.Event) subject {
	switch e := e.(type) {
	case *event.ContainerAllocated:
		return p.subjectApp(e.App, e.Node)
	case *event.ContainerCompleted:
		return p.subjectContainer(e.Container)
	case *event.ContainerReleased:
		return p.subjectContainer(e.Container)
	case *event.ContainerResizeAsked:
		return p.subjectContainer(e.Container)
	case *event.ContainerIncreased:
		return p.subjectContainer(e.Container)
	case *event.ContainerDecreased:
		return p.subjectContainer(e.Container)
	case *event.ResizeReserved:
		return p.subjectContainer(e.Container)
	case *event.ReservationMade:
		return p.subjectApp(e.App, e.Node)
	case *event.ReservationFulfilled:
		return p.subjectReservation(e.Reservation)
	case *event.ReservationCancelled:
		return p.subjectReservation(e.Reservation)
	case *event.AskChanged:
		return p.subjectApp(e.App, 0)
	case *event.ApplicationSubmitted:
		return subject{}
	case *event.ApplicationEnded:
		return p.subjectApp(e.App, 0)
	case *event.ApplicationMoved:
		return p.subjectApp(e.App, 0)
	case *event.ApplicationForgotten:
		return p.subjectApp(e.App, 0)
	case *event.ApplicationReprioritized:
		return p.subjectApp(e.App, 0)
	case *event.AttemptStarted:
		return p.subjectApp(e.App, 0)
	case *event.AttemptActivated:
		return p.subjectApp(e.App, 0)
	case *event.AttemptRegistered:
		return p.subjectApp(e.App, 0)
	case *event.AttemptUnregistered:
		return p.subjectApp(e.App, 0)
	case *event.AttemptResynced:
		return p.subjectApp(e.App, 0)
	case *event.AttemptEnded:
		return p.subjectApp(e.App, 0)
	case *event.NodeStateChanged:
		return subject{node: e.Node}
	case *event.NodeResourceChanged:
		return subject{node: e.Node}
	}
	return subject{}
}

func (p *Planner) subjectApp(seq, node uint32) subject {
	s := subject{app: p.st.App(seq), node: node}
	if s.app != 0 {
		a := p.st.Apps.Get(s.app)
		s.user, s.queue = a.UserSlot, a.Queue
	}
	return s
}

func (p *Planner) subjectContainer(r event.ContainerRef) subject {
	s := p.subjectApp(r.App, 0)
	if slot := p.st.Container(r); slot != 0 {
		s.node = p.st.Containers.Get(slot).Node
	}
	return s
}

func (p *Planner) subjectReservation(number uint64) subject {
	slot := p.st.Reservation(number)
	if slot == 0 {
		return subject{}
	}
	r := p.st.Reservations.Get(slot)
	a := p.st.Apps.Get(r.App)
	return subject{app: r.App, user: a.UserSlot, queue: a.Queue, node: r.Node}
}

// follow brings the derived views up to date after an event.
func (p *Planner) follow(e event.Event, s subject) {
	switch e := e.(type) {
	case *event.TimeAdvanced, *event.AskCounted, *event.RequestRecorded:
		return
	case *event.ApplicationSubmitted:
		s = p.subjectApp(e.App, 0)
	case *event.NodeRegistered:
		s.node, p.stale = e.Node, true
	case *event.NodeStateChanged, *event.NodeResourceChanged:
		p.stale = true
	case *event.QueuesConfigured:
		if err := p.rebuild(); err != nil {
			panic("planner: the configuration just validated cannot be read: " + err.Error())
		}
		return
	}
	if s.app != 0 {
		p.refreshAll(s)
	}
	if s.node != 0 {
		p.refreshNode(s.node)
	}
}

// refreshAll refreshes an application with its user and chain, and the ones it
// was in before, when it has changed them.
func (p *Planner) refreshAll(s subject) {
	p.refreshApp(s.app)
	if s.user != 0 {
		p.refreshUser(s.user)
	}
	if p.st.Apps.Has(s.app) {
		if a := p.st.Apps.Get(s.app); a.UserSlot != s.user || a.Queue != s.queue {
			p.refreshUser(a.UserSlot)
			p.refreshChain(a.Queue)
		}
	}
	if s.queue != 0 {
		p.refreshChain(s.queue)
	}
}

func (p *Planner) refreshApp(slot uint32) {
	for int(slot) >= len(p.apps) {
		p.apps = append(p.apps, appView{})
	}
	v := p.apps[slot]
	var next appView
	if p.st.Apps.Has(slot) {
		a := p.st.Apps.Get(slot)
		if !a.State.Ended() {
			next = appView{leaf: p.indexOf[a.Queue], reserving: a.Reserving, user: a.User, runnable: a.Runnable(), unmanaged: a.Unmanaged,
				active: a.Activated() && a.Outstanding > 0, pending: a.AttemptState == state.AttemptPending}
			next.key = p.appKey(a, &p.cfg.Queues[next.leaf])
		}
	}
	if v == next {
		return
	}
	p.unlistApp(slot, v)
	p.apps[slot] = next
	p.listApp(slot, next)
}

func (p *Planner) unlistApp(slot uint32, v appView) {
	q := &p.queues[v.leaf]
	if v.active {
		q.active = p.removeApp(q.active, slot)
	}
	if v.pending {
		q.pending = p.removeApp(q.pending, slot)
		q.unmanaged -= one(v.unmanaged)
	}
	q.reserving -= v.reserving
	p.countRunnable(v, -1)
}

func (p *Planner) listApp(slot uint32, v appView) {
	q := &p.queues[v.leaf]
	if v.active {
		q.active = p.insertApp(q.active, slot)
	}
	if v.pending {
		q.pending = p.insertApp(q.pending, slot)
		q.unmanaged += one(v.unmanaged)
	}
	q.reserving += v.reserving
	p.countRunnable(v, 1)
}

func one(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

func (p *Planner) countRunnable(v appView, by int32) {
	if !v.runnable {
		return
	}
	for int(v.user) >= len(p.runnable) {
		p.runnable = append(p.runnable, 0)
	}
	p.runnable[v.user] += by
}

func (p *Planner) refreshUser(slot uint32) {
	if slot == 0 {
		return
	}
	for int(slot) >= len(p.users) {
		p.users = append(p.users, userView{})
	}
	v := p.users[slot]
	var next userView
	if p.st.Users.Has(slot) {
		u := p.st.Users.Get(slot)
		leaf := p.indexOf[u.Queue]
		next = userView{leaf: leaf, name: u.Name, known: true, active: u.IsActive(), weight: v.weight,
			part: capacity.DominantPart(p.cfg.Calculator, p.st.Meta.Cluster, u.Used)}
		if !v.known || v.leaf != leaf || v.name != u.Name {
			next.weight = p.cfg.Queues[leaf].Weight(p.st.NameOf(u.Name))
		}
	}
	// The slot may have come to mean another user's share in the same event, so
	// the old one's part goes as a whole.
	same := v.leaf == next.leaf && v.active == next.active && v.weight == next.weight
	if v.known {
		q := &p.queues[v.leaf]
		q.touch()
		q.dominantUsed = q.dominantUsed.Sub(v.part)
		if v.active && !same {
			q.activeWeight = addFraction(q.activeWeight, v.weight, -1)
		}
	}
	if next.known {
		q := &p.queues[next.leaf]
		q.touch()
		q.dominantUsed = q.dominantUsed.Add(next.part)
		if next.active && !same {
			q.activeWeight = addFraction(q.activeWeight, next.weight, 1)
		}
	}
	p.users[slot] = next
}

func addFraction(a, b yarn.Fraction, sign int64) yarn.Fraction {
	if a.Den == b.Den {
		return yarn.NewFraction(a.Num+sign*b.Num, a.Den)
	}
	return yarn.NewFraction(a.Num*b.Den+sign*b.Num*a.Den, a.Den*b.Den)
}

// refreshChain brings the order keys of a queue and its ancestors up to date.
func (p *Planner) refreshChain(slot uint32) {
	for i := p.indexOf[slot]; i >= 0; i = p.queues[i].parent {
		p.queues[i].touch()
		p.refreshQueue(i)
	}
}

func (p *Planner) orderKey(i int) capacity.OrderKey {
	q, e, total := p.st.Queues.Get(p.queues[i].slot), &p.tree.Capacities[i], p.st.Meta.Cluster
	return capacity.OrderKey{
		Used:          capacity.Used(p.cfg.Calculator, total, q.Used, e.EffMin, p.cfg.MinAlloc),
		AbsUsed:       capacity.AbsUsed(p.cfg.Calculator, total, q.Used),
		AbsCapacity:   e.AbsFixed,
		ConfiguredMin: e.ConfiguredMin,
		Priority:      p.cfg.Queues[i].Priority,
	}
}

// refreshQueue moves a queue to its place among its parent's children.
func (p *Planner) refreshQueue(i int32) {
	v := &p.queues[i]
	if v.parent < 0 {
		return
	}
	key := p.orderKey(int(i))
	listed := !p.st.Queues.Get(v.slot).Pending.IsZero()
	if key == v.key && listed == v.listed {
		return
	}
	parent := &p.queues[v.parent]
	if v.listed {
		parent.children = p.removeChild(parent.children, i)
	}
	v.key, v.listed = key, listed
	if listed {
		parent.children = p.insertChild(parent.children, i)
	}
}

// capacities recomputes effective capacities when the cluster has changed.
func (p *Planner) capacities() {
	if !p.stale {
		return
	}
	p.stale = false
	p.tree = p.cfg.Compute(p.st.Meta.Cluster)
	for i := range p.queues {
		p.queues[i].dominantUsed, p.queues[i].activeWeight = yarn.Resource{}, yarn.Fraction{Num: 0, Den: 1}
	}
	p.users = p.users[:0]
	p.st.Users.Each(func(slot uint32, _ *state.User) bool { p.refreshUser(slot); return true })
	for i := range p.queues {
		p.queues[i].touch()
		p.refreshQueue(int32(i))
	}
}
