package sim

import (
	"context"
	"math/rand"
	"time"

	"rmd/jepsen-lite/sim/gridlock"
	"rmd/jepsen-lite/sim/load"
	"rmd/scheduler/input"
)

// unlock ends a gridlock by killing an application, as an operator must. It returns false if there is
// no gridlock or no replica answers within patience.
func (d *driver) unlock(patience time.Duration) bool {
	st := d.w.led()
	if st == nil {
		return false
	}
	why := "nothing that is asked for fits beside all the AMs"
	id, locked := gridlock.Find(st, d.w.opt.Eager)
	if !locked && d.preemptsInTurn() {
		why = "containers are preempted for each other in turn"
		id, locked = gridlock.Victim(st)
	}
	if !locked {
		return false
	}
	d.note("%s is killed: %s", id, why)
	c := load.NewCaller(d.w, "unlock", rand.New(rand.NewSource(d.rng.Int63())))
	ctx, cancel := context.WithTimeout(d.w.ctx, patience)
	defer cancel()
	reply,
		ok := c.Call(ctx, input.Request{Input: &input.KillApplication{ID: id,
		User: st.Names.Text(st.Apps.Get(st.Apps.Find(id.Seq)).User)}})
	killed := ok && reply.Refused() == nil
	if killed {
		d.movedAt = time.Time{}
	}
	return killed
}

// preemptsInTurn reports whether containers have been preempted since there was progress, by YARN's
// selectors. They look at amounts only: two queues may end each other's containers for as long as
// both wait. The selector planned must not.
func (d *driver) preemptsInTurn() bool {
	return d.w.opt.Selector == "yarn" && d.w.check.Preempted() > d.preempted
}
