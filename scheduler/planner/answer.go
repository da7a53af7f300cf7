package planner

import (
	"math"
	"slices"

	"rmd/fsm/state"
	"rmd/internal/boolint"
	"rmd/scheduler/input"
	"rmd/scheduler/views"
	"rmd/yarn"
)

// answers builds the responses to AMs from the state. Built again, a response has the same content.
type answers struct{ views *views.Views }

func (an answers) granted(c *state.Container) input.Granted {
	n := an.views.State.Nodes.Get(c.Node)
	return input.Granted{Container: an.views.State.Apps.ContainerID(c), Key: c.Key, Node: n.ID, Rack: n.Rack,
		HTTPPort: n.HTTPPort, Size: c.Size, AllocatedMillis: c.AllocatedMillis}
}

// response builds response n from the state. Built again, it has the same content.
func (an answers) response(slot state.AppSlot, n int32) *input.AllocateReply {
	a := an.views.State.Apps.Get(slot)
	r := &input.AllocateReply{Response: n, Nodes: an.views.ClusterNodes(a), Headroom: an.views.Headroom(slot),
		Priority: a.Priority}
	granted := 0
	for _, k := range an.views.State.Containers.UndeliveredTo(a) {
		granted += boolint.Of[int](k.GrantedIn == n)
	}
	if granted > 0 {
		r.Granted = make([]input.Granted, 0, granted)
	}
	for c, k := range an.views.State.Containers.UndeliveredTo(a) {
		if k.GrantedIn == n && k.CompletedIn != n {
			r.Granted = append(r.Granted, an.granted(k))
		}
		if z, ok := an.resized(k, n); ok {
			r.Resized = append(r.Resized, z)
		}
		if w, ok := an.preempting(c, k, n); ok {
			r.Preempted = append(r.Preempted, w)
		}
		if k.CompletedIn == n {
			r.Completed = append(r.Completed, input.ContainerStatus{Container: an.views.State.Apps.ContainerID(k),
				State:      yarn.ContainerCompleted,
				ExitStatus: k.ExitStatus, Diagnostics: an.diagnosticsOf(k)})
		}
	}
	slices.Reverse(r.Granted)
	slices.Reverse(r.Resized)
	slices.Reverse(r.Preempted)
	an.unitsOfPreempted(r)
	return r
}

func (an answers) diagnosticsOf(c *state.Container) string {
	if c.Diagnostics == 0 {
		return ""
	}
	return an.views.State.Diagnostics.Get(c.Diagnostics).Text
}

// resized returns the change of a container's size that response n has; false if it has none.
func (an answers) resized(c *state.Container, n int32) (input.Resized, bool) {
	r := an.views.State.Resizes.Of(c)
	if r == nil || r.Change == yarn.SizeKept || r.DeliveredIn != n {
		return input.Resized{}, false
	}
	return input.Resized{Granted: an.granted(c), Version: r.Version, Change: r.Change}, true
}

// preempting returns the preemption warning that response n has for a container; false if it has
// none.
func (an answers) preempting(slot state.ContainerSlot, c *state.Container, n int32) (input.Preempting, bool) {
	if !an.views.State.Preemptions.Has(slot) || an.views.State.Preemptions.Get(slot).ToldIn != n {
		return input.Preempting{}, false
	}
	return input.Preempting{Container: an.views.State.Apps.ContainerID(c), Size: c.Size,
		DeadlineMillis: an.views.State.Preemptions.Get(slot).DeadlineMillis}, true
}

// unitsOfPreempted sets the total size of the warned containers in a reply, in units of the
// smallest container and rounded up.
func (an answers) unitsOfPreempted(r *input.AllocateReply) {
	if len(r.Preempted) == 0 {
		return
	}
	var total yarn.Resource
	for i := range r.Preempted {
		total = total.Add(r.Preempted[i].Size)
	}
	const one = 1 << 32 // 1 in the fixed-point numbers of DivideShare
	r.PreemptedUnit = an.views.Config.MinAlloc
	r.PreemptedUnits = int32(min((an.views.Config.Calculator.DivideShare(an.views.State.Meta.Cluster, total,
		r.PreemptedUnit)+one-1)/one, math.MaxInt32))
}

// unheard reports whether response n has content. An AM that has not received it must get it.
func (an answers) unheard(slot state.AppSlot, n int32) bool {
	for c, k := range an.views.State.Containers.UndeliveredTo(an.views.State.Apps.Get(slot)) {
		if k.GrantedIn == n || k.CompletedIn == n {
			return true
		}
		if _, told := an.resized(k, n); told {
			return true
		}
		if _, told := an.preempting(c, k, n); told {
			return true
		}
	}
	return false
}
