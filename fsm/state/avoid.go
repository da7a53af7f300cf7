package state

import (
	"fmt"
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
	// givenBackMillis is the time within which an AM gives back a container that it could not use.
	givenBackMillis = 10_000
	// avoidedMax bounds the entries, and avoidedByKey those of one ask. The oldest is dropped.
	avoidedMax, avoidedByKey = 256, 8
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

// noteEnd remembers the node of a container that ends with an exit status, if its ask should avoid
// the node.
func (s *Running) noteEnd(c *Container, exit int32) {
	now := s.Meta.NowMillis
	givenBack := exit == yarn.ExitAborted && (!c.Launched || now-c.AllocatedMillis < givenBackMillis)
	if !givenBack && !yarn.NotStarted(exit) {
		return
	}
	v := Avoided{App: s.Apps.Get(c.App).ID.Seq, Key: c.Key, Node: c.Node, UntilMillis: now + AvoidMillis}
	list := make([]Avoided, 0, len(s.Avoided)+1)
	same, first := 0, -1 // the entries of the key that are kept, and the index of the oldest
	for _, x := range s.Avoided {
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
	if same >= avoidedByKey {
		list = slices.Delete(list, first, first+1)
	}
	list = append(list, v)
	s.Avoided = list[max(len(list)-avoidedMax, 0):]
	s.fold(uint64(v.App)<<32 | uint64(v.Node))
	s.fold(uint64(v.UntilMillis))
}

// drop removes the entries of a node that is forgotten, because another node may get its
// number.
func (t *AvoidedNodes) drop(node NodeSlot) {
	if slices.ContainsFunc(*t, func(v Avoided) bool { return v.Node == node }) {
		*t = slices.DeleteFunc(slices.Clone(*t), func(v Avoided) bool { return v.Node == node })
	}
}

func (s *State) checkAvoided() error {
	if len(s.Avoided) > avoidedMax {
		return fmt.Errorf("%d nodes are avoided, the most is %d", len(s.Avoided), avoidedMax)
	}
	for i, v := range s.Avoided {
		if !s.Nodes.Has(v.Node) || i > 0 && v.UntilMillis < s.Avoided[i-1].UntilMillis {
			return fmt.Errorf("application %d avoids node %d, which is not there or out of order", v.App, v.Node)
		}
	}
	return nil
}

func (t *AvoidedNodes) code(c *codec.Coder) {
	codec.List(c, (*[]Avoided)(t), func(c *codec.Coder, v *Avoided) {
		c.U32(&v.App)
		c.Key(&v.Key)
		codec.Slot(c, &v.Node)
		c.I64(&v.UntilMillis)
	})
}

var avoidedPart = derived{part: single(39, "avoided", func(s *State, c *codec.Coder) { s.Avoided.code(c) }),
	agrees: (*State).checkAvoided}
