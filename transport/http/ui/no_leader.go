package ui

import (
	"bytes"
	"context"
	"html/template"
	"sync"
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

// awayKept is the age from which the replicas' answers are requested again. awayAsked is the most
// time that a request may take, and the age up to which old answers are shown meanwhile. awayOpened
// is how long a page waits for the first answers when a viewer opens it.
const (
	awayKept   = 2 * time.Second
	awayAsked  = 10 * time.Second
	awayOpened = time.Second
)

// replicas keeps what the replicas answered while there was no leader. All viewers share one
// request at a time.
type replicas struct {
	mu     sync.Mutex
	last   *api.Cluster
	at     time.Time
	asking chan struct{} // closed when the request is done; nil if there is none
}

// get returns the last answers, and requests new ones if they are old. If there are none that are
// recent enough, it waits for the request, but at most the given time.
func (x *replicas) get(wait time.Duration, ask func(context.Context) (api.Cluster, error)) *api.Cluster {
	x.mu.Lock()
	have, age, asking := x.last, time.Since(x.at), x.asking
	if have != nil && age < awayKept {
		x.mu.Unlock()
		return have
	}
	if asking == nil {
		asking = make(chan struct{})
		x.asking = asking
		go x.ask(asking, ask)
	}
	x.mu.Unlock()
	if have != nil && age < awayAsked {
		return have
	}
	select {
	case <-asking:
	case <-time.After(wait):
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last
}

func (x *replicas) ask(done chan struct{}, ask func(context.Context) (api.Cluster, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), awayAsked)
	defer cancel()
	c, err := ask(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		x.last, x.at = &c, time.Now()
	}
	x.asking = nil
	close(done)
}

// noLeader returns the banner that lists the replicas that do not answer, or "" while there is a
// leader.
func (u *UI) noLeader(s Status, wait time.Duration) template.HTML {
	if s.Leader != "" {
		return ""
	}
	d := noLeader{Index: s.Index}
	if c := u.replicas.get(wait, func(ctx context.Context) (api.Cluster,
		error) {
		return u.cfg.API.Cluster(ctx, u.cfg.Views.Now())
	}); c != nil {
		d.Asked, d.Verdict = true, c.Verdict
		for _, m := range c.Members {
			if m.State == "unreachable" {
				d.Away = append(d.Away, m)
			}
		}
	}
	var b bytes.Buffer
	if err := u.tmpl["error"].ExecuteTemplate(&b, "noleader", &d); err != nil {
		u.log.Error("banner of a page not rendered", "error", err)
	}
	return template.HTML(b.String())
}
