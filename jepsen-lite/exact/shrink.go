package exact

import (
	"context"
	"slices"
	"time"

	"rmd/jepsen-lite/sim/script"
)

// Shrinker makes a failing script smaller as long as it violates the same invariant.
//
// A change of the script affects every race in the run. So a smaller script that can fail may not
// fail at once, and Shrinker tries each one with several schedules.
type Shrinker struct {
	// Play plays a script: Lab.Play, except in tests.
	Play func(ctx context.Context, s script.Script) (Finding, error)
	// Schedules is the number of schedules to try for each candidate.
	Schedules int
	// Plays limits the number of runs, and Until the time of the search. Zero values mean no limit.
	Plays int
	Until time.Time
	// Tell is called after each success. It may be nil.
	Tell func(best Finding, plays int)

	plays int
	best  Finding
	want  string
}

// Shrink returns the smallest failing run that it found, or failed itself. If it returns an error,
// the search has ended early, and the result is the smallest run so far.
func (k *Shrinker) Shrink(ctx context.Context, failed Finding) (Finding, error) {
	k.best, k.want, k.plays = failed, Invariant(failed.Outcome), 0
	for {
		before := size(k.best.Script)
		for _, pass := range []func(context.Context) error{k.cutTime, k.cutFaults, k.cutCluster, k.cutWaits} {
			if err := pass(ctx); err != nil {
				return k.best, err
			}
		}
		if k.exhausted() || size(k.best.Script) >= before {
			return k.best, nil
		}
	}
}

// size weighs a script: faults first, then replicas, queues, nodes and clients, then time.
func size(s script.Script) int64 {
	c, l := s.Cluster, s.Load
	parties := c.Replicas + c.Yields + len(c.Queues) + l.Nodes + l.Clients + l.Readers
	return int64(len(s.Faults))*1e9 + int64(parties)*1e6 + int64(time.Duration(s.Length)/time.Millisecond)
}

func (k *Shrinker) exhausted() bool {
	return k.Plays > 0 && k.plays >= k.Plays || !k.Until.IsZero() && time.Now().After(k.Until)
}

// try plays a candidate, and keeps it if it violates the same invariant. It reports whether it did.
func (k *Shrinker) try(ctx context.Context, s script.Script) (bool, error) {
	for i := range max(1, k.Schedules) {
		if k.exhausted() {
			return false, nil
		}
		k.plays++
		c := s
		c.Schedule = s.Schedule + int64(i)
		f, err := k.Play(ctx, c)
		if err != nil {
			return false, err
		}
		if f.Failed() && Invariant(f.Outcome) == k.want {
			k.best = f
			if k.Tell != nil {
				k.Tell(f, k.plays)
			}
			if len(f.Played) < len(c.Faults) { // it failed before the last fault
				return true, k.cutTime(ctx)
			}
			return true, nil
		}
	}
	return false, nil
}

// cutTime ends the script at the time of the failure.
func (k *Shrinker) cutTime(ctx context.Context) error {
	s, n := k.best.Script, len(k.best.Played)
	needed := k.best.BrokeAt - k.best.Began
	if k.best.BrokeAt == 0 || n >= len(s.Faults) && needed >= s.Length {
		return nil // the time of a crash is unknown, or the run failed in the calm
	}
	s.Faults = slices.Clone(s.Faults[:min(n, len(s.Faults))])
	s.Length = max(0, min(s.Length, needed))
	if size(s) == size(k.best.Script) {
		return nil
	}
	_, err := k.try(ctx, s)
	return err
}

// cutFaults removes half of the faults at a time, then quarters, down to single ones.
func (k *Shrinker) cutFaults(ctx context.Context) error {
	for chunk := max(1, len(k.best.Script.Faults)/2); ; chunk = max(1, chunk/2) {
		for from := 0; from < len(k.best.Script.Faults); {
			cut, err := k.try(ctx, withoutFaults(k.best, from, min(from+chunk, len(k.best.Script.Faults))))
			if err != nil {
				return err
			}
			if k.exhausted() {
				return nil
			}
			if !cut {
				from += chunk
			}
		}
		if chunk == 1 {
			return nil
		}
	}
}

// withoutFaults removes some faults. The next one waits so much longer that it happens at the same
// time as before.
func withoutFaults(f Finding, from, to int) script.Script {
	s := f.Script
	s.Faults = slices.Clone(s.Faults)
	var gap script.Duration
	for i := from; i < to; i++ {
		gap += s.Faults[i].After
		if i < len(f.Played) {
			gap += f.Played[i].Took
		}
	}
	if to < len(s.Faults) {
		s.Faults[to].After += gap
	}
	s.Faults = slices.Delete(s.Faults, from, to)
	return s
}

// cutCluster reduces the load and simplifies the cluster, one setting at a time.
func (k *Shrinker) cutCluster(ctx context.Context) error {
	for _, less := range []func(*script.Script){
		func(s *script.Script) { s.Cluster.Replicas = min(s.Cluster.Replicas, 3) },
		func(s *script.Script) { s.Load.Readers = 0 },
		func(s *script.Script) { s.Load.Clients = min(s.Load.Clients, 1) },
		func(s *script.Script) { s.Load.Clients = min(s.Load.Clients, 2) },
		func(s *script.Script) { s.Load.Nodes = 1 },
		func(s *script.Script) { s.Load.Nodes = min(s.Load.Nodes, 2) },
		func(s *script.Script) { s.Cluster.Yields = 0 },
		func(s *script.Script) { s.Cluster.Yields = min(s.Cluster.Yields, 1) },
		func(s *script.Script) { s.Cluster.Queues = []script.Queue{{Name: "a", Capacity: "100"}} },
	} {
		s := k.best.Script
		less(&s)
		if size(s) >= size(k.best.Script) {
			continue
		}
		if _, err := k.try(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// shortest is the longest wait that is not worth halving.
const shortest = script.Duration(50 * time.Millisecond)

// cutWaits halves each wait as often as possible.
func (k *Shrinker) cutWaits(ctx context.Context) error {
	for i := range len(k.best.Script.Faults) {
		for k.best.Script.Faults[i].After > shortest && !k.exhausted() {
			s := k.best.Script
			s.Faults = slices.Clone(s.Faults)
			half := s.Faults[i].After / 2
			s.Faults[i].After -= half
			s.Length = max(0, s.Length-half)
			if cut, err := k.try(ctx, s); err != nil || !cut {
				if err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}
