package view

import (
	"slices"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/yarn"
)

// Attempts returns the documents of the attempts that the state still has, oldest first.
func (v *View) Attempts(a *state.App) []api.Attempt {
	live := map[uint32]int{}
	for _, k := range v.State.Containers.Of(a) {
		if k.State.Live() {
			live[k.Attempt]++
		}
	}
	out := []api.Attempt{}
	for _, t := range v.AttemptRecords(a) {
		d := api.Attempt{ID: t.ID.String(), Number: t.ID.Attempt, Current: t.Current, State: "ENDED",
			StartedMillis: t.Started, LaunchedMillis: t.Launched, EndedMillis: t.Ended,
			FinalStatus: t.Final.String(), Containers: live[t.ID.Attempt], Host: t.Host, RPCPort: t.Port,
			TrackingURL: t.Tracking, Diagnostics: t.Diagnostics}
		if t.Current {
			d.State = AttemptState(a.AttemptState)
		}
		d.AMContainer, _, d.AMNode = v.Master(a.ID, t.ID.Attempt, t.Master, t.Node)
		out = append(out, d)
	}
	return out
}

func (v *View) Asks(a *state.App) []api.Ask {
	out := []api.Ask{}
	for _, k := range v.State.Asks.Of(a) {
		relax := k.Relax
		d := api.Ask{Priority: k.Key.Priority, AllocationID: k.Key.AllocationID, Name: yarn.Any, Count: k.Count,
			Size: v.Size(k.Size), Relax: &relax, Label: v.State.Labels.Name(k.Label),
			AM: k.AM, Opportunities: k.Opportunities, ReReservations: k.ReReservations, Reservations: k.Reservations}
		for _, l := range v.State.Locations.Of(k) {
			d.Locations = append(d.Locations, api.Location{Name: v.State.Names.Text(l.Name), Count: l.Count, Relax: l.Relax})
		}
		slices.SortFunc(d.Locations, func(a, b api.Location) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, d)
	}
	return out
}

// AttemptRecord is an attempt of an application: the current one, or a past one that the state
// still has.
type AttemptRecord struct {
	ID                       yarn.AttemptID
	Current                  bool
	State                    string // YARN's name of the state
	Final                    yarn.FinalStatus
	Started, Launched, Ended int64          // in Unix milliseconds; 0 if it has not happened
	Master                   uint64         // number of the AM's container; 0 if there is none
	Node                     state.NodeSlot // slot of its node
	Host                     string
	Port                     int32
	Tracking, Diagnostics    string
}

// AttemptRecords returns the attempts that the state still has, oldest first.
func (v *View) AttemptRecords(a *state.App) []AttemptRecord {
	var out []AttemptRecord
	if a.Attempt != 0 && a.AttemptState != state.AttemptEnded {
		d := a.Details()
		out = append(out, AttemptRecord{ID: a.AttemptID(), Current: true, State: wsAttemptState(a), Final: a.Final,
			Started: a.AttemptMillis, Launched: a.LaunchedMillis, Master: a.MasterNumber, Node: a.MasterNode, Host: d.Host,
			Port:     a.RPCPort,
			Tracking: d.TrackingURL, Diagnostics: d.Diagnostics})
	}
	for _, h := range v.State.Attempts.Of(a) {
		out = append(out, AttemptRecord{ID: yarn.AttemptID{App: a.ID, Attempt: h.Number}, Current: h.Number == a.Attempt,
			State: endedState(a, h), Final: h.Final,
			Started: h.StartedMillis, Launched: h.LaunchedMillis, Ended: h.EndedMillis, Master: h.MasterNumber,
			Node: h.MasterNode, Host: h.Host, Port: h.RPCPort,
			Tracking: h.TrackingURL, Diagnostics: h.Diagnostics})
	}
	slices.Reverse(out)
	return out
}

// wsAttemptState returns YARN's name for the state of a current attempt.
func wsAttemptState(a *state.App) string {
	switch {
	case a.AttemptState == state.AttemptFinishing:
		return "FINISHING"
	case a.AttemptState == state.AttemptRegistered:
		return "RUNNING"
	case a.LaunchedMillis != 0 || a.Unmanaged && a.AttemptState == state.AttemptActive:
		return "LAUNCHED"
	case a.MasterNumber != 0:
		return "ALLOCATED"
	}
	return "SCHEDULED"
}

// endedState returns YARN's name for the way in which an attempt ended.
func endedState(a *state.App, h *state.Attempt) string {
	switch {
	case h.Unregistered:
		return "FINISHED"
	case a.State == yarn.AppKilled && h.Number == a.Attempt:
		return "KILLED"
	}
	return "FAILED"
}

// Master returns the id of an attempt's AM container, and the HTTP address and id of its node. It
// returns empty strings for what is unknown.
func (v *View) Master(app yarn.ApplicationID, attempt uint32, number uint64, node state.NodeSlot) (container,
	address, id string) {
	if number == 0 {
		return "", "", ""
	}
	container = yarn.ContainerID{App: app, Attempt: attempt, Number: number}.String()
	if v.State.Nodes.Has(node) {
		n := v.State.Nodes.Get(node)
		address, id = HTTPAddress(n), n.ID.String()
	}
	return container, address, id
}
