package server

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"

	"rmd/analysis/rerun"
	"rmd/analysis/whatif"
	"rmd/api"
	"rmd/config"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
	"rmd/server/hadoop"
	httpserver "rmd/transport/http"
	"rmd/transport/http/auth"
	"rmd/transport/http/sampler"
	v1 "rmd/transport/http/v1"
)

// off is the value of http.listen that turns plain REST off.
const off = "none"

// openREST creates the server for the REST ports, if there are any.
func (r *Replica) openREST() error {
	if len(r.http) == 0 {
		return nil
	}
	c := httpserver.DefaultConfig()
	c.ID, c.Version, c.Logger = r.opt.Config.ID, r.opt.Version, r.log.Named("rest")
	c.Submitter, c.Reader, c.Metrics, c.Jobs, c.Now = r.forwarder, reader{r.machine}, r.metrics, r.jobs, r.parts.Now
	c.Consensus, c.Snapshots, c.Log = consensus{r}, snapshots{r}, history{r}
	c.Planner, c.Shadows = r.planner(), r.analyses.shadow
	c.Past, c.Prefetch, c.Hadoop.Reason = r.analyses.past.At, r.analyses.reasons.Warm, r.analyses.reasons.Of
	c.RefusalOf, c.Hosts = refusalOf, r.opt.Config.HTTP.Hosts
	c.Auth.Mode, c.Auth.Cluster, c.Auth.Member = r.opt.Config.HTTP.Auth, r.opt.Config.Cluster, r.isMember
	c.MaxPerAddress = int(r.opt.Config.HTTP.ConnectionsPerAddress)
	c.Auth.Rate, c.Auth.Burst = int(r.opt.Config.HTTP.Rate), int(r.opt.Config.HTTP.Burst)
	c.Auth.OwnToken = r.opt.OwnToken
	if r.certs != nil {
		c.Auth.Revoked = r.certs.Revoked
	}
	if c.Samples = sampler.New(c.PrefetchPause); r.opt.Config.Data != "" {
		r.samples = r.newSamples(c.Samples)
	}
	c.Profiles = r.opt.Config.HTTP.Pprof
	if r.opt.Config.HTTP.PublicWrites {
		c.Admit = admitOpen
	}
	for _, s := range config.Effective(r.opt.Config, r.opt.Origins) {
		c.Own = append(c.Own, httpserver.OwnSetting{Name: s.Path, Value: s.Value, About: s.About, Origin: s.Origin})
	}
	if r.hadoop != nil {
		c.Hadoop.Service, c.Hadoop.Settings = r.hadoop.Web(), r.hadoop.Settings
		c.Hadoop.Admin, c.Hadoop.Groups, c.Hadoop.ShortName = r.hadoop.Admin, r.hadoop.Groups, r.hadoop.ShortName
		c.Hadoop.WebApps, c.Hadoop.Proof = r.hadoop.WebApps(), r.hadoop.Proof()
	}
	var err error
	if r.hadoop != nil {
		if c.Kerberos, err = r.hadoop.WebLogin(); err != nil {
			return fmt.Errorf("hadoop: %w", err)
		}
	}
	r.rest, err = httpserver.New(c)
	return err
}

// listenHTTP opens the REST ports. openHadoop needs their addresses.
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

// serveHTTP serves one REST port until the replica closes.
func (r *Replica) serveHTTP(l net.Listener) {
	if l == r.secure {
		_ = r.rest.ServeTLS(l, r.certs.HTTP()) // returns after Close
		return
	}
	_ = r.rest.Serve(l) // returns after Close
}

// admitOpen permits requests that need a role over plain HTTP from other machines
// (http.public_writes).
func admitOpen(*http.Request, auth.Class) error { return nil }

// planner returns the functions with which REST asks the planner about a state.
func (r *Replica) planner() v1.Planner {
	return v1.Planner{
		Private:           func() *state.State { st, _, _ := r.machine.Planning(0); return st },
		Explain:           r.analyses.reasons.Explain,
		ExplainSubmission: whatif.Submission,
		WhatIf: func(st *state.State, properties []input.Property, stop func() bool) (*api.WhatIf, error) {
			return whatif.Queues(st, properties, r.opt.Config.Eager(), stop)
		},
		Landings:        r.landings,
		Forecast:        r.analyses.forecasts.Of,
		ForecastReport:  r.analyses.forecasts.Report,
		Preemption:      whatif.PreemptionNow,
		Preview:         r.analyses.preview.Between,
		Try:             whatif.Try,
		Why:             r.analyses.causes.Of,
		CheapestToDrain: explain.CheapestToDrain,
		Rerun: func(ctx context.Context, st *state.State) (*api.Rerun, error) {
			return rerun.Compare(ctx, history{r}, st)
		},
	}
}

// landings compares the queues in which two configurations would place the applications. It uses
// the groups that the users have on this replica now.
func (r *Replica) landings(st *state.State, from, to *capacity.Config, stop func() bool) *api.Landings {
	groups := map[string][]string{}
	groupsOf := func(user string) []string {
		if _, known := groups[user]; !known && user != "" {
			groups[user] = r.hadoop.Groups(user)
		}
		return groups[user]
	}
	return explain.CompareLandings(st, from, to, func(slot state.AppSlot, a *state.App) placement.Submission {
		s := explain.SubmissionOf(st, slot, a)
		if r.hadoop != nil {
			s.Groups, s.TagGroups = groupsOf(s.User), groupsOf(input.TagUser(s.Tags))
			s.Queue = cmp.Or(hadoop.NamedQueue(a.Details().Context), s.Queue)
		}
		return s
	}, stop)
}
