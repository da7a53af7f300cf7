package explain

import (
	"cmp"
	"fmt"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/thousands"
	"rmd/scheduler"
	"rmd/yarn"
)

// Cause says why something was decided. (A Reason says why something was not.) It is derived on
// request and never stored.
type Cause uint8

// Causes; append only.
const (
	NoCause Cause = iota
	FirstInLine
	AppsHeldBack
	QueuesHeldBack
	TooLittleFree
	RoomFreed
	WithinAMLimit
	FirstAM
	NoAM
)

// causes has the stable name of each cause, and what it means.
var causes = [...]struct{ name, text string }{
	NoCause: {},
	FirstInLine: {"FIRST_IN_LINE",
		"its queue was the first queue with pending asks, and the application was the first in it"},
	AppsHeldBack: {"APPS_HELD_BACK",
		"the applications before it could not use the node; the text names the first of them with the reason that `explain` would give"},
	QueuesHeldBack: {"QUEUES_HELD_BACK",
		"the queues before its own could not use the node; the text names the first of them with the reason that `explain` would give"},
	TooLittleFree: {"TOO_LITTLE_FREE", "the container does not fit yet, so the node is reserved for it"},
	RoomFreed:     {"ROOM_FREED", "the containers that the reservation waited for have ended"},
	WithinAMLimit: {"WITHIN_AM_LIMIT", "the limits on AMs have room for its AM"},
	FirstAM:       {"FIRST_AM", "no AM ran in the queue, where one may always start"},
	NoAM:          {"NO_AM", "its AM is unmanaged, and no limit counts it"},
}

// Causes returns all causes.
func Causes() []Cause {
	var out []Cause
	for c := range causes[1:] {
		out = append(out, Cause(c+1))
	}
	return out
}

func (c Cause) String() string { return causes[c].name }

// Text returns the cause in words.
func (c Cause) Text() string { return causes[c].text }

// decisions says why events were decided.
type decisions struct {
	preemptions
	eager bool // the leader ran eager passes
	steps steps
}

// on returns the same for the nodes of a label.
func (v decisions) on(label state.LabelSlot, lent bool) decisions {
	v.view = v.view.on(label, lent)
	return v
}

// because returns why an event was decided, given the state just before it. The decision is empty
// for events that only report something, and for events that contain their own reason.
func (v decisions) because(e event.Event) Decision {
	if v.cfg == nil {
		return Decision{}
	}
	switch e := e.(type) {
	case *event.ContainerAllocated:
		return v.becauseAllocated(e)
	case *event.ContainerLent:
		return v.becauseLent(e)
	case *event.ReservationMade:
		return v.becauseReserved(e)
	case *event.ContainerIncreased:
		return v.becauseIncreased(e)
	case *event.ResizeReserved:
		return v.becauseResizeReserved(e)
	case *event.ReservationFulfilled:
		return v.becauseFulfilled(e)
	case *event.ReservationCancelled:
		return v.becauseCancelled(e)
	case *event.PreemptionAsked:
		return v.becauseAsked(e)
	case *event.PreemptionWithdrawn:
		return becauseWithdrawn(e)
	case *event.ContainerReleased:
		return v.becausePreempted(e.Container, e.ExitStatus)
	case *event.ContainerCompleted:
		return v.becausePreempted(e.Container, e.ExitStatus)
	case *event.AttemptActivated:
		return v.becauseActivated(e)
	case *event.AttemptStarted:
		return v.becauseNonRunnable(e)
	}
	return Decision{}
}

func (v decisions) becauseAllocated(e *event.ContainerAllocated) Decision {
	return v.becauseGiven(e, false)
}

// becauseGiven explains an allocation. With borrowed, it is in room that a reserved node lends.
func (v decisions) becauseGiven(e *event.ContainerAllocated, borrowed bool) Decision {
	slot := v.st.Apps.Find(e.App)
	if slot == 0 || !v.st.Nodes.Has(e.Node) {
		return Decision{}
	}
	a := v.st.Apps.Get(slot)
	ask := v.st.Asks.Find(a, e.Key)
	if ask == 0 {
		return Decision{}
	}
	n := v.st.Nodes.Get(e.Node)
	lent := n.Label != v.st.Asks.Get(ask).Label
	cause, line := v.on(n.Label, lent).line(slot, e.Node)
	if lent {
		line = fmt.Sprintf("no ask for label %s could use the node, so it is lent; %s", v.st.Labels.Name(n.Label), line)
	}
	return Decision{cause.String(), fmt.Sprintf("%s; it asks %s, %s had %s free; %s", line,
		v.cfg.Kinds.Format(v.st.Asks.Get(ask).Size), n.ID, v.cfg.Kinds.Format(n.Unallocated()),
		v.whyNode(e, ask, borrowed))}
}

// becauseLent says which room a container borrows, and for how long.
func (v decisions) becauseLent(e *event.ContainerLent) Decision {
	d := v.becauseGiven(&e.ContainerAllocated, true)
	if d.Text == "" {
		return d
	}
	d.Text = fmt.Sprintf("in idle room of the node of reservation r%d: %s; %s", e.Reservation,
		LeaseText(e.DeadlineMillis, v.st.Meta.NowMillis), d.Text)
	return d
}

// LeaseText says for how long a container may use the room of a reserved node.
func LeaseText(deadlineMillis, nowMillis int64) string {
	switch deadlineMillis {
	case event.NoLease:
		return "it takes nothing that the reservation waits for"
	case 0:
		return "it ends when the reservation needs the room"
	}
	return fmt.Sprintf(
		"the reservation cannot be fulfilled for another %d s, by the lifetimes declared, and it declares to end before",
		(deadlineMillis-nowMillis)/1000)
}

// line returns which applications came before this one when the node was offered, and why they
// could not use it.
func (v decisions) line(slot state.AppSlot, node state.NodeSlot) (Cause, string) {
	a := v.st.Apps.Get(slot)
	leaf := v.LeafOf(a)
	before := v.ActiveBefore(slot)
	path := v.st.Queues.Get(a.Queue).Path
	if first := v.QueuesBefore(leaf); len(first) > 0 {
		return QueuesHeldBack, fmt.Sprintf("before %s came %s", path, v.heldBackQueues(first, node))
	}
	if len(before) > 0 {
		return AppsHeldBack, fmt.Sprintf("before it in %s came %s", path, v.heldBackApps(before, node))
	}
	line := fmt.Sprintf("%s used %s of its guarantee%s", path, percent(v.UseRatio(leaf)), v.ofLabel(v.label))
	wanting := 1
	if parent := int32(v.cfg.Queues[leaf].Parent); parent >= 0 {
		wanting = v.ChildrenWanting(parent)
	}
	if wanting > 1 {
		line += fmt.Sprintf(" and came first of %d that want something", wanting)
	} else {
		line += " and alone wanted something"
	}
	if n := len(v.Active(leaf)); n > 1 {
		line += fmt.Sprintf("; the application was first of %d in it", n)
	}
	return FirstInLine, line
}

// named is the number of earlier applications or queues that the text names.
const named = 2

func (v decisions) heldBackQueues(before []int32, node state.NodeSlot) string {
	return heldBack(len(before), "queue", func(k int) (string, scheduler.Reason) {
		i := before[k]
		_, why := scheduler.ReachedMaximum(&v.View, i, v.cfg.MinAlloc)
		if active := v.Active(i); why == scheduler.NoReason && len(active) > 0 {
			why = v.refusal(active[0], node)
		}
		return v.Queue(i).Path, why
	})
}

func (v decisions) heldBackApps(before []state.AppSlot, node state.NodeSlot) string {
	return heldBack(len(before), "application", func(k int) (string, scheduler.Reason) {
		return v.st.Apps.Get(before[k]).ID.String(), v.refusal(before[k], node)
	})
}

// heldBack names the first of those that came before. It adds what prevented them from using the
// node, if one of their asks shows it.
func heldBack(n int, what string, tell func(k int) (string, scheduler.Reason)) string {
	var parts []string
	for k := range min(n, named) {
		name, why := tell(k)
		if why != scheduler.NoReason {
			name += " (" + why.Verdict() + ")"
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

// refusal returns what prevents the application's first ask from using a node, or
// scheduler.NoReason if nothing of its own does.
func (v decisions) refusal(app state.AppSlot, node state.NodeSlot) scheduler.Reason {
	a, n := v.st.Apps.Get(app), v.st.Nodes.Get(node)
	ask := v.firstAskServed(a, n)
	if ask == 0 {
		return scheduler.NoAsks
	}
	if !v.sched.MayUse(ask, node) {
		return scheduler.LocalityDelay
	}
	t := v.sched.NewTrial(app, ask, !v.eager)
	if limit := t.Limit(); limit != scheduler.NoReason && n.Label == v.st.Asks.Get(ask).Label {
		return limit
	}
	return t.Refusal(node)
}

// firstAskServed returns an application's first outstanding ask among those that the pass on a node
// serves, or 0.
func (v decisions) firstAskServed(a *state.App, n *state.Node) state.AskSlot {
	for ask, k := range v.st.Asks.Of(a) {
		if k.Count > 0 && k.Label == v.LabelServed(n) {
			return ask
		}
	}
	return 0
}

// growing returns the container of an event and the ask for its increase, or nil if either does not
// exist.
func (v decisions) growing(ref event.ContainerRef) (*state.Container, *state.Ask) {
	slot := v.st.Container(ref)
	if slot == 0 {
		return nil, nil
	}
	c := v.st.Containers.Get(slot)
	ask := v.st.AskFor(v.st.Apps.Get(c.App), c.Key, slot)
	if ask == 0 {
		return nil, nil
	}
	return c, v.st.Asks.Get(ask)
}

func (v decisions) becauseIncreased(e *event.ContainerIncreased) Decision {
	c, k := v.growing(e.Container)
	if c == nil {
		return Decision{}
	}
	n := v.st.Nodes.Get(c.Node)
	cause, line := v.on(n.Label, n.Label != k.Label).line(c.App, c.Node)
	return Decision{cause.String(), fmt.Sprintf("%s; it asks to grow from %s by %s, %s had %s free", line,
		v.cfg.Kinds.Format(c.Size), v.cfg.Kinds.Format(k.Size),
		n.ID, v.cfg.Kinds.Format(n.Unallocated()))}
}

func (v decisions) becauseResizeReserved(e *event.ResizeReserved) Decision {
	c, k := v.growing(e.Container)
	if c == nil {
		return Decision{}
	}
	n := v.st.Nodes.Get(c.Node)
	return Decision{TooLittleFree.String(), fmt.Sprintf("it asks to grow from %s by %s, %s had %s free of %s",
		v.cfg.Kinds.Format(c.Size), v.cfg.Kinds.Format(k.Size),
		n.ID, v.cfg.Kinds.Format(n.Unallocated()), v.cfg.Kinds.Format(n.Total))}
}

func (v decisions) becauseReserved(e *event.ReservationMade) Decision {
	slot := v.st.Apps.Find(e.App)
	if slot == 0 || !v.st.Nodes.Has(e.Node) {
		return Decision{}
	}
	ask := v.st.Asks.Find(v.st.Apps.Get(slot), e.Key)
	if ask == 0 {
		return Decision{}
	}
	n, k := v.st.Nodes.Get(e.Node), v.st.Asks.Get(ask)
	return Decision{TooLittleFree.String(), fmt.Sprintf(
		"it asks %s, %s had %s free of %s; it had %s for %s of this ask; %s",
		v.cfg.Kinds.Format(k.Size), n.ID, v.cfg.Kinds.Format(n.Unallocated()), v.cfg.Kinds.Format(n.Total),
		thousands.Count(int(k.Reservations), "reservation"), thousands.Count(int(k.Count), "container"),
		v.whyReserved(e, ask))}
}

func (v decisions) becauseFulfilled(e *event.ReservationFulfilled) Decision {
	text, ok := v.heldText(e.Reservation)
	if !ok {
		return Decision{}
	}
	return Decision{RoomFreed.String(), text}
}

// becauseCancelled explains the cause that the event contains.
func (v decisions) becauseCancelled(e *event.ReservationCancelled) Decision {
	text, ok := v.heldText(e.Reservation)
	if !ok {
		return Decision{}
	}
	if e.Cause == yarn.CancelExchanged {
		text += v.exchangedFor(e.Reservation)
	}
	return Decision{e.Cause.String(), text}
}

// heldText says what a reservation needed, what was free, and how long the node was reserved.
func (v decisions) heldText(number uint64) (string, bool) {
	slot := v.st.Reservations.Find(number)
	if slot == 0 {
		return "", false
	}
	r := v.st.Reservations.Get(slot)
	n := v.st.Nodes.Get(r.Node)
	return fmt.Sprintf("it needed %s, %s had %s free; reserved for %d s", v.cfg.Kinds.Format(r.Size), n.ID,
		v.cfg.Kinds.Format(yarn.ComponentMax(n.Unallocated(), yarn.Resource{})),
		max(v.st.Meta.NowMillis-r.MadeMillis, 0)/1000), true
}

func (v decisions) becauseActivated(e *event.AttemptActivated) Decision {
	slot := v.st.Apps.Find(e.App)
	if slot == 0 {
		return Decision{}
	}
	a := v.st.Apps.Get(slot)
	if a.Unmanaged {
		return Decision{NoAM.String(), "its AM is unmanaged, and no limit counts it"}
	}
	v = v.on(a.AMLabel, false)
	i, leaf := v.LeafOf(a), v.st.Queues.Get(a.Queue)
	amUsed, userUsed := v.use(i).AMUsed, v.st.UserUse(a.UserSlot, a.AMLabel).AMUsed
	limit, userLimit := v.AMLimit(i), v.UserAMLimit(i, a.UserSlot)
	text := fmt.Sprintf("its AM needs %s; the AMs of %s used %s of %s%s, those of %s %s of %s",
		v.cfg.Kinds.Format(a.AM), leaf.Path, v.cfg.Kinds.Format(amUsed), v.cfg.Kinds.Format(limit), v.ofLabel(a.AMLabel),
		v.st.Names.Text(a.User), v.cfg.Kinds.Format(userUsed), v.cfg.Kinds.Format(userLimit))
	if over := cmp.Or(v.over(amUsed.Add(a.AM), limit), v.over(userUsed.Add(a.AM), userLimit)); over != "" {
		return Decision{FirstAM.String(), text + "; with it " + over}
	}
	return Decision{WithinAMLimit.String(), text}
}

// becauseNonRunnable explains why an attempt must wait until other applications end.
func (v decisions) becauseNonRunnable(e *event.AttemptStarted) Decision {
	slot := v.st.Apps.Find(e.App)
	if slot == 0 || !e.NonRunnable {
		return Decision{}
	}
	a := v.st.Apps.Get(slot)
	return Decision{scheduler.MaxParallelApps.String(),
		fmt.Sprintf("%s of %s ran, %d in %s", applications(int(v.RunnableOf(a.User))), v.st.Names.Text(a.User),
			v.st.Queues.Get(a.Queue).Runnable, v.st.Queues.Get(a.Queue).Path)}
}

// percent formats a share, in units of 2^-32, as a percentage with one decimal.
func percent(share uint64) string {
	thousandths := min(share, 1<<44) * 1000 >> 32
	return fmt.Sprintf("%d.%d %%", thousandths/10, thousandths%10)
}
