package exact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"rmd/jepsen-lite/sim/script"
)

// Explore draws and plays seeds, several at a time. It calls tell with each finding as soon as its
// run has ended, one call at a time. It continues after errors and violations.
func (l *Lab) Explore(ctx context.Context, seeds []int64, parallel int, tell func(Finding)) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
		next = make(chan int64, len(seeds))
	)
	for _, s := range seeds {
		next <- s
	}
	close(next)
	for range max(1, parallel) {
		wg.Go(func() {
			for seed := range next {
				if ctx.Err() != nil {
					return
				}
				f, err := l.Seed(ctx, seed)
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
				} else {
					tell(f)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// Seed draws and plays one seed.
func (l *Lab) Seed(ctx context.Context, seed int64) (Finding, error) {
	s, err := l.Draw(ctx, seed)
	if err != nil {
		return Finding{}, err
	}
	return l.Play(ctx, s)
}

// Line formats a finding as one line.
func (f Finding) Line() string {
	verdict := "ok"
	if f.Failed() {
		verdict = fmt.Sprintf("FAIL at %s: %s", f.BrokeAt, f.Violations[0])
	}
	return fmt.Sprintf("seed %d  hash %s  trace %s of %d steps  %d faults  cluster time %s in %s  %s", f.Script.Seed, f.Hash, f.Trace, f.Steps,
		len(f.Played), time.Duration(f.Virtual).Round(time.Millisecond), f.Real.Round(100*time.Millisecond), verdict)
}

// Keep writes a run's script and history to a folder and returns the path of the script.
func (f Finding) Keep(dir, name, story string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("keep script: %w", err)
	}
	s := f.Script
	s.Name, s.Story, s.Invariant = name, story, Invariant(f.Outcome)
	path := filepath.Join(dir, name+".json")
	if err := s.Write(path); err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s\n%s\n", f.Line(), f.History)
	if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("keep history: %w", err)
	}
	return path, nil
}

// Describe summarizes a script.
func Describe(s script.Script) string {
	return fmt.Sprintf("%d replicas, %d nodes, %d clients, %d readers, %d faults, %s", s.Cluster.Replicas, s.Load.Nodes, s.Load.Clients, s.Load.Readers,
		len(s.Faults), time.Duration(s.Length).Round(time.Millisecond))
}
