package view

import (
	"slices"

	"rmd/api"
	"rmd/fsm/state"
)

var AppStates = []string{"SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"}

var attemptStates = [state.AttemptStates]string{"NONE", "PARKED", "PENDING", "ACTIVE", "REGISTERED",
	"FINISHING", "ENDED"}

func AttemptState(s state.AttemptState) string {
	if int(s) < len(attemptStates) {
		return attemptStates[s]
	}
	return "UNKNOWN"
}

// App returns the document of an application.
func (v *View) App(a *state.App) api.App {
	about := a.Details()
	d := api.App{
		ID: a.ID.String(), Name: about.Name, User: v.State.Names.Text(a.User), Queue: v.State.QueueOf(a), Type: about.Type,
		Tags:  about.Tags,
		State: a.Shown().String(), FinalStatus: a.Final.String(), Priority: a.Priority, Unmanaged: a.Unmanaged,
		KeepContainers:  a.KeepContainers,
		SubmittedMillis: a.SubmittedMillis, StartedMillis: a.StartedMillis, EndedMillis: a.EndedMillis,
		WaitMillis: v.waited(a), WaitingMillis: v.Waiting(a),
		LifetimeMillis: a.LifetimeMillis, AttemptState: AttemptState(a.AttemptState), MaxAttempts: a.MaxAttempts,
		Failures: a.Failures,
		AM:       v.Size(a.AM), Label: about.Label, AMLabel: v.State.Labels.Name(a.AMLabel), Used: v.Size(a.Used),
		Reserved: v.Size(a.Reserved), Pending: v.Size(a.Pending),
		Outstanding: a.Outstanding, Containers: a.Live, Reservations: a.Reserving, Response: a.Response,
		Host: about.Host, RPCPort: a.RPCPort, TrackingURL: about.TrackingURL, Diagnostics: about.Diagnostics,
	}
	why := v.Why(a)
	d.Why, d.WhyText = why.Code, why.Text
	if a.Attempt != 0 {
		d.Attempt = a.AttemptID().String()
	}
	for _, id := range a.Blacklist {
		d.Blacklist = append(d.Blacklist, v.State.Names.Text(id))
	}
	slices.Sort(d.Blacklist)
	return d
}

// Waiting returns for how long an application has been waiting, or 0 if it waits for nothing of which
// the state knows since when.
func (v *View) Waiting(a *state.App) int64 { return v.State.WaitingMillis(a, v.NowMillis) }

// waited returns how long an application waited for its AM to register: until it did, or else until
// the application ended, or else until now.
func (v *View) waited(a *state.App) int64 {
	until := v.NowMillis
	switch {
	case a.StartedMillis != 0:
		until = a.StartedMillis
	case a.EndedMillis != 0:
		until = a.EndedMillis
	}
	return max(until-a.SubmittedMillis, 0)
}
