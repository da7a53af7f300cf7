package planner

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// maxApplication is the largest sequence number of an application. In Hadoop's protocol it is a
// signed 32-bit number.
const maxApplication = math.MaxInt32

func noMoreIDs() *input.Fault {
	return input.Faultf(input.TooLarge, "back the cluster up and restore it: the ids start over", "the ids of applications are used up")
}

func alreadyEnded(a *state.App) *input.Fault {
	return input.Faultf(input.AlreadyEnded, "", "application %s is %s", a.ID, a.Shown())
}

// idBlock has the ids that this planner has reserved in the log and not given yet: from next to
// end, without end.
//
// Ids are unique although most of them are given without a log entry. A block begins at NextApp of
// the state, and the event that reserves it moves NextApp to the end of the block. NextApp never
// decreases, and after a restore ids have another cluster timestamp. So no two committed blocks
// share an id, no matter which leaders reserved them. A reply waits until all earlier events of its
// leader are committed, so no id leaves before its block is committed. A deposed leader therefore
// gives only ids from its own block, and its successor's blocks begin after it. A planner that
// starts on another state, after a restart, a restore or a change of leader, has no block; the rest
// of the earlier block is lost.
type idBlock struct{ next, end uint32 }

// idBlockSize is the number of ids that one entry reserves.
const idBlockSize = 1000

// nextID returns the id of the next application, and whether it is from the block.
func (p *Planner) nextID() (seq uint32, reserved bool) {
	if p.ids.next < p.ids.end {
		return p.ids.next, true
	}
	return max(p.st.Meta.NextApp, 1), false
}

// contains reports whether an id is reserved and not given yet.
func (b idBlock) contains(seq uint32) bool { return b.next <= seq && seq < b.end }

// newApplication gives an application id.
func (p *Planner) newApplication(in *input.NewApplication) input.Reply {
	seq, reserved := p.nextID()
	switch {
	case seq > maxApplication:
		return input.Refuse(in, noMoreIDs())
	case reserved:
		p.ids.next++
	default:
		n := min(idBlockSize, maxApplication-seq+1)
		p.sched.Emit(&event.ApplicationIDsReserved{App: seq, Count: n})
		p.ids = idBlock{next: seq + 1, end: seq + n}
	}
	return &input.NewApplicationReply{ID: yarn.ApplicationID{ClusterTimestamp: p.st.Meta.ClusterTimestamp, Seq: seq}, Maximum: p.st.Nodes.MaximumAllocation(p.Config().MaxAlloc)}
}

// setLifetime changes an application's lifetime, up to the maximum of its queue.
func (p *Planner) setLifetime(in *input.SetLifetime) input.Reply {
	slot := p.st.Apps.ByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	a := p.st.Apps.Get(slot)
	switch {
	case a.Shown().Ended():
		return input.Refuse(in, alreadyEnded(a))
	case in.LifetimeMillis < 0:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "give a time of zero or more; zero is no bound", "a lifetime of %d ms is not valid", in.LifetimeMillis))
	}
	millis := in.LifetimeMillis
	if most := p.Config().Queues[p.sched.LeafOf(a)].MaxLifetime * 1000; most > 0 && (millis == 0 || millis > most) {
		millis = most
	}
	if millis != a.LifetimeMillis {
		p.sched.Emit(&event.ApplicationLifetimeChanged{App: a.ID.Seq, LifetimeMillis: millis})
	}
	return in.NewReply()
}

// checkPlaces checks that each place is a host or rack, and is named once.
func checkPlaces(places []yarn.Place) *input.Fault {
	named := make(map[string]bool, len(places)) // looked up by key only
	for _, p := range places {
		if p.Name == "" || p.Name == yarn.Any || named[p.Name] {
			return input.Faultf(input.InvalidAsk, "name each host and rack once", "the AM is asked for at %q, which is not a host or rack, or is named twice", p.Name)
		}
		named[p.Name] = true
	}
	return nil
}
