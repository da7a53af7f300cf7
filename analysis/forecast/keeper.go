package forecast

import (
	"maps"

	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/internal/boolint"
)

// Keeper regularly forecasts when waiting asks will start, and follows the log to compare the
// forecasts with the starts, for a Record.
type Keeper struct {
	Record  *Record
	Options Options
	// Due, if not nil, is called with each promise that comes due.
	Due  func(Outcome)
	none map[Ask]bool // waiting asks that Record.None counts
	// since has the first starts of asks since the last Begin, in Unix milliseconds.
	since map[Ask]int64
	// Deepest is the largest number of asks that waited at a forecast.
	Deepest int
}

// NewKeeper returns a Keeper that continues a record. st is the state at the given index of the
// log. If the record ends before that index, NewKeeper drops the promises that may have come due
// since. It starts a new record if r is nil or belongs to another cluster.
func NewKeeper(st *state.State, index uint64, r *Record, o Options) *Keeper {
	if r == nil || r.Cluster != st.Meta.ClusterID {
		r = NewRecord(st.Meta.ClusterID)
	}
	k := &Keeper{Record: r, Options: o, none: map[Ask]bool{}, since: map[Ask]int64{}}
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

// Apply follows what a log entry changed. It returns false if the record already includes the
// entry, because the replica replays the log from an older state. Such an entry changes no promise.
func (k *Keeper) Apply(index uint64, now int64, changes []change.Change) bool {
	for i := range changes {
		if c := &changes[i]; c.Kind == change.ContainerStarted {
			k.started(index, now, Ask{c.Ref.App, c.Key})
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
	if _, ok := k.since[ask]; !ok {
		k.since[ask] = now
	}
	k.due(now, ask)
}

// due lets the promise for an ask come due, if there is one.
func (k *Keeper) due(now int64, ask Ask) {
	if o, ok := k.Record.Started(now, ask); ok && k.Due != nil {
		k.Due(o)
	}
}

// Forecast forecasts and promises a start for every waiting ask that has no promise yet. st must be
// the state after the last entry followed. Record.None counts the asks for which Forecast foresees
// no start.
func (k *Keeper) Forecast(st *state.State, now int64) error {
	asks := k.Begin(st)
	starts, err := Run(st, now, asks, k.Options)
	if err != nil {
		return err
	}
	k.Promise(st, now, starts)
	return nil
}

// Begin begins a forecast and returns the asks that need a promise. st must be the state after the
// last entry followed. The caller runs the forecast and then calls Promise; it may call Apply in
// between, for instance because another goroutine runs the forecast.
func (k *Keeper) Begin(st *state.State) []Ask {
	waits := waitingSet(st)
	k.Deepest = max(k.Deepest, len(waits))
	k.Record.drop(func(ask Ask, _ Promise) bool { return waits[ask] })
	maps.DeleteFunc(k.none, func(ask Ask, _ bool) bool { return !waits[ask] })
	clear(k.since)
	var asks []Ask
	for _, ask := range Waiting(st) {
		if _, ok := k.Record.Open(ask); !ok && len(k.Record.open)+len(asks) < maxOpen {
			asks = append(asks, ask)
		}
	}
	return asks
}

// Promise ends a forecast: it promises the starts. st and now are those of the forecast. A promise
// comes due at once if its ask has started since.
func (k *Keeper) Promise(st *state.State, now int64, starts []Start) {
	factors := k.Record.factorsAt(now)
	for i := range starts {
		s := &starts[i]
		if len(s.Delays) == 0 || s.Quantile(50) == Never {
			k.Record.None += boolint.Of[int](!k.none[s.Ask])
			k.none[s.Ask] = true
			continue
		}
		k.Record.promise(factors, now, s.Ask, nextNumber(st, s.Ask), s.Quantile(50))
		if at, ok := k.since[s.Ask]; ok {
			k.due(at, s.Ask)
		}
	}
}

func waitingSet(st *state.State) map[Ask]bool {
	out := map[Ask]bool{}
	for _, ask := range Waiting(st) {
		out[ask] = true
	}
	return out
}

func nextNumber(st *state.State, ask Ask) uint64 {
	return st.Apps.Get(st.Apps.Find(ask.App)).NextNumber
}
