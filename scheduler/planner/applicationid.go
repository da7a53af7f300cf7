package planner

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// maxApplication is the largest sequence number of an application: on Hadoop's
// wire it is a signed number of 32 bits.
const maxApplication = math.MaxInt32

func noMoreIDs() *input.Fault {
	return input.Faultf(input.TooLarge, "back the cluster up and restore it: the ids start over", "the ids of applications are used up")
}

func alreadyEnded(a *state.App) *input.Fault {
	return input.Faultf(input.AlreadyEnded, "", "application %s is %s", a.ID, a.Shown())
}

// idBlock is the rest of the ids that this planner has reserved in the log: from next up to, and
// without, end.
//
// An id is unique although it is handed out without an entry of its own. A block begins at the
// state's NextApp and moves NextApp behind it, in one entry; NextApp never decreases, and a restore
// gives ids another cluster timestamp. So no two committed blocks share an id, whichever leader
// reserved them. A reply waits for what its planner proposed before, so the first id leaves when
// the block is committed, and so do the others. A deposed leader therefore hands out only what is
// its own for ever: its successor's state has the block, and begins behind it. A planner that
// begins on another state, after a restart, a restore or a change of leader, has no block: what was
// left of the last one is lost.
type idBlock struct{ next, end uint32 }

// idBlockSize is how many ids one entry reserves.
const idBlockSize = 1000

// nextID is the id that the next application gets, and whether it is of the block.
func (p *Planner) nextID() (seq uint32, reserved bool) {
	if p.ids.next < p.ids.end {
		return p.ids.next, true
	}
	return max(p.st.Meta.NextApp, 1), false
}

// contains says that an id is reserved here and not handed out yet.
func (b idBlock) contains(seq uint32) bool { return b.next <= seq && seq < b.end }

// newApplication hands out an id.
func (p *Planner) newApplication(in *input.NewApplication) input.Reply {
	seq, reserved := p.nextID()
	switch {
	case seq > maxApplication:
		return input.Refuse(in, noMoreIDs())
	case reserved:
		p.ids.next++
	case p.st.Meta.Level >= event.LevelIDBlocks:
		n := min(idBlockSize, maxApplication-seq+1)
		p.sched.Emit(&event.ApplicationIDsReserved{App: seq, Count: n})
		p.ids = idBlock{next: seq + 1, end: seq + n}
	default:
		p.sched.Emit(&event.ApplicationIDGiven{App: seq})
	}
	return &input.NewApplicationReply{ID: yarn.ApplicationID{ClusterTimestamp: p.st.Meta.ClusterTimestamp, Seq: seq}, Maximum: p.Config().MaxAlloc}
}

// setLifetime changes an application's lifetime, within its queue's maximum.
func (p *Planner) setLifetime(in *input.SetLifetime) input.Reply {
	slot := p.st.AppByID(in.ID)
	if slot == 0 {
		return input.Refuse(in, input.NoSuchApp(in.ID))
	}
	a := p.st.Apps.Get(slot)
	switch {
	case a.Shown().Ended():
		return input.Refuse(in, alreadyEnded(a))
	case in.LifetimeMillis < 0:
		return input.Refuse(in, input.Faultf(input.InvalidRequest, "give a time of zero or more; zero is no bound", "a lifetime of %d ms is none", in.LifetimeMillis))
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

// checkPlaces checks that every place is a host or rack, and named once.
func checkPlaces(places []yarn.Place) *input.Fault {
	named := make(map[string]bool, len(places)) // looked up by key only
	for _, p := range places {
		if p.Name == "" || p.Name == yarn.Any || named[p.Name] {
			return input.Faultf(input.InvalidAsk, "name each host and rack once", "the AM is asked at %q, which is no host or rack, or there twice", p.Name)
		}
		named[p.Name] = true
	}
	return nil
}
