package state

import (
	"fmt"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for applications, attempts and asks.

func (m *machine) leaves() []string {
	var out []string
	m.s.Queues.Each(func(_ QueueSlot, q *Queue) bool {
		if q.Leaf {
			out = append(out, q.Path)
		}
		return true
	})
	return out
}

func (m *machine) Submit(t *rapid.T) {
	if len(m.leaves()) == 0 || m.s.Apps.Len() > 8 {
		t.Skip("no leaf, or applications enough")
	}
	m.apply(t, &event.ApplicationSubmitted{
		App: m.s.Meta.NextApp + rapid.Uint32Max(1).Draw(t, "gap"), Name: "app", Type: "T", Tags: []string{"t"},
		User: drawOf(t, "user", machineUsers), Queue: drawOf(t, "queue", m.leaves()),
		Priority: rapid.Int32Range(-1, 3).Draw(t, "priority"),
		AM:       drawOf(t, "am", machineSizes), Unmanaged: rapid.Bool().Draw(t, "unmanaged"), KeepContainers: true,
		MaxAttempts: 3, Context: []byte("ctx")})
}

func (m *machine) Place(t *rapid.T) {
	slot, a := pick(t, "application", &m.s.Apps,
		func(a *App) bool { return a.AttemptState == AttemptNone && !a.State.Ended() })
	if m.s.Placements.Of(slot) != nil {
		t.Skip("it is placed")
	}
	m.apply(t, &event.ApplicationPlaced{App: a.ID.Seq, Rule: rapid.Uint32Range(1, 3).Draw(t, "rule"), Text: "rule"})
}

func (m *machine) StartAttempt(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool {
		return !a.State.Ended() && (a.AttemptState <= AttemptNonRunnable || a.AttemptState == AttemptEnded)
	})
	e := &event.AttemptStarted{App: a.ID.Seq, Attempt: a.Attempt + 1}
	if a.AttemptState == AttemptNonRunnable {
		e.Attempt = a.Attempt
	} else {
		e.NonRunnable = rapid.IntRange(0, 3).Draw(t, "non-runnable") == 0
	}
	m.apply(t, e)
}

func (m *machine) ActivateAttempt(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return a.AttemptState == AttemptPending })
	m.apply(t, &event.AttemptActivated{App: a.ID.Seq})
}

func (m *machine) RegisterAttempt(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return a.AttemptState == AttemptActive })
	m.apply(t, &event.AttemptRegistered{App: a.ID.Seq, Host: "h", RPCPort: 5, TrackingURL: "u",
		ClientKey:       rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "key"),
		ClientAlgorithm: rapid.SampledFrom([]yarn.HMAC{yarn.HMACSHA1, yarn.HMACSHA256}).Draw(t, "algorithm")})
}

// Advance brings an application as far as possible in one step, so that short runs reach the later
// states too.
func (m *machine) Advance(t *rapid.T) {
	slot, a := pick(t, "application", &m.s.Apps, func(a *App) bool {
		return !a.State.Ended() && a.AttemptState != AttemptRegistered && a.AttemptState != AttemptFinishing
	})
	seq := a.ID.Seq
	if a.AttemptState == AttemptNone || a.AttemptState == AttemptEnded {
		m.apply(t, &event.AttemptStarted{App: seq, Attempt: a.Attempt + 1})
	} else if a.AttemptState == AttemptNonRunnable {
		m.apply(t, &event.AttemptStarted{App: seq, Attempt: a.Attempt})
	}
	if m.s.Apps.Get(slot).AttemptState == AttemptPending {
		m.apply(t, &event.AttemptActivated{App: seq})
	}
	m.apply(t, &event.AttemptRegistered{App: seq})
}

func (m *machine) ChangeAsk(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, (*App).Open)
	m.apply(t, &event.AskChanged{App: a.ID.Seq, Key: drawOf(t, "key", machineKeys), Name: yarn.Any,
		Count: rapid.Int64Range(0, 4).Draw(t, "count"), Size: drawOf(t, "size", machineSizes),
		Relax: rapid.Bool().Draw(t, "relax")})
}

func (m *machine) ChangeLocation(t *rapid.T) {
	_, k := pick(t, "ask", &m.s.Asks, func(k *Ask) bool { return k.IncreaseOf == 0 })
	m.apply(t, &event.AskChanged{App: m.s.Apps.Get(k.App).ID.Seq, Key: k.Key, Name: drawOf(t, "name", machineNames),
		Count: rapid.Int64Range(0, 3).Draw(t, "count"), Size: k.Size, Relax: rapid.Bool().Draw(t, "relax")})
}

func (m *machine) CountAsk(t *rapid.T) {
	_, k := pick(t, "ask", &m.s.Asks, func(k *Ask) bool { return k.IncreaseOf == 0 })
	m.apply(t, &event.AskCountersUpdated{App: m.s.Apps.Get(k.App).ID.Seq, Key: k.Key,
		Opportunities: rapid.Uint32Max(50).Draw(t, "missed"), ReReservations: rapid.Uint32Max(50).Draw(t, "again")})
}

func (m *machine) Blacklist(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(*App) bool { return true })
	names := rapid.SliceOfN(rapid.SampledFrom(machineNames), 0, 3)
	m.apply(t, &event.BlacklistChanged{App: a.ID.Seq, Add: names.Draw(t, "add"), Remove: names.Draw(t, "remove")})
}

func (m *machine) Answer(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, (*App).Activated)
	m.apply(t, &event.ResponseRecorded{App: a.ID.Seq, Response: a.Response + rapid.Int32Range(1, 2).Draw(t, "by")})
}

func (m *machine) Move(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return !a.State.Ended() })
	to := drawOf(t, "queue", m.leaves())
	if m.s.Queues.Find(to) == a.Queue {
		t.Skip("there already")
	}
	m.apply(t, &event.ApplicationMoved{App: a.ID.Seq, Queue: to})
}

func (m *machine) Reprioritize(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(*App) bool { return true })
	m.apply(t, &event.ApplicationReprioritized{App: a.ID.Seq, Priority: rapid.Int32Range(0, 9).Draw(t, "priority")})
}

// holdings returns an application's live containers and its reservations.
func (m *machine) holdings(slot AppSlot) (live []event.ContainerRef, reservations []uint64) {
	a := m.s.Apps.Get(slot)
	for _, c := range m.s.Containers.Of(a) {
		if c.State.Live() {
			live = append(live, m.s.Apps.Ref(c))
		}
	}
	for _, r := range m.s.Reservations.Of(a) {
		reservations = append(reservations, r.Number)
	}
	return live, reservations
}

func (m *machine) endContainers(t *rapid.T, all []event.ContainerRef) {
	for _, r := range all {
		if rapid.Bool().Draw(t, "released first") {
			m.apply(t, &event.ContainerReleased{Container: r, ExitStatus: yarn.ExitKilledByRM, Diagnostics: "over"})
		} else {
			m.apply(t, &event.ContainerCompleted{Container: r, ExitStatus: 1, Diagnostics: "done"})
		}
	}
}

func (m *machine) EndAttempt(t *rapid.T) {
	slot, a := pick(t, "application", &m.s.Apps,
		func(a *App) bool { return a.AttemptState >= AttemptNonRunnable && a.AttemptState < AttemptEnded })
	seq, keep := a.ID.Seq, rapid.Bool().Draw(t, "keep")
	live, reservations := m.holdings(slot)
	for _, r := range reservations {
		m.apply(t, &event.ReservationCancelled{Reservation: r, Cause: yarn.CancelAttemptEnded})
	}
	if !keep {
		m.endContainers(t, live)
	}
	m.apply(t, &event.AttemptEnded{App: seq, Final: yarn.FinalFailed, Keep: keep, Counts: rapid.Bool().Draw(t, "counts"),
		Diagnostics: "x", TrackingURL: "h"})
}

func (m *machine) EndApplication(t *rapid.T) {
	slot, a := pick(t, "application", &m.s.Apps, func(a *App) bool {
		return !a.State.Ended() && (a.AttemptState == AttemptNone || a.AttemptState == AttemptEnded)
	})
	seq := a.ID.Seq
	live, _ := m.holdings(slot)
	m.endContainers(t, live)
	m.apply(t, &event.ApplicationEnded{App: seq,
		State: yarn.AppFinished + yarn.ApplicationState(rapid.IntRange(0, 2).Draw(t, "how")),
		Final: yarn.FinalSucceeded, Diagnostics: "end"})
}

func (m *machine) ForgetApplication(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool {
		return a.State.Ended() && a.Containers == 0 && m.s.AppTokens.Holder(a.ID.Seq) == nil
	})
	m.apply(t, &event.ApplicationForgotten{App: a.ID.Seq})
}

// Configure draws another queue tree, which keeps the queues in use.
func (m *machine) Configure(t *rapid.T) {
	used := map[string]bool{}
	m.s.Apps.Each(func(_ AppSlot, a *App) bool {
		if !a.State.Ended() {
			used[m.s.Queues.Get(a.Queue).Path] = true
		}
		return true
	})
	e := tree(m.s.Versions.Current().Version + 1)
	e.Dominant = rapid.IntRange(0, 4).Draw(t, "memory alone") > 0
	e.Properties = append(e.Properties, event.Property{Name: "v", Value: fmt.Sprint(e.Version)})
	add := func(path string) {
		if !used[path] && rapid.Bool().Draw(t, "without "+path) {
			return
		}
		if p := yarn.ParentQueue(path); p != "root" && e.Queues[len(e.Queues)-1].Path != p &&
			yarn.ParentQueue(e.Queues[len(e.Queues)-1].Path) != p {
			e.Queues = append(e.Queues, parent(p))
		}
		q := leaf(path)
		if !used[path] && rapid.Bool().Draw(t, "stopped") {
			q.State = yarn.QueueStopped
		}
		e.Queues = append(e.Queues, q)
	}
	if used["root.a.k"] || (!used["root.a"] && rapid.Bool().Draw(t, "a is a parent")) {
		add("root.a.k")
	} else {
		add("root.a")
	}
	for _, path := range []string{"root.b.x", "root.b.y", "root.c"} {
		add(path)
	}
	e.Queues = m.keepDynamic(t, e.Queues, used)
	m.apply(t, e)
}

func (m *machine) ChangeQueueState(t *rapid.T) {
	slot, q := pick(t, "queue", &m.s.Queues, func(*Queue) bool { return true })
	to := yarn.QueueRunning + yarn.QueueState(rapid.IntRange(0, 1).Draw(t, "state"))
	inUse := false
	m.s.Apps.Each(func(_ AppSlot, a *App) bool { inUse = inUse || (!a.State.Ended() && a.Queue == slot); return true })
	if !inUse && rapid.Bool().Draw(t, "stop") {
		to = yarn.QueueStopped
	}
	m.apply(t, &event.QueueStateChanged{Path: q.Path, State: to})
}
