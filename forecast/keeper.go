package forecast

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
)

// Keeper forecasts now and then when what waits will start, and follows what is decided, for a Record.
type Keeper struct {
	Record  *Record
	Options Options
	// Due, if any, is told of each promise that comes due.
	Due      func(Outcome)
	reserved map[uint64]Ask // by the reservation's number
}

// NewKeeper goes on with a record from a state, to which the log up to an index has led. If the record
// was not followed so far, promises that may have come due meanwhile are dropped. So is the record of
// another cluster.
func NewKeeper(st *state.State, index uint64, r *Record, o Options) *Keeper {
	if r == nil || r.Cluster != st.Meta.ClusterID {
		r = NewRecord(st.Meta.ClusterID)
	}
	k := &Keeper{Record: r, Options: o, reserved: map[uint64]Ask{}}
	st.Reservations.Each(func(_ uint32, v *state.Reservation) bool {
		k.reserved[v.Number] = Ask{st.Apps.Get(v.App).ID.Seq, v.Key}
		return true
	})
	if index <= r.Index {
		return k
	}
	r.Index = index
	waits := waitingSet(st)
	r.drop(func(ask Ask, p Promise) bool {
		return waits[ask] && p.AtMillis <= st.Meta.NowMillis && p.Number == nextNumber(st, ask)
	})
	return k
}

// Apply follows the decisions of an entry of the log, made at a time. False: it comes once more, because
// a replica began with an older state, and changes nothing.
func (k *Keeper) Apply(index uint64, now int64, events []event.Event) bool {
	for _, e := range events {
		switch e := e.(type) {
		case *event.ContainerAllocated:
			k.started(index, now, Ask{e.App, e.Key})
		case *event.ContainerLent:
			k.started(index, now, Ask{e.App, e.Key})
		case *event.ReservationMade:
			k.reserved[e.Reservation] = Ask{e.App, e.Key}
		case *event.ReservationCancelled:
			delete(k.reserved, e.Reservation)
		case *event.ReservationFulfilled:
			k.started(index, now, k.reserved[e.Reservation])
			delete(k.reserved, e.Reservation)
		}
	}
	fresh := index > k.Record.Index
	k.Record.Index = max(k.Record.Index, index)
	return fresh
}

func (k *Keeper) started(index uint64, now int64, ask Ask) {
	if index <= k.Record.Index {
		return
	}
	if o, ok := k.Record.Started(now, ask); ok && k.Due != nil {
		k.Due(o)
	}
}

// Forecast promises a start to all that waits and has no promise yet, in a state to which everything
// that was followed leads. It returns for how many no start is foreseen.
func (k *Keeper) Forecast(st *state.State, now int64) (none int, err error) {
	waits := waitingSet(st)
	k.Record.drop(func(ask Ask, _ Promise) bool { return waits[ask] })
	var asks []Ask
	for _, ask := range Waiting(st) {
		if _, ok := k.Record.Open(ask); !ok && len(k.Record.open)+len(asks) < maxOpen {
			asks = append(asks, ask)
		}
	}
	if len(asks) == 0 {
		return 0, nil
	}
	starts, err := Run(st, now, asks, k.Options)
	if err != nil {
		return 0, err
	}
	factors := k.Record.factorsAt(now)
	for i := range starts {
		s := &starts[i]
		if len(s.Delays) == 0 || s.Quantile(50) == Never {
			none++
			continue
		}
		k.Record.promise(factors, now, s.Ask, nextNumber(st, s.Ask), s.Quantile(50))
	}
	return none, nil
}

func waitingSet(st *state.State) map[Ask]bool {
	out := map[Ask]bool{}
	for _, ask := range Waiting(st) {
		out[ask] = true
	}
	return out
}

func nextNumber(st *state.State, ask Ask) uint64 {
	return st.Apps.Get(st.App(ask.App)).NextNumber
}
