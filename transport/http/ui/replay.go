package ui

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/eventlog"
	"rmd/transport/http/ui/format"
	"rmd/transport/http/view"
)

// The page Replay shows a place in the recorded log: the decisions up to there, and the cluster as
// it was then. Only the address says where the replay is: at=INDEX while it is paused, and
// from=INDEX, since=MILLIS of the wall clock and speed=N while it plays. Therefore an address can
// be shared, and a replay costs nothing when nobody watches.

// speeds lists the speeds of the replay, relative to the original time.
var speeds = []int64{1, 10, 60, 300}

const (
	playbackRows    = 20     // decisions in the list
	playbackEntries = 4_000  // entries that one request may play
	playbackLook    = 20_000 // entries that are searched for the next decision
	playbackWaiting = 6
	playbackHeld    = 6
)

// playback is the position of the replay.
type playback struct {
	First, Last uint64 // range of the log
	At          uint64
	Speed       int64 // 0 if it is paused
	Ended       bool  // it played to the end of the log
	since       int64 // when it was at At, while it plays
}

type replayData struct {
	Index    uint64
	Playback playback
	NoLog    *api.Error
	Place    bar.Bar
	AtMillis int64
	Term     uint64
	// Addresses; empty if there is nowhere to go.
	Begin, Back, Step, Now, Pause, Here string
	Speeds                              []choice // their values are addresses
	Rows                                []decisionRow
	Historical                          *pastData
	NoHistorical                        *api.Error
	Rerun                               *api.Rerun
	Address                             string
	Live                                bool // it moves by itself: it plays, or shows the newest entry
}

// pastData describes the cluster as it was.
type pastData struct {
	Totals  api.Totals
	Usages  []bar.Usage
	Held    []reservationRow
	More    int // further reservations
	Waiting []appRow
	Others  bool // more applications wait
	Made    uint64
	Done    uint64
}

func replay(q *query) (any, error) {
	d := replayData{Index: q.v.Index, Address: q.r.Host, Rerun: q.u.rerun.Load()}
	f, err := q.playback()
	if err != nil {
		if d.NoLog = q.u.cfg.Problems.Of(err, false); d.NoLog.Status == 400 {
			return nil, err
		}
		return d, nil
	}
	d.Playback = f
	if f.Speed != 0 && f.Ended {
		d.Playback.Speed = 0
	}
	q.playbackControls(&d)
	d.Live = d.Here != "" || !q.q.Has("at") && !q.q.Has("speed")
	list, err := q.decisions(decisionFilter{}, eventlog.Position{Index: f.At + 1}, playbackRows)
	if err != nil {
		return nil, err
	}
	d.Rows = list.Rows
	for i := range d.Rows {
		d.Rows[i].New = d.Rows[i].Index == f.At
	}
	if len(d.Rows) > 0 {
		d.AtMillis, d.Term = d.Rows[0].AtMillis, d.Rows[0].Term
	}
	historical, err := q.u.historical(q.r.Context(), q.v, f.At)
	if err != nil {
		d.NoHistorical = q.u.cfg.Problems.Of(err, false)
		return d, nil
	}
	d.Historical = (&query{u: q.u, r: q.r, v: historical, q: q.q, past: f.At < q.v.Index}).pastData()
	d.AtMillis = historical.State.Meta.NowMillis
	return d, nil
}

// playback parses the address.
func (q *query) playback() (playback, error) {
	f := playback{}
	var err error
	if f.First, f.Last, err = q.u.entries().Kept(q.r.Context(), q.v); err != nil {
		return f, err
	}
	f.At = f.Last
	clamp := func(index uint64) uint64 { return min(max(index, f.First), max(f.Last, f.First)) }
	if at, ok, err := q.whole("at"); err != nil {
		return f, err
	} else if ok {
		f.At = clamp(uint64(at))
	}
	speed, ok, err := q.whole("speed")
	if err != nil || !ok {
		return f, err
	}
	if !slices.Contains(speeds, speed) {
		return f, bad(fmt.Sprintf("the replay has no speed %d", speed), "choose one of the speeds")
	}
	from, _, err1 := q.whole("from")
	since, _, err2 := q.whole("since")
	if err1 != nil || err2 != nil {
		return f, bad("the address does not say where the replay starts", "open /ui/replay")
	}
	f.Speed, f.At = speed, clamp(uint64(from))
	millis := min(max(q.u.cfg.Now().UnixMilli()-since, 0), 3_600_000) * speed
	var played int64
	f.At, played, f.Ended, err = q.u.entries().Played(q.r.Context(), q.v, f.At, millis, playbackEntries)
	f.since = min(since+played/speed, q.u.cfg.Now().UnixMilli())
	return f, err
}

// whole parses a parameter as a whole number.
func (q *query) whole(name string) (n int64, ok bool, err error) {
	text := q.q.Get(name)
	if text == "" {
		return 0, false, nil
	}
	if n, err = strconv.ParseInt(text, 10, 64); err != nil || n < 0 {
		return 0, false, bad(name+"="+text+" is not a whole number", "choose a place on the page")
	}
	return n, true, nil
}

func pausedAt(index uint64) string { return "/ui/replay?at=" + strconv.FormatUint(index, 10) }

// playedFrom returns the address of a replay that plays and was at an index at the time since.
func playedFrom(index uint64, since, speed int64) string {
	return "/ui/replay?" + url.Values{"from": {strconv.FormatUint(index, 10)}, "since": {strconv.FormatInt(since, 10)},
		"speed": {strconv.FormatInt(speed, 10)}}.Encode()
}

// playbackControls fills in the addresses of the controls.
func (q *query) playbackControls(d *replayData) {
	f := &d.Playback
	pass := (&decisionFilter{}).pass
	if f.At > f.First {
		d.Begin = pausedAt(f.First)
		if list, err := q.u.entries().Recent(q.r.Context(), q.v, eventlog.Position{Index: f.At}, 1, lookFar,
			pass); err == nil && len(list.Events) > 0 {
			d.Back = pausedAt(list.Events[0].Index)
		}
	}
	if f.At < f.Last {
		d.Now = "/ui/replay"
		if next, err := q.u.entries().After(q.r.Context(), q.v, f.At, playbackLook, pass); err == nil && next != 0 {
			d.Step = pausedAt(next)
		}
		for _, s := range speeds {
			d.Speeds = append(d.Speeds, choice{Value: playedFrom(f.At, q.u.cfg.Now().UnixMilli(), s),
				Text: "×" + format.Number(s), Chosen: s == f.Speed})
		}
	}
	if f.Speed != 0 {
		d.Pause, d.Here = pausedAt(f.At), playedFrom(f.At, f.since, f.Speed)
		q.refresh = d.Here
	}
	b := bar.New(int64(f.Last - f.First + 1))
	d.Place = b.Add(int64(f.At-f.First+1), "used",
		"played").Done(fmt.Sprintf("index %s of %s to %s", format.Number(f.At), format.Number(f.First),
		format.Number(f.Last)))
}

// pastData describes the cluster in the query's view.
func (q *query) pastData() *pastData {
	st, totals := q.v.State, q.v.Totals()
	d := &pastData{Totals: totals, Usages: bar.Usages(totals.Figures), Made: st.Meta.Made, Done: st.Meta.Fulfilled}
	t := top[state.ReservationSlot]{most: playbackHeld}
	st.Reservations.Each(func(slot state.ReservationSlot, r *state.Reservation) bool {
		t.add(position{id: r.Number}, slot, cursor{})
		return true
	})
	rows, _ := t.page()
	for _, r := range rows {
		d.Held = append(d.Held, q.reservationRow(r.item))
	}
	d.More = t.all - len(rows)
	d.Waiting, d.Others, _ = q.longestWaits(playbackWaiting)
	return d
}

// historical returns a view of the state as it was after an index.
func (u *UI) historical(ctx context.Context, v *view.View, index uint64) (*view.View, error) {
	if index >= v.Index {
		return v, nil
	}
	if u.cfg.Past == nil {
		return nil, problem.NotAvailable("the state at an earlier index")
	}
	ctx, cancel := context.WithTimeout(ctx, u.cfg.ReadTimeout)
	defer cancel()
	st, err := u.cfg.Past(ctx, index)
	if err != nil {
		return nil, err
	}
	return u.cfg.Views.Historical(st, index), nil
}
