package preemption

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// yarnRound is a round of preemption that chooses containers as YARN's policy does, for clusters
// that want the same choices. Each round chooses again from the start. A container is warned when
// it is chosen first, and ends when it is still chosen at its deadline. When it is not chosen any
// more, its warning is withdrawn. docs/design/differences-from-yarn.md lists the defects of YARN
// that it does not have.
//
//	queue priority   yarn_priority.go  for reservations of queues of a higher priority
//	reserved         yarn_reserved.go  for reservations, on the reserved nodes
//	first in         yarn_fifo.go      from queues above their entitlement, the newest first
//	inside a queue   yarn_leaf.go      from applications for others of the same queue
//
// Source: Hadoop 3.4.2, ProportionalCapacityPreemptionPolicy.containerBasedPreemptOrKill.
type yarnRound struct {
	s          *scheduler.Scheduler
	set        *entitlement.Settings
	partitions []*entitlement.Partition     // parallel to s.partitions
	budget     yarn.Resource                // what the round may still take
	chosen     []yarnChoice                 // in the order in which they were chosen
	isChosen   map[state.ContainerSlot]bool // by container
	dropped    []droppedReservation
	calc       yarn.Calculator
	cluster    yarn.Resource
	owed       [][]yarn.Resource // the last result of toTake
	needy      [][]bool          // by partition and queue: leaves that wanted more in one of the calculations
}

// droppedReservation is a reservation that counted toward what its leaf must give of a partition.
type droppedReservation struct {
	partition int
	leaf      int32
	size      yarn.Resource
}

// yarnChoice is a container that the round has chosen.
type yarnChoice struct {
	container   state.ContainerSlot
	cause       yarn.PreemptionCause
	queue       string // path of the queue that gains, if it is known
	reservation uint64 // the reservation that gets the room, if it belongs to a queue of higher priority; otherwise 0
}

func preemptAsYARN(s *scheduler.Scheduler, set *entitlement.Settings) (kill []state.ContainerSlot) {
	r := &yarnRound{s: s, set: set, isChosen: map[state.ContainerSlot]bool{}, calc: s.Config.Calculator,
		cluster: s.State.Meta.Cluster}
	for _, p := range s.Partitions {
		r.partitions = append(r.partitions, PartitionOf(s.Views, p.Label))
		r.needy = append(r.needy, make([]bool, len(s.Config.Queues)))
	}
	r.budget = r.partitions[0].Budget(set)
	s.WithdrawWhere(yarn.WithdrawNotChosen, func(_ *state.Container,
		p *state.Preemption) bool {
		return p.Reservation != 0
	})
	if set.QueuePriority.Enabled {
		r.chooseByQueuePriority()
	}
	if set.SelectReserved {
		r.chooseForReservations()
	}
	r.chooseFirstIn(entitlement.Mode{Reserved: set.CountReserved}, yarn.PreemptGuarantee)
	if set.Balance {
		r.chooseFirstIn(entitlement.Mode{Balance: true}, yarn.PreemptBalance)
	}
	if set.Intra.Enabled {
		r.chooseInsideLeaves()
	}
	return r.carryOut()
}

// carryOut withdraws the warnings of containers that are not chosen any more, warns newly chosen
// containers, and returns those whose deadline has passed.
func (r *yarnRound) carryOut() (kill []state.ContainerSlot) {
	r.spareForDropped()
	var spared []state.ContainerSlot
	r.s.State.Preemptions.Each(func(slot state.ContainerSlot, w *state.Preemption) bool {
		if !r.isChosen[slot] && w.Cause != yarn.PreemptLease {
			spared = append(spared, slot)
		}
		return true
	})
	for _, slot := range spared {
		r.s.WithdrawPreemption(slot, yarn.WithdrawNotChosen)
	}
	for _, c := range r.chosen {
		if r.warned(c) {
			kill = append(kill, c.container)
		}
	}
	return kill
}

// spareForDropped removes the containers that were chosen for a reservation that a later selector
// cancelled. Their end would be useless.
func (r *yarnRound) spareForDropped() {
	r.chosen = slices.DeleteFunc(r.chosen, func(c yarnChoice) bool {
		dropped := c.reservation != 0 && r.s.State.Reservations.Find(c.reservation) == 0
		if dropped {
			delete(r.isChosen, c.container)
		}
		return dropped
	})
}

// warned warns a chosen container, unless it is warned already. It reports whether the deadline has
// passed. If the cause has changed between balance and another cause, warned withdraws the old
// warning and warns again, unless the old deadline suits the new cause.
func (r *yarnRound) warned(c yarnChoice) (timeIsUp bool) {
	if r.s.State.Preemptions.Has(c.container) {
		w := r.s.State.Preemptions.Get(c.container)
		same := (w.Cause == yarn.PreemptBalance) == (c.cause == yarn.PreemptBalance)
		timeIsUp = w.DeadlineMillis <= r.s.Now()
		if same || !timeIsUp && w.DeadlineMillis <= r.deadline(c.cause) {
			return timeIsUp
		}
		r.s.WithdrawPreemption(c.container, yarn.WithdrawNotChosen)
	}
	r.warn(c)
	return false
}

// deadline returns the deadline of a warning that is given now.
func (r *yarnRound) deadline(cause yarn.PreemptionCause) int64 {
	if cause == yarn.PreemptBalance {
		return r.s.Now() + r.set.BalanceMaxWaitMillis
	}
	return r.s.Now() + r.set.MaxWaitMillis
}

func (r *yarnRound) warn(c yarnChoice) {
	leaf, partition := r.leafOf(c.container), r.partitionOf(r.s.State.Containers.Get(c.container).Node)
	q := &r.partitions[partition].Queues[leaf]
	r.s.AskPreemption(c.container, event.PreemptionAsked{Queue: c.queue, Cause: c.cause,
		DeadlineMillis: r.deadline(c.cause),
		Over:           yarn.ComponentMax(q.Used.Sub(q.Guaranteed), yarn.Resource{})})
}

// choose adds a container to the chosen ones, and subtracts it from the limit of the round.
func (r *yarnRound) choose(c yarnChoice) {
	r.isChosen[c.container] = true
	r.chosen = append(r.chosen, c)
	r.budget = r.budget.Sub(r.s.State.Containers.Get(c.container).Size)
}

// toTake computes what each leaf must give of each partition, less what is already chosen. Each
// entry is parallel to the queues.
//
// Source: Hadoop 3.4.2, CapacitySchedulerPreemptionUtils.deductPreemptableResourcesBasedSelectedCandidates
// and getResToObtainByPartitionForLeafQueue.
func (r *yarnRound) toTake(m entitlement.Mode) [][]yarn.Resource {
	out := make([][]yarn.Resource, len(r.partitions))
	for i, p := range r.partitions {
		out[i] = make([]yarn.Resource, len(p.Queues))
		var wanted yarn.Resource
		for q := range p.Queues {
			wanted = wanted.Add(p.Queues[q].Wanted())
		}
		for q, share := range p.Entitlements(r.set, m) {
			if !p.ForNobody(q, wanted) {
				out[i][q] = share.ToTake
			}
			r.needy[i][q] = r.needy[i][q] || share.Needy
		}
	}
	for _, c := range r.chosen {
		of := &out[r.partitionOf(r.s.State.Containers.Get(c.container).Node)][r.leafOf(c.container)]
		*of = of.Sub(r.s.State.Containers.Get(c.container).Size)
	}
	for _, d := range r.dropped {
		of := &out[d.partition][d.leaf]
		*of = of.Sub(d.size)
	}
	for i := range out {
		for q := range out[i] {
			if r.calc.Compare(r.cluster, out[i][q], yarn.Resource{}) <= 0 {
				out[i][q] = yarn.Resource{}
			}
		}
	}
	r.owed = out
	return out
}

func (r *yarnRound) leafOf(container state.ContainerSlot) int32 {
	return r.s.Apps[r.s.State.Containers.Get(container).App].Leaf
}

// PartitionOf returns the index of a node's partition.
func (r *yarnRound) partitionOf(node state.NodeSlot) int { return int(r.s.State.Nodes.Get(node).Label) }

// mayEnd reports whether a round may choose a container. A container with a lease ends when the
// reservation needs its room; RoomOn already counts this room. On a silent node, nobody could use the
// room.
func (r *yarnRound) mayEnd(slot state.ContainerSlot, c *state.Container) bool {
	return c.State.Live() && !r.s.State.Leases.Has(slot) && !r.s.State.Nodes.Get(c.Node).Silent()
}

// liveOn returns the containers of a node that may end, sorted by compare.
func (r *yarnRound) liveOn(node state.NodeSlot,
	compare func(a, b state.ContainerSlot) int) (live []state.ContainerSlot) {
	for slot, c := range r.s.State.Containers.On(r.s.State.Nodes.Get(node)) {
		if r.mayEnd(slot, c) {
			live = append(live, slot)
		}
	}
	slices.SortStableFunc(live, compare)
	return live
}

// newer orders containers by their ids, newest first.
func (r *yarnRound) newer(a, b state.ContainerSlot) int {
	x, y := r.s.State.Apps.ContainerID(r.s.State.Containers.Get(a)),
		r.s.State.Apps.ContainerID(r.s.State.Containers.Get(b))
	return cmp.Or(cmp.Compare(y.App.ClusterTimestamp, x.App.ClusterTimestamp), cmp.Compare(y.App.Seq, x.App.Seq),
		cmp.Compare(y.Attempt, x.Attempt), cmp.Compare(y.Number, x.Number))
}
