package ui

import (
	"rmd/api"
)

type clusterData struct {
	Index     uint64
	Cluster   *api.Cluster
	Problem   *api.Error // why the replicas cannot be shown
	Snapshots []api.Snapshot
	NoShots   *api.Error
	Autopilot *api.AutopilotState
	Upgrade   *api.Upgrade
	Jobs      []api.Job
	Verify    *api.Verify
	NoVerify  *api.Error
	Pages     map[string]string // URLs of the replicas, by id
	Others    []string          // replicas to which the leadership can be transferred
	Now       int64
	Here      Status // has the times that this replica measured
}

func clusterPage(q *query) (any, error) {
	d := clusterData{Index: q.v.Index, Now: q.u.cfg.Now().UnixMilli(), Here: q.u.cfg.Status()}
	ctx, from := q.r.Context(), q.u.cfg.API
	if c, err := from.Cluster(ctx, q.v); err != nil {
		d.Problem = q.u.cfg.Problems.Of(err, false)
	} else {
		d.Cluster, d.Pages = &c, map[string]string{}
		for _, m := range c.Members {
			d.Pages[m.ID] = pagesOf(m, q.r.TLS != nil)
			if m.Voter && !m.Leader && m.State == "alive" {
				d.Others = append(d.Others, m.ID)
			}
		}
	}
	var err error
	if d.Snapshots, err = from.Snapshots(ctx); err != nil {
		d.NoShots = q.u.cfg.Problems.Of(err, false)
	}
	if pilot, err := from.Autopilot(ctx); err == nil {
		d.Autopilot = &pilot
	}
	d.Jobs = from.Jobs()
	if up, err := from.Upgrade(ctx, q.v.State); err == nil {
		d.Upgrade = &up
	}
	if q.q.Get("verify") == "1" && !IsLive(q.r) {
		if v, err := from.Verify(ctx); err != nil {
			d.NoVerify = q.u.cfg.Problems.Of(err, false)
		} else {
			d.Verify = &v
		}
	}
	return d, nil
}

// pagesOf returns the URL of a replica, or "" if its address is not known. It keeps the scheme of the
// page that links to it, if the replica serves that.
func pagesOf(m api.Member, secure bool) string {
	switch {
	case m.HTTPSAddress != "" && (secure || m.HTTPAddress == ""):
		return "https://" + m.HTTPSAddress
	case m.HTTPAddress != "":
		return "http://" + m.HTTPAddress
	}
	return ""
}
