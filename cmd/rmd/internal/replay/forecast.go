package replay

import (
	"context"
	"errors"
	"slices"
	"time"

	"rmd/forecast"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/workload"
	"rmd/workload/report"
	"rmd/workload/trace"
)

// forecastParts is how many times in a trace it is forecast what waits.
const forecastParts = 300

// MeasureForecasts replays the trace on a planner in virtual time, forecasts now and then when what
// waits will start, and compares that with when it starts. Beside rmd's way it measures that of
// schedulers which plan with declared limits.
func MeasureForecasts(ctx context.Context, o Options) ([]report.Forecasts, error) {
	queues, err := o.queues(nil)
	if err != nil {
		return nil, err
	}
	v, err := newVirtual(queues, o.Scheduling == "eager")
	if err != nil {
		return nil, err
	}
	declared := forecast.DefaultOptions()
	declared.Runs, declared.Limit = 1, limits(o.Trace)
	f := &forecasts{virtual: v, reserved: map[uint64]forecast.Ask{}, every: every(o),
		methods: []*method{newMethod("rmd", forecast.DefaultOptions()), newMethod("declared", declared)}}
	c := o.config("forecasts")
	c.Kinds, c.Submitter, c.MaxMeasured = queues.Kinds, f, 0
	c.SampleEvery, c.ProgressEvery, c.Patience = time.Minute, time.Minute, 60
	c.Advance = f.advance
	c.Granted = func() uint64 { return v.planner.State().Meta.Allocated }
	if _, err := workload.Simulate(ctx, c); err != nil {
		return nil, errors.Join(err, f.err)
	}
	var out []report.Forecasts
	for _, m := range f.methods {
		out = append(out, m.summary())
	}
	return out, f.err
}

// limitFactor is by how much declared limits exceed the longest container of an application. Users
// of clusters that end what exceeds its limit declare at least so much.
const limitFactor = 2

// limits are what the users of a trace would declare.
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

// every is the time between two forecasts.
func every(o Options) time.Duration {
	last := time.Duration(0)
	for i := range o.Trace.Jobs {
		last = max(last, o.Trace.Jobs[i].Submit)
	}
	return max(last/forecastParts, time.Minute)
}

// forecasts is a virtual cluster where the starts of what waits are forecast.
type forecasts struct {
	*virtual
	methods  []*method
	every    time.Duration
	next     time.Duration
	reserved map[uint64]forecast.Ask
	err      error
}

// method is one way to forecast, with what became of it.
type method struct {
	name    string
	options forecast.Options
	record  *forecast.Record
	none    int

	errors, waits, widths []int64
}

func newMethod(name string, o forecast.Options) *method {
	return &method{name: name, options: o, record: forecast.NewRecord()}
}

// Do implements workload.Submitter.
func (f *forecasts) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	if err := errors.Join(context.Cause(ctx), f.err); err != nil {
		return nil, errors.Join(errors.New("replay: the run ended early"), err)
	}
	now := virtualEpoch + f.now.Milliseconds()
	reply, events := f.planner.Plan(now, input.Request{Input: in})
	for _, e := range events {
		switch e := e.(type) {
		case *event.ContainerAllocated:
			f.started(now, forecast.Ask{App: e.App, Key: e.Key})
		case *event.ReservationMade:
			f.reserved[e.Reservation] = forecast.Ask{App: e.App, Key: e.Key}
		case *event.ReservationCancelled:
			delete(f.reserved, e.Reservation)
		case *event.ReservationFulfilled:
			f.started(now, f.reserved[e.Reservation])
			delete(f.reserved, e.Reservation)
		}
	}
	return reply, nil
}

// advance forecasts, when it is time to, before the clock moves: all that could start has.
func (f *forecasts) advance(to time.Duration) {
	if f.now >= f.next && f.err == nil {
		f.next = f.now + f.every
		for _, m := range f.methods {
			if err := m.forecast(f.planner, virtualEpoch+f.now.Milliseconds()); err != nil {
				f.err = err
			}
		}
	}
	f.now = to
}

func (f *forecasts) started(now int64, k forecast.Ask) {
	for _, m := range f.methods {
		m.started(now, k)
	}
}

// summary is what became of all forecasts of a method.
func (m *method) summary() report.Forecasts {
	out := report.Forecasts{Method: m.name, Made: len(m.errors), Open: m.record.Waiting(), None: m.none}
	if m.options.Limit == nil && out.Made > 0 {
		out.Held = float64(m.record.Held) / float64(out.Made)
	}
	out.SetErrors(m.errors, m.waits, m.widths)
	return out
}

// started compares the forecast of a start, if there is one, with the present time.
func (m *method) started(now int64, k forecast.Ask) {
	p, ok := m.record.Started(now, k)
	if !ok {
		return
	}
	delay := now - p.AtMillis
	guess := p.Median
	if m.options.Limit != nil { // such schedulers say what they plan
		guess = p.Forecast
	}
	m.errors = append(m.errors, max(delay-guess, guess-delay))
	m.waits = append(m.waits, delay)
	m.widths = append(m.widths, p.To-p.From)
}

// forecast forecasts the starts of what waits and has no forecast yet.
func (m *method) forecast(p *planner.Planner, now int64) error {
	st := p.State()
	asks := slices.DeleteFunc(forecast.Waiting(st), func(k forecast.Ask) bool { _, ok := m.record.Open(k); return ok })
	if len(asks) == 0 {
		return nil
	}
	starts, err := forecast.Run(st, now, asks, m.options)
	if err != nil {
		return err
	}
	for i := range starts {
		delay := starts[i].Quantile(50)
		if delay == forecast.Never {
			m.none++
			continue
		}
		m.record.Promise(now, starts[i].Ask, delay)
	}
	return nil
}
