package ui

import (
	"rmd/api"
	"rmd/transport/http/ui/plots"
)

// shadowData compares the cluster with the shadow on this replica.
type shadowData struct {
	*api.Shadow
	Unavailable bool
	Index       uint64
	Figures     []plots.ShadowQueue
}

func shadowPage(q *query) (any, error) {
	d := shadowData{Shadow: q.u.cfg.API.Shadow(), Index: q.v.Index}
	if d.Shadow == nil {
		d.Shadow, d.Unavailable = &api.Shadow{}, true
		return d, nil
	}
	if len(d.Points) < 2 {
		return d, nil
	}
	d.Figures = plots.OfShadow(d.Shadow)
	return d, nil
}
