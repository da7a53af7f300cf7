package record

import (
	"fmt"
	"slices"

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
	// Users counts all users of a leaf: those who have applications there that have not ended. Not in
	// snapshots: follows from the users.
	Users int32

	Totals QueueTotals
}

// Apps returns the number of applications in a leaf that have an attempt. Those that wait for their
// tokens have none.
func (q *Queue) Apps() int32 { return q.ActiveApps + q.PendingApps + q.NonRunnableApps }

// Code encodes the record, or decodes into it.
func (q *Queue) Code(c *codec.Coder) {
	c.String(&q.Path)
	c.String(&q.Name)
	codec.Slot(c, &q.Parent)
	CodeSlots(c, &q.Children)
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

// HoldsApps reports whether a queue or a queue below it has applications that have not ended.
func (qs *Queues) HoldsApps(slot QueueSlot) bool {
	q := qs.Get(slot)
	return q.Users > 0 || slices.ContainsFunc(q.Children, qs.HoldsApps)
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

// Define adds a queue, or changes the one with its path, and returns its slot.
func (qs *Queues) Define(d event.QueueDefinition) QueueSlot {
	slot := qs.Find(d.Path)
	if slot == 0 {
		var q *Queue
		slot, q = table.Alloc(&qs.Keyed.Table)
		q.Path = d.Path
		q.Name = yarn.QueueName(d.Path)
		table.InsertKeyed(&qs.Keyed, slot)
	}
	q := qs.Mut(slot)
	q.Parent = qs.Find(yarn.ParentQueue(d.Path))
	q.Leaf = d.Leaf
	q.State = d.State
	return slot
}

// Add adds a configuration, and drops the oldest beyond MaxQueueVersions.
func (t *QueueVersions) Add(m *Meta, e *event.QueuesConfigured) {
	v := QueueVersion{Version: e.Version, Kinds: e.Kinds, Dominant: e.Dominant, AtMillis: m.NowMillis, Author: e.Author,
		Comment: e.Comment}
	for _, p := range e.Properties {
		v.Properties = append(v.Properties, Property(p))
	}
	from := max(0, len(*t)+1-MaxQueueVersions)
	*t = append(append(QueueVersions(nil), (*t)[from:]...), v)
}

// Hash returns the hash of the key.
func (q *Queue) Hash() uint64 { return table.Hash(q.Path) }

// Same reports whether the keys are equal.
func (q *Queue) Same(other *Queue) bool { return q.Path == other.Path }

// Differs returns an error if the sums of the queue are not those of w.
func (q *Queue) Differs(w *Queue) error {
	if q.Used != w.Used || q.Reserved != w.Reserved || q.Pending != w.Pending || q.AMUsed != w.AMUsed ||
		q.Containers != w.Containers {
		return fmt.Errorf(
			"queue %s says used %s reserved %s pending %s am %s in %d; its applications sum to %s, %s, %s, %s in %d",
			q.Path, q.Used, q.Reserved, q.Pending, q.AMUsed, q.Containers, w.Used, w.Reserved, w.Pending, w.AMUsed, w.Containers)
	}
	if q.ActiveApps != w.ActiveApps || q.PendingApps != w.PendingApps || q.NonRunnableApps != w.NonRunnableApps ||
		q.Runnable != w.Runnable ||
		q.ActiveUsers != w.ActiveUsers || q.Users != w.Users || q.WaitingUsers != w.WaitingUsers ||
		q.ActiveUsed != w.ActiveUsed {
		return fmt.Errorf("queue %s says %d active %d pending %d non-runnable %d runnable applications, %d active users of %d with %s, %d waiting; summed %d %d %d %d, %d of %d with %s, %d",
			q.Path, q.ActiveApps, q.PendingApps, q.NonRunnableApps, q.Runnable, q.ActiveUsers, q.Users, q.ActiveUsed,
			q.WaitingUsers,
			w.ActiveApps, w.PendingApps, w.NonRunnableApps, w.Runnable, w.ActiveUsers, w.Users, w.ActiveUsed, w.WaitingUsers)
	}
	return nil
}

// CheckTree checks that the queues form one tree below root, so that the later checks can
// follow Parent.
func (qs *Queues) CheckTree() error {
	var err error
	children := 0
	qs.Each(func(slot QueueSlot, q *Queue) bool {
		parent := ""
		if q.Parent != 0 {
			parent = qs.Get(q.Parent).Path
		}
		if yarn.ParentQueue(q.Path) != parent || (parent == "" && q.Path != "root") || (q.Leaf && len(q.Children) > 0) {
			err = fmt.Errorf("queue %s has the parent %q and %d children", q.Path, parent, len(q.Children))
			return false
		}
		for _, c := range q.Children {
			if qs.Get(c).Parent != slot {
				err = fmt.Errorf("queue %s lists the child of another", q.Path)
				return false
			}
		}
		children += len(q.Children)
		return true
	})
	if err == nil && qs.Len() > 0 && children != qs.Len()-1 {
		err = fmt.Errorf("%d queues are listed as children of %d", children, qs.Len())
	}
	return err
}

// Code encodes the record, or decodes into it.
func (t *QueueVersions) Code(c *codec.Coder) {
	codec.List(c, (*[]QueueVersion)(t), func(c *codec.Coder, v *QueueVersion) {
		c.U64(&v.Version)
		codec.List(c, &v.Properties, func(c *codec.Coder, p *Property) {
			c.String(&p.Name)
			c.String(&p.Value)
		})
		CodeStrings(c, (*[]string)(&v.Kinds))
		c.Bool(&v.Dominant)
		c.I64(&v.AtMillis)
		c.String(&v.Author)
		c.String(&v.Comment)
	})
}
