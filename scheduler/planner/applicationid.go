package planner

import (
	"math"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// maxApplication is the largest sequence number of an application. In Hadoop's protocol it is a
// signed 32-bit number.
const maxApplication = math.MaxInt32

func noMoreIDs() *input.Refusal {
	return input.Refusef(input.TooLarge, "back the cluster up and restore it: the ids start over",
		"the ids of applications are used up")
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
func (ap *applications) nextID() (seq uint32, reserved bool) {
	if ap.ids.next < ap.ids.end {
		return ap.ids.next, true
	}
	return max(ap.st.Meta.NextApp, 1), false
}

// contains reports whether an id is reserved and not given yet.
func (b idBlock) contains(seq uint32) bool { return b.next <= seq && seq < b.end }

// newID gives an application id.
func (ap *applications) newID(in *input.NewApplication) input.Reply {
	seq, reserved := ap.nextID()
	switch {
	case seq > maxApplication:
		return input.Refuse(in, noMoreIDs())
	case reserved:
		ap.ids.next++
	default:
		n := min(idBlockSize, maxApplication-seq+1)
		ap.sched.Emit(&event.ApplicationIDsReserved{App: seq, Count: n})
		ap.ids = idBlock{next: seq + 1, end: seq + n}
	}
	return &input.NewApplicationReply{ID: yarn.ApplicationID{ClusterTimestamp: ap.st.Meta.ClusterTimestamp, Seq: seq},
		Maximum: ap.st.Nodes.MaximumAllocation(ap.sched.Config.MaxAlloc)}
}
