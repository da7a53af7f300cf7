package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Gangs has the gangs of applications that have not ended, by the slot of the App.
type Gangs struct{ table.Table[AppSlot, Gang] }

// GangState is the state of an application's gang.
type GangState uint8

// The states of a gang; append only.
const (
	GangAsking   GangState = iota // the attempt asks for fewer containers than the gang has members
	GangWaiting                   // the attempt asks for all members, and none is allocated
	GangStarting                  // only within a batch: not all members are allocated yet
	GangServed                    // all members were allocated; further asks under the key are not the gang's
	GangOver                      // the gang timed out; its ask is served container by container
)

// Gang is an application's gang. The gang's ask is the first one that the attempt sends under a key
// of the gang. No container of the ask is allocated or reserved until all members can start.
type Gang struct {
	Spec  yarn.Gang
	State GangState
	// Bound means that the attempt has sent the gang's ask, under Key.
	Bound bool
	Key   yarn.SchedulerKey
	// AskedMillis is when the attempt asked for the first member, SinceMillis when it had asked for
	// all. The gang's age counts from SinceMillis.
	AskedMillis, SinceMillis int64
	ExpectedMillis           int64 // when its reservations are expected to suffice; 0: it has none
	Left                     int64 // members not allocated yet; above 0 only in GangStarting
}

// HoldsBack reports whether containers of the gang's ask must not be allocated one by one.
func (g *Gang) HoldsBack() bool { return g.State == GangAsking || g.State == GangWaiting }

// Of returns the gang to which an ask belongs, or nil.
func (t *Gangs) Of(k *Ask) *Gang {
	if t.Len() == 0 || k.AM || k.IncreaseOf != 0 || !t.Has(k.App) {
		return nil
	}
	if g := t.Get(k.App); g.Bound && g.Key == k.Key {
		return g
	}
	return nil
}

// HoldsBack reports whether an ask belongs to a gang that has not started.
func (t *Gangs) HoldsBack(k *Ask) bool {
	g := t.Of(k)
	return g != nil && g.HoldsBack()
}

// Follow updates an application's gang after the count of an ask has changed.
func (t *Gangs) Follow(m *Meta, k *Ask) {
	if t.Len() == 0 || k.AM || k.IncreaseOf != 0 || !t.Has(k.App) {
		return
	}
	if g := t.Get(k.App); g.Spec.IsOf(k.Key) && (!g.Bound || g.Key == k.Key) {
		g = t.Mut(k.App)
		g.follow(k, m.NowMillis)
		m.Fold(uint64(k.App)<<8 | uint64(g.State))
		m.Fold(uint64(g.SinceMillis))
	}
}

// follow updates the gang after the count of its ask has changed.
func (g *Gang) follow(k *Ask, now int64) {
	switch {
	case g.State == GangStarting:
		if g.Left--; g.Left == 0 {
			g.State = GangServed
		}
	case !g.HoldsBack():
	case k.Count == 0:
		*g = Gang{Spec: g.Spec}
	case !g.Bound && k.Reservations != 0: // the reservations were made before the gang was declared
	default:
		if !g.Bound {
			g.Bound, g.Key, g.AskedMillis = true, k.Key, now
		}
		if complete := k.Count >= g.Spec.Count; complete != (g.State == GangWaiting) {
			g.State, g.SinceMillis = GangAsking, 0
			if complete {
				g.State, g.SinceMillis = GangWaiting, now
			}
		}
	}
}

// Drop removes the gang of an application.
func (t *Gangs) Drop(app AppSlot) {
	if t.Has(app) {
		table.Release(&t.Table, app)
	}
}

// Code encodes the record, or decodes into it.
func (g *Gang) Code(c *codec.Coder) {
	c.Gang(&g.Spec)
	codec.Enum(c, &g.State)
	c.Bool(&g.Bound)
	c.Key(&g.Key)
	c.I64(&g.AskedMillis)
	c.I64(&g.SinceMillis)
	c.I64(&g.ExpectedMillis)
	c.I64(&g.Left)
}
