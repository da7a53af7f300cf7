package scheduler

import (
	"fmt"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Ground says why something was decided, where a Reason says why it was not.
// Like a reason it is derived when somebody asks, and never stored.
type Ground uint8

// Grounds; append only.
const (
	NoGround       Ground = iota
	FirstInLine           // its queue and the application were first in order
	AppsHeldBack          // applications before it could not use the node
	QueuesHeldBack        // queues before its own could not use the node
	TooLittleFree         // it does not fit yet, so that the node is kept for it
	RoomFreed             // what it was kept for has become free
	WithinAMLimit         // the limits on ApplicationMasters have room for its own
	FirstAM               // no ApplicationMaster ran in the queue: one may always start
	NoAM                  // it brings its own ApplicationMaster, which no limit counts
)

var groundNames = [...]string{"", "FIRST_IN_LINE", "APPS_HELD_BACK", "QUEUES_HELD_BACK", "TOO_LITTLE_FREE", "ROOM_FREED",
	"WITHIN_AM_LIMIT", "FIRST_AM", "NO_AM"}

func (g Ground) String() string { return groundNames[g] }

// Because is why one event was decided: a ground, a reason or a cause by its
// stable name, and the numbers it rests on.
type Because struct {
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// because says why an event is decided in the state just before it. Events that
// report what others did, and those that carry their own reason, have none.
func (p *Planner) because(e event.Event) Because {
	if p.cfg == nil {
		return Because{}
	}
	p.capacities()
	switch e := e.(type) {
	case *event.ContainerAllocated:
		return p.becauseAllocated(e)
	case *event.ReservationMade:
		return p.becauseReserved(e)
	case *event.ContainerIncreased:
		return p.becauseIncreased(e)
	case *event.ResizeReserved:
		return p.becauseResizeReserved(e)
	case *event.ReservationFulfilled:
		return p.becauseFulfilled(e)
	case *event.ReservationCancelled:
		return p.becauseCancelled(e)
	case *event.AttemptActivated:
		return p.becauseActivated(e)
	case *event.AttemptStarted:
		return p.becauseParked(e)
	}
	return Because{}
}

func (p *Planner) becauseAllocated(e *event.ContainerAllocated) Because {
	slot := p.st.App(e.App)
	if slot == 0 || !p.st.Nodes.Has(e.Node) {
		return Because{}
	}
	a := p.st.Apps.Get(slot)
	ask := p.st.Ask(a, e.Key)
	if ask == 0 {
		return Because{}
	}
	n := p.st.Nodes.Get(e.Node)
	ground, line := p.line(slot, e.Node)
	return Because{ground.String(), fmt.Sprintf("%s; it asks %s, %s had %s free", line, p.cfg.Kinds.Format(p.st.Asks.Get(ask).Size), n.ID, p.cfg.Kinds.Format(n.Unallocated()))}
}

// line tells what came before an application in the order in which a node is
// offered, and why that could not use it.
func (p *Planner) line(slot, node uint32) (Ground, string) {
	a := p.st.Apps.Get(slot)
	leaf := p.indexOf[a.Queue]
	active := p.queues[leaf].active
	at := min(p.findApp(active, slot), len(active))
	path := p.st.Queues.Get(a.Queue).Path
	if first := p.queuesBefore(leaf); len(first) > 0 {
		return QueuesHeldBack, fmt.Sprintf("before %s came %s", path, p.heldBackQueues(first, node))
	}
	if at > 0 {
		return AppsHeldBack, fmt.Sprintf("before it in %s came %s", path, p.heldBackApps(active[:at], node))
	}
	line := fmt.Sprintf("%s used %s of its guarantee", path, percent(p.queues[leaf].key.Used.Fixed()))
	wanting := 1
	if parent := p.queues[leaf].parent; parent >= 0 {
		wanting = len(p.queues[parent].children)
	}
	if wanting > 1 {
		line += fmt.Sprintf(" and came first of %d that want something", wanting)
	} else {
		line += " and alone wanted something"
	}
	if len(active) > 1 {
		line += fmt.Sprintf("; the application was first of %d in it", len(active))
	}
	return FirstInLine, line
}

// queuesBefore are the queues that are offered a node before a leaf: before itself
// or before one of its ancestors, those nearest to the root first.
func (p *Planner) queuesBefore(leaf int32) []int32 {
	var out []int32
	for i := leaf; p.queues[i].parent >= 0; i = p.queues[i].parent {
		var before []int32
		for _, child := range p.queues[p.queues[i].parent].children {
			if child == i {
				break
			}
			before = append(before, child)
		}
		out = append(before, out...)
	}
	return out
}

// named is how many of those that came before are named.
const named = 2

func (p *Planner) heldBackQueues(before []int32, node uint32) string {
	return heldBack(len(before), "queue", func(k int) (string, Reason) {
		i := before[k]
		why := p.capped(i, p.cfg.MinAlloc)
		if active := p.queues[i].active; why == NoReason && len(active) > 0 {
			why = p.refusal(active[0], node)
		}
		return p.st.Queues.Get(p.queues[i].slot).Path, why
	})
}

func (p *Planner) heldBackApps(before []uint32, node uint32) string {
	return heldBack(len(before), "application", func(k int) (string, Reason) {
		return p.st.Apps.Get(before[k]).ID.String(), p.refusal(before[k], node)
	})
}

// heldBack names the first of those that came before, with what kept them from
// the node as far as one of their asks tells it.
func heldBack(n int, what string, tell func(k int) (string, Reason)) string {
	var parts []string
	for k := range min(n, named) {
		name, why := tell(k)
		if why != NoReason {
			name += " (" + why.String() + ")"
		}
		parts = append(parts, name)
	}
	if rest := n - len(parts); rest == 1 {
		parts = append(parts, "1 "+what+" more")
	} else if rest > 1 {
		parts = append(parts, fmt.Sprintf("%d %ss more", rest, what))
	}
	return strings.Join(parts, ", ")
}

// refusal is what keeps an application's first ask from a node; NoReason when
// nothing of its own does.
func (p *Planner) refusal(app, node uint32) Reason {
	a, n := p.st.Apps.Get(app), p.st.Nodes.Get(node)
	ask := p.firstAsk(a)
	if ask == 0 {
		return NoAsks
	}
	i, k := p.indexOf[a.Queue], p.st.Asks.Get(ask)
	if r := p.capped(i, k.Size); r != NoReason {
		return r
	}
	if ok, _ := p.userCheck(i, a); !ok {
		return UserLimit
	}
	if !p.reachOf(k, node).usable() {
		return LocalityDelay
	}
	return p.verdict(app, ask, node, n, p.handedTo(a, without{}), without{})
}

func (p *Planner) becauseReserved(e *event.ReservationMade) Because {
	slot := p.st.App(e.App)
	if slot == 0 || !p.st.Nodes.Has(e.Node) {
		return Because{}
	}
	ask := p.st.Ask(p.st.Apps.Get(slot), e.Key)
	if ask == 0 {
		return Because{}
	}
	n, k := p.st.Nodes.Get(e.Node), p.st.Asks.Get(ask)
	return Because{TooLittleFree.String(), fmt.Sprintf("it asks %s, %s had %s free of %s; it held %d reservations for %d containers of that ask",
		p.cfg.Kinds.Format(k.Size), n.ID, p.cfg.Kinds.Format(n.Unallocated()), p.cfg.Kinds.Format(n.Total), k.Reservations, k.Count)}
}

func (p *Planner) becauseFulfilled(e *event.ReservationFulfilled) Because {
	text, ok := p.heldText(e.Reservation)
	if !ok {
		return Because{}
	}
	return Because{RoomFreed.String(), text}
}

// becauseCancelled tells the cause that the event has, with the facts.
func (p *Planner) becauseCancelled(e *event.ReservationCancelled) Because {
	text, ok := p.heldText(e.Reservation)
	if !ok {
		return Because{}
	}
	return Because{e.Cause.String(), text}
}

// heldText says what a reservation needed, what there was, and for how long it was
// held.
func (p *Planner) heldText(number uint64) (string, bool) {
	slot := p.st.Reservation(number)
	if slot == 0 {
		return "", false
	}
	r := p.st.Reservations.Get(slot)
	n := p.st.Nodes.Get(r.Node)
	return fmt.Sprintf("it needed %s, %s had %s free; held for %d s", p.cfg.Kinds.Format(r.Size), n.ID, p.cfg.Kinds.Format(yarn.ComponentMax(n.Unallocated(), yarn.Resource{})),
		max(p.st.Meta.NowMillis-r.MadeMillis, 0)/1000), true
}

func (p *Planner) becauseActivated(e *event.AttemptActivated) Because {
	slot := p.st.App(e.App)
	if slot == 0 {
		return Because{}
	}
	a := p.st.Apps.Get(slot)
	if a.Unmanaged {
		return Because{NoAM.String(), "it brings its own ApplicationMaster, which no limit counts"}
	}
	i, leaf := p.indexOf[a.Queue], p.st.Queues.Get(a.Queue)
	user, limit := p.st.Users.Get(a.UserSlot), p.amLimit(i)
	userLimit := p.userAMLimit(i, a.UserSlot, limit, p.usersOf(i))
	above := func(used, most yarn.Resource) bool { return !p.cfg.Calculator.FitsIn(used.Add(a.AM), most) }
	ground := WithinAMLimit
	if above(leaf.AMUsed, limit) || above(user.AMUsed, userLimit) {
		ground = FirstAM
	}
	return Because{ground.String(), fmt.Sprintf("its AM needs %s; the AMs of %s used %s of %s, those of %s %s of %s", p.cfg.Kinds.Format(a.AM), leaf.Path, p.cfg.Kinds.Format(leaf.AMUsed), p.cfg.Kinds.Format(limit),
		p.st.NameOf(a.User), p.cfg.Kinds.Format(user.AMUsed), p.cfg.Kinds.Format(userLimit))}
}

// becauseParked tells of an attempt that has to wait for others to end.
func (p *Planner) becauseParked(e *event.AttemptStarted) Because {
	slot := p.st.App(e.App)
	if slot == 0 || !e.Parked {
		return Because{}
	}
	a := p.st.Apps.Get(slot)
	return Because{MaxParallelApps.String(), fmt.Sprintf("%d applications of %s ran, %d in %s", p.runnableOf(a.User), p.st.NameOf(a.User), p.st.Queues.Get(a.Queue).Runnable, p.st.Queues.Get(a.Queue).Path)}
}

// percent writes a share, in parts of 2^32, with one digit behind the point.
func percent(share uint64) string {
	thousandths := min(share, 1<<44) * 1000 >> 32
	return fmt.Sprintf("%d.%d %%", thousandths/10, thousandths%10)
}
