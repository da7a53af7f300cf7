package httpserver

import (
	"net/http"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func appAttempts(c *call, v *view, a *state.App) error {
	return c.json(http.StatusOK, api.Attempts{Attempts: v.attempts(a)})
}

// attempts lists the attempts that the state remembers, the oldest first.
func (v *view) attempts(a *state.App) []api.Attempt {
	live := map[uint32]int{}
	for slot := a.Containers; slot != 0; {
		k := v.st.Containers.Get(slot)
		if k.State.Live() {
			live[k.Attempt]++
		}
		slot = k.NextOfApp()
	}
	out := []api.Attempt{}
	for _, t := range v.attemptViews(a) {
		d := api.Attempt{ID: t.id.String(), Number: t.id.Attempt, Current: t.current, State: "ENDED", StartedMillis: t.started, LaunchedMillis: t.launched, EndedMillis: t.ended,
			FinalStatus: t.final.String(), Containers: live[t.id.Attempt], Host: t.host, RPCPort: t.port, TrackingURL: t.tracking, Diagnostics: t.diagnostics}
		if t.current {
			d.State = attemptState(a.AttemptState)
		}
		d.AMContainer, _, d.AMNode = v.masterOf(a.ID, t.id.Attempt, t.master, t.node)
		out = append(out, d)
	}
	return out
}

func appAsks(c *call, v *view, a *state.App) error {
	return c.json(http.StatusOK, api.Asks{Asks: v.asks(a)})
}

func (v *view) asks(a *state.App) []api.Ask {
	out := []api.Ask{}
	for slot := a.Asks; slot != 0; {
		k := v.st.Asks.Get(slot)
		relax := k.Relax
		d := api.Ask{Priority: k.Key.Priority, AllocationID: k.Key.AllocationID, Name: yarn.Any, Count: k.Count, Size: v.size(k.Size), Relax: &relax,
			AM: k.AM, Opportunities: k.Opportunities, ReReservations: k.ReReservations, Reservations: k.Reservations}
		for at := k.Locations; at != 0; {
			l := v.st.Locations.Get(at)
			d.Locations = append(d.Locations, api.Location{Name: v.st.NameOf(l.Name), Count: l.Count, Relax: l.Relax})
			at = l.Next
		}
		slices.SortFunc(d.Locations, func(a, b api.Location) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, d)
		slot = k.Next
	}
	return out
}

// attempt finds the attempt a call speaks for: the one it names, or the current
// one as this replica knows it.
func (c *call) attempt(number uint32) (*view, yarn.AttemptID, *state.App, error) {
	st, index := c.s.cfg.Reader.Fork()
	v := c.s.viewOf(st, index)
	id, slot, err := v.app(c.args["id"])
	if err != nil {
		return nil, yarn.AttemptID{}, nil, err
	}
	a := v.st.Apps.Get(slot)
	if number == 0 {
		number = a.Attempt
	}
	return v, yarn.AttemptID{App: id, Attempt: number}, a, nil
}

func registerAttempt(c *call) error {
	var doc api.Register
	if err := c.read(&doc); err != nil {
		return err
	}
	v, id, _, err := c.attempt(doc.Attempt)
	if err != nil {
		return err
	}
	reply, index, err := do[*input.RegisterAttemptReply](c, &input.RegisterAttempt{Attempt: id, Host: doc.Host, RPCPort: doc.RPCPort, TrackingURL: doc.TrackingURL})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.Registered{Attempt: id.String(), Queue: reply.Queue, Maximum: v.size(reply.Maximum), Kept: v.granted(reply.Kept), Index: index})
}

func (v *view) granted(in []input.Granted) []api.Granted {
	out := make([]api.Granted, 0, len(in))
	for _, g := range in {
		out = append(out, api.Granted{Container: g.Container.String(), Node: g.Node.String(), Rack: g.Rack,
			Priority: g.Key.Priority, AllocationID: g.Key.AllocationID, Size: v.size(g.Size)})
	}
	return out
}

func allocate(c *call) error {
	var doc api.Allocate
	if err := c.read(&doc); err != nil {
		return err
	}
	v, id, a, err := c.attempt(doc.Attempt)
	if err != nil {
		return err
	}
	in := &input.Allocate{Attempt: id, Response: a.Response, BlacklistAdd: doc.BlacklistAdd, BlacklistRemove: doc.BlacklistRemove}
	if doc.Response != nil {
		in.Response, in.Counted = *doc.Response, true
	}
	if err := v.fillAllocate(in, doc); err != nil {
		return err
	}
	reply, index, err := do[*input.AllocateReply](c, in)
	if err != nil {
		return err
	}
	out := api.Allocated{Response: reply.Response, Granted: v.granted(reply.Granted), Completed: []api.Completed{},
		Headroom: v.size(reply.Headroom), Nodes: reply.Nodes, Index: index}
	for _, s := range reply.Completed {
		out.Completed = append(out.Completed, api.Completed{Container: s.Container.String(), ExitStatus: s.ExitStatus, Diagnostics: s.Diagnostics})
	}
	return c.json(http.StatusOK, out)
}

// fillAllocate reads the asks and releases of a heartbeat.
func (v *view) fillAllocate(in *input.Allocate, doc api.Allocate) error {
	for _, k := range doc.Asks {
		size, err := v.resource("asks.size", k.Size)
		if err != nil {
			return err
		}
		ask := input.Ask{Key: yarn.SchedulerKey{Priority: k.Priority, AllocationID: k.AllocationID}, Name: k.Name, Count: k.Count, Size: size, Relax: true}
		if ask.Name == "" {
			ask.Name = yarn.Any
		}
		if k.Relax != nil {
			ask.Relax = *k.Relax
		}
		in.Asks = append(in.Asks, ask)
	}
	for _, text := range doc.Releases {
		id, err := yarn.ParseContainerID(text)
		if err != nil {
			return invalid("releases: "+err.Error(), "give container ids as they were granted", "releases")
		}
		in.Releases = append(in.Releases, id)
	}
	return nil
}

var finalStatuses = map[string]yarn.FinalStatus{"": yarn.FinalSucceeded, "SUCCEEDED": yarn.FinalSucceeded, "FAILED": yarn.FinalFailed,
	"KILLED": yarn.FinalKilled, "ENDED": yarn.FinalEnded}

func finishAttempt(c *call) error {
	var doc api.Finish
	if err := c.read(&doc); err != nil {
		return err
	}
	final, ok := finalStatuses[strings.ToUpper(doc.FinalStatus)]
	if !ok {
		return invalid("final_status "+doc.FinalStatus+" is not known", "give SUCCEEDED, FAILED, KILLED or ENDED", "final_status")
	}
	_, id, _, err := c.attempt(doc.Attempt)
	if err != nil {
		return err
	}
	return c.done(&input.FinishAttempt{Attempt: id, Final: final, Diagnostics: doc.Diagnostics, TrackingURL: doc.TrackingURL})
}
