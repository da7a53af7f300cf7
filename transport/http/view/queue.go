package view

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/capacity/order"
	"rmd/scheduler/capacity/share"
)

// QueueSums has sums for the documents of all queues, by the queue's slot.
type QueueSums struct {
	Users [][]state.UserSlot // slots of a leaf queue's users
	Apps  []int32            // in the subtree
	// Reservations and Outstanding count reservations and outstanding containers in the subtree.
	Reservations, Outstanding []int64
	Waiting                   []int32 // waiting applications in the subtree
	// how many dynamic children of a queue are listed; those with the most applications are
	MostDynamic int
}

// AllQueues is a limit that lists all dynamic queues.
const AllQueues = math.MaxInt

// SomeQueues is the number of dynamic children of a queue that lists for people show.
const SomeQueues = 20

// Queue returns the document of a queue and its subtree.
func (v *View) Queue(slot state.QueueSlot, mostDynamic int) api.Queue {
	n := v.QueueSums()
	n.MostDynamic = mostDynamic
	return v.QueueOf(slot, n)
}

func (v *View) QueueSums() *QueueSums {
	most := v.State.Queues.Cap()
	n := &QueueSums{MostDynamic: AllQueues, Users: make([][]state.UserSlot, most), Apps: make([]int32, most),
		Reservations: make([]int64, most), Outstanding: make([]int64, most), Waiting: make([]int32, most)}
	for slot, t := range v.Summary().Tree() {
		n.Reservations[slot], n.Outstanding[slot], n.Waiting[slot] = t.Reserving, t.Outstanding, t.Waits
	}
	v.State.Users.Each(func(slot state.UserSlot, u *state.User) bool {
		n.Users[u.Queue] = append(n.Users[u.Queue], slot)
		return true
	})
	if root := v.State.Queues.Root(); root != 0 {
		v.sumApps(root, n)
	}
	return n
}

func (v *View) sumApps(slot state.QueueSlot, n *QueueSums) int32 {
	q := v.State.Queues.Get(slot)
	sum := q.Apps()
	for _, k := range q.Children {
		sum += v.sumApps(k, n)
	}
	n.Apps[slot] = sum
	return sum
}

// Configured returns the index of a queue in the parsed configuration, or −1.
func (v *View) Configured(path string) int {
	if v.Conf == nil {
		return -1
	}
	i, err := v.Conf.Lookup(path)
	if err != nil {
		return -1
	}
	return i
}

// QueueOf returns the document of a queue and its subtree, with the given sums.
func (v *View) QueueOf(slot state.QueueSlot, n *QueueSums) api.Queue {
	q := v.State.Queues.Get(slot)
	d := api.Queue{
		Path: q.Path, Name: q.Name, Parent: v.QueuePath(q.Parent), Leaf: q.Leaf, State: q.State.String(),
		QueueShare: v.share(v.Partition(0), slot),
		Containers: q.Containers, Apps: n.Apps[slot], ActiveApps: q.ActiveApps, PendingApps: q.PendingApps,
		NonRunnableApps: q.NonRunnableApps, WaitingApps: n.Waiting[slot], ActiveUsers: q.ActiveUsers,
	}
	if i := v.Configured(q.Path); i >= 0 {
		v.addSettings(&d, i)
		if q.Leaf {
			v.addLimits(&d, slot, i, n)
		}
	}
	for _, p := range v.Partitions()[1:] {
		if p.Shows(slot) {
			d.Labels = append(d.Labels, labels{v}.labelShare(p, slot, n))
		}
	}
	var listed []state.QueueSlot
	listed, d.MoreDynamic = v.listed(q.Children, n)
	for _, k := range listed {
		d.Children = append(d.Children, v.QueueOf(k, n))
	}
	return d
}

// listed returns the children of a queue to list. It omits the dynamic children with the fewest
// applications above the limit, and returns their number.
func (v *View) listed(children []state.QueueSlot, n *QueueSums) (listed []state.QueueSlot, more int) {
	var dynamic []state.QueueSlot
	for _, k := range children {
		if v.State.DynamicQueues.Has(k) {
			dynamic = append(dynamic, k)
		}
	}
	if more = len(dynamic) - n.MostDynamic; more <= 0 {
		return children, 0
	}
	slices.SortStableFunc(dynamic, func(a, b state.QueueSlot) int { return cmp.Compare(n.Apps[b], n.Apps[a]) })
	left := make(map[state.QueueSlot]bool, more)
	for _, k := range dynamic[n.MostDynamic:] {
		left[k] = true
	}
	return slices.DeleteFunc(slices.Clone(children), func(k state.QueueSlot) bool { return left[k] }), more
}

// share returns the document of a queue's share of a partition.
func (v *View) share(p *Partition, slot state.QueueSlot) api.QueueShare {
	q, use := v.State.Queues.Get(slot), p.Use(slot)
	d := api.QueueShare{Used: v.Size(use.Used), Reserved: v.Size(use.Reserved), Pending: v.Size(use.Pending),
		AMUsed: v.Size(use.AMUsed)}
	i := v.Configured(q.Path)
	if i < 0 {
		return d
	}
	conf, eff := &p.Conf.Queues[i], &p.Tree.Capacities[i]
	d.NodeOrder = conf.NodeOrder.String()
	d.Configured, d.ConfiguredMax = conf.Capacity.Format(v.Kinds), conf.MaxCapacity.Format(v.Kinds)
	d.Capacity, d.MaxCapacity = Percent(eff.Capacity.Rat()), Percent(eff.MaxCapacity.Rat())
	d.AbsCapacity, d.AbsMax = Percent(eff.AbsCapacity.Rat()), Percent(eff.AbsMax.Rat())
	d.Guaranteed, d.Max = v.Size(eff.EffMin), v.Size(eff.EffMax)
	d.UsedPercent = FixedPercent(order.UsedShare(p.Conf.Calculator, p.Tree.Cluster, use.Used, eff.EffMin, p.Conf.MinAlloc))
	d.AbsUsed = FixedPercent(order.AbsUsedShare(p.Conf.Calculator, p.Tree.Cluster, use.Used))
	if q.Leaf {
		d.AMLimit = v.Size(p.AMLimit(slot, i))
	}
	return d
}

// addSettings fills in the settings that are the same for all partitions.
func (v *View) addSettings(d *api.Queue, i int) {
	conf := &v.Conf.Queues[i]
	d.Order = conf.ChildOrder.String()
	if conf.Leaf {
		d.Order = conf.LeafOrder.String()
	}
	d.AccessibleLabels, d.DefaultLabel = conf.Accessible, conf.DefaultLabel
	d.Creation, d.AutoCreate = conf.Creation.String(), conf.ChildrenBy().Eligibility()
}

// addLimits fills in the limits and the users of a leaf queue.
func (v *View) addLimits(d *api.Queue, slot state.QueueSlot, i int, n *QueueSums) {
	conf, p := &v.Conf.Queues[i], v.Partition(0)
	d.MaxApps, d.MaxAppsUser = v.Conf.MaxApplications(i, v.TreeOf), v.Conf.MaxApplicationsPerUser(i, v.TreeOf)
	d.UserLimit, d.UserLimitFactor = conf.MinUserLimitPercent.String(), conf.UserLimitFactor.String()
	if conf.UserLimitOff {
		d.UserLimitFactor = "-1"
	}
	limit := p.UserLimit(i, n.Users[slot])
	for _, user := range n.Users[slot] {
		u := v.State.Users.Get(user)
		name := v.State.Names.Text(u.Name)
		d.Users = append(d.Users, api.User{Name: name, Used: v.Size(u.Used), AMUsed: v.Size(u.AMUsed), Apps: u.Apps,
			ActiveApps: u.Active, PendingApps: u.Pending,
			Active: u.IsActive(), Limit: v.Size(p.weighted(limit, i, name))})
	}
}

// Percent converts a share to a percentage with four decimals, for display.
func Percent(r *big.Rat) float64 {
	f, _ := r.Float64()
	return Round(f * 100)
}

// FixedPercent is like Percent for a share in parts of 2^32.
func FixedPercent(fixed uint64) float64 {
	return Round(float64(fixed) * 100 / float64(share.One))
}

func Round(f float64) float64 { return math.Round(f*1e4) / 1e4 }

// Queues returns the document of the queue tree.
func (v *View) Queues(mostDynamic int) api.Queues {
	var d api.Queues
	if ver := v.State.Versions.Current(); ver != nil {
		d.Version = ver.Version
	}
	if root := v.State.Queues.Root(); root != 0 {
		q := v.Queue(root, mostDynamic)
		d.Root = &q
	}
	return d
}
