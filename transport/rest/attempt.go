package rest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/rest/api"
	"rmd/yarn"
)

func appAttempts(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	_, slot, err := v.app(c.args["id"])
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.Attempts{Attempts: v.attempts(v.st.Apps.Get(slot))})
}

// attempts lists the current attempt, and earlier ones whose containers live
// on; the state remembers no others.
func (v *view) attempts(a *state.App) []api.Attempt {
	byNumber := map[uint32]*api.Attempt{}
	of := func(number uint32) *api.Attempt {
		if d := byNumber[number]; d != nil {
			return d
		}
		d := &api.Attempt{ID: yarn.AttemptID{App: a.ID, Attempt: number}.String(), Number: number, State: "ENDED"}
		byNumber[number] = d
		return d
	}
	if a.Attempt != 0 {
		d := of(a.Attempt)
		d.Current, d.State, d.StartedMillis = true, attemptState(a.AttemptState), a.AttemptMillis
		d.FinalStatus, d.Host, d.RPCPort = a.Final.String(), a.Host, a.RPCPort
		d.TrackingURL, d.Diagnostics = a.TrackingURL, a.Diagnostics
	}
	for slot := a.Containers; slot != 0; {
		k := v.st.Containers.Get(slot)
		d := of(k.Attempt)
		if k.State.Live() {
			d.Containers++
		}
		if k.AM {
			d.AMContainer, d.AMNode = v.st.ContainerID(k).String(), v.nodeID(k.Node)
		}
		slot = k.NextOfApp()
	}
	out := make([]api.Attempt, 0, len(byNumber))
	for _, d := range byNumber { // sorted below
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b api.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

func appAsks(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	_, slot, err := v.app(c.args["id"])
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.Asks{Asks: v.asks(v.st.Apps.Get(slot))})
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
		in.Response = *doc.Response
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
