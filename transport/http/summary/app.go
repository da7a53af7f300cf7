package summary

import (
	"rmd/fsm/state"
	"rmd/yarn"
)

// App is what is looked at of an application. Seq 0 is none.
type App struct {
	Slot, Seq   uint32
	Queue       uint32
	User        state.NameID
	State       yarn.ApplicationState
	Shown       yarn.ApplicationState // as YARN's reports tell it
	Attempt     state.AttemptState
	Unmanaged   bool
	Live        int32
	Reserving   int32
	Priority    int32
	Outstanding int64

	SubmittedMillis, StartedMillis, EndedMillis int64
	// WaitMillis is when its present wait began (state.WaitsSince); 0: it has none.
	WaitMillis int64
	// Memory in MB that it uses, wants and has reserved.
	Used, Pending, Reserved int64
}

// appOf reads an application's record.
func appOf(st *state.State, slot uint32) App {
	a := st.Apps.Get(slot)
	return App{Slot: slot, Seq: a.ID.Seq, Queue: a.Queue, User: a.User, State: a.State, Shown: a.Shown(), Attempt: a.AttemptState,
		Unmanaged: a.Unmanaged, Live: a.Live, Reserving: a.Reserving, Priority: a.Priority, Outstanding: a.Outstanding,
		SubmittedMillis: a.SubmittedMillis, StartedMillis: a.StartedMillis, EndedMillis: a.EndedMillis, WaitMillis: st.WaitsSince(a),
		Used: a.Used[yarn.Memory], Pending: a.Pending[yarn.Memory], Reserved: a.Reserved[yarn.Memory]}
}

// Waited is how long it waited for its AM to register, or waits.
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

// ForAM says whether it waits for its AM.
func (a *App) ForAM() bool { return a.State == yarn.AppSubmitted || a.State == yarn.AppAccepted }

// Waiting is how long it has been waiting; 0 when it has no present wait.
func (a *App) Waiting(now int64) int64 {
	if a.WaitMillis == 0 {
		return 0
	}
	return max(now-a.WaitMillis, 0)
}

// Waits says whether it waits for anything.
func (a *App) Waits() bool {
	return !a.State.Ended() && (a.State != yarn.AppRunning || a.Outstanding > 0)
}

// Numbers of the states that tallies count by.
const (
	appStates     = int(yarn.AppKilled) + 1
	attemptStates = int(state.AttemptEnded) + 1
)

// Tally counts applications.
type Tally struct {
	ByState [appStates]int32 // by State
	ByShown [appStates]int32 // by Shown
	// Waiting counts those whose AM has not registered, by where the attempt
	// stands; Unplaced is the part of those active whose AM has no container.
	Waiting  [attemptStates]int32
	Unplaced int32
	Waits    int32 // those that wait for anything
	// Of those that have not ended, or of all.
	Outstanding, Reserving int64
	OutstandingAll         int64
}

// Apps is how many were counted.
func (t *Tally) Apps() int {
	n := 0
	for _, k := range t.ByState {
		n += int(k)
	}
	return n
}

// ForAM is how many wait for their AM.
func (t *Tally) ForAM() int {
	return int(t.ByState[yarn.AppSubmitted] + t.ByState[yarn.AppAccepted])
}

// count adds an application, or takes it away.
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

// add adds another tally.
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
