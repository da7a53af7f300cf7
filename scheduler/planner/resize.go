package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Containers that change their size, as YARN has it. What one is to grow by is a
// hidden ask: it is served on the container's node alone, behind the asks for
// containers of their own, reserves and is fulfilled as they are, and makes its
// container larger. A decrease takes effect at once. Each change is told to the AM
// as a grant is. A node is ordered to shrink a container; that one has grown it
// learns from the AM, and has to say so within the time that a container has to be
// started, or the container shrinks to what the node has confirmed.

// update makes the updates of an AM's call that are in order, and says what is
// wrong with the others. A call that is answered again changes nothing: what it
// asked is done, or is asked for.
func (p *Planner) update(app uint32, in *input.Allocate, again bool) (errs []input.UpdateError) {
	if len(in.Updates) == 0 {
		return nil
	}
	valid := make([]uint32, len(in.Updates)) // container slots; 0: not valid
	taken := make(map[uint32]bool)           // looked up by key only
	for i := range in.Updates {
		u := &in.Updates[i]
		c := p.updatable(app, u.Container)
		reason := p.whyNot(app, c, u, taken[c], again)
		switch {
		case reason != "":
			errs = append(errs, input.UpdateError{Update: uint32(i), Reason: reason, Version: -1})
		case u.Type <= input.DecreaseResource:
			taken[c], valid[i] = true, c
		}
	}
	for i, c := range valid {
		if c != 0 && !again && p.st.SizesChange() {
			p.resize(app, c, &in.Updates[i])
		}
	}
	for i := range errs { // as it is after the call, whether that is repeated or not
		if c := p.updatable(app, in.Updates[errs[i].Update].Container); c != 0 {
			errs[i].Version = p.st.SizeVersion(p.st.Containers.Get(c))
		}
	}
	return errs
}

// updatable finds a live container of an application of which its AM knows: it
// was told, or it is the AM's own.
func (p *Planner) updatable(app uint32, id yarn.ContainerID) uint32 {
	slot := p.st.ContainerByID(id)
	if slot == 0 {
		return 0
	}
	c := p.st.Containers.Get(slot)
	if c.App != app || !c.State.Live() || (c.GrantedIn == 0 && !c.AM) {
		return 0
	}
	return slot
}

// whyNot is the word for what is wrong with an update, in YARN's order; empty when
// nothing is. There are no opportunistic containers: a demotion is refused with a
// word of our own, and a promotion changes nothing.
func (p *Planner) whyNot(app, slot uint32, u *input.Update, taken, again bool) string {
	if slot == 0 {
		return input.UnknownContainer
	}
	c := p.st.Containers.Get(slot)
	largest := p.Config().Queues[p.sched.LeafOf(p.st.Apps.Get(app))].MaxAlloc
	switch {
	case !p.ofVersion(c, u.Version, again):
		return input.WrongVersion
	case taken:
		return input.UpdateOutstanding
	case u.Type > input.DemoteExecution, u.Type > input.DecreaseResource && u.Opportunistic:
		return input.NotSupported
	case u.Type > input.DecreaseResource:
		return ""
	case u.Size.Negative() || !u.Size.Within(largest):
		return input.OutOfRange
	case !p.st.SizesChange() && (u.Type != input.IncreaseResource || !u.Size.Within(c.Size)):
		return input.OutOfRange // for a container has one size at this level
	}
	return ""
}

// ofVersion says whether an AM means a container as it is, or, when it repeats its
// call, as it was before the change that the answer tells.
func (p *Planner) ofVersion(c *state.Container, version int32, again bool) bool {
	now := p.st.SizeVersion(c)
	if r := p.st.Resize(c); again && r != nil && r.Change != yarn.SizeKept && version == now-1 {
		return true
	}
	return version == now
}

// resize changes a container's size, or asks for it to be changed. YARN takes the
// larger of each kind for an increase; here a decrease takes the smaller, so that
// it never gives what no limit was asked about.
func (p *Planner) resize(app, slot uint32, u *input.Update) {
	c := p.st.Containers.Get(slot)
	size := p.normalize(u.Size, int(p.sched.LeafOf(p.st.Apps.Get(app))))
	if u.Type == input.DecreaseResource {
		p.shrink(slot, yarn.ComponentMin(size, c.Size))
		return
	}
	p.askToGrow(app, slot, yarn.ComponentMax(size, c.Size))
}

// shrink gives a container a smaller size. What it was to grow by is not wanted
// any more.
func (p *Planner) shrink(slot uint32, size yarn.Resource) {
	c := p.st.Containers.Get(slot)
	p.sched.Emit(&event.ContainerDecreased{Container: p.st.Ref(c), Size: size})
	p.sched.NodeFreed(c.Node)
	p.sched.CancelUnwanted(c.App)
}

// askToGrow asks for what a container is to grow by, in place of what was asked
// before. Its present size takes that back.
func (p *Planner) askToGrow(app, slot uint32, size yarn.Resource) {
	c := p.st.Containers.Get(slot)
	more, ask := size.Sub(c.Size), p.st.AskFor(p.st.Apps.Get(app), c.Key, slot)
	var asked yarn.Resource
	if ask != 0 && p.st.Asks.Get(ask).Count > 0 {
		asked = p.st.Asks.Get(ask).Size
	}
	if more == asked {
		return
	}
	ref, node := p.st.Ref(c), c.Node
	if !more.IsZero() {
		p.sched.CancelOtherSizes(app, c.Key, slot, more)
	}
	p.sched.Emit(&event.ContainerResizeAsked{Container: ref, Size: size})
	p.sched.CancelUnwanted(app)
	p.sched.NodeFreed(node) // in eager mode that node is served
}

// confirmSizes takes in how large containers that have grown are on their node.
func (p *Planner) confirmSizes(node uint32, said []input.ContainerSize) {
	for i := range said {
		slot := p.find(node, said[i].Container)
		if slot == 0 || said[i].Size.Negative() {
			continue
		}
		c := p.st.Containers.Get(slot)
		r := p.st.Resize(c)
		if r == nil || !r.Unconfirmed || yarn.ComponentMax(r.Confirmed, said[i].Size) == r.Confirmed {
			continue
		}
		p.sched.Emit(&event.ContainerSizeReported{Container: p.st.Ref(c), Size: said[i].Size})
	}
}

// ackSizes drops the orders of sizes that a node is said to have had.
func (p *Planner) ackSizes(node uint32, told []input.SizeOrder) {
	for _, o := range told {
		slot := p.find(node, o.Container)
		if slot == 0 {
			continue
		}
		c := p.st.Containers.Get(slot)
		if r := p.st.Resize(c); r != nil && r.Unacked && r.Version == o.Version {
			p.sched.Emit(&event.ResizeAcked{Container: p.st.Ref(c), Version: o.Version})
		}
	}
}

// rollBack takes from a container what it has grown by and its node has not
// confirmed in time.
func (p *Planner) rollBack(slot uint32) {
	r := p.st.Resize(p.st.Containers.Get(slot))
	p.shrink(slot, r.Confirmed)
}

// resized tells of a container whose size has changed; false when response n has
// nothing to tell of that.
func (p *Planner) resized(c *state.Container, n int32) (input.Resized, bool) {
	r := p.st.Resize(c)
	if r == nil || r.Change == yarn.SizeKept || r.DeliveredIn != n {
		return input.Resized{}, false
	}
	return input.Resized{Granted: p.granted(c), Version: r.Version, Change: r.Change}, true
}
