package planner

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// What a call may carry is bounded where it enters (package input). These bound what
// many calls may leave behind in the state.
const (
	maxNodes     = 1 << 18 // records of nodes; yarn.MaxAmount counts on it
	maxNames     = 1 << 20 // names that the state keeps: hosts, racks and users
	maxAskNames  = 1 << 19 // of them, so many before AMs may bring no more
	maxKeys      = 5_000   // keys of one application; each ask walks them
	maxLocations = 100_000 // hosts and racks under one key
	maxBlacklist = 20_000  // names on one blacklist
)

// checkDemand refuses a call after which an application would wait for more than sums
// have room for, or would fill the leader's memory. It counts what the call repeats
// twice: nothing sensible comes near a bound.
func (p *Planner) checkDemand(slot uint32, in *input.Allocate) *input.Fault {
	a := p.st.Apps.Get(slot)
	demand, strange := a.Pending, 0
	places := map[yarn.SchedulerKey]int32{} // looked up by key only
	for i := range in.Asks {
		k := &in.Asks[i]
		if k.Name == yarn.Any {
			demand = demand.Add(k.Size.Times(k.Count))
			places[k.Key] += 0 // a key of the call
			continue
		}
		if places[k.Key]++; places[k.Key] == 1 {
			if ask := p.st.Ask(a, k.Key); ask != 0 {
				places[k.Key] += p.st.Asks.Get(ask).Entries
			}
		}
		if places[k.Key] > maxLocations {
			return input.Faultf(input.TooLarge, "ask for racks instead of hosts", "priority %d asks at more than %d hosts and racks", k.Key.Priority, maxLocations)
		}
		strange += boolToInt(p.st.NameID(k.Name) == 0)
	}
	for _, name := range in.BlacklistAdd {
		strange += boolToInt(p.st.NameID(name) == 0)
	}
	for i := range in.Updates {
		demand = demand.Add(yarn.ComponentMax(in.Updates[i].Size, yarn.Resource{}))
	}
	return p.demandFault(a, in, demand, len(places), strange)
}

func (p *Planner) demandFault(a *state.App, in *input.Allocate, demand yarn.Resource, keys, strange int) *input.Fault {
	for ask := a.Asks; ask != 0 && keys > 0 && keys <= maxKeys; ask = p.st.Asks.Get(ask).Next {
		keys++
	}
	switch {
	case !demand.Within(uniform(yarn.MaxDemand)):
		return input.Faultf(input.InvalidAsk, "ask for less", "the application would wait for %s, at most %d of each kind are taken", p.Config().Kinds.Format(demand), yarn.MaxDemand)
	case keys > maxKeys:
		return input.Faultf(input.TooLarge, "ask under fewer keys", "the application would have more than %d keys of priority and allocation request id", maxKeys)
	case len(a.Blacklist)+len(in.BlacklistAdd) > maxBlacklist:
		return input.Faultf(input.TooLarge, "take names off the blacklist", "the blacklist would have more than %d names", maxBlacklist)
	case strange > 0 && p.st.Names.Len()+strange > maxAskNames:
		return input.Faultf(input.TooLarge, "ask at hosts and racks of the cluster", "the call has %d names of hosts and racks that the cluster does not know, and it has heard of too many already", strange)
	}
	return nil
}

// roomForNames refuses a user, or places of an AM, when too many names are kept.
func (p *Planner) roomForNames(in *input.SubmitApplication) *input.Fault {
	strange := 0
	for i := range in.AMPlaces {
		strange += boolToInt(p.st.NameID(in.AMPlaces[i].Name) == 0)
	}
	switch {
	case strange > 0 && p.st.Names.Len()+strange > maxAskNames:
		return input.Faultf(input.TooLarge, "name hosts and racks of the cluster", "the AM is asked at %d places that the cluster does not know, and it has heard of too many already", strange)
	case p.st.NameID(in.User) == 0 && p.st.Names.Len() >= maxNames:
		return input.Faultf(input.TooLarge, "submit as a user that has submitted before", "the cluster has heard of %d users, hosts and racks and takes no more", maxNames)
	}
	return nil
}

// roomForNode refuses a node that was never there when the records are used up.
func (p *Planner) roomForNode(slot uint32) *input.Fault {
	if slot != 0 || p.st.Nodes.Len() < maxNodes {
		return nil
	}
	return input.Faultf(input.TooLarge, "bring it back under the name and port of a node that left", "the cluster has had %d nodes and takes no new one", maxNodes)
}

// shrinkHuge brings nodes to what a node may have. An older build took any number.
func (p *Planner) shrinkHuge() {
	var huge []uint32
	p.st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		if !n.Total.Within(largestNode) || !n.SetTotal.Within(largestNode) {
			huge = append(huge, slot)
		}
		return true
	})
	for _, slot := range huge {
		n := p.st.Nodes.Get(slot)
		total := n.Total
		if n.TotalSet {
			total = n.SetTotal
		}
		p.changeTotal(slot, yarn.ComponentMin(total, largestNode), n.TotalSet)
	}
	if len(huge) > 0 {
		p.sched.ActivateAll()
	}
}

// largestNode is the most that a node may have.
var largestNode = uniform(yarn.MaxAmount)

func uniform(v int64) (r yarn.Resource) {
	for i := range r {
		r[i] = v
	}
	return r
}

// changeTotal gives a node another total; a reservation that does not fit any more is
// cancelled first.
func (p *Planner) changeTotal(slot uint32, total yarn.Resource, set bool) {
	p.sched.CancelLarger(slot, total)
	p.sched.Emit(&event.NodeResourceChanged{Node: slot, Total: total, Set: set})
	p.sched.NodeFreed(slot)
}
