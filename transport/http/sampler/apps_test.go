package sampler

import (
	"fmt"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// appWorld is a world whose sampler is that of applications.
type appWorld struct {
	*world
	apps *apps
}

func newAppWorld(t testing.TB) *appWorld {
	w := newWorld(t)
	w.configure(1, "a")
	w.register(1)
	return &appWorld{w, newApps(step)}
}

func (w *appWorld) take(times int) {
	for range times {
		w.apps.Take(w.at, w.st, w.sums.At(w.st, 1))
		w.at = w.at.Add(step)
	}
}

func (w *appWorld) of(seq uint32) *api.AppHistory {
	return w.apps.App(yarn.ApplicationID{ClusterTimestamp: start, Seq: seq}, w.at)
}

// submit submits an application that asks for a container of 1,000 MB.
func (w *appWorld) submit(seq uint32) {
	w.apply(&event.ApplicationSubmitted{App: seq, User: "u", Queue: "root.a", Unmanaged: true, MaxAttempts: 1},
		&event.AttemptStarted{App: seq, Attempt: 1},
		&event.AttemptActivated{App: seq}, &event.AttemptRegistered{App: seq},
		&event.AskChanged{App: seq, Key: yarn.SchedulerKey{Priority: 1}, Name: "*", Count: 1,
			Size: yarn.NewResource(1000, 1), Relax: true})
}

// end ends an application at the time of the next sample but for a second.
func (w *appWorld) end(seq uint32) {
	w.apply(&event.TimeAdvanced{NowMillis: w.at.UnixMilli() - 1000},
		&event.AttemptEnded{App: seq, Final: yarn.FinalSucceeded},
		&event.ApplicationEnded{App: seq, State: yarn.AppFinished, Final: yarn.FinalSucceeded})
}

// memory formats samples as used/reserved/pending memory at seconds since the start.
func memory(h *api.AppHistory) string {
	text := ""
	for _, n := range h.Samples {
		text += fmt.Sprintf("%d: %d/%d/%d ", (n.AtMillis-start)/1000, n.Used[api.MemoryMB], n.Reserved[api.MemoryMB],
			n.Pending[api.MemoryMB])
	}
	return text
}

func TestAppSamples(t *testing.T) {
	w := newAppWorld(t)
	w.submit(1)
	w.take(1)
	w.run(2, "a", 1, 9500, 1)
	w.apply(&event.ReservationMade{Reservation: 1, App: 1, Number: 1, Key: yarn.SchedulerKey{Priority: 1}, Node: 1})
	w.take(2)
	w.apply(&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelAttemptEnded})
	w.end(1)
	w.take(3)
	h := w.of(1)
	if got, want := memory(h), "0: 0/0/1000 5: 0/1000/1000 10: 0/1000/1000 14: 0/0/0 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := memory(w.of(2)),
		"5: 9500/0/9500 10: 9500/0/9500 15: 9500/0/9500 20: 9500/0/9500 25: 9500/0/9500 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(h.Gaps) != 0 || h.StepMillis != step.Milliseconds() || h.Samples[1].Reserved[api.VCores] != 1 {
		t.Errorf("gaps %v, step %d, %+v", h.Gaps, h.StepMillis, h.Samples[1])
	}
	if n := len(w.of(3).Samples); n != 0 {
		t.Errorf("an application that does not exist has %d samples", n)
	}
}

// TestLongAppSamples checks that the samples of a long life become fewer, and that the newest stays.
func TestLongAppSamples(t *testing.T) {
	w := newAppWorld(t)
	w.submit(1)
	for i := range 3000 {
		w.take(1)
		h := w.of(1)
		n := len(h.Samples)
		if n > appSamples || i >= appSamples && n < appSamples/2 {
			t.Fatalf("%d samples after %d steps", n, i)
		}
		if newest := w.at.Add(-step).UnixMilli(); h.Samples[0].AtMillis != start || h.Samples[n-1].AtMillis != newest ||
			len(h.Gaps) != 0 {
			t.Fatalf("from %d to %d with the gaps %v, want from %d to %d", h.Samples[0].AtMillis, h.Samples[n-1].AtMillis,
				h.Gaps, int64(start), newest)
		}
		for j := 1; j < n-1; j++ {
			if d := h.Samples[j].AtMillis - h.Samples[j-1].AtMillis; d != h.StepMillis {
				t.Fatalf("%d ms between two samples, want %d", d, h.StepMillis)
			}
		}
	}
	if h := w.of(1); h.StepMillis != 32*step.Milliseconds() {
		t.Errorf("a sample every %d ms", h.StepMillis)
	}
	x := w.apps.of[yarn.ApplicationID{ClusterTimestamp: start, Seq: 1}]
	if cap(x.samples) > 2*appSamples || x.samples[0].use != x.samples[len(x.samples)-1].use {
		t.Errorf("equal samples take room: %d", cap(x.samples))
	}
}

func TestMissingAppSamplesAreGaps(t *testing.T) {
	w := newAppWorld(t)
	w.submit(1)
	w.take(2)
	w.at = w.at.Add(time.Minute)
	w.take(1)
	if gaps, want := w.of(1).Gaps, (api.HistoryGap{FromMillis: start + 5000, ToMillis: start + 70_000}); len(gaps) != 1 ||
		gaps[0] != want {
		t.Errorf("gaps %v, want %v", gaps, want)
	}
	w.at = w.at.Add(time.Minute)
	if gaps := w.of(1).Gaps; len(gaps) != 2 || gaps[1].ToMillis != w.at.UnixMilli() {
		t.Errorf("the gap up to now is not told: %v", gaps)
	}
	w.at = time.UnixMilli(start + 7000) // set back
	w.take(1)
	if got, want := memory(w.of(1)), "0: 0/0/1000 5: 0/0/1000 7: 0/0/1000 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAppsAreBounded checks that a new application takes the place of the one that ended first, and
// gets none while all live.
func TestAppsAreBounded(t *testing.T) {
	w := newAppWorld(t)
	for seq := uint32(1); seq <= appsKept; seq++ {
		w.submit(seq)
	}
	w.take(1)
	w.submit(appsKept + 1)
	w.take(1)
	if n := len(w.of(appsKept + 1).Samples); n != 0 {
		t.Errorf("%d samples beyond the bound", n)
	}
	w.end(7)
	w.take(1)
	w.at = w.at.Add(step)
	w.end(3)
	w.take(1)
	if a, b, c := len(w.of(7).Samples), len(w.of(3).Samples), len(w.of(appsKept+1).Samples); a != 0 || b == 0 || c == 0 {
		t.Errorf("%d samples of the first that ended, %d of the second, %d of the new one", a, b, c)
	}
	if n := len(w.apps.of); n != appsKept {
		t.Errorf("%d applications have samples, want %d", n, appsKept)
	}
}

// TestForgottenApp checks that an application goes with the state's.
func TestForgottenApp(t *testing.T) {
	w := newAppWorld(t)
	w.submit(1)
	w.take(1)
	w.end(1)
	w.take(1)
	if len(w.of(1).Samples) == 0 {
		t.Fatal("an ended application has no samples")
	}
	w.st = state.New()
	w.take(1)
	if n := len(w.apps.of); n != 0 {
		t.Errorf("%d applications are kept that the state has forgotten", n)
	}
}
