package preemption

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// yarnFirstIn chooses containers of one leaf.
type yarnFirstIn struct {
	*yarnRound
	leaf  int32
	cause yarn.PreemptionCause
	take  []yarn.Resource       // by partition: what it must still give; negative: more was taken
	gives []bool                // by partition: whether the leaf must still give something
	ams   []state.ContainerSlot // AMs that were skipped
	size  yarn.Resource         // the total size of ams

	conservative bool   // take a container only if the leaf must give some of every resource
	gains        string // path of the queue that gains, if it is known
}

// chooseFirstIn takes from each leaf what it must give: first containers that run on nodes of a
// non-exclusive label and did not ask for the label, then containers of the applications that are
// served last. It takes AMs only if the rest does not suffice.
//
// Source: Hadoop 3.4.2, FifoCandidatesSelector.
func (r *yarnRound) chooseFirstIn(m entitlement.Mode, cause yarn.PreemptionCause) {
	take := r.toTake(m)
	apps := r.appsByLeaf()
	for leaf := range r.s.Config.Queues {
		if !r.s.Config.Queues[leaf].Leaf || r.s.Config.Queues[leaf].DisablePreemption {
			continue
		}
		f := &yarnFirstIn{yarnRound: r, leaf: int32(leaf), cause: cause, conservative: r.set.ConservativeDRF}
		for i := range take {
			f.take = append(f.take, take[i][leaf])
			f.gives = append(f.gives, !take[i][leaf].IsZero())
		}
		f.choose(apps[leaf])
	}
}

// appsByLeaf returns the activated applications of each leaf, and those that wait for activation with
// containers that they have kept. Those that are served last come first.
func (r *yarnRound) appsByLeaf() [][]state.AppSlot {
	apps := make([][]state.AppSlot, len(r.s.Config.Queues))
	r.s.State.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		if a.Activated() || a.AttemptState == state.AttemptPending && a.Live > 0 {
			leaf := r.s.Apps[slot].Leaf
			apps[leaf] = append(apps[leaf], slot)
		}
		return true
	})
	for _, list := range apps {
		slices.SortFunc(list, func(a, b state.AppSlot) int {
			if r.s.Apps[b].Key.Less(r.s.Apps[a].Key) {
				return -1
			}
			return 1
		})
	}
	return apps
}

func (f *yarnFirstIn) done() bool { return !slices.Contains(f.gives, true) }

func (f *yarnFirstIn) choose(apps []state.AppSlot) {
	if f.done() {
		return
	}
	for _, slot := range f.lent(apps) {
		f.try(slot)
	}
	for _, app := range apps {
		if f.s.State.Apps.Get(app).Activated() {
			f.chooseOf(app)
		}
	}
	f.chooseMasters()
}

// lent returns the containers that asked for no label and run on nodes with a non-exclusive label,
// newest first. An AM can run there only if its node got the label later.
func (f *yarnFirstIn) lent(apps []state.AppSlot) (lent []state.ContainerSlot) {
	if len(f.partitions) == 1 {
		return nil
	}
	for _, app := range apps {
		for slot, c := range f.s.State.Containers.Of(f.s.State.Apps.Get(app)) {
			lends := f.s.PartitionOf(f.s.State.Nodes.Get(c.Node)).Lends && (!c.AM || f.s.Config.LabelSettings.AMNonExclusive)
			if lends && f.mayEnd(slot, c) && f.s.State.AskedLabels.Of(slot) == 0 {
				lent = append(lent, slot)
			}
		}
	}
	slices.SortFunc(lent, f.newer)
	return lent
}

// chooseOf takes from one application: first its reservations, then its containers, those of the
// lowest priority first, and among these the newest first.
func (f *yarnFirstIn) chooseOf(app state.AppSlot) {
	st := f.s.State
	a := st.Apps.Get(app)
	var reservations []uint64
	for _, res := range st.Reservations.Of(a) {
		if res.Members == 0 { // those of a gang do not count as usage
			reservations = append(reservations, res.Number)
		}
	}
	slices.Sort(reservations)
	for _, number := range reservations {
		res := st.Reservations.Get(st.Reservations.Find(number))
		if f.takes(f.partitionOf(res.Node), res.Size) {
			f.budget = f.budget.Sub(res.Size)
			f.dropped = append(f.dropped, droppedReservation{f.partitionOf(res.Node), f.leaf, res.Size})
			f.s.Cancel(number, yarn.CancelPreempted)
		}
	}
	for _, slot := range f.liveOf(a) {
		if f.done() {
			return
		}
		if c := st.Containers.Get(slot); c.AM {
			f.ams, f.size = append(f.ams, slot), f.size.Add(c.Size)
			continue
		}
		f.try(slot)
	}
}

// liveOf returns the containers of an application that may be chosen: those of the lowest priority
// first, and among these the newest first.
func (f *yarnFirstIn) liveOf(a *state.App) (live []state.ContainerSlot) {
	st := f.s.State
	for slot, c := range st.Containers.Of(a) {
		if f.mayEnd(slot, c) && !f.isChosen[slot] {
			live = append(live, slot)
		}
	}
	slices.SortFunc(live, func(x, y state.ContainerSlot) int {
		return cmp.Or(st.Containers.Get(y).Key.Compare(st.Containers.Get(x).Key), f.newer(x, y))
	})
	return live
}

// chooseMasters takes skipped AMs while the AMs of the leaf use more than their share.
func (f *yarnFirstIn) chooseMasters() {
	q := &f.s.Config.Queues[f.leaf]
	most := entitlement.MultiplyFloat(f.partitions[0].Queues[f.leaf].Guaranteed, q.MaxAMPercent)
	for _, slot := range f.ams {
		if f.done() || f.calc.Compare(f.cluster, f.size, most) <= 0 {
			return
		}
		if f.try(slot) {
			f.size = f.size.Sub(f.s.State.Containers.Get(slot).Size)
		}
	}
}

// try chooses a container if it counts toward what its leaf must give.
func (f *yarnFirstIn) try(slot state.ContainerSlot) bool {
	c := f.s.State.Containers.Get(slot)
	if f.isChosen[slot] || !f.takes(f.partitionOf(c.Node), c.Size) {
		return false
	}
	f.yarnRound.choose(yarnChoice{container: slot, cause: f.cause, queue: f.gains})
	return true
}

// takes reports whether a size counts toward what the leaf must give of a partition and fits into
// the budget of the round. If so, it subtracts the size from what the leaf must give.
//
// Source: Hadoop 3.4.2, CapacitySchedulerPreemptionUtils.tryPreemptContainerAndDeductResToObtain.
func (f *yarnFirstIn) takes(partition int, size yarn.Resource) bool {
	take := &f.take[partition]
	if !f.gives[partition] {
		return false
	}
	for i, v := range take {
		if v == 0 {
			take[i] = -1 // as in YARN: a resource of which nothing must be taken does not block the others
		}
	}
	if !f.calc.AnyAboveZero(*take) || !f.calc.FitsIn(size, f.budget) {
		return false
	}
	after := take.Sub(size)
	if f.conservative {
		if !f.calc.AllAboveZero(*take) {
			return false
		}
	} else if f.calc.Compare(f.cluster, yarn.ComponentMax(after, yarn.Resource{}),
		yarn.ComponentMax(*take, yarn.Resource{})) >= 0 {
		return false
	}
	*take = after
	f.gives[partition] = f.calc.Compare(f.cluster, after, yarn.Resource{}) > 0
	return true
}
