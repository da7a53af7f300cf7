package state

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Queue is one queue of the tree, with the sums that are compared with limits. Used, Reserved,
// Pending, Containers and Runnable cover the whole subtree: Accounts.chain adds to all ancestors.
// AMUsed, ActiveApps, PendingApps, NonRunnableApps and the fields about users are for leaves only.
type Queue struct {
	Path     string
	Name     string
	Parent   QueueSlot
	Children []QueueSlot // in the order of the configuration; replaced whole, never written in place
	Leaf     bool
	State    yarn.QueueState

	Used       yarn.Resource // live containers and reservations; kept by charge
	Reserved   yarn.Resource // the part of Used that is reservations
	Pending    yarn.Resource // size times count of all outstanding asks; kept by addPending
	AMUsed     yarn.Resource // AMs of active applications; the AM limit bounds it
	Containers int64         // live containers and reservations

	// Applications of a leaf by the state of their current attempt; kept by countAttempt.
	ActiveApps      int32 // activated, and the attempt has not ended
	PendingApps     int32 // wait for activation
	NonRunnableApps int32 // held back by a limit on parallel applications

	// Runnable counts active and pending applications in the whole subtree. Limits on parallel
	// applications bound it.
	Runnable int32

	// Users of a leaf, as the user limit counts them; kept by changeUser. ActiveUsers have an
	// activated application and outstanding asks; ActiveUsed is what they use. WaitingUsers have
	// applications that wait for activation and no activated one.
	ActiveUsers  int32
	WaitingUsers int32
	ActiveUsed   yarn.Resource

	Totals QueueTotals
}

// Apps returns the number of applications in a leaf.
func (q *Queue) Apps() int32 { return q.ActiveApps + q.PendingApps + q.NonRunnableApps }

func (q *Queue) code(c *codec.Coder) {
	c.String(&q.Path)
	c.String(&q.Name)
	codec.Slot(c, &q.Parent)
	codeSlots(c, &q.Children)
	c.Bool(&q.Leaf)
	codec.Enum(c, &q.State)
	c.Resource(&q.Used)
	c.Resource(&q.Reserved)
	c.Resource(&q.Pending)
	c.Resource(&q.AMUsed)
	c.I64(&q.Containers)
	c.I32(&q.ActiveApps)
	c.I32(&q.PendingApps)
	c.I32(&q.NonRunnableApps)
	c.I32(&q.Runnable)
	c.I32(&q.ActiveUsers)
	c.I32(&q.WaitingUsers)
	c.Resource(&q.ActiveUsed)
	q.Totals.code(c)
}

// Queues is the table of queues.
type Queues struct {
	table.Keyed[QueueSlot, Queue, *Queue]
}

// Find returns the slot of a queue, or 0 if there is none.
func (qs *Queues) Find(path string) QueueSlot {
	return qs.Lookup(table.Hash(path), func(r *Queue) bool { return r.Path == path })
}

// Root returns the slot of the root queue, or 0 before the first configuration.
func (qs *Queues) Root() QueueSlot { return qs.Find("root") }

// QueueVersions are the queue configurations that are kept, ascending. A changed list is a new list.
type QueueVersions []QueueVersion

// Current returns the queue configuration in force, or nil before the first one.
func (t *QueueVersions) Current() *QueueVersion {
	if len(*t) == 0 {
		return nil
	}
	return &(*t)[len(*t)-1]
}

// Kinds returns the resource kinds of the configuration in force.
func (t *QueueVersions) Kinds() yarn.Kinds {
	if v := t.Current(); v != nil {
		return v.Kinds
	}
	return yarn.DefaultKinds()
}

var _ = applies((*State).queuesConfigured)

func (s *State) queuesConfigured(e *event.QueuesConfigured) error {
	if err := s.checkQueues(e); err != nil {
		return err
	}
	s.changes.add(QueuesChanged)
	keep := make([]bool, s.Queues.Cap())
	dynamic := s.listedDynamic(e)
	children := make([][]QueueSlot, 0, len(e.Queues))
	slots := make([]QueueSlot, 0, len(e.Queues))
	parents := map[QueueSlot]int{} // looked up by key only
	for _, d := range e.Queues {
		slot := s.Queues.define(d)
		if int(slot) < len(keep) {
			keep[slot] = true
		}
		parents[slot] = len(slots)
		slots, children = append(slots, slot), append(children, nil)
		if p := s.Queues.Get(slot).Parent; p != 0 {
			i := parents[p]
			children[i] = append(children[i], slot)
		}
	}
	for _, slot := range dynamic { // those that remain dynamic
		keep[slot] = true
		if i, ok := parents[s.Queues.Get(slot).Parent]; ok {
			children[i] = append(children[i], slot)
		}
	}
	for i, slot := range slots {
		s.Queues.Mut(slot).Children = children[i]
	}
	s.dropQueues(keep)
	s.Versions.add(&s.Meta, e)
	s.foldQueues(e, slots)
	return nil
}

// listedDynamic turns dynamic queues that the configuration lists into ordinary ones, and returns
// the other dynamic queues in the order of their creation. The caller sets the lists of children.
func (s *Accounts) listedDynamic(e *event.QueuesConfigured) (others []QueueSlot) {
	listed := make(map[string]bool, len(e.Queues)) // looked up by key only
	for _, d := range e.Queues {
		listed[d.Path] = true
	}
	for slot := range s.DynamicQueues.InOrder() {
		if listed[s.Queues.Get(slot).Path] {
			s.endDynamic(slot)
		} else {
			others = append(others, slot)
		}
	}
	s.DynamicQueues.findNewest()
	return others
}

func (s *Accounts) foldQueues(e *event.QueuesConfigured, slots []QueueSlot) {
	s.fold(e.Version)
	for i, slot := range slots {
		s.fold(uint64(slot)<<8 | uint64(e.Queues[i].State)<<1 | uint64(count(e.Queues[i].Leaf)))
	}
	for _, p := range e.Properties {
		s.fold(table.Hash(p.Name))
		s.fold(table.Hash(p.Value))
	}
	for _, k := range e.Kinds {
		s.fold(table.Hash(k))
	}
	s.fold(uint64(count(e.Dominant)))
}

// checkQueues returns an error if the queues do not form a tree, or if the configuration removes a
// queue in use.
func (s *Accounts) checkQueues(e *event.QueuesConfigured) error {
	if v := s.Versions.Current(); v != nil && e.Version <= v.Version {
		return broken(e, "version %d is in force", v.Version)
	}
	if len(e.Queues) == 0 || e.Queues[0].Path != "root" || len(e.Kinds) > yarn.MaxKinds {
		return broken(e, "the first queue is not root, or there are more than %d resource kinds", yarn.MaxKinds)
	}
	used := s.queuesInUse()
	named := make(map[string]bool, len(e.Queues)) // looked up by key only
	parents := make(map[string]bool, len(e.Queues))
	for i, d := range e.Queues {
		if i > 0 && !parents[yarn.ParentQueue(d.Path)] {
			return broken(e, "queue %q stands before its parent, or under a leaf", d.Path)
		}
		if named[d.Path] {
			return broken(e, "queue %s stands there twice", d.Path)
		}
		if slot := s.Queues.Find(d.Path); slot != 0 && !d.Leaf && used[slot] {
			return broken(e, "leaf %s with applications becomes a parent", d.Path)
		}
		named[d.Path], parents[d.Path] = true, !d.Leaf
	}
	var err error
	s.Queues.Each(func(slot QueueSlot, q *Queue) bool {
		switch dynamic := s.DynamicQueues.Has(slot); {
		case named[q.Path]:
		case dynamic && !parents[yarn.ParentQueue(q.Path)] && (named[yarn.ParentQueue(q.Path)] || !s.DynamicQueues.Has(q.Parent)):
			err = broken(e, "dynamic queue %s has no parent any more", q.Path)
		case !dynamic && used[slot]:
			err = broken(e, "queue %s is in use", q.Path)
		}
		return err == nil
	})
	return err
}

// queuesInUse returns which leaves have applications that have not ended. The counts of a queue
// miss an application between two attempts.
func (s *Accounts) queuesInUse() []bool {
	used := make([]bool, s.Queues.Cap())
	s.Users.Each(func(_ UserSlot, u *User) bool { used[u.Queue] = true; return true })
	return used
}

func (qs *Queues) define(d event.QueueDefinition) QueueSlot {
	slot := qs.Find(d.Path)
	if slot == 0 {
		var q *Queue
		slot, q = qs.Alloc()
		q.Path = d.Path
		q.Name = yarn.QueueName(d.Path)
		qs.Insert(slot)
	}
	q := qs.Mut(slot)
	q.Parent = qs.Find(yarn.ParentQueue(d.Path))
	q.Leaf = d.Leaf
	q.State = d.State
	return slot
}

// dropQueues removes every queue whose slot is not set in keep. Ended applications of a removed
// queue keep its path.
func (s *State) dropQueues(keep []bool) {
	s.Apps.Each(func(slot AppSlot, a *App) bool {
		if a.State.Ended() && int(a.Queue) < len(keep) && !keep[a.Queue] && s.Queues.Has(a.Queue) {
			s.leaveQueue(slot)
		}
		return true
	})
	for slot := range keep {
		if keep[slot] || !s.Queues.Has(QueueSlot(slot)) {
			continue
		}
		s.Queues.Release(QueueSlot(slot))
		if s.Debts.Has(QueueSlot(slot)) {
			s.Debts.Release(QueueSlot(slot))
		}
	}
}

func (t *QueueVersions) add(m *Meta, e *event.QueuesConfigured) {
	v := QueueVersion{Version: e.Version, Kinds: e.Kinds, Dominant: e.Dominant, AtMillis: m.NowMillis, Author: e.Author, Comment: e.Comment}
	for _, p := range e.Properties {
		v.Properties = append(v.Properties, Property(p))
	}
	from := max(0, len(*t)+1-maxQueueVersions)
	*t = append(append(QueueVersions(nil), (*t)[from:]...), v)
}

var _ = applies((*State).queueStateChanged)

func (s *Accounts) queueStateChanged(e *event.QueueStateChanged) error {
	slot := s.Queues.Find(e.Path)
	if slot == 0 {
		return broken(e, "no such queue")
	}
	if e.State < yarn.QueueRunning || e.State > yarn.QueueStopped {
		return broken(e, "no such state")
	}
	if e.State == yarn.QueueStopped && s.queuesInUse()[slot] {
		return broken(e, "applications are in it")
	}
	s.Queues.Mut(slot).State = e.State
	s.fold(uint64(slot)<<8 | uint64(e.State))
	return nil
}

func (q *Queue) Hash() uint64           { return table.Hash(q.Path) }
func (q *Queue) Same(other *Queue) bool { return q.Path == other.Path }

// chain calls f on a queue and all its ancestors, for writing.
func (s *Accounts) chain(queue QueueSlot, f func(q *Queue)) {
	s.LabelUses.changed |= 1
	for slot := queue; slot != 0; {
		q := s.Queues.Mut(slot)
		f(q)
		slot = q.Parent
	}
}

var queuePart = derived{part: keyedRows(5, "queues", func(s *State) *table.Keyed[QueueSlot, Queue, *Queue] { return &s.Queues.Keyed }, (*Queue).code),
	agrees: (*State).checkTree}
