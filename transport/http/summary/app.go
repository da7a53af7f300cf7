package summary

import (
	"rmd/fsm/state"
	"rmd/yarn"
)

// App has the fields of an application that summaries need. Seq is 0 if there is none.
type App struct {
	Slot        state.AppSlot
	Seq         uint32
	Queue       state.QueueSlot
	User        state.NameSlot
	State       yarn.ApplicationState
	Shown       yarn.ApplicationState // as in YARN's reports
	Attempt     state.AttemptState
	Unmanaged   bool
	Live        int32
	Reserving   int32
	Priority    int32
	Outstanding int64

	SubmittedMillis, StartedMillis, EndedMillis int64
	// WaitMillis is when the application's current wait began (state.WaitsSince), or 0 if it has
	// none.
	WaitMillis int64
	// Memory in MB.
	Used, Pending, Reserved int64
}

// appOf returns the App of an application's record.
func appOf(st *state.State, slot state.AppSlot) App {
	a := st.Apps.Get(slot)
	return App{Slot: slot, Seq: a.ID.Seq, Queue: a.Queue, User: a.User, State: a.State, Shown: a.Shown(),
		Attempt:   a.AttemptState,
		Unmanaged: a.Unmanaged, Live: a.Live, Reserving: a.Reserving, Priority: a.Priority, Outstanding: a.Outstanding,
		SubmittedMillis: a.SubmittedMillis, StartedMillis: a.StartedMillis, EndedMillis: a.EndedMillis,
		WaitMillis: st.WaitsSince(a),
		Used:       a.Used[yarn.Memory], Pending: a.Pending[yarn.Memory], Reserved: a.Reserved[yarn.Memory]}
}

// Waited returns how long the application waited, or has waited, for its AM to register.
func (a *App) Waited(now int64) int64 {
	until := now
	switch {
	case a.StartedMillis != 0:
		until = a.StartedMillis
	case a.EndedMillis != 0:
		until = a.EndedMillis
	}
	return max(until-a.SubmittedMillis, 0)
}

// ForAM reports whether the application waits for its AM.
func (a *App) ForAM() bool { return a.State == yarn.AppSubmitted || a.State == yarn.AppAccepted }

// Waiting returns how long the current wait has lasted, or 0 if there is none.
func (a *App) Waiting(now int64) int64 {
	if a.WaitMillis == 0 {
		return 0
	}
	return max(now-a.WaitMillis, 0)
}

// Waits reports whether the application waits for anything.
func (a *App) Waits() bool {
	return !a.State.Ended() && (a.State != yarn.AppRunning || a.Outstanding > 0)
}

// Tally counts applications.
type Tally struct {
	ByState [yarn.AppStates]int32 // by State
	ByShown [yarn.AppStates]int32 // by Shown
	// Waiting counts the applications without a registered AM, by the state of the attempt.
	// Unplaced counts those with an active attempt whose AM has no container.
	Waiting  [state.AttemptStates]int32
	Unplaced int32
	Waits    int32 // applications that wait for anything
	// Outstanding and Reserving are sums over the applications that have not ended, OutstandingAll
	// over all.
	Outstanding, Reserving int64
	OutstandingAll         int64
}

// Apps returns the number of applications.
func (t *Tally) Apps() int {
	n := 0
	for _, k := range t.ByState {
		n += int(k)
	}
	return n
}

// ForAM returns the number of applications that wait for their AM.
func (t *Tally) ForAM() int {
	return int(t.ByState[yarn.AppSubmitted] + t.ByState[yarn.AppAccepted])
}

// count adds an application (sign 1) or subtracts it (sign −1).
func (t *Tally) count(a *App, sign int32) {
	t.ByState[a.State] += sign
	t.ByShown[a.Shown] += sign
	t.OutstandingAll += int64(sign) * a.Outstanding
	if a.State.Ended() {
		return
	}
	if a.Waits() {
		t.Waits += sign
	}
	t.Outstanding += int64(sign) * a.Outstanding
	t.Reserving += int64(sign) * int64(a.Reserving)
	if a.State != yarn.AppRunning {
		t.Waiting[a.Attempt] += sign
		if a.Attempt == state.AttemptActive && a.Live == 0 && !a.Unmanaged {
			t.Unplaced += sign
		}
	}
}

// Add adds another tally.
func (t *Tally) Add(o *Tally) {
	for i := range t.ByState {
		t.ByState[i] += o.ByState[i]
		t.ByShown[i] += o.ByShown[i]
	}
	for i := range t.Waiting {
		t.Waiting[i] += o.Waiting[i]
	}
	t.Unplaced += o.Unplaced
	t.Waits += o.Waits
	t.Outstanding += o.Outstanding
	t.Reserving += o.Reserving
	t.OutstandingAll += o.OutstandingAll
}
