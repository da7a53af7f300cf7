package replay

import (
	"context"
	"errors"
	"time"

	"rmd/analysis/forecast"
	"rmd/analysis/rerun"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/workload/report"
	"rmd/workload/trace"
)

// forecastParts is the number of times in a trace at which starts are forecast.
const forecastParts = 300

// MeasureForecasts replays the trace with a planner in virtual time. At intervals it forecasts when
// waiting containers will start, and compares the forecasts with the actual starts. It measures
// rmd's method, and the method of schedulers that plan with declared limits.
func MeasureForecasts(ctx context.Context, o Options) ([]report.Forecasts, error) {
	v, err := o.cluster(nil)
	if err != nil {
		return nil, err
	}
	st, declared := v.State(), forecast.RefreshOptions()
	declared.Runs, declared.Limit = 1, limits(o.Trace)
	f := &forecasts{Cluster: v, every: forecastInterval(o),
		methods: []*method{newMethod("rmd", st, forecast.RefreshOptions()), newMethod("declared", st, declared)}}
	v.After = f.planned
	c := o.config("forecasts")
	c.MaxMeasured, c.Advance = 0, f.advance
	addRounds(&c, v)
	if _, err := f.Simulate(ctx, c, time.Minute); err != nil {
		return nil, err
	}
	var out []report.Forecasts
	for _, m := range f.methods {
		out = append(out, m.summary())
	}
	return out, nil
}

// limitFactor is the ratio of declared limits to the longest container of an application. On
// clusters that kill containers at their limit, users declare at least this much.
const limitFactor = 2

// limits returns the limits that the users of a trace would declare, in milliseconds.
func limits(t *trace.Trace) func(*state.App) int64 {
	byName := map[string]int64{}
	for i := range t.Jobs {
		for _, g := range t.Jobs[i].Tasks {
			for _, d := range append(g.Durations, g.Duration) {
				byName[t.Jobs[i].Name] = max(byName[t.Jobs[i].Name], limitFactor*d.Milliseconds())
			}
		}
	}
	return func(a *state.App) int64 { return byName[a.Details().Name] }
}

// forecastInterval returns the time between two forecasts.
func forecastInterval(o Options) time.Duration {
	last := time.Duration(0)
	for i := range o.Trace.Jobs {
		last = max(last, o.Trace.Jobs[i].Submit)
	}
	return max(last/forecastParts, 100*time.Millisecond)
}

// forecasts is a cluster that forecasts the starts of waiting containers.
type forecasts struct {
	*rerun.Cluster
	methods []*method
	every   time.Duration
	next    time.Duration
	inputs  uint64
}

// method is one method of forecasting, with its results.
type method struct {
	*forecast.Keeper
	name string

	errors, waits, widths []int64
}

func newMethod(name string, st *state.State, o forecast.Options) *method {
	m := &method{Keeper: forecast.NewKeeper(st, 0, nil, o), name: name}
	m.Due = m.compareStart
	return m
}

// planned passes what an input has changed to the methods.
func (f *forecasts) planned(input.Input, input.Reply, []event.Event) {
	f.inputs++
	for _, m := range f.methods {
		m.Apply(f.inputs, f.Now, f.Changes())
	}
}

// advance forecasts if it is time to, then sets the clock. At that moment, everything that can
// start has started.
func (f *forecasts) advance(to time.Duration) {
	if f.Elapsed >= f.next && f.Err == nil {
		f.next = f.Elapsed + f.every
		for _, m := range f.methods {
			f.Err = errors.Join(f.Err, m.Forecast(f.State(), f.Now))
		}
	}
	f.Advance(to)
}

// summary returns the results of all forecasts of a method.
func (m *method) summary() report.Forecasts {
	out := report.Forecasts{Method: m.name, Made: len(m.errors), Open: m.Record.Waiting() + m.Record.Gone,
		None: m.Record.None, Deepest: m.Deepest}
	if m.Options.Limit == nil && out.Made > 0 {
		out.Held = float64(m.Record.Held) / float64(out.Made)
	}
	out.SetErrors(m.errors, m.waits, m.widths)
	return out
}

// compareStart compares a forecast with the actual start.
func (m *method) compareStart(o forecast.Outcome) {
	guess := o.Median
	if m.Options.Limit != nil { // such schedulers forecast the time that they plan
		guess = o.Forecast
	}
	m.errors = append(m.errors, max(o.Delay-guess, guess-o.Delay))
	m.waits = append(m.waits, o.Delay)
	m.widths = append(m.widths, o.To-o.From)
}
