package httpserver

import (
	"math"
	"math/big"
	"net/http"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func (s *Server) queueRoutes() []route {
	return []route{
		get("/v1/queues", "", listQueues),
		get("/v1/queues/{path}", "", showQueue),
		post("/v1/queues/{path}:stop", "", func(c *call) error { return setQueueState(c, yarn.QueueStopped) }),
		post("/v1/queues/{path}:start", "", func(c *call) error { return setQueueState(c, yarn.QueueRunning) }),
	}
}

func listQueues(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	var d api.Queues
	if ver := v.st.Version(); ver != nil {
		d.Version = ver.Version
	}
	if root := v.st.Root(); root != 0 {
		q := v.queueTree(root)
		d.Root = &q
	}
	return c.json(http.StatusOK, d)
}

func showQueue(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	slot, err := v.queue(c.args["path"])
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, v.queueTree(slot))
}

func setQueueState(c *call, to yarn.QueueState) error {
	st, index := c.s.cfg.Reader.Fork()
	path := c.args["path"]
	if slot, err := c.s.viewOf(st, index).queue(path); err == nil {
		path = st.Queues.Get(slot).Path
	}
	return c.done(&input.SetQueueState{Queue: path, State: to})
}

// queueNumbers are the sums that the documents of all queues draw on, by slot.
type queueNumbers struct {
	users  [][]*state.User // of a leaf, in slot order
	limits []yarn.Resource // what the parents leave to each queue
	apps   []int32         // in the whole subtree
	// Reservations and outstanding containers, in the whole subtree too.
	reservations, outstanding []int64
}

// queueTree shows a queue with everything below it.
func (v *view) queueTree(slot uint32) api.Queue {
	n := v.queueNumbers()
	return v.queueDoc(slot, n)
}

func (v *view) queueNumbers() *queueNumbers {
	most := v.st.Queues.Cap()
	n := &queueNumbers{users: make([][]*state.User, most), limits: make([]yarn.Resource, most), apps: make([]int32, most),
		reservations: make([]int64, most), outstanding: make([]int64, most)}
	for slot, t := range v.census().Tree() {
		n.reservations[slot], n.outstanding[slot] = t.Reserving, t.Outstanding
	}
	v.st.Users.Each(func(_ uint32, u *state.User) bool {
		n.users[u.Queue] = append(n.users[u.Queue], u)
		return true
	})
	if root := v.st.Root(); root != 0 {
		n.limits[root] = v.st.Meta.Cluster
		v.walk(root, n)
	}
	return n
}

// walk hands the limits down and sums the applications up.
func (v *view) walk(slot uint32, n *queueNumbers) int32 {
	q := v.st.Queues.Get(slot)
	sum := q.Apps()
	for _, k := range q.Children {
		n.limits[k] = v.childLimit(slot, k, n)
		sum += v.walk(k, n)
	}
	n.apps[slot] = sum
	return sum
}

func (v *view) childLimit(parent, child uint32, n *queueNumbers) yarn.Resource {
	p, k := v.st.Queues.Get(parent), v.st.Queues.Get(child)
	i := v.configured(p.Path)
	if i < 0 {
		return n.limits[parent]
	}
	return capacity.ChildLimit(capacity.ChildLimitInput{
		Calculator: v.conf.Calculator, Total: v.st.Meta.Cluster, Limit: n.limits[parent], EffMax: v.tree.Capacities[i].EffMax,
		Used: p.Used, ChildUsed: k.Used, MinAlloc: v.conf.MinAlloc,
	})
}

// configured is the index of a queue in the parsed configuration; −1 without one.
func (v *view) configured(path string) int {
	if v.conf == nil {
		return -1
	}
	i, err := v.conf.Lookup(path)
	if err != nil {
		return -1
	}
	return i
}

func (v *view) queueDoc(slot uint32, n *queueNumbers) api.Queue {
	q := v.st.Queues.Get(slot)
	d := api.Queue{
		Path: q.Path, Name: q.Name, Parent: v.queuePath(q.Parent), Leaf: q.Leaf, State: q.State.String(),
		Used: v.size(q.Used), Reserved: v.size(q.Reserved), Pending: v.size(q.Pending), AMUsed: v.size(q.AMUsed),
		Containers: q.Containers, Apps: n.apps[slot], ActiveApps: q.ActiveApps, PendingApps: q.PendingApps, ParkedApps: q.ParkedApps, ActiveUsers: q.ActiveUsers,
	}
	if i := v.configured(q.Path); i >= 0 {
		v.addCapacity(&d, q, i)
		if q.Leaf {
			v.addLimits(&d, slot, i, n)
		}
	}
	for _, k := range q.Children {
		d.Children = append(d.Children, v.queueDoc(k, n))
	}
	return d
}

// addCapacity fills in what the configuration gives the queue.
func (v *view) addCapacity(d *api.Queue, q *state.Queue, i int) {
	conf, eff := &v.conf.Queues[i], &v.tree.Capacities[i]
	d.Configured, d.ConfiguredMax = conf.Capacity.Format(v.kinds), conf.MaxCapacity.Format(v.kinds)
	d.Capacity, d.MaxCapacity = percent(eff.Capacity.Rat()), percent(eff.MaxCapacity.Rat())
	d.AbsCapacity, d.AbsMax = percent(eff.AbsCapacity.Rat()), percent(eff.AbsMax.Rat())
	d.Guaranteed, d.Max = v.size(eff.EffMin), v.size(eff.EffMax)
	d.UsedPercent = fixedPercent(capacity.UsedShare(v.conf.Calculator, v.tree.Cluster, q.Used, eff.EffMin, v.conf.MinAlloc))
	d.AbsUsed = fixedPercent(capacity.AbsUsedShare(v.conf.Calculator, v.tree.Cluster, q.Used))
	d.Order = conf.ChildOrder.String()
	if conf.Leaf {
		d.Order = conf.LeafOrder.String()
	}
}

// addLimits fills in a leaf's limits and its users.
func (v *view) addLimits(d *api.Queue, slot uint32, i int, n *queueNumbers) {
	conf := &v.conf.Queues[i]
	d.MaxApps, d.MaxAppsUser = v.conf.MaxApplications(i, v.tree), v.conf.MaxApplicationsPerUser(i, v.tree)
	d.UserLimit, d.UserLimitFactor = conf.MinUserLimitPercent.String(), conf.UserLimitFactor.String()
	if conf.UserLimitOff {
		d.UserLimitFactor = "-1"
	}
	d.AMLimit = v.size(v.amLimit(slot, i, n))
	calc, limit := v.conf.Calculator, v.userLimit(i, n.users[slot])
	for _, u := range n.users[slot] {
		name := v.st.NameOf(u.Name)
		d.Users = append(d.Users, api.User{Name: name, Used: v.size(u.Used), AMUsed: v.size(u.AMUsed), Apps: u.Apps, ActiveApps: u.Active, PendingApps: u.Pending,
			Active: u.IsActive(), Limit: v.size(capacity.WeightedUserLimit(calc, limit, conf.Weight(name), v.conf.MinAlloc))})
	}
}

// amLimit is how much the AMs of a leaf may take now.
func (v *view) amLimit(slot uint32, i int, n *queueNumbers) yarn.Resource {
	calc, eff := v.conf.Calculator, &v.tree.Capacities[i]
	usable := capacity.AMUsable(calc, calc.Min(v.tree.Cluster, n.limits[slot], eff.EffMax), eff.EffMin)
	return capacity.AMLimit(calc, usable, v.conf.Queues[i].MaxAMPercent, v.conf.MinAlloc)
}

// userLimit is the limit of a user of weight 1 in leaf i.
func (v *view) userLimit(i int, users []*state.User) yarn.Resource {
	conf, eff := &v.conf.Queues[i], &v.tree.Capacities[i]
	var dominant, used yarn.Resource
	var weight, all capacity.Share
	for _, u := range users {
		w := capacity.ShareOf(conf.Weight(v.st.NameOf(u.Name)))
		dominant = dominant.Add(capacity.DominantPart(v.conf.Calculator, v.tree.Cluster, u.Used))
		all = all.Add(w)
		if u.IsActive() {
			used, weight = used.Add(u.Used), weight.Add(w)
		}
	}
	if weight.IsZero() {
		weight = capacity.ShareOf(yarn.One)
	}
	return capacity.UserLimit(capacity.UserLimitInput{
		Calculator: v.conf.Calculator, Label: v.tree.Cluster, MinAlloc: v.conf.MinAlloc, EffMin: eff.EffMin, EffMax: eff.EffMax,
		DominantUsed: dominant, ActiveUsed: used, ActiveWeight: weight.Fraction(), AllWeight: all.Fraction(),
		MinUserLimit: conf.MinUserLimitPercent, UserLimitFactor: conf.UserLimitFactor, UserLimitOff: conf.UserLimitOff,
	})
}

// percent turns a share into a percentage for display, to four decimals.
func percent(r *big.Rat) float64 {
	f, _ := r.Float64()
	return round(f * 100)
}

// fixedPercent does so for a share in parts of 2^32.
func fixedPercent(fixed uint64) float64 {
	return round(float64(fixed) * 100 / float64(capacity.ShareOne))
}

func round(f float64) float64 { return math.Round(f*1e4) / 1e4 }
