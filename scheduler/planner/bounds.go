package planner

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Limits of what many requests may leave in the state. Package input limits what one may contain.
const (
	maxNames     = 1 << 20 // names in the state: hosts, racks and users
	maxKeys      = 5_000   // keys of one application; each ask reads all of them
	maxLocations = 100_000 // hosts and racks under one key
	maxBlacklist = 20_000  // names on one blacklist
)

// checkDemand refuses a call after which the demand of an application could overflow sums, or the
// state could take too much memory. It counts twice what the call repeats; real applications stay
// far below the limits.
func (as *asks) checkDemand(slot state.AppSlot, in *input.Allocate) *input.Refusal {
	a := as.st.Apps.Get(slot)
	demand := a.Pending
	places := map[yarn.SchedulerKey]int32{} // looked up by key only
	for i := range in.Asks {
		k := &in.Asks[i]
		if k.Name == yarn.Any {
			demand = demand.Add(k.Size.Times(k.Count))
			places[k.Key] += 0 // add the key to the map
			continue
		}
		if places[k.Key]++; places[k.Key] == 1 {
			if ask := as.st.Asks.Find(a, k.Key); ask != 0 {
				places[k.Key] += as.st.Asks.Get(ask).Entries
			}
		}
		if places[k.Key] > maxLocations {
			return input.Refusef(input.TooLarge, "ask for racks instead of hosts",
				"priority %d asks at more than %d hosts and racks", k.Key.Priority, maxLocations)
		}
	}
	for i := range in.Updates {
		demand = demand.Add(yarn.ComponentMax(in.Updates[i].Size, yarn.Resource{}))
	}
	return as.demandFault(a, in, demand, len(places))
}

func (as *asks) demandFault(a *state.App, in *input.Allocate, demand yarn.Resource, keys int) *input.Refusal {
	for ask := a.Asks; ask != 0 && keys > 0 && keys <= maxKeys; ask = as.st.Asks.Get(ask).Next {
		keys++
	}
	switch {
	case !demand.Within(uniform(yarn.MaxDemand)):
		return input.Refusef(input.InvalidAsk, "ask for less",
			"the application would wait for %s, at most %d of each kind are taken", as.sched.Config.Kinds.Format(demand),
			yarn.MaxDemand)
	case keys > maxKeys:
		return input.Refusef(input.TooLarge, "ask under fewer keys",
			"the application would have more than %d keys of priority and allocation request id", maxKeys)
	case len(a.Blacklist)+len(in.BlacklistAdd) > maxBlacklist:
		return input.Refusef(input.TooLarge, "take names off the blacklist",
			"the blacklist would have more than %d names", maxBlacklist)
	}
	return nil
}

func uniform(v int64) (r yarn.Resource) {
	for i := range r {
		r[i] = v
	}
	return r
}
