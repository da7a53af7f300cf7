package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// resizes changes the sizes of containers.
type resizes struct {
	sched *scheduler.Scheduler
	st    *state.State
	sizes sizeRules
}

// Containers can change their size, as in YARN. An increase is a hidden ask for the difference. It
// can be served only on the container's node, and after the asks for new containers. Like these it
// can have a reservation. When it is served, the container becomes larger. A decrease takes effect
// at once.
//
// The AM receives each change like a granted container. A node receives an order to shrink a
// container. The node learns from the AM that a container has grown, and must report the new size
// within the container allocation expiry interval. Otherwise the container shrinks to the size that
// the node has confirmed.

// update makes the valid updates of a call and returns errors for the others. With again, the call
// is a repetition: its updates have been made or asked for already, so nothing changes. A container
// that the call also releases keeps its size until its node has ended it, as in YARN.
func (rs resizes) update(app state.AppSlot, in *input.Allocate, again bool) (errs []input.UpdateError) {
	if len(in.Updates) == 0 {
		return nil
	}
	valid := make([]state.ContainerSlot, len(in.Updates))         // container slots; 0: not valid
	taken := make(map[state.ContainerSlot]bool)                   // looked up by key only
	released := make(map[yarn.ContainerID]bool, len(in.Releases)) // looked up by key only
	for _, id := range in.Releases {
		released[id] = true
	}
	for i := range in.Updates {
		u := &in.Updates[i]
		if released[u.Container] {
			continue
		}
		c := rs.updatable(app, u.Container)
		reason := rs.whyNot(app, c, u, taken[c], again)
		switch {
		case reason != "":
			errs = append(errs, input.UpdateError{Update: uint32(i), Reason: reason, Version: -1})
		case u.Type <= input.DecreaseResource:
			taken[c], valid[i] = true, c
		}
	}
	for i, c := range valid {
		if c != 0 && !again {
			rs.resize(app, c, &in.Updates[i])
		}
	}
	for i := range errs { // the version after the call, so that a repetition returns the same
		if c := rs.updatable(app, in.Updates[errs[i].Update].Container); c != 0 {
			errs[i].Version = rs.st.Resizes.Version(rs.st.Containers.Get(c))
		}
	}
	return errs
}

// updatable returns a live container of an application that its AM knows: one that it has received,
// or its own. 0 if there is no such container.
func (rs resizes) updatable(app state.AppSlot, id yarn.ContainerID) state.ContainerSlot {
	slot := rs.st.ContainerByID(id)
	if slot == 0 {
		return 0
	}
	c := rs.st.Containers.Get(slot)
	if c.App != app || !c.State.Live() || (c.GrantedIn == 0 && !c.AM) {
		return 0
	}
	return slot
}

// whyNot returns the reason why an update is not valid, with checks in YARN's order; empty if it is
// valid. There are no opportunistic containers, so a demotion is refused with NotSupported, and a
// promotion changes nothing.
func (rs resizes) whyNot(app state.AppSlot, slot state.ContainerSlot, u *input.Update, taken, again bool) string {
	if slot == 0 {
		return input.UnknownContainer
	}
	c := rs.st.Containers.Get(slot)
	largest := rs.sizes.largest(&rs.sched.Config.Queues[rs.sched.LeafOf(rs.st.Apps.Get(app))])
	switch {
	case !rs.ofVersion(c, u.Version, again):
		return input.WrongVersion
	case taken:
		return input.UpdateOutstanding
	case u.Type > input.DemoteExecution, u.Type > input.DecreaseResource && u.Opportunistic:
		return input.NotSupported
	case u.Type > input.DecreaseResource:
		return ""
	case u.Size.Negative() || !u.Size.Within(largest):
		return input.OutOfRange
	}
	return ""
}

// ofVersion reports whether an update refers to the current version of a container. If the call is
// repeated, the version before the change in the last response is valid too.
func (rs resizes) ofVersion(c *state.Container, version int32, again bool) bool {
	now := rs.st.Resizes.Version(c)
	if r := rs.st.Resizes.Of(c); again && r != nil && r.Change != yarn.SizeKept && version == now-1 {
		return true
	}
	return version == now
}

// resize changes a container's size, or asks for the change. As in YARN, an increase uses the
// larger of the old and new size for each kind. A decrease uses the smaller one, unlike in YARN, so
// that no kind grows without a check of the limits.
func (rs resizes) resize(app state.AppSlot, slot state.ContainerSlot, u *input.Update) {
	c := rs.st.Containers.Get(slot)
	size := rs.sizes.normalize(u.Size, int(rs.sched.LeafOf(rs.st.Apps.Get(app))))
	if u.Type == input.DecreaseResource {
		rs.shrink(slot, yarn.ComponentMin(size, c.Size))
		return
	}
	rs.askToGrow(app, slot, yarn.ComponentMax(size, c.Size))
}

// shrink lowers the size of a container, and cancels its increase if it had asked for one.
func (rs resizes) shrink(slot state.ContainerSlot, size yarn.Resource) {
	c := rs.st.Containers.Get(slot)
	rs.sched.Emit(&event.ContainerDecreased{Container: rs.st.Apps.Ref(c), Size: size})
	rs.sched.NodeFreed(c.Node)
	rs.sched.CancelUnwanted(c.App)
}

// askToGrow asks for the increase of a container to a size, in place of an earlier increase. A size
// equal to the present one withdraws the earlier increase.
func (rs resizes) askToGrow(app state.AppSlot, slot state.ContainerSlot, size yarn.Resource) {
	c := rs.st.Containers.Get(slot)
	more, ask := size.Sub(c.Size), rs.st.AskFor(rs.st.Apps.Get(app), c.Key, slot)
	var asked yarn.Resource
	if ask != 0 && rs.st.Asks.Get(ask).Count > 0 {
		asked = rs.st.Asks.Get(ask).Size
	}
	if more == asked {
		return
	}
	ref, node := rs.st.Apps.Ref(c), c.Node
	if !more.IsZero() {
		rs.sched.CancelOtherSizes(app, c.Key, slot, more)
	}
	rs.sched.Emit(&event.ContainerResizeAsked{Container: ref, Size: size})
	rs.sched.CancelUnwanted(app)
	rs.sched.NodeFreed(node) // so that in eager mode a pass serves the node
}

// rollBack takes from a container the increase that its node has not confirmed in time.
func (rs resizes) rollBack(slot state.ContainerSlot) {
	r := rs.st.Resizes.Of(rs.st.Containers.Get(slot))
	rs.shrink(slot, r.Confirmed)
}
