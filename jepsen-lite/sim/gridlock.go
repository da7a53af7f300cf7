package sim

import (
	"context"
	"math/rand"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// gridlock says whether nothing that anybody waits for fits anywhere: AMs take the room
// that the others wait for, and none will end. So it is with YARN, where somebody must
// kill one of them; it is named here.
func gridlock(st *state.State) (victim yarn.ApplicationID, locked bool) {
	fits := false
	st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		room := n.Unallocated()
		if n.Reservation != 0 {
			fits = fits || st.Reservations.Get(n.Reservation).Size.Within(room)
			return !fits
		}
		st.Asks.Each(func(_ uint32, k *state.Ask) bool {
			fits = fits || k.Count > 0 && k.Size.Within(room)
			return !fits
		})
		return !fits
	})
	if fits {
		return victim, false
	}
	st.Asks.Each(func(_ uint32, k *state.Ask) bool {
		if a := st.Apps.Get(k.App); k.Count > 0 && a.AttemptState == state.AttemptRegistered {
			victim, locked = a.ID, true
		}
		return !locked
	})
	return victim, locked
}

// unlock ends a gridlock, when there is one.
func (d *driver) unlock() bool {
	r := d.w.leading()
	if r == nil {
		return false
	}
	l, up := r.now()
	if !up {
		return false
	}
	st, _ := l.machine.Fork()
	id, locked := gridlock(st)
	if !locked {
		return false
	}
	d.note("%s is killed: nothing that is asked for fits beside all the AMs", id)
	c := &caller{w: d.w, name: "unlock", rng: rand.New(rand.NewSource(d.rng.Int63()))}
	ctx, cancel := context.WithTimeout(d.w.ctx, 20*time.Second)
	defer cancel()
	reply, ok := c.call(ctx, input.Request{Input: &input.KillApplication{ID: id, User: st.NameOf(st.Apps.Get(st.App(id.Seq)).User)}})
	return ok && reply.Refused() == nil
}
