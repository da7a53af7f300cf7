package view

import (
	"math"
	"math/big"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// QueueSums are the sums that the documents of all queues draw on, by slot.
type QueueSums struct {
	Users  [][]*state.User // of a leaf, in slot order
	Limits []yarn.Resource // what the parents leave to each queue
	Apps   []int32         // in the whole subtree
	// Reservations and outstanding containers, in the whole subtree too.
	Reservations, Outstanding []int64
	Waiting                   []int32 // applications that wait for something
}

// Queue shows a queue with everything below it.
func (v *View) Queue(slot uint32) api.Queue {
	n := v.QueueSums()
	return v.QueueOf(slot, n)
}

func (v *View) QueueSums() *QueueSums {
	most := v.State.Queues.Cap()
	n := &QueueSums{Users: make([][]*state.User, most), Limits: make([]yarn.Resource, most), Apps: make([]int32, most),
		Reservations: make([]int64, most), Outstanding: make([]int64, most), Waiting: make([]int32, most)}
	for slot, t := range v.Summary().Tree() {
		n.Reservations[slot], n.Outstanding[slot], n.Waiting[slot] = t.Reserving, t.Outstanding, t.Waits
	}
	v.State.Users.Each(func(_ uint32, u *state.User) bool {
		n.Users[u.Queue] = append(n.Users[u.Queue], u)
		return true
	})
	if root := v.State.Root(); root != 0 {
		n.Limits[root] = v.State.Meta.Cluster
		v.walk(root, n)
	}
	return n
}

// walk hands the limits down and sums the applications up.
func (v *View) walk(slot uint32, n *QueueSums) int32 {
	q := v.State.Queues.Get(slot)
	sum := q.Apps()
	for _, k := range q.Children {
		n.Limits[k] = v.childLimit(slot, k, n)
		sum += v.walk(k, n)
	}
	n.Apps[slot] = sum
	return sum
}

func (v *View) childLimit(parent, child uint32, n *QueueSums) yarn.Resource {
	p, k := v.State.Queues.Get(parent), v.State.Queues.Get(child)
	i := v.Configured(p.Path)
	if i < 0 {
		return n.Limits[parent]
	}
	return capacity.ChildLimit(capacity.ChildLimitInput{
		Calculator: v.Conf.Calculator, Total: v.State.Meta.Cluster, Limit: n.Limits[parent], EffMax: v.Tree.Capacities[i].EffMax,
		Used: p.Used, ChildUsed: k.Used, MinAlloc: v.Conf.MinAlloc,
	})
}

// Configured is the index of a queue in the parsed configuration; −1 without one.
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

// QueueOf shows a queue with everything below it, from sums that are made already.
func (v *View) QueueOf(slot uint32, n *QueueSums) api.Queue {
	q := v.State.Queues.Get(slot)
	d := api.Queue{
		Path: q.Path, Name: q.Name, Parent: v.QueuePath(q.Parent), Leaf: q.Leaf, State: q.State.String(),
		Used: v.Size(q.Used), Reserved: v.Size(q.Reserved), Pending: v.Size(q.Pending), AMUsed: v.Size(q.AMUsed),
		Containers: q.Containers, Apps: n.Apps[slot], ActiveApps: q.ActiveApps, PendingApps: q.PendingApps, NonRunnableApps: q.NonRunnableApps, WaitingApps: n.Waiting[slot], ActiveUsers: q.ActiveUsers,
	}
	if i := v.Configured(q.Path); i >= 0 {
		v.addCapacity(&d, q, i)
		if q.Leaf {
			v.addLimits(&d, slot, i, n)
		}
	}
	for _, k := range q.Children {
		d.Children = append(d.Children, v.QueueOf(k, n))
	}
	return d
}

// addCapacity fills in what the configuration gives the queue.
func (v *View) addCapacity(d *api.Queue, q *state.Queue, i int) {
	conf, eff := &v.Conf.Queues[i], &v.Tree.Capacities[i]
	d.Configured, d.ConfiguredMax = conf.Capacity.Format(v.Kinds), conf.MaxCapacity.Format(v.Kinds)
	d.Capacity, d.MaxCapacity = Percent(eff.Capacity.Rat()), Percent(eff.MaxCapacity.Rat())
	d.AbsCapacity, d.AbsMax = Percent(eff.AbsCapacity.Rat()), Percent(eff.AbsMax.Rat())
	d.Guaranteed, d.Max = v.Size(eff.EffMin), v.Size(eff.EffMax)
	d.UsedPercent = FixedPercent(capacity.UsedShare(v.Conf.Calculator, v.Tree.Cluster, q.Used, eff.EffMin, v.Conf.MinAlloc))
	d.AbsUsed = FixedPercent(capacity.AbsUsedShare(v.Conf.Calculator, v.Tree.Cluster, q.Used))
	d.Order = conf.ChildOrder.String()
	if conf.Leaf {
		d.Order = conf.LeafOrder.String()
	}
}

// addLimits fills in a leaf's limits and its users.
func (v *View) addLimits(d *api.Queue, slot uint32, i int, n *QueueSums) {
	conf := &v.Conf.Queues[i]
	d.MaxApps, d.MaxAppsUser = v.Conf.MaxApplications(i, v.Tree), v.Conf.MaxApplicationsPerUser(i, v.Tree)
	d.UserLimit, d.UserLimitFactor = conf.MinUserLimitPercent.String(), conf.UserLimitFactor.String()
	if conf.UserLimitOff {
		d.UserLimitFactor = "-1"
	}
	d.AMLimit = v.Size(v.AMLimit(slot, i, n))
	calc, limit := v.Conf.Calculator, v.UserLimit(i, n.Users[slot])
	for _, u := range n.Users[slot] {
		name := v.State.NameOf(u.Name)
		d.Users = append(d.Users, api.User{Name: name, Used: v.Size(u.Used), AMUsed: v.Size(u.AMUsed), Apps: u.Apps, ActiveApps: u.Active, PendingApps: u.Pending,
			Active: u.IsActive(), Limit: v.Size(capacity.WeightedUserLimit(calc, limit, conf.Weight(name), v.Conf.MinAlloc))})
	}
}

// AMLimit is how much the AMs of a leaf may take now.
func (v *View) AMLimit(slot uint32, i int, n *QueueSums) yarn.Resource {
	calc, eff := v.Conf.Calculator, &v.Tree.Capacities[i]
	usable := capacity.AMUsable(calc, calc.Min(v.Tree.Cluster, n.Limits[slot], eff.EffMax), eff.EffMin)
	return capacity.AMLimit(calc, usable, v.Conf.Queues[i].MaxAMPercent, v.Conf.MinAlloc)
}

// UserLimit is the limit of a user of weight 1 in leaf i.
func (v *View) UserLimit(i int, users []*state.User) yarn.Resource {
	conf, eff := &v.Conf.Queues[i], &v.Tree.Capacities[i]
	var dominant, used yarn.Resource
	var weight, all capacity.Share
	for _, u := range users {
		w := capacity.ShareOf(conf.Weight(v.State.NameOf(u.Name)))
		dominant = dominant.Add(capacity.DominantPart(v.Conf.Calculator, v.Tree.Cluster, u.Used))
		all = all.Add(w)
		if u.IsActive() {
			used, weight = used.Add(u.Used), weight.Add(w)
		}
	}
	if weight.IsZero() {
		weight = capacity.ShareOf(yarn.One)
	}
	return capacity.UserLimit(capacity.UserLimitInput{
		Calculator: v.Conf.Calculator, Label: v.Tree.Cluster, MinAlloc: v.Conf.MinAlloc, EffMin: eff.EffMin, EffMax: eff.EffMax,
		DominantUsed: dominant, ActiveUsed: used, ActiveWeight: weight.Fraction(), AllWeight: all.Fraction(),
		MinUserLimit: conf.MinUserLimitPercent, UserLimitFactor: conf.UserLimitFactor, UserLimitOff: conf.UserLimitOff,
	})
}

// Percent turns a share into a percentage for display, to four decimals.
func Percent(r *big.Rat) float64 {
	f, _ := r.Float64()
	return Round(f * 100)
}

// FixedPercent does so for a share in parts of 2^32.
func FixedPercent(fixed uint64) float64 {
	return Round(float64(fixed) * 100 / float64(capacity.ShareOne))
}

func Round(f float64) float64 { return math.Round(f*1e4) / 1e4 }

// Queues shows the whole tree.
func (v *View) Queues() api.Queues {
	var d api.Queues
	if ver := v.State.Version(); ver != nil {
		d.Version = ver.Version
	}
	if root := v.State.Root(); root != 0 {
		q := v.Queue(root)
		d.Root = &q
	}
	return d
}
