package planner

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// asks checks and stores what AMs ask for.
type asks struct {
	sched  *scheduler.Scheduler
	st     *state.State
	sizes  sizeRules
	labels labelRules
}

// check returns a fault if anything in a call is wrong, before any part of it takes effect. A
// size above the queue's largest container is such a fault.
func (as *asks) check(slot state.AppSlot, in *input.Allocate) *input.Refusal {
	if fault := as.checkDemand(slot, in); fault != nil {
		return fault
	}
	if len(in.Asks) == 0 {
		return nil
	}
	a := as.st.Apps.Get(slot)
	leaf := int(as.sched.LeafOf(a))
	anyAsked := make(map[yarn.SchedulerKey]bool) // looked up by key only
	for i := range in.Asks {
		if k := &in.Asks[i]; k.Name == yarn.Any {
			anyAsked[k.Key] = true
		}
	}
	for i := range in.Asks {
		k := &in.Asks[i]
		switch {
		case k.Name == "":
			return input.Refusef(input.InvalidAsk, "name a host, a rack or \"*\"", "ask %d names no place", i+1)
		case k.Count < 0 || k.Count > input.MaxCount:
			return input.Refusef(input.InvalidAsk, "ask between 0 and 1,000,000", "ask %d wants %d containers", i+1, k.Count)
		case k.Size.Negative() || (k.Count > 0 && k.Size[yarn.Memory] == 0):
			return input.Refusef(input.InvalidAsk, "ask memory above zero", "ask %d has the size %s", i+1,
				as.sched.Config.Kinds.Format(k.Size))
		case k.Name != yarn.Any && k.Count > 0 && !anyAsked[k.Key] && as.st.Asks.Find(a, k.Key) == 0:
			return input.Refusef(input.InvalidAsk, "ask \"*\" under the same key",
				"ask %d for %q has no ask for \"*\" beside it", i+1, k.Name)
		}
		if fault := as.sizes.neverFits(k.Size, &as.sched.Config.Queues[leaf], "ask "+k.Name); fault != nil && k.Count > 0 {
			fault.Reason = input.InvalidAsk
			return fault
		}
		if fault := as.labels.checkAsk(a, leaf, k); fault != nil {
			return fault
		}
	}
	return nil
}

// store stores what an attempt asks for. Counts are absolute. Asks for "*" come first, because those
// for hosts and racks need their key. It drops asks for hosts and racks that are not admitted.
func (as *asks) store(slot state.AppSlot, asks []input.Ask, admitted func(name string) bool) {
	if len(asks) == 0 {
		return
	}
	asks = lastOfEach(asks)
	slices.SortStableFunc(asks, func(x, y input.Ask) int { return cmp.Compare(rankOf(x.Name), rankOf(y.Name)) })
	leaf := int(as.sched.LeafOf(as.st.Apps.Get(slot)))
	for i := range asks {
		k := &asks[i]
		size := as.sizes.normalize(k.Size, leaf)
		if ask := as.st.Asks.Find(as.st.Apps.Get(slot), k.Key); k.Count == 0 && ask != 0 {
			size = as.st.Asks.Get(ask).Size // of its reservations, which eager-cancel may leave for a while
		}
		if k.Name == yarn.Any && k.Count > 0 {
			as.sched.CancelOtherSizes(slot, k.Key, 0, size)
		}
		if !as.unchanged(slot, k, size) && (k.Name == yarn.Any || admitted(k.Name)) {
			as.sched.Emit(&event.AskChanged{App: as.st.Apps.Get(slot).ID.Seq, Key: k.Key, Name: k.Name, Count: k.Count,
				Size: size, Relax: k.Relax})
		}
		as.label(slot, leaf, k)
	}
	for i := range asks {
		if ask := as.st.Asks.Find(as.st.Apps.Get(slot), asks[i].Key); ask != 0 {
			k := as.st.Asks.Get(ask)
			as.sched.UpdateCounts(slot, k.Key, k.Opportunities, k.ReReservations)
		}
	}
	as.sched.CancelUnwanted(slot)
	as.sched.AsksMore(slot)
}

// lastOfEach returns the asks of a call without those that a later ask for the same place and key
// replaces. YARN treats a call in the same way.
func lastOfEach(asks []input.Ask) []input.Ask {
	type place struct {
		key  yarn.SchedulerKey
		name string
	}
	last := make(map[place]int, len(asks)) // looked up by place only
	for i := range asks {
		last[place{asks[i].Key, asks[i].Name}] = i
	}
	out := make([]input.Ask, 0, len(last))
	for i := range asks {
		if last[place{asks[i].Key, asks[i].Name}] == i {
			out = append(out, asks[i])
		}
	}
	return out
}

func rankOf(name string) int {
	if name == yarn.Any {
		return 0
	}
	return 1
}

// unchanged reports whether an ask repeats what is stored, or removes what is not stored.
func (as *asks) unchanged(slot state.AppSlot, k *input.Ask, size yarn.Resource) bool {
	a := as.st.Apps.Get(slot)
	ask := as.st.Asks.Find(a, k.Key)
	if ask == 0 {
		return k.Count == 0 || k.Name != yarn.Any // a place without "*" has no effect
	}
	s := as.st.Asks.Get(ask)
	if k.Name == yarn.Any {
		return s.Count == k.Count && s.Relax == k.Relax && (s.Size == size || k.Count == 0)
	}
	loc := as.st.Location(s, as.st.Names.Find(k.Name))
	if loc == 0 {
		return k.Count == 0 || s.Count == 0
	}
	l := as.st.Locations.Get(loc)
	return l.Count == k.Count && l.Relax == k.Relax
}

// blacklist changes the attempt's blacklist. It does not add hosts and racks that are not admitted.
func (as *asks) blacklist(slot state.AppSlot, in *input.Allocate, admitted func(name string) bool) {
	if len(in.BlacklistAdd)+len(in.BlacklistRemove) == 0 {
		return
	}
	e := &event.BlacklistChanged{App: in.Attempt.App.Seq, Remove: in.BlacklistRemove}
	for _, name := range in.BlacklistAdd {
		if admitted(name) {
			e.Add = append(e.Add, name)
		}
	}
	as.sched.Emit(e)
	as.sched.CancelBlacklisted(slot)
	as.sched.AsksMore(slot)
}
