package sampler

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// savedWorld is a world with all samplers.
type savedWorld struct {
	*world
	all *Sampler
}

// newSavedWorld returns a world with the samples of some hours, with an application that lives and one
// that has ended.
func newSavedWorld(t testing.TB) *savedWorld {
	w := &savedWorld{newWorld(t), New(step)}
	w.configure(1, "a", "b")
	w.register(1)
	w.run(1, "a", 1, 2000, 4)
	w.take(10)
	w.apply(&event.ApplicationSubmitted{App: 2, User: "u", Queue: "root.b", Unmanaged: true, MaxAttempts: 1},
		&event.AttemptStarted{App: 2, Attempt: 1},
		&event.AttemptActivated{App: 2}, &event.AttemptRegistered{App: 2})
	w.take(10)
	w.apply(&event.AttemptEnded{App: 2, Final: yarn.FinalSucceeded},
		&event.ApplicationEnded{App: 2, State: yarn.AppFinished, Final: yarn.FinalSucceeded})
	w.take(int(2 * time.Hour / step))
	return w
}

func (w *savedWorld) take(times int) {
	for range times {
		w.all.Take(w.at, w.st, w.sums.At(w.st, 1), nil)
		w.at = w.at.Add(step)
	}
}

func app(seq uint32) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: start, Seq: seq}
}

// shown returns all that a sampler answers.
func (w *savedWorld) shown(s *Sampler) []any {
	var out []any
	for _, span := range []time.Duration{api.HistoryHour, api.HistoryDay, api.HistoryWeek} {
		out = append(out, s.Cluster(w.at, span), s.Node(1, nodeID(1), w.at, span))
		for _, q := range []string{"root", "root.a", "root.b"} {
			out = append(out, s.Queue(w.st.Queues.Find(q), q, w.at, span))
		}
	}
	return append(out, s.App(app(1), w.at), s.App(app(2), w.at))
}

// TestRestart checks that a restarted replica answers as before, also after its next sample.
func TestRestart(t *testing.T) {
	w := newSavedWorld(t)
	next := New(step)
	if err := next.Restore(w.all.Save("c"), "c"); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(w.shown(next), w.shown(w.all)) {
		t.Errorf("restored: %+v\nsaved: %+v", w.shown(next), w.shown(w.all))
	}
	next.Take(w.at, w.st, w.sums.At(w.st, 1), nil)
	w.take(1)
	if !reflect.DeepEqual(w.shown(next), w.shown(w.all)) {
		t.Error("the next sample differs")
	}
}

// TestRestoreAfterSamples checks that restored samples come before those that were taken since.
func TestRestoreAfterSamples(t *testing.T) {
	w := newSavedWorld(t)
	saved, before := w.all.Save("c"), len(w.all.Cluster(w.at, api.HistoryDay).Samples)
	w.all = New(step)
	w.at = w.at.Add(10 * time.Minute)
	w.take(3)
	if err := w.all.Restore(saved, "c"); err != nil {
		t.Fatal(err)
	}
	w.take(1)
	h := w.all.Cluster(w.at, api.HistoryDay)
	if len(h.Samples) != before+1 || len(h.Gaps) != 1 || h.BeginsMillis != start {
		t.Errorf("%d samples with the gaps %v from %d on, want %d with one gap from %d on", len(h.Samples), h.Gaps,
			h.BeginsMillis, before+1, int64(start))
	}
	if d := w.all.App(app(1), w.at); d.Samples[0].AtMillis != start || len(d.Gaps) != 1 {
		t.Errorf("the application's samples begin at %d with the gaps %v", d.Samples[0].AtMillis, d.Gaps)
	}
	if d := w.all.Queue(w.st.Queues.Find("root.a"), "root.a", w.at, api.HistoryDay); len(d.Samples) != before+1 {
		t.Errorf("the queue has %d samples, want %d", len(d.Samples), before+1)
	}
}

// TestDamagedSamples checks that a file is used only if it is whole and of this cluster.
func TestDamagedSamples(t *testing.T) {
	w := newSavedWorld(t)
	saved := w.all.Save("c")
	if err := New(step).Restore(saved, "other"); !errors.Is(err, ErrForeign) {
		t.Errorf("samples of another cluster: %v", err)
	}
	newer := bytes.Clone(saved)
	newer[len(fileMagic)]++
	if err := New(step).Restore(newer, "c"); !errors.Is(err, ErrVersion) {
		t.Errorf("samples of a newer version: %v", err)
	}
	for _, n := range []int{0, 3, len(fileMagic), len(fileMagic) + 4, len(saved) / 2, len(saved) - 1} {
		if err := New(step).Restore(saved[:n], "c"); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d of %d bytes: %v", n, len(saved), err)
		}
	}
	for at := range saved {
		if at > 100 && at%97 != 0 {
			continue
		}
		s, bad := New(step), bytes.Clone(saved)
		bad[at] ^= 4
		if s.Restore(bad, "c") == nil {
			t.Errorf("samples are taken although byte %d is wrong", at)
		}
		if len(s.all[0].samples) != 0 || len(s.apps.of) != 0 {
			t.Fatal("samples are taken in spite of an error")
		}
	}
}

// TestRestoreBeforeTheirTime checks that samples of the future go when the clock was set back.
func TestRestoreBeforeTheirTime(t *testing.T) {
	w := newSavedWorld(t)
	saved := w.all.Save("c")
	w.all, w.at = New(step), time.UnixMilli(start).Add(time.Hour)
	if err := w.all.Restore(saved, "c"); err != nil {
		t.Fatal(err)
	}
	w.take(1)
	for span, s := range map[time.Duration]*series{api.HistoryHour: w.all.all[0], api.HistoryDay: w.all.all[1],
		api.HistoryWeek: w.all.all[2]} {
		if n := len(s.samples); s.samples[n-1].millis >= w.at.UnixMilli() {
			t.Errorf("over %s there are samples of the future", span)
		}
	}
	d := w.all.App(app(1), w.at)
	if n := len(d.Samples); n < 2 || d.Samples[n-1].AtMillis != w.at.Add(-step).UnixMilli() {
		t.Errorf("the application has %d samples", n)
	}
}

// TestSavedIsBounded checks the size of what is saved in a large cluster, and that the newest details
// are in it.
func TestSavedIsBounded(t *testing.T) {
	w := &savedWorld{large(t, 10_000), New(step)}
	w.take(int(time.Hour / step))
	saved := w.all.Save("c")
	if len(saved) > 17<<20 {
		t.Errorf("%d bytes", len(saved))
	}
	next := New(step)
	if err := next.Restore(saved, "c"); err != nil {
		t.Fatal(err)
	}
	if n := len(next.Queue(w.st.Queues.Find("root.q77"), "root.q77", w.at, api.HistoryHour).Samples); n < 30 {
		t.Errorf("%d details", n)
	}
	if next.all[0].samples[len(next.all[0].samples)-1].millis < w.at.Add(-step).UnixMilli() ||
		next.all[0].nodes[state.NodeSlot(1)].key != nodeID(1) {
		t.Error("the newest samples are not in it")
	}
}
