package entitlement

import "rmd/yarn"

// Leaf is a leaf queue whose applications may take from each other. All amounts are those of one
// partition.
type Leaf struct {
	Calculator yarn.Calculator
	Cluster    yarn.Resource
	MinAlloc   yarn.Resource

	Guaranteed yarn.Resource
	Used       yarn.Resource
	AMUsed     yarn.Resource // by the AMs of activated applications
	ToTake     yarn.Resource // what is taken for other leaves
	Users      []LeafUser
	Apps       []LeafApp // in the order in which the leaf serves them
}

// LeafUser is a user of a leaf.
type LeafUser struct {
	Limit        yarn.Resource // computed over all users, also those that want nothing; includes AMs
	Used, AMUsed yarn.Resource
}

// LeafApp is an application of a leaf.
type LeafApp struct {
	User     int // index in Leaf.Users
	Priority int32
	Used     yarn.Resource // AMUsed included, without reservations
	AMUsed   yarn.Resource
	Pending  yarn.Resource // including asks with reservations
	Chosen   yarn.Resource // the part of Used that has already been chosen to end
}

// AppShare says what an application must give to others of its leaf, and what it lacks.
type AppShare struct {
	ToTake yarn.Resource
	Lacks  yarn.Resource // the part of its ideal that it does not have, before others give
	// ForPriority says that the first application that it gives to has a higher priority. If not,
	// its own user is above the user limit.
	ForPriority bool
}

// AppShares computes what each application must give to others, at most budget in total. The result
// is parallel to l.Apps.
//
// Source: Hadoop 3.4.2, FifoIntraQueuePreemptionPlugin.computeAppsIdealAllocation.
func (l *Leaf) AppShares(s *Settings, budget yarn.Resource) []AppShare {
	if len(l.Apps) <= 1 {
		return make([]AppShare, len(l.Apps))
	}
	c := &leafCalculation{Leaf: l, order: s.Intra.Order, apps: make([]appNode, len(l.Apps)),
		users: make([]userNode, len(l.Users))}
	for i := range l.Users {
		u := &l.Users[i]
		c.users[i].limit, c.users[i].used = u.Limit.Sub(u.AMUsed), u.Used.Sub(u.AMUsed)
	}
	c.distribute(s.Intra.ConservativeDRF)
	for i := range c.apps {
		c.apps[i].share.Lacks = c.apps[i].lacks
	}
	c.offer(c.budget(s, budget))
	c.takeFromOthers()
	shares := make([]AppShare, len(l.Apps))
	for i := range c.apps {
		shares[i] = c.apps[i].share
	}
	return shares
}

// leafCalculation is the state of one call of AppShares.
type leafCalculation struct {
	*Leaf
	order IntraOrder
	apps  []appNode
	users []userNode
}

type appNode struct {
	ideal yarn.Resource // what the application should have, without its AM
	lacks yarn.Resource // the part of ideal that it does not have
	gives yarn.Resource // what it can give: what it has above ideal, within the budget
	share AppShare
	keeps yarn.Resource // what it uses, without its AM and the chosen containers
}

type userNode struct {
	limit, used yarn.Resource // without AMs
	ideal       yarn.Resource
	chosen      yarn.Resource
	hasGiven    bool // it has given all that it had above its limit
}

// distribute divides what the leaf may use among its applications, in order, each within the limit
// of its user.
func (c *leafCalculation) distribute(conservative bool) {
	left := c.Used.Sub(c.ToTake).Sub(c.AMUsed)
	for i := range c.apps {
		a, app := &c.apps[i], &c.Apps[i]
		u := &c.users[app.User]
		u.chosen = u.chosen.Add(app.Chosen)
		a.keeps = app.Used.Sub(app.AMUsed).Sub(app.Chosen)
		if !c.above(left) || conservative && !c.Calculator.AllAboveZero(left) || c.compare(u.ideal, u.limit) >= 0 {
			continue
		}
		a.ideal = c.min(left, c.min(a.keeps.Add(app.Pending), u.limit.Sub(u.ideal)))
		u.ideal = u.ideal.Add(a.ideal)
		if c.compare(a.ideal, a.keeps) > 0 {
			a.lacks = a.ideal.Sub(a.keeps)
		}
		left = subtract(left, a.ideal)
	}
}

// budget returns the most that the applications may give in this round.
func (c *leafCalculation) budget(s *Settings, left yarn.Resource) yarn.Resource {
	most := MultiplyFloat(c.Guaranteed, s.Intra.MaxAllowable)
	if c.compare(most, c.ToTake) <= 0 {
		return c.min(yarn.Resource{}, left)
	}
	return c.min(most.Sub(c.ToTake), left)
}

// offer computes what each application can give. It begins with the last application.
func (c *leafCalculation) offer(budget yarn.Resource) {
	for i := len(c.apps) - 1; i >= 0; i-- {
		a, app := &c.apps[i], &c.Apps[i]
		if !c.above(budget) || !c.above(app.Used) {
			continue
		}
		gives := subtract(subtract(app.Used.Sub(a.ideal), app.Chosen), app.AMUsed)
		if c.order == UserLimitFirst {
			gives = subtract(gives, c.MinAlloc)
		}
		if c.compare(gives, yarn.Resource{}) < 0 {
			gives = yarn.Resource{}
		}
		a.gives = c.min(gives, budget)
		budget = subtract(budget, a.gives)
	}
}

// takeFromOthers lets each application that lacks something, in order, take from those that can
// give, beginning with the last.
func (c *leafCalculation) takeFromOthers() {
	for high := range c.apps {
		if !c.above(c.apps[high].lacks) {
			continue
		}
		for low := len(c.apps) - 1; low >= 0; low-- {
			if !c.apps[high].lacks.IsZero() && c.mayTake(high, low) {
				c.take(high, low)
			}
		}
	}
}

// mayTake reports whether application high may take from application low, and low can still give.
func (c *leafCalculation) mayTake(high, low int) bool {
	gives := &c.apps[low]
	return c.above(gives.gives) && c.compare(gives.gives, gives.share.ToTake) > 0 && c.MayTake(high, low, c.order)
}

// MayTake reports whether application high may take from application low. From an application of
// the same user it may only if that has a lower priority. With order UserLimitFirst, other users
// must be above their limit.
func (l *Leaf) MayTake(high, low int, order IntraOrder) bool {
	a, b := &l.Apps[high], &l.Apps[low]
	if a.User == b.User {
		return b.Priority < a.Priority
	}
	return order != UserLimitFirst || l.aboveLimit(b.User)
}

// aboveLimit reports whether a user uses more than its limit, both without AMs.
func (l *Leaf) aboveLimit(user int) bool {
	u := &l.Users[user]
	return l.Calculator.Compare(l.Cluster, u.Used.Sub(u.AMUsed), u.Limit.Sub(u.AMUsed)) > 0
}

func (c *leafCalculation) take(high, low int) {
	a, b := &c.Apps[high], &c.Apps[low]
	lacks, gives := &c.apps[high].lacks, &c.apps[low]
	most := gives.gives.Sub(gives.share.ToTake)
	if a.User != b.User && a.Priority == b.Priority && c.aboveLimit(b.User) {
		u := &c.users[b.User]
		over := u.used.Sub(u.chosen).Sub(u.limit)
		if u.hasGiven {
			over = yarn.Resource{}
		}
		if c.compare(over, most) < 0 {
			u.hasGiven, most = true, over
		}
	}
	if !c.above(most) {
		return
	}
	taken := c.min(*lacks, most)
	if gives.share.ToTake.IsZero() {
		gives.share.ForPriority = a.Priority > b.Priority
	}
	*lacks, gives.share.ToTake = lacks.Sub(taken), gives.share.ToTake.Add(taken)
}

func (c *leafCalculation) compare(a, b yarn.Resource) int {
	return c.Calculator.Compare(c.Cluster, a, b)
}
func (c *leafCalculation) above(a yarn.Resource) bool { return c.compare(a, yarn.Resource{}) > 0 }

func (c *leafCalculation) min(a, b yarn.Resource) yarn.Resource {
	if c.compare(a, b) <= 0 {
		return a
	}
	return b
}

// subtract returns a − b, but at least 0 for each component.
func subtract(a, b yarn.Resource) yarn.Resource {
	return yarn.ComponentMax(a.Sub(b), yarn.Resource{})
}
