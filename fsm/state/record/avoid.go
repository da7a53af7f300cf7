package record

import (
	"slices"

	"rmd/internal/codec"
	"rmd/yarn"
)

// An ask avoids a node for a while after a container that it got there was given back at once, or
// never started. Otherwise the next container of the same ask would go to the same node, because
// that node has the most room.

// Limits of what is remembered.
const (
	// AvoidMillis is how long an ask avoids a node.
	AvoidMillis = 60_000
	// GivenBackMillis is the time within which an AM gives back a container that it could not use.
	GivenBackMillis = 10_000
	// AvoidedMax bounds the entries, and AvoidedByKey those of one ask. The oldest is dropped.
	AvoidedMax, AvoidedByKey = 256, 8
)

// Avoided says that the ask of an application under a key prefers other nodes than this one. The
// application may have no such ask at the moment.
type Avoided struct {
	App         uint32 // its sequence number
	Key         yarn.SchedulerKey
	Node        NodeSlot
	UntilMillis int64
}

// AvoidedNodes are the nodes that asks avoid, oldest first. A changed list is a new list.
type AvoidedNodes []Avoided

// Avoids reports whether an application avoids a node for the containers under a key.
func (t *AvoidedNodes) Avoids(app uint32, key yarn.SchedulerKey, node NodeSlot, nowMillis int64) bool {
	for i := range *t {
		if v := &(*t)[i]; v.Node == node && v.App == app && v.Key == key {
			return v.UntilMillis > nowMillis
		}
	}
	return false
}

// Add adds an entry and removes those that have expired by now, an earlier one that is the same, and
// the oldest ones beyond AvoidedByKey and AvoidedMax.
func (t *AvoidedNodes) Add(v Avoided, now int64) {
	list := make([]Avoided, 0, len(*t)+1)
	same, first := 0, -1 // the entries of the key that are kept, and the index of the oldest
	for _, x := range *t {
		switch {
		case x.UntilMillis <= now || x.Node == v.Node && x.App == v.App && x.Key == v.Key:
			continue
		case x.App == v.App && x.Key == v.Key:
			if same++; first < 0 {
				first = len(list)
			}
		}
		list = append(list, x)
	}
	if same >= AvoidedByKey {
		list = slices.Delete(list, first, first+1)
	}
	list = append(list, v)
	*t = list[max(len(list)-AvoidedMax, 0):]
}

// Drop removes the entries of a node that is forgotten, because another node may get its
// number.
func (t *AvoidedNodes) Drop(node NodeSlot) {
	if slices.ContainsFunc(*t, func(v Avoided) bool { return v.Node == node }) {
		*t = slices.DeleteFunc(slices.Clone(*t), func(v Avoided) bool { return v.Node == node })
	}
}

// Code encodes the record, or decodes into it.
func (t *AvoidedNodes) Code(c *codec.Coder) {
	codec.List(c, (*[]Avoided)(t), func(c *codec.Coder, v *Avoided) {
		c.U32(&v.App)
		c.Key(&v.Key)
		codec.Slot(c, &v.Node)
		c.I64(&v.UntilMillis)
	})
}
