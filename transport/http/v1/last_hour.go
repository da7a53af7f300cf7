package v1

import (
	"net/http"
	"slices"

	"rmd/api"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

func (s *API) lastHourRoutes() []route.Route {
	return []route.Route{route.Get("/v1/history", "queue node", s.showLastHour).Doc("Show the last hour of the cluster, a queue or a node", nil, api.History{})}
}

func (s *API) showLastHour(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	d, err := s.LastHour(v, c.Query.Get("queue"), c.Query.Get("node"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// LastHour returns the samples of the last hour for a queue or a node, or for the cluster if both
// are empty.
func (s *API) LastHour(v *view.View, queue, node string) (*api.History, error) {
	now := s.cfg.Now()
	var d *api.History
	switch {
	case queue != "" && node != "":
		return nil, problem.Invalid("queue and node contradict each other", "give one of them, or neither for the cluster")
	case queue != "":
		slot, err := v.FindQueue(queue)
		if err != nil {
			return nil, err
		}
		path := v.QueuePath(slot)
		d = s.cfg.LastHour.Queue(slot, path, now)
		d.Queue = path
	case node != "":
		slot, err := v.FindNode(node)
		if err != nil {
			return nil, err
		}
		id := v.State.Nodes.Get(slot).ID
		d = s.cfg.LastHour.Node(slot, id, now)
		d.Node = id.String()
	default:
		d = s.cfg.LastHour.Cluster(now)
	}
	d.ID = s.cfg.ID
	for _, f := range slices.Backward(s.cfg.Consensus.Failovers()) {
		if f.AtMillis > now.Add(-api.HistorySpan).UnixMilli() {
			d.LeaderChanges = append(d.LeaderChanges, f)
		}
	}
	return d, nil
}
