package v1

import (
	"net/http"
	"slices"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// past serves the samples of the last hour, day or week, and those of applications.
type past struct{ *shared }

func (s *past) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/history", "queue node span",
			s.showPast).Doc("Show the last hour, day or week of the cluster, a queue or a node", nil, api.History{}),
		route.Get("/v1/apps/{id}/history", "", ofApp(s.showAppPast)).Doc(
			"Show what an application used, had reserved and waited for, from its submission on", nil, api.AppHistory{}),
	}
}

func (s *past) showPast(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	d, _, err := s.Past(v, c.Query.Get("queue"), c.Query.Get("node"), c.Query.Get("span"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// Past returns the samples for a queue or a node, or for the cluster if both are empty. span is hour,
// day or week; empty is hour. present returns the sample of this moment, which is not among them.
func (s *past) Past(v *view.View, queue, node, span string) (d *api.History,
	present func() (api.HistorySample, bool), err error) {
	now := s.cfg.Now()
	over, ok := api.HistorySpans[span]
	if !ok {
		return nil, nil, problem.Invalid("span="+span+" is not known", "give hour, day or week", "span")
	}
	var ofQueue state.QueueSlot
	var ofNode state.NodeSlot
	switch {
	case queue != "" && node != "":
		return nil, nil, problem.Invalid("queue and node contradict each other",
			"give one of them, or neither for the cluster")
	case queue != "":
		if ofQueue, err = v.FindQueue(queue); err != nil {
			return nil, nil, err
		}
		path := v.QueuePath(ofQueue)
		d = s.cfg.History.Queue(ofQueue, path, now, over)
		d.Queue = path
	case node != "":
		if ofNode, err = v.FindNode(node); err != nil {
			return nil, nil, err
		}
		id := v.State.Nodes.Get(ofNode).ID
		d = s.cfg.History.Node(ofNode, id, now, over)
		d.Node = id.String()
	default:
		d = s.cfg.History.Cluster(now, over)
	}
	d.ID = s.cfg.ID
	for _, f := range slices.Backward(s.cfg.Consensus.Failovers()) {
		if f.AtMillis > now.Add(-over).UnixMilli() {
			d.LeaderChanges = append(d.LeaderChanges, f)
		}
	}
	return d, func() (api.HistorySample, bool) {
		return s.cfg.History.Present(now, v.State, v.Summary(), v.Rooms(), ofQueue, ofNode)
	}, nil
}

func (s *past) showAppPast(c *route.Call, _ *view.View, a *state.App) error {
	return c.JSON(http.StatusOK, s.AppPast(a))
}

// AppPast returns the samples of an application.
func (s *past) AppPast(a *state.App) *api.AppHistory {
	d := s.cfg.History.App(a.ID, s.cfg.Now())
	d.ID, d.SubmittedMillis, d.EndedMillis = s.cfg.ID, a.SubmittedMillis, a.EndedMillis
	if len(d.Samples) > 0 && d.Samples[0].AtMillis-a.SubmittedMillis > 2*d.StepMillis {
		d.Gaps = slices.Insert(d.Gaps, 0, api.HistoryGap{FromMillis: a.SubmittedMillis, ToMillis: d.Samples[0].AtMillis})
	}
	return d
}
