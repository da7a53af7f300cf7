package sim

import (
	"context"
	"math/rand"
	"time"

	"rmd/jepsen-lite/sim/gridlock"
	"rmd/jepsen-lite/sim/load"
	"rmd/scheduler/input"
)

// unlock ends a gridlock by killing an application. It returns false if there is no gridlock or no
// replica answers within patience.
func (d *driver) unlock(patience time.Duration) bool {
	st := d.w.led()
	if st == nil {
		return false
	}
	id, locked := gridlock.Find(st, d.w.opt.Eager)
	if !locked {
		return false
	}
	d.note("%s is killed: nothing that is asked for fits beside all the AMs", id)
	c := load.NewCaller(d.w, "unlock", rand.New(rand.NewSource(d.rng.Int63())))
	ctx, cancel := context.WithTimeout(d.w.ctx, patience)
	defer cancel()
	reply,
		ok := c.Call(ctx, input.Request{Input: &input.KillApplication{ID: id,
		User: st.Names.Text(st.Apps.Get(st.Apps.Find(id.Seq)).User)}})
	killed := ok && reply.Refused() == nil
	if killed {
		d.movedAt = time.Now()
	}
	return killed
}
