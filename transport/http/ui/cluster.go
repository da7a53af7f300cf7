package ui

import (
	"rmd/transport/http/v1/api"
)

type clusterData struct {
	Index     uint64
	Cluster   *api.Cluster
	Problem   *api.Error // why the replicas cannot be shown
	Snapshots []api.Snapshot
	NoShots   *api.Error
	Autopilot *api.AutopilotState
	Upgrade   *api.Upgrade
	Verify    *api.Verify
	NoVerify  *api.Error
	Others    []string // replicas that leadership could go to
	Now       int64
	Here      Status // with what this replica measured
}

func clusterPage(q *query) (any, error) {
	d := clusterData{Index: q.v.Index(), Now: q.u.cfg.Now().UnixMilli(), Here: q.u.back.Status()}
	var c api.Cluster
	if err := q.get("/v1/cluster", &c); err != nil {
		d.Problem = q.u.back.Problem(err, false)
	} else {
		d.Cluster = &c
		for _, m := range c.Members {
			if m.Voter && !m.Leader && m.State == "alive" {
				d.Others = append(d.Others, m.ID)
			}
		}
	}
	var shots api.Snapshots
	if err := q.get("/v1/snapshots", &shots); err != nil {
		d.NoShots = q.u.back.Problem(err, false)
	}
	d.Snapshots = shots.Snapshots
	var pilot api.AutopilotState
	if err := q.get("/v1/autopilot", &pilot); err == nil {
		d.Autopilot = &pilot
	}
	var up api.Upgrade
	if err := q.get("/v1/upgrade", &up); err == nil {
		d.Upgrade = &up
	}
	if q.q.Get("verify") == "1" && !isLive(q.r) {
		var v api.Verify
		if err := q.get("/v1/cluster/verify", &v); err != nil {
			d.NoVerify = q.u.back.Problem(err, false)
		} else {
			d.Verify = &v
		}
	}
	return d, nil
}

type labelsData struct {
	Index  uint64
	Nodes  int
	Usable int
}

func labels(q *query) (any, error) {
	t := q.v.Totals()
	return labelsData{Index: q.v.Index(), Nodes: t.Nodes, Usable: t.UsableNodes}, nil
}
