package server

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rmd/forecast"
	"rmd/fsm/state"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// forecastAfter is how many applications an answer names whose containers must end first.
const forecastAfter = 5

// forecastOf forecasts the starts of what an application waits for, from a time in Unix milliseconds.
func forecastOf(ctx context.Context, st *state.State, now int64, id yarn.ApplicationID) (*api.Forecast, error) {
	d := &api.Forecast{ID: id.String(), AtMillis: now, Asks: []api.ForecastAsk{}}
	slot := st.AppByID(id)
	if slot == 0 {
		return d, nil
	}
	a := st.Apps.Get(slot)
	asks := slices.DeleteFunc(forecast.Waiting(st), func(k forecast.Ask) bool { return k.App != id.Seq })
	o := forecast.DefaultOptions()
	o.Stop = func() bool { return ctx.Err() != nil }
	starts, err := forecast.Run(st, now, asks, o)
	if err != nil {
		return nil, err
	}
	for i := range starts {
		ask := st.Asks.Get(st.Ask(a, asks[i].Key))
		d.Asks = append(d.Asks, forecastAsk(st, now, ask, &starts[i]))
		d.Runs = len(starts[i].Delays)
	}
	return d, nil
}

func forecastAsk(st *state.State, now int64, ask *state.Ask, s *forecast.Start) api.ForecastAsk {
	out := api.ForecastAsk{Priority: ask.Key.Priority, AllocationID: ask.Key.AllocationID, Size: st.Kinds().Format(ask.Size), Count: ask.Count}
	if !anyHolds(st, ask.Size) {
		out.Never = "no node that is running is as large"
		return out
	}
	for _, delay := range s.Delays {
		if delay != forecast.Never {
			out.Started++
		}
	}
	if len(s.Delays) == 0 {
		return out
	}
	at := func(percent int) int64 {
		if delay := s.Quantile(percent); delay != forecast.Never {
			return now + delay
		}
		return 0
	}
	out.FromMillis, out.MedianMillis, out.ToMillis = at(5), at(50), at(95)
	out.After = mostAfter(st, s)
	return out
}

// anyHolds says whether an empty node would hold a container.
func anyHolds(st *state.State, size yarn.Resource) (holds bool) {
	st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		holds = n.Serving() && size.Within(n.Total)
		return !holds
	})
	return holds
}

func mostAfter(st *state.State, s *forecast.Start) []api.ForecastAfter {
	var out []api.ForecastAfter
	for seq, runs := range s.After { // order is harmless: they are sorted
		a := st.Apps.Get(st.App(seq))
		out = append(out, api.ForecastAfter{ID: a.ID.String(), Queue: st.Queues.Get(a.Queue).Path, Runs: runs})
	}
	slices.SortFunc(out, func(a, b api.ForecastAfter) int { return cmp.Or(b.Runs-a.Runs, cmp.Compare(a.ID, b.ID)) })
	return out[:min(len(out), forecastAfter)]
}

// forecastNow is forecastOf from now on.
func forecastNow(ctx context.Context, st *state.State, id yarn.ApplicationID) (*api.Forecast, error) {
	return forecastOf(ctx, st, time.Now().UnixMilli(), id)
}
