package rerun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/workload"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

// noReservations is the key that turns reservations off.
const noReservations = capacity.Prefix + "reservation.maximum-per-cluster"

// sampleParts is the number of samples of utilization in the recorded time.
const sampleParts = 500

// readAtOnce is the number of log entries read at a time.
const readAtOnce = 256

// Compare simulates the recorded workload of a log twice, with the nodes and the queues of a state.
// It only reads the state.
func Compare(ctx context.Context, log view.LogReader, st *state.State) (*api.Rerun, error) {
	if st.Versions.Current() == nil {
		return nil, refused("the cluster has no queues yet", "initialize it first")
	}
	d := &api.Rerun{}
	r, err := record(ctx, log, st.Versions.Kinds().Index(yarn.GPUName), d)
	if err != nil {
		return nil, err
	}
	t, containers, cut := r.trace()
	d.Apps, d.Containers, d.Cut, d.SpanMillis = len(t.Jobs), containers, d.Cut || cut, r.now-r.began
	t.Nodes = nodesOf(st)
	d.Nodes = len(t.Nodes)
	if len(t.Jobs) == 0 || len(t.Nodes) == 0 {
		return nil, refused("the log that is kept records no application that asked for containers, or no node is running",
			"submit something, and come back")
	}
	sample := time.Duration(max(d.SpanMillis/sampleParts, 100)) * time.Millisecond
	with, err := play(ctx, t, st, false, sample)
	if err != nil {
		return nil, err
	}
	without, err := play(ctx, t, st, true, sample)
	if err != nil {
		return nil, err
	}
	d.With, d.Without = sideOf(with), sideOf(without)
	return d, nil
}

func refused(what, do string) error {
	return &api.Error{Code: "NOTHING_RECORDED", Message: what, Remedy: do, Status: 409}
}

// record reads the newest entries of the log, at most maxEntries.
func record(ctx context.Context, log view.LogReader, gpu int, d *api.Rerun) (*recording, error) {
	_, first, last, err := log.Entries(ctx, 0, 1)
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	if last > maxEntries && last-maxEntries > first {
		first, d.Cut = last-maxEntries, true
	}
	r := newRecording(gpu)
	d.From, d.To = first, last
	for at := first; at <= last; {
		entries, _, _, err := log.Entries(ctx, at, readAtOnce)
		var old *problem.TooOldError
		if errors.As(err, &old) && old.Oldest > at {
			at, d.From = old.Oldest, old.Oldest
			continue
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			at = e.Index + 1
			if b, err := event.Decode(e.Data); e.Type == "events" && err == nil {
				for _, x := range b.Events {
					r.add(x)
				}
			}
		}
	}
	return r, nil
}

// nodesOf returns the running nodes of a state.
func nodesOf(st *state.State) []trace.Node {
	gpu := st.Versions.Kinds().Index(yarn.GPUName)
	var out []trace.Node
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		if n.State == yarn.NodeRunning {
			k := trace.Node{Name: fmt.Sprintf("%s-%d", n.ID.Host, n.ID.Port), Rack: n.Rack, MemoryMB: n.Total[yarn.Memory],
				VCores: n.Total[yarn.VCores]}
			if gpu >= 0 {
				k.GPUs = n.Total[gpu]
			}
			out = append(out, k)
		}
		return true
	})
	return out
}

// play simulates a workload on a cluster of its own, with the queues of a state.
func play(ctx context.Context, t *trace.Trace, st *state.State, without bool,
	sample time.Duration) (*report.Summary, error) {
	var properties []capacity.Property
	for _, q := range st.Versions.Current().Properties {
		if !without || q.Name != noReservations {
			properties = append(properties, capacity.Property{Name: q.Name, Value: q.Value})
		}
	}
	if without {
		properties = append(properties, capacity.Property{Name: noReservations, Value: "0"})
	}
	d, err := NewCluster(properties, true)
	if err != nil {
		return nil, err
	}
	c := workload.DefaultConfig()
	c.Nodes, c.Jobs, c.AM, c.Logger = t.Nodes, workload.FromTrace(t), false, hclog.NewNullLogger()
	s, err := d.Simulate(ctx, c, sample)
	if ctx.Err() != nil {
		return nil, &api.Error{Code: api.CodeTimedOut, Message: "playing what was recorded takes longer than an answer may",
			Remedy: "use \"rmd replay\" with a trace for so much", Status: 503}
	}
	if err != nil {
		return nil, fmt.Errorf("play what was recorded: %w", err)
	}
	return s, nil
}

func sideOf(s *report.Summary) api.RerunSide {
	waits := func(w report.Waits) api.RerunWaits {
		return api.RerunWaits{Containers: w.Containers, Unserved: w.Unserved, P50Millis: w.P50Millis, P95Millis: w.P95Millis,
			MaxMillis: w.MaxMillis}
	}
	return api.RerunSide{Large: waits(s.Large), Small: waits(s.Small), Made: s.Reservations.Made,
		Moved:     s.Reservations.Moved,
		Fulfilled: s.Reservations.Fulfilled, Cancelled: s.Reservations.Cancelled, Used: s.Utilization.Dominant,
		ReservedIdle: s.ReservedIdle.Dominant, EndMillis: s.EndMillis}
}
