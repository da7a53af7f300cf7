package explain

import (
	"fmt"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// This file says why a container or reservation went to its node, with the rule of
// scheduler/nodeorder.go. The log does not say which pass decided. If the rule puts another node
// first, the pass was not for this ask: the node had got room, or had sent a heartbeat.

// whyNode says why an ask got its container on this node. With lent, the node is reserved and lends
// its room.
func (v decisions) whyNode(e *event.ContainerAllocated, ask state.AskSlot, lent bool) string {
	n := v.st.Nodes.Get(e.Node)
	switch {
	case !v.eager:
		return fmt.Sprintf("%s had sent a heartbeat", n.ID)
	case v.steps.gang == e.App:
		return "the gang got its nodes together"
	}
	c := v.sched.NodeChoice(n.Label, ask, lent)
	switch {
	case c.First == e.Node:
		return v.whyFirst(c, v.st.Asks.Get(ask))
	case c.First == 0:
		return fmt.Sprintf("the room of %s was offered to the application that was next", n.ID)
	}
	return fmt.Sprintf(
		"the room of %s was offered to the application that was next; by the order %s, the ask itself would have got %s",
		n.ID, c.Order, v.nameOf(c.First))
}

// whyFirst says why a node is the first of the order for an ask.
func (v decisions) whyFirst(c scheduler.NodeChoice, k *state.Ask) string {
	there, head := "", ""
	switch c.At {
	case yarn.NodeLocal:
		there, head = " there", "it names the host; "
	case yarn.RackLocal:
		there, head = " there", "it names the rack; "
	}
	switch {
	case c.Lead == scheduler.NotAvoided:
		return head + fmt.Sprintf("on %s, its last container did not start", v.nameOf(c.Next))
	case c.Nodes <= 1 && head != "":
		return strings.TrimSuffix(head, "; ")
	case c.Nodes <= 1:
		return "no other node that it may use had room"
	}
	count := fmt.Sprint(c.Nodes)
	if c.Nodes >= scheduler.CountedNodes {
		count += " or more"
	}
	return head + fmt.Sprintf("%s of %s nodes with room%s: %s", v.nameOf(c.First), count, there, v.lead(c, k))
}

// lead says why the first node of an order is before the others.
func (v decisions) lead(c scheduler.NodeChoice, k *state.Ask) string {
	switch c.Lead {
	case scheduler.RunsAsLong:
		return "its containers end at about the same time, or later"
	case scheduler.ProlongedLess:
		return "the container prolongs its use by the smallest factor"
	}
	if c.Order == capacity.NodeOrderSpread {
		return v.leadOfSpread(c)
	}
	left := v.cfg.Kinds.Format(v.st.Nodes.Get(c.First).Unallocated().Sub(k.Size))
	text := fmt.Sprintf("it has the least left over, %s", left)
	switch {
	case c.Lead == scheduler.NoLead:
		text = fmt.Sprintf("it has about as little left over as %s, %s, and has the lower number", v.nameOf(c.Next), left)
	case c.Order == capacity.NodeOrderLifetime:
		text = fmt.Sprintf("the container fits the ends of its containers as well as on %s, and %s", v.nameOf(c.Next), text)
	}
	if c.Whole != 0 {
		text += fmt.Sprintf("; %s is kept whole", v.nameOf(c.Whole))
	}
	return text
}

func (v decisions) leadOfSpread(c scheduler.NodeChoice) string {
	next := v.nameOf(c.Next)
	what, same := v.usedOf(c.First)
	if c.Lead == scheduler.LessUsed {
		_, more := v.usedOf(c.Next)
		return fmt.Sprintf("it uses the least of its %s, %s; %s uses %s", what, same, next, more)
	}
	text := fmt.Sprintf("it uses as little of its %s as %s, about %s, and has ", what, next, same)
	switch c.Lead {
	case scheduler.LessFree:
		return text + fmt.Sprintf("less %s free", v.kind(c.Kind))
	case scheduler.MoreFree:
		return text + fmt.Sprintf("more %s free", v.kind(c.Kind))
	}
	return text + "the lower number"
}

// kind returns the name of a resource.
func (v decisions) kind(i int) string {
	if i == yarn.Memory {
		return "memory"
	}
	return yarn.ShortKind(v.cfg.Kinds[i])
}

// usedOf returns which resources the order spread compares, and the larger one of their used shares
// of a node.
func (v decisions) usedOf(node state.NodeSlot) (what, share string) {
	n := v.st.Nodes.Get(node)
	shareOf := func(kind int) uint64 { return yarn.Share(min(n.Allocated[kind], n.Total[kind]), n.Total[kind]) }
	most := shareOf(yarn.Memory)
	if !v.cfg.Calculator.Dominant {
		return "memory", percent(most)
	}
	return "memory and vcores", percent(max(most, shareOf(yarn.VCores)))
}

func (v decisions) nameOf(node state.NodeSlot) string { return v.st.Nodes.Get(node).ID.String() }

// whyReserved says why an ask reserves this node.
func (v decisions) whyReserved(e *event.ReservationMade, ask state.AskSlot) string {
	node := e.Node
	why := fmt.Sprintf("%s was offered to it", v.nameOf(node))
	if warned, ok := v.steps.next.(*event.PreemptionAsked); ok && warned.Reservation == e.Reservation {
		why = "containers there are preempted for it"
	} else if v.sched.ReservesEarliest() {
		switch v.sched.ExpectedFirst(ask, node) {
		case yarn.OffSwitch:
			why = v.expected(ask, node, "it is expected to have room first")
		case yarn.RackLocal, yarn.NodeLocal:
			why = v.expected(ask, node, "of the places that the ask names, it is expected to have room first")
		}
	}
	if v.steps.gaveUp != 0 {
		why += fmt.Sprintf("; r%d on %s was given up for it", v.steps.gaveUp, v.nameOf(v.steps.gaveUpOn))
	}
	return why
}

// expected adds to a text in how many seconds a node is expected to have room.
func (v decisions) expected(ask state.AskSlot, node state.NodeSlot, text string) string {
	at, known := v.sched.ExpectedRoom(ask, node)
	if !known {
		return "no other node is expected to have room earlier"
	}
	return fmt.Sprintf("%s, in %d s", text, v.secondsTo(at))
}

func (v decisions) secondsTo(atMillis int64) int64 {
	return max(atMillis-v.st.Meta.NowMillis, 0) / 1000
}

// exchangedFor says what a reservation is given up for: a container elsewhere, or another
// reservation. Both follow at once.
func (v decisions) exchangedFor(number uint64) string {
	r := v.st.Reservations.Get(v.st.Reservations.Find(number))
	a := v.st.Apps.Get(r.App)
	switch next := v.steps.next.(type) {
	case *event.ContainerAllocated:
		if next.App == a.ID.Seq && next.Key == r.Key {
			return fmt.Sprintf("; given up for room on %s", v.nameOf(next.Node))
		}
	case *event.ReservationMade:
		ask := v.st.AskFor(a, r.Key, r.IncreaseOf)
		if ask == 0 || next.App != a.ID.Seq || next.Key != r.Key {
			return ""
		}
		text := fmt.Sprintf("; moved to %s", v.nameOf(next.Node))
		if at, known := v.sched.ExpectedRoom(ask, next.Node); known {
			text += fmt.Sprintf(", which is expected to have room in %d s", v.secondsTo(at))
		}
		if at, known := v.sched.ExpectedRoom(ask, r.Node); known {
			text += fmt.Sprintf(" instead of %d s", v.secondsTo(at))
		}
		return text
	}
	return ""
}
