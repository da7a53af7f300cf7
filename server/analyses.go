package server

import (
	"rmd/analysis/forecaster"
	"rmd/analysis/past"
	"rmd/analysis/preview"
	"rmd/analysis/reasons"
	"rmd/analysis/shadow/host"
	"rmd/internal/job"
)

// analyses answer questions about the past and the future beside the log.
type analyses struct {
	reasons   *reasons.Reasons
	past      *past.States
	causes    *past.Causes
	preview   *preview.Preemption
	forecasts *forecaster.Forecaster
	shadow    *host.Host
}

func (r *Replica) openAnalyses() error {
	c, eager, log := r.opt.Config, r.opt.Config.Eager(), r.log.Named("analysis")
	a := analyses{reasons: &reasons.Reasons{}, past: past.NewStates(r.cluster),
		causes: past.NewCauses(r.cluster, r.machine, eager, log)}
	a.preview = &preview.Preemption{ID: c.ID, Log: r.cluster, Past: a.past, Eager: eager}
	a.forecasts = forecaster.New(forecaster.Config{ID: c.ID, Data: c.Data, Machine: r.machine, Log: r.cluster,
		Explain: a.reasons.Explain,
		Every:   r.parts.ForecastEvery, Now: r.parts.Now, Logger: log, Job: r.jobs.Job(job.Forecasts)})
	a.shadow = host.New(host.Config{ID: c.ID, Eager: eager, Machine: r.machine, Log: r.cluster,
		Watch: reader{r.machine}.Watch,
		Now:   r.parts.Now, Logger: log, Job: r.jobs.Job(job.Shadow)})
	r.analyses = a
	return nil
}

// close stops what runs in the background, but for the forecasts, which end with the replica.
func (a *analyses) close() {
	if a.reasons == nil {
		return // the replica failed before it opened them
	}
	a.shadow.Close()
	a.reasons.Close()
	a.past.Close()
	a.causes.Close()
}
