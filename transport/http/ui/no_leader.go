package ui

import (
	"bytes"
	"context"
	"html/template"
	"time"

	"rmd/api"
)

// noLeader is the data of the banner that every page shows while this replica knows no leader.
type noLeader struct {
	Index   uint64
	Away    []api.Member // replicas that do not answer
	Verdict api.Verdict
	Asked   bool // the replicas were asked
}

// Majority reports whether enough voters answer to elect a leader.
func (d *noLeader) Majority() bool {
	away := 0
	for _, m := range d.Away {
		if m.Voter {
			away++
		}
	}
	return d.Verdict.Voters-away >= d.Verdict.Quorum
}

// awayOpened is how long a page waits for the first answers when a viewer opens it.
const awayOpened = time.Second

// noLeader returns the banner that lists the replicas that do not answer, or "" while there is a
// leader.
func (u *UI) noLeader(s Status, wait time.Duration) template.HTML {
	if s.Leader != "" {
		return ""
	}
	d := noLeader{Index: s.Index}
	if c := u.replicas.Get(wait, func(ctx context.Context) (api.Cluster,
		error) {
		return u.cfg.API.Cluster(ctx, u.cfg.Views.Now())
	}); c != nil {
		d.Asked, d.Verdict, d.Away = true, c.Verdict, api.Unreachable(c.Members)
	}
	var b bytes.Buffer
	if err := u.tmpl["error"].ExecuteTemplate(&b, "noleader", &d); err != nil {
		u.log.Error("banner of a page not rendered", "error", err)
	}
	return template.HTML(b.String())
}
