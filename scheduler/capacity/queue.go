package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/order"
	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

// readQueues reads the keys of all queues. Parents come first, because children inherit values.
func (r *reader) readQueues(c *Config) {
	for i := range c.Queues {
		r.readQueue(c, &c.Queues[i])
	}
}

func (r *reader) readQueue(c *Config, q *Queue) {
	key := func(name string) string { return Prefix + q.Path + "." + name }
	r.readCapacity(c, q, key)
	r.readUserLimits(c, q, key)
	r.readQueueCounts(c, q, key)
	r.readMaxAlloc(c, q, key)
	r.readState(c, q, key)
	r.readOrder(c, q, key)
	r.readQueueACLs(q, key)
	r.readPriorityACLs(c, q, key)
	r.readLabels(c, q, key)
	r.readQueuePreemption(c, q, key)
	r.readAutoCreate(c, q, key)
	r.readBackfill(c, q, key)
	r.readNodeOrder(c, q, key)
}

// readBackfill reads which containers of a queue may use idle room of reserved nodes. Without the
// key the parent's value counts.
func (r *reader) readBackfill(c *Config, q *Queue, key func(string) string) {
	if p := c.parentOf(q); p != nil {
		q.Backfill = p.Backfill
	}
	switch v, ok := r.get(key("backfill")); {
	case !ok:
	case v == "off":
		q.Backfill = BackfillOff
	case v == "declared":
		q.Backfill = BackfillDeclared
	case v == "preemptable":
		q.Backfill = BackfillPreemptable
	default:
		r.fault(key("backfill"), "does not say which containers may use idle room of reserved nodes",
			"write off, declared or preemptable")
	}
}

func (c *Config) parentOf(q *Queue) *Queue {
	if q.Parent < 0 {
		return nil
	}
	return &c.Queues[q.Parent]
}

func (r *reader) readCapacity(c *Config, q *Queue, key func(string) string) {
	q.AllowZeroCapacitySum = r.bool(key("allow-zero-capacity-sum"), false)
	if q.Parent < 0 {
		q.Capacity, q.MaxCapacity = amount.Uniform(amount.Percent, yarn.Fraction{Num: 100, Den: 1}),
			amount.Uniform(amount.Percent, yarn.Fraction{Num: 100, Den: 1})
		for _, n := range []string{"capacity", "maximum-capacity"} {
			a, err := amount.Parse(r.trimmed(key(n)), c.Kinds, c.LegacyQueueMode)
			switch {
			case n == "capacity" && err == nil && a.Unit == amount.Weight: // as fs2cs and Cloudera write it
				q.Capacity = a
			case r.set(key(n)) && (err != nil || a != q.MaxCapacity):
				r.warn(key(n), "root always has the whole cluster", "remove it")
			}
		}
		return
	}
	q.Capacity = r.amount(key("capacity"), c)
	if v, _ := r.get(key("maximum-capacity")); v != "-1" && v != "-1.0" {
		q.MaxCapacity = r.amount(key("maximum-capacity"), c)
	}
	if q.Capacity.WithoutMemory() {
		r.warn(key("capacity"), "states no memory, so the queue is guaranteed nothing", "state the memory")
		q.Capacity = amount.Nothing
	}
	if q.MaxCapacity.WithoutMemory() {
		r.warn(key("maximum-capacity"), "states no memory, so it has no effect", "state the memory")
		q.MaxCapacity = amount.Amount{}
	}
	if vector := q.Capacity.Unit == amount.Absolute; c.LegacyQueueMode && q.MaxCapacity.Unit != amount.None &&
		vector != (q.MaxCapacity.Unit == amount.Absolute) {
		r.warn(key("maximum-capacity"),
			"has no effect, as in YARN: one of capacity and maximum-capacity is a vector, the other is not",
			"write both in the same way")
		q.MaxCapacity = amount.Amount{}
	}
	for _, p := range q.MaxCapacity.Parts {
		if p.Unit == amount.Weight {
			r.fault(key("maximum-capacity"), "a weight is not a maximum",
				"write a percentage, or a vector such as [memory=4096,vcores=4]")
			q.MaxCapacity = amount.Amount{}
			break
		}
	}
	r.checkPercent(key("capacity"), q.Capacity)
	r.checkPercent(key("maximum-capacity"), q.MaxCapacity)
}

func (r *values) trimmed(name string) string {
	v, _ := r.get(name)
	return v
}

func (r *values) amount(name string, c *Config) amount.Amount {
	v, ok := r.get(name)
	if !ok {
		return amount.Amount{}
	}
	a, err := amount.Parse(v, c.Kinds, c.LegacyQueueMode)
	if err != nil {
		r.fault(name, err.Error(),
			"write a percentage such as 30, a weight such as 3w, or a vector such as [memory=4096,vcores=4]")
		return amount.Amount{}
	}
	return a
}

func (r *values) checkPercent(name string, a amount.Amount) {
	for _, p := range a.Parts {
		if p.Unit == amount.Percent && p.Value.Cmp(yarn.Fraction{Num: 100, Den: 1}) > 0 {
			r.fault(name, "is more than 100 percent", "write a percentage from 0 to 100")
			return
		}
		if p.Unit == amount.Weight && p.Value.Cmp(yarn.Fraction{Num: 1_000_000, Den: 1}) > 0 {
			r.fault(name, "is a weight above 1000000", "write a smaller weight; only the ratio to its siblings counts")
			return
		}
	}
}

func (r *reader) readUserLimits(c *Config, q *Queue, key func(string) string) {
	usual := r.fraction(Prefix+"minimum-user-limit-percent", yarn.Fraction{Num: 100, Den: 1}, 100_000)
	q.MinUserLimitPercent = r.fraction(key("minimum-user-limit-percent"), usual, 100_000)
	factor := key("user-limit-factor")
	if !r.set(factor) {
		factor = Prefix + "user-limit-factor"
	}
	q.UserLimitFactor = yarn.One
	if v, _ := r.get(factor); v == "-1" || v == "-1.0" {
		q.UserLimitOff = true
	} else {
		q.UserLimitFactor = r.fraction(factor, yarn.One, 1_000_000)
	}
	if p := c.parentOf(q); p != nil {
		q.UserWeights = slices.Clone(p.UserWeights)
	}
	prefix, suffix := key("user-settings."), ".weight"
	for _, p := range r.under(c, prefix) {
		if user, ok := cutSuffix(p.Name, suffix, true); ok {
			q.setWeight(user, r.fraction(prefix+p.Name, yarn.One, 1000))
		}
	}
}

func (q *Queue) setWeight(user string, w yarn.Fraction) {
	i, ok := slices.BinarySearchFunc(q.UserWeights, user,
		func(w UserWeight, u string) int { return strings.Compare(w.User, u) })
	if ok {
		q.UserWeights[i].Weight = w
		return
	}
	q.UserWeights = slices.Insert(q.UserWeights, i, UserWeight{user, w})
}

func (r *reader) readQueueCounts(c *Config, q *Queue, key func(string) string) {
	q.MaximumApplications = r.bound(key("maximum-applications"), -1)
	q.MaxAMPercent = r.amPercent(key("maximum-am-resource-percent"), c.MaxAMPercent)
	q.MaxParallelApps = r.bound(key("max-parallel-apps"), r.bound(Prefix+"max-parallel-apps", Unlimited))
	q.Priority = r.int32(key("priority"), 0)
	q.DefaultAppPriority = r.int32(key("default-application-priority"), 0)
	r.readLifetimes(c, q, key)
}

// readLifetimes reads the maximum and default lifetime of applications. Without a key the parent's
// value counts; the default is lowered to the queue's maximum.
func (r *reader) readLifetimes(c *Config, q *Queue, key func(string) string) {
	q.MaxLifetime = r.int(key("maximum-application-lifetime"), -1, -1, math.MaxInt32)
	q.DefaultLifetime = r.int(key("default-application-lifetime"), -1, -1, math.MaxInt32)
	p := c.parentOf(q)
	if p != nil && q.MaxLifetime < 0 {
		q.MaxLifetime = p.MaxLifetime
	}
	if p != nil && q.DefaultLifetime < 0 {
		if q.DefaultLifetime = p.DefaultLifetime; q.MaxLifetime > 0 {
			q.DefaultLifetime = min(q.DefaultLifetime, q.MaxLifetime)
		}
	}
	if q.MaxLifetime > 0 && q.DefaultLifetime > q.MaxLifetime {
		r.fault(key("default-application-lifetime"),
			fmt.Sprintf("is %d s, longer than the maximum of %d s", q.DefaultLifetime, q.MaxLifetime),
			"lower it, or raise maximum-application-lifetime")
	}
	if q.MaxLifetime > 0 && q.DefaultLifetime <= 0 {
		q.DefaultLifetime = q.MaxLifetime
	}
}

// readMaxAlloc reads the largest container of a queue. Without keys it is the parent's. As in YARN, a
// vector has 0 for the kinds that it does not name, and the keys for single kinds count only without
// a vector.
func (r *reader) readMaxAlloc(c *Config, q *Queue, key func(string) string) {
	q.MaxAlloc = c.MaxAlloc
	if p := c.parentOf(q); p != nil {
		q.MaxAlloc = p.MaxAlloc
	}
	var from [yarn.MaxKinds]string
	v, vector := r.get(key("maximum-allocation"))
	if vector {
		a, err := amount.Parse("["+strings.Trim(v, "[]")+"]", c.Kinds, true)
		if err != nil {
			r.fault(key("maximum-allocation"), err.Error(), "write kind=amount pairs such as memory-mb=8192,vcores=4")
			return
		}
		for k := range c.Kinds {
			q.MaxAlloc[k], from[k] = a.Parts[k].Value.Num, key("maximum-allocation")
		}
	}
	for k, name := range []string{"maximum-allocation-mb", "maximum-allocation-vcores"} {
		switch n := key(name); {
		case !r.set(n) || r.trimmed(n) == "-1": // in YARN, -1 is as absent
		case vector:
			r.warn(n, "has no effect, because "+key("maximum-allocation")+" is set", "remove it")
		default:
			q.MaxAlloc[k], from[k] = r.units(n, q.MaxAlloc[k], k), n
		}
	}
	for k, kind := range c.Kinds {
		switch {
		case from[k] == "":
		case q.MaxAlloc[k] > c.MaxAlloc[k]:
			r.fault(from[k], fmt.Sprintf("%s of %d is above the cluster's maximum of %d", kind, q.MaxAlloc[k], c.MaxAlloc[k]),
				"lower it, or raise the cluster's maximum allocation")
		case q.MaxAlloc[k] < c.MinAlloc[k]:
			r.fault(from[k], fmt.Sprintf("%s of %d is below the smallest container of %d", kind, q.MaxAlloc[k], c.MinAlloc[k]),
				"raise it")
		}
	}
}

// readState reads RUNNING or STOPPED. Without the key the parent's state counts. A queue below a
// stopped one cannot be running.
func (r *reader) readState(c *Config, q *Queue, key func(string) string) {
	q.State = yarn.QueueRunning
	p := c.parentOf(q)
	if p != nil {
		q.State = p.State
	}
	v, ok := r.get(key("state"))
	switch {
	case !ok:
	case strings.EqualFold(v, "STOPPED"):
		q.State = yarn.QueueStopped
	case !strings.EqualFold(v, "RUNNING"):
		r.fault(key("state"), "is not a state a queue can be set to", "write RUNNING or STOPPED")
	case p != nil && p.State == yarn.QueueStopped:
		r.fault(key("state"), fmt.Sprintf("is RUNNING, but its parent %s is STOPPED", p.Path),
			"stop it too, or start the parent")
	default:
		q.State = yarn.QueueRunning
	}
}

// readOrder reads the order in which a parent serves its children, or a leaf its applications. A
// parent without the key has the order of its own parent.
func (r *reader) readOrder(c *Config, q *Queue, key func(string) string) {
	name := key("ordering-policy")
	v, ok := r.get(name)
	q.SizeBasedWeight = r.bool(key("ordering-policy.fair.enable-size-based-weight"), false)
	if !q.Leaf {
		q.ChildOrder = order.Utilization
		switch {
		case !ok:
			if p := c.parentOf(q); p != nil {
				q.ChildOrder = p.ChildOrder
			}
		case v == "utilization":
		case v == "priority-utilization":
			q.ChildOrder = order.PriorityUtilization
		default:
			r.fault(name, "is not an order of queues", "write utilization or priority-utilization")
		}
		return
	}
	q.LeafOrder = order.FIFO
	switch v[strings.LastIndexByte(v, '.')+1:] {
	case "", "fifo", "FifoOrderingPolicy", "fifo-with-partitions": // the last one only makes YARN's search faster
	case "fair", "FairOrderingPolicy":
		q.LeafOrder = order.Fair
	default:
		r.fault(name, "is not an order of applications", "write fifo or fair")
	}
}

func (r *reader) readQueueACLs(q *Queue, key func(string) string) {
	def := yarn.ACL{All: q.Parent < 0}
	q.SubmitACL, q.AdministerACL = def, def
	if v, ok := r.raw(key("acl_submit_applications")); ok {
		q.SubmitACL = yarn.ParseACL(v)
	}
	if v, ok := r.raw(key("acl_administer_queue")); ok {
		q.AdministerACL = yarn.ParseACL(v)
	}
}

// UserWeight is the weight of a user in a queue.
type UserWeight struct {
	User   string
	Weight yarn.Fraction
}

// Queue is one queue as configured, with the values that it inherits.
type Queue struct {
	Path, Name string
	Parent     int   // index in Config.Queues; −1 for root
	Children   []int // in the order of the configuration
	Depth      int   // 0 for root
	Leaf       bool

	Capacity    amount.Amount // what the queue is guaranteed
	MaxCapacity amount.Amount // UnitNone: that of the parent

	Accessible   []string        // the labels that it may use, sorted; only AnyLabel if it may use all
	DefaultLabel string          // of asks that name none
	Labels       []LabelCapacity // sorted by label

	MinUserLimitPercent yarn.Fraction // 0 … 100
	UserLimitFactor     yarn.Fraction // not used if UserLimitOff
	UserLimitOff        bool          // user-limit-factor −1
	UserWeights         []UserWeight  // sorted by user; other users have weight 1

	MaximumApplications int64 // −1: derived, see Config.MaxApplications
	MaxAMPercent        yarn.Fraction
	MaxParallelApps     int64         // −1: unlimited
	MaxAlloc            yarn.Resource // the largest container in this queue
	MaxLifetime         int64         // seconds; −1: none
	DefaultLifetime     int64         // seconds; −1: none

	State              yarn.QueueState    // RUNNING or STOPPED, as configured
	LeafOrder          order.LeafPolicy   // leaves only
	SizeBasedWeight    bool               // with Fair
	ChildOrder         order.ParentPolicy // parents only
	Priority           int32
	DefaultAppPriority int32
	PriorityACLs       []PriorityACL // leaves only; highest maximum first; empty: no restriction

	SubmitACL, AdministerACL yarn.ACL
	DisablePreemption        bool // inherited: no preemption for other queues
	DisableIntraPreemption   bool // inherited: no preemption for its own applications
	AllowZeroCapacitySum     bool

	Creation   Creation
	AutoCreate *AutoCreate   // nil unless submissions create queues below it, or it has templates
	Active     bool          // for a leaf below a managed parent: it has the capacity of the template
	Template   amount.Amount // the capacity of the template, if such a leaf is not active
	AutoRemove bool          // for a dynamic queue: it is removed after it has been idle for a while
	Backfill   Backfill      // inherited
	NodeOrder  NodeOrder     // inherited

	labelOrders []labelOrder // for labels whose order differs from NodeOrder; inherited
}

// Backfill says which containers of a queue may use the idle room of reserved nodes.
type Backfill uint8

// The values; append only.
const (
	BackfillOff         Backfill = iota // none, as in YARN
	BackfillDeclared                    // those that end in time, by the lifetime that they declare
	BackfillPreemptable                 // all; those that may not end in time are ended when the room is needed
)

func (b Backfill) String() string { return pick(int(b), "off", "declared", "preemptable") }

// Weight returns the weight of a user in the queue, which is 1 if none is configured.
func (q *Queue) Weight(user string) yarn.Fraction {
	i, ok := slices.BinarySearchFunc(q.UserWeights, user, func(w UserWeight, u string) int {
		return strings.Compare(w.User, u)
	})
	if !ok {
		return yarn.One
	}
	return q.UserWeights[i].Weight
}

// Changes returns names for what differs between queue i and queue k of the configuration to.
func (c *Config) Changes(i int, to *Config, k int) (names []string) {
	a, b := &c.Queues[i], &to.Queues[k]
	for _, x := range []struct {
		name string
		same bool
	}{
		{"capacity", a.Capacity == b.Capacity},
		{"maximum-capacity", a.MaxCapacity == b.MaxCapacity},
		{"user-limit-factor", a.UserLimitFactor == b.UserLimitFactor && a.UserLimitOff == b.UserLimitOff},
		{"minimum-user-limit-percent", a.MinUserLimitPercent == b.MinUserLimitPercent},
		{"user-settings", slices.Equal(a.UserWeights, b.UserWeights)},
		{"maximum-applications", a.MaximumApplications == b.MaximumApplications},
		{"maximum-am-resource-percent", a.MaxAMPercent == b.MaxAMPercent},
		{"max-parallel-apps", a.MaxParallelApps == b.MaxParallelApps},
		{"maximum-allocation", a.MaxAlloc == b.MaxAlloc},
		{"application lifetimes", a.MaxLifetime == b.MaxLifetime && a.DefaultLifetime == b.DefaultLifetime},
		{"ordering-policy", a.LeafOrder == b.LeafOrder && a.ChildOrder == b.ChildOrder &&
			a.SizeBasedWeight == b.SizeBasedWeight},
		{"priority", a.Priority == b.Priority && a.DefaultAppPriority == b.DefaultAppPriority},
		{"priority access", slices.EqualFunc(a.PriorityACLs, b.PriorityACLs, func(x, y PriorityACL) bool {
			return x.ACL.String() == y.ACL.String() && x.Max == y.Max && x.Default == y.Default && x.HasDefault == y.HasDefault
		})},
		{"access", a.SubmitACL.String() == b.SubmitACL.String() && a.AdministerACL.String() == b.AdministerACL.String()},
		{"labels", slices.Equal(a.Accessible, b.Accessible) && a.DefaultLabel == b.DefaultLabel &&
			slices.Equal(labelled(a), labelled(b))},
		{"preemption", a.DisablePreemption == b.DisablePreemption && a.DisableIntraPreemption == b.DisableIntraPreemption},
		{"allow-zero-capacity-sum", a.AllowZeroCapacitySum == b.AllowZeroCapacitySum},
		{"backfill", a.Backfill == b.Backfill},
		{"node-order", a.NodeOrder == b.NodeOrder && slices.Equal(a.labelOrders, b.labelOrders)},
		{"removal", a.AutoRemove == b.AutoRemove},
	} {
		if !x.same {
			names = append(names, x.name)
		}
	}
	return names
}

// labelled returns the label settings of a queue, without the shares, which also depend on its
// siblings.
func labelled(q *Queue) []LabelCapacity {
	out := slices.Clone(q.Labels)
	for i := range out {
		out[i].abs = share.Share{}
	}
	return out
}
