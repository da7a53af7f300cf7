package server

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"rmd/config"
	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/server/rerun"
	httpserver "rmd/transport/http"
	"rmd/yarn"
)

// off turns plain REST off in http.listen.
const off = "none"

// openREST makes the HTTP server, when it is to listen anywhere.
func (r *Replica) openREST() error {
	if h := r.opt.Config.HTTP; (h.Listen == "" || h.Listen == off) && h.ListenTLS == "" {
		return nil
	}
	c := httpserver.DefaultConfig()
	c.ID, c.Version, c.Logger = r.opt.Config.ID, r.opt.Version, r.log.Named("rest")
	c.Door, c.Reader, c.Metrics = r.door, reader{r.machine}, r.metrics
	c.Consensus, c.Snapshots, c.Log = consensus{r}, snapshots{r}, history{r}
	c.Explain = func(st *state.State, id yarn.ApplicationID) (any, error) { return r.reasons.explain(st, id) }
	c.Planning = func() *state.State { st, _, _ := r.machine.Planning(0); return st }
	c.WhatIf = whatIf
	c.Foresee = func(st *state.State, in *input.SubmitApplication) (any, error) {
		p, err := planner.New(st, planner.Options{})
		if err != nil {
			return nil, err
		}
		return explain.Submission(p, in)
	}
	c.Past, c.Why, c.Warm = r.past.at, r.whys.of, r.reasons.warm
	c.Rerun = func(ctx context.Context, st *state.State) (any, error) { return rerun.Compare(ctx, history{r}, st) }
	c.Reason = r.reasons.of
	c.RefusalOf, c.Hosts = refusalOf, r.opt.Config.HTTP.Hosts
	c.Auth.Mode, c.Auth.Cluster, c.Auth.Member = r.opt.Config.HTTP.Auth, r.opt.Config.Cluster, r.isMember
	c.MaxPerAddress = int(r.opt.Config.HTTP.PerAddress)
	c.Auth.Rate, c.Auth.Burst = int(r.opt.Config.HTTP.Rate), int(r.opt.Config.HTTP.Burst)
	c.Auth.OwnToken = r.opt.OwnToken
	if r.certs != nil {
		c.Auth.Revoked = r.certs.Revoked
	}
	c.Profiles = r.opt.Config.HTTP.Pprof
	if r.opt.Config.HTTP.PublicWrites {
		c.Admit = admitOpen
	}
	for _, s := range config.Effective(r.opt.Config, r.opt.Origins) {
		c.Own = append(c.Own, httpserver.OwnSetting{Name: s.Path, Value: s.Value, About: s.About, Origin: s.Origin})
	}
	if r.hadoop != nil {
		c.Hadoop, c.Settings, c.Admin = r.hadoop.web, r.hadoop.files.settings, r.hadoop.access.Admin
	}
	var err error
	if r.rest, err = httpserver.New(c); err != nil {
		return err
	}
	return r.listenHTTP()
}

// listenHTTP opens the ports of REST.
func (r *Replica) listenHTTP() error {
	c := r.opt.Config
	if c.HTTP.Listen != "" && c.HTTP.Listen != off {
		l, err := net.Listen("tcp", c.HTTP.Listen)
		if err != nil {
			return fmt.Errorf("http.listen: %w", err)
		}
		r.http = append(r.http, r.budget.Listen("http.listen", l))
	}
	if c.HTTP.ListenTLS == "" {
		return nil
	}
	l, err := net.Listen("tcp", c.HTTP.ListenTLS)
	if err != nil {
		return fmt.Errorf("http.listen_tls: %w", err)
	}
	r.secure = r.budget.Listen("http.listen_tls", l)
	r.http = append(r.http, r.secure)
	return nil
}

// serveHTTP answers on one of the ports until the end.
func (r *Replica) serveHTTP(l net.Listener) {
	if l == r.secure {
		_ = r.rest.ServeTLS(l, r.certs.HTTP()) // it ends with Close
		return
	}
	_ = r.rest.Serve(l) // it ends with Close
}

// admitOpen takes what carries a role over plain HTTP from other machines too,
// because the operator said so.
func admitOpen(*http.Request, httpserver.Class) error { return nil }

// whatIf asks the planner what another queue configuration would change.
func whatIf(st *state.State, props []input.Property, stop func() bool) (any, error) {
	inForce, err := planner.New(st.Fork(), planner.Options{})
	if err != nil {
		return nil, err
	}
	other, err := planner.New(st, planner.Options{})
	if err != nil {
		return nil, err
	}
	limits := explain.DefaultWhatIfLimits()
	limits.Stop = stop
	return explain.WhatIf(inForce, other, props, limits)
}
