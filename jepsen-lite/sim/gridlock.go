package sim

import (
	"context"
	"fmt"
	"math/rand"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// gridlock says whether nothing that anybody waits for can be had: AMs take the room that
// the others wait for, or what is reserved beside them is all that the queues may use, and
// none will end. So it is with YARN, where somebody must kill one of them; it is named here.
func gridlock(st *state.State) (victim yarn.ApplicationID, locked bool) {
	left, trades := leftOf(st)
	fits := false
	st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		room := n.Unallocated()
		if n.Reservation != 0 {
			fits = fits || st.Reservations.Get(n.Reservation).Size.Within(room)
			return !fits
		}
		st.Asks.Each(func(_ uint32, k *state.Ask) bool {
			fits = fits || k.Count > 0 && k.Size.Within(room) && (trades[k.App] || k.Size[yarn.Memory] <= left)
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

// leftOf is how much memory the queues may still use, in MB: what is reserved counts as
// used. The applications that hold a reservation may trade it for room elsewhere.
func leftOf(st *state.State) (left int64, trades map[uint32]bool) {
	trades = map[uint32]bool{}
	st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		left += n.Unallocated()[yarn.Memory]
		return true
	})
	st.Reservations.Each(func(_ uint32, r *state.Reservation) bool {
		left -= r.Size[yarn.Memory]
		trades[r.App] = true
		return true
	})
	return left, trades
}

// unlock ends a gridlock, when there is one and somebody answers in time.
func (d *driver) unlock(patience time.Duration) bool {
	st := d.led()
	if st == nil {
		return false
	}
	id, locked := gridlock(st)
	if !locked {
		return false
	}
	d.note("%s is killed: nothing that is asked for fits beside all the AMs", id)
	c := &caller{w: d.w, name: "unlock", rng: rand.New(rand.NewSource(d.rng.Int63()))}
	ctx, cancel := context.WithTimeout(d.w.ctx, patience)
	defer cancel()
	reply, ok := c.call(ctx, input.Request{Input: &input.KillApplication{ID: id, User: st.NameOf(st.Apps.Get(st.App(id.Seq)).User)}})
	if ok && reply.Refused() == nil {
		d.movedAt = time.Now()
	}
	return ok && reply.Refused() == nil
}

// led is what the leader has applied; nil without one.
func (d *driver) led() *state.State {
	r := d.w.leading()
	if r == nil {
		return nil
	}
	l, up := r.now()
	if !up {
		return nil
	}
	st, _ := l.machine.Fork()
	return st
}

// waiting says for a report what each node has, and why each application waits.
func (d *driver) waiting() string {
	st := d.led()
	if st == nil {
		return ""
	}
	out := ""
	st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		out += fmt.Sprintf("\n%s (%s): %s of %s free, reserved: r%d", n.ID, n.State, n.Unallocated(), n.Total, n.Reservation)
		return true
	})
	var x scheduler.Explainer
	st.Apps.Each(func(_ uint32, a *state.App) bool {
		if a.State.Ended() {
			return true
		}
		if e, err := x.Explain(st, a.ID); err != nil {
			out += fmt.Sprintf("\n%s: %v", a.ID, err)
		} else {
			out += fmt.Sprintf("\n%s in %s, uses %s: %s: %s; asks %v, holds %v", a.ID, e.Queue, a.Used, e.Reason, e.Text, e.Asks, e.Reserved)
		}
		return true
	})
	return out
}
