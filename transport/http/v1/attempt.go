package v1

import (
	"net/http"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

func appAttempts(c *route.Call, v *view.View, a *state.App) error {
	return c.JSON(http.StatusOK, api.Attempts{Attempts: v.Attempts(a)})
}

func appAsks(c *route.Call, v *view.View, a *state.App) error {
	return c.JSON(http.StatusOK, api.Asks{Asks: v.Asks(a)})
}

// attempt returns the attempt that a call is for: the one with the number, or for 0 the current one
// in this replica's state.
func (s *apps) attempt(c *route.Call, number uint32) (*view.View, yarn.AttemptID, *state.App, error) {
	v := s.cfg.Views.Now()
	id, slot, err := v.FindApp(c.Args["id"])
	if err != nil {
		return nil, yarn.AttemptID{}, nil, err
	}
	a := v.State.Apps.Get(slot)
	if number == 0 {
		number = a.Attempt
	}
	return v, yarn.AttemptID{App: id, Attempt: number}, a, nil
}

func (s *apps) registerAttempt(c *route.Call) error {
	var doc api.Register
	if err := c.Read(&doc); err != nil {
		return err
	}
	v, id, _, err := s.attempt(c, doc.Attempt)
	if err != nil {
		return err
	}
	reply, index, err := route.Do[*input.RegisterAttemptReply](c,
		&input.RegisterAttempt{Attempt: id, Host: doc.Host, RPCPort: doc.RPCPort, TrackingURL: doc.TrackingURL})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.Registered{Attempt: id.String(), Queue: reply.Queue, Maximum: v.Size(reply.Maximum),
		Kept: grantedDocs(v, reply.Kept), Index: index})
}

// grantedDocs returns the documents of granted containers.
func grantedDocs(v *view.View, in []input.Granted) []api.Granted {
	out := make([]api.Granted, 0, len(in))
	for _, g := range in {
		out = append(out, api.Granted{Container: g.Container.String(), Node: g.Node.String(), Rack: g.Rack,
			Priority: g.Key.Priority, AllocationID: g.Key.AllocationID, Size: v.Size(g.Size)})
	}
	return out
}

func (s *apps) allocate(c *route.Call) error {
	var doc api.Allocate
	if err := c.Read(&doc); err != nil {
		return err
	}
	v, id, a, err := s.attempt(c, doc.Attempt)
	if err != nil {
		return err
	}
	in := &input.Allocate{Attempt: id, Response: a.Response, BlacklistAdd: doc.BlacklistAdd,
		BlacklistRemove: doc.BlacklistRemove, Gang: doc.Gang}
	if doc.Response != nil {
		in.Response, in.FromAM = *doc.Response, true
	}
	if err := fillAllocate(v, in, doc); err != nil {
		return err
	}
	reply, index, err := route.Do[*input.AllocateReply](c, in)
	if err != nil {
		return err
	}
	out := api.Allocated{Response: reply.Response, Granted: grantedDocs(v, reply.Granted), Completed: []api.Completed{},
		Headroom: v.Size(reply.Headroom), Nodes: reply.Nodes, Index: index}
	for _, s := range reply.Completed {
		out.Completed = append(out.Completed, api.Completed{Container: s.Container.String(), ExitStatus: s.ExitStatus,
			Diagnostics: s.Diagnostics})
	}
	for _, k := range reply.Preempted {
		out.Preempted = append(out.Preempted, api.Preempting{Container: k.Container.String(), Size: v.Size(k.Size),
			DeadlineMillis: k.DeadlineMillis})
	}
	return c.JSON(http.StatusOK, out)
}

// fillAllocate adds the asks and releases of a heartbeat's document to the input.
func fillAllocate(v *view.View, in *input.Allocate, doc api.Allocate) error {
	for _, k := range doc.Asks {
		size, err := v.Amount("asks.size", k.Size)
		if err != nil {
			return err
		}
		ask := input.Ask{Key: yarn.SchedulerKey{Priority: k.Priority, AllocationID: k.AllocationID}, Name: k.Name,
			Count: k.Count, Size: size, Relax: true, Label: k.Label}
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
			return problem.Invalid("releases: "+err.Error(), "give container ids as they were granted", "releases")
		}
		in.Releases = append(in.Releases, id)
	}
	return nil
}

var finalStatuses = map[string]yarn.FinalStatus{"": yarn.FinalSucceeded, "SUCCEEDED": yarn.FinalSucceeded,
	"FAILED": yarn.FinalFailed,

	"KILLED": yarn.FinalKilled, "ENDED": yarn.FinalEnded}

func (s *apps) finishAttempt(c *route.Call) error {
	var doc api.Finish
	if err := c.Read(&doc); err != nil {
		return err
	}
	final, ok := finalStatuses[strings.ToUpper(doc.FinalStatus)]
	if !ok {
		return problem.Invalid("final_status "+doc.FinalStatus+" is not known", "give SUCCEEDED, FAILED, KILLED or ENDED",
			"final_status")
	}
	_, id, _, err := s.attempt(c, doc.Attempt)
	if err != nil {
		return err
	}
	return c.Done(&input.FinishAttempt{Attempt: id, Final: final, Diagnostics: doc.Diagnostics,
		TrackingURL: doc.TrackingURL})
}
