package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rmd/api"
	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// recoverWithin is how long each step of the recovery may take after the faults.
const recoverWithin = 30 * time.Second

// keepAll makes the cluster remember all ended applications, because the run looks for each of them
// at its end.
func (r *run) keepAll(ctx context.Context) error {
	at := r.cluster.URL(r.cluster.Replicas[0], false) + "/v1/conf"
	return inRecovery(ctx, func() error {
		var conf api.Conf
		if err := r.cluster.Call(ctx, http.MethodGet, at+"?consistent", nil, &conf); err != nil {
			return err
		}
		conf.Properties["yarn.resourcemanager.max-completed-applications"] = "1000000"
		return r.cluster.Call(ctx, http.MethodPut, at, api.PutConf{Properties: conf.Properties, Comment: "chaos"}, nil)
	})
}

// recoveryPhase ends every fault and checks that the cluster recovers: a leader serves (L1), the
// replicas are in step (L2) and have the same state (S1), nothing acknowledged is lost (S4), and
// nothing remains (L3).
func (r *run) recoveryPhase(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 4*recoverWithin)
	defer cancel()
	if err := r.cluster.Network().Heal(); err != nil {
		return err
	}
	began := time.Now()
	r.rec.Mark(history.Recovery)
	if err := r.supervise(ctx); err != nil {
		return err
	}
	r.opt.note("recovery phase: the first write succeeded %s after the last fault",
		r.load.Prober.Next(began).Sub(began).Round(time.Millisecond))
	r.load.StopDemand()
	r.rec.Mark(history.Demand)
	if err := r.inStep(ctx); err != nil {
		return err
	}
	if err := r.endAll(ctx); err != nil {
		return err
	}
	r.rec.Mark(history.Final)
	if err := r.acknowledged(ctx); err != nil {
		return err
	}
	return r.verify(ctx)
}

// inStep waits until every voter has applied what the leader has committed (L2).
func (r *run) inStep(ctx context.Context) error {
	var last string
	err := awaitRecovery(ctx, func() bool {
		leader := r.cluster.Leader(ctx)
		if leader == nil {
			last = "no leader"
			return false
		}
		doc, err := r.cluster.Facts(ctx, leader)
		if err != nil {
			last = err.Error()
			return false
		}
		last = doc.Verdict.Text
		return doc.Verdict.HealthyVoters == r.opt.Replicas
	})
	if err != nil {
		r.violate("L2", "not all replicas have caught up %s after the last fault: %s", recoverWithin, last)
	}
	return nil
}

func awaitRecovery(ctx context.Context, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, recoverWithin)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// inRecovery repeats do until it succeeds. It returns the last error after recoverWithin.
func inRecovery(ctx context.Context, do func() error) error {
	var last error
	if awaitRecovery(ctx, func() bool { last = do(); return last == nil }) != nil {
		return last
	}
	return nil
}

// ended reports whether an application's state is final.
func ended(state string) bool { return state == "FINISHED" || state == "FAILED" || state == "KILLED" }

// endAll kills all remaining applications and checks that containers, asks and reservations end
// with them (L3). On a busy machine the leader may still change, so it repeats calls without an
// answer.
func (r *run) endAll(ctx context.Context) error {
	if err := inRecovery(ctx, func() error { return r.killAll(ctx) }); err != nil {
		return fmt.Errorf("end all applications: %w", err)
	}
	r.rested = 1
	var left api.Totals
	err := awaitRecovery(ctx, func() bool {
		leader := r.cluster.Leader(ctx)
		if leader == nil {
			return false
		}
		doc, err := r.cluster.Facts(ctx, leader)
		left = doc.Totals
		return err == nil && left.Containers == 0 && left.Reservations == 0 && left.Running == 0 && left.Waiting == 0
	})
	if err != nil {
		r.violate("L3",
			"%d containers, %d reservations, %d running and %d waiting applications remain %s after all applications were killed",
			left.Containers, left.Reservations, left.Running, left.Waiting, recoverWithin)
	}
	return nil
}

// killAll kills all applications once. It ignores refusals: such an application has ended by
// itself.
func (r *run) killAll(ctx context.Context) error {
	leader := r.cluster.Leader(ctx)
	if leader == nil {
		return errors.New("no leader in the recovery phase")
	}
	apps, err := r.apps(ctx, leader)
	if err != nil {
		return err
	}
	for _, a := range apps {
		if ended(a.State) {
			continue
		}
		at := r.cluster.URL(leader, true) + "/v1/apps/" + a.ID + ":kill"
		err := r.cluster.Call(ctx, http.MethodPost, at, api.Kill{}, nil)
		var refused *api.Error
		if err != nil && (!errors.As(err, &refused) || refused.Status >= http.StatusInternalServerError) {
			return fmt.Errorf("%s: %w", a.ID, err)
		}
	}
	return nil
}

// apps returns all applications by consistent reads of one replica.
func (r *run) apps(ctx context.Context, p *harness.Replica) ([]api.App, error) {
	var out []api.App
	for after := ""; ; {
		var page api.Apps
		if err := r.cluster.Get(ctx, p, "/v1/apps?consistent&limit=1000&after="+after, &page); err != nil {
			return nil, err
		}
		out = append(out, page.Apps...)
		if after = page.Next; after == "" {
			return out, nil
		}
	}
}

// acknowledged checks that every replica has every acknowledged application (S4), and that no name
// exists twice (S5).
func (r *run) acknowledged(ctx context.Context) error {
	want := r.load.Apps()
	r.res.Apps = len(want)
	hist := r.rec.Client("final")
	for _, p := range r.cluster.Voters() {
		hist.Invoke(history.List, history.Value{Replica: p.ID})
		var apps []api.App
		if err := inRecovery(ctx, func() (err error) { apps, err = r.apps(ctx, p); return err }); err != nil {
			hist.Info(err.Error())
			r.violate("L2", "%s cannot be read in the recovery phase: %v", p.ID, err)
			continue
		}
		have, named, out := map[string]api.App{}, map[string]string{}, history.Value{Replica: p.ID}
		for _, a := range apps {
			have[a.ID] = a
			out.Names = append(out.Names, a.ID)
			if other := named[a.Name]; other != "" && a.Name != "" && a.Name != "prober" {
				r.violate("S5", "%s and %s both have the name %q: one submission created two applications", other, a.ID, a.Name)
			}
			named[a.Name] = a.ID
		}
		hist.OK(out)
		for _, a := range want {
			if _, ok := have[a.ID]; !ok && !slices.Contains(r.res.Lost, a.ID) {
				r.res.Lost = append(r.res.Lost, a.ID)
				r.violate("S4", "%s (%s) was acknowledged but is missing on %s", a.ID, a.Name, p.ID)
			}
		}
	}
	return nil
}

// verify lets the cluster itself compare all digests (S1).
func (r *run) verify(ctx context.Context) error {
	var text string
	err := awaitRecovery(ctx, func() bool {
		var err error
		text, err = r.cluster.CLI(ctx, "cluster", "verify", "-o", "json")
		if harness.ExitCode(err) == 9 {
			r.violate("S1", "cluster verify: %v %s", err, text)
			return true
		}
		return err == nil
	})
	if err != nil {
		r.violate("L2", "cannot compare the digests of all replicas in the recovery phase: %s", text)
		return nil
	}
	var doc api.Verify
	if json.Unmarshal([]byte(text), &doc) == nil && doc.Index > 0 {
		r.opt.note("all replicas have the same digest at index %d", doc.Index)
	}
	return nil
}

// outcries are beginnings of log lines that mean a bug.
var outcries = []string{"panic: ", "fatal error: ", "WARNING: DATA RACE", "SIGSEGV", "goroutine 1 ["}

// cries searches the logs for them.
func (r *run) cries() {
	files, _ := filepath.Glob(filepath.Join(r.opt.Out, "logs", "*.log")) // the pattern is valid
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			if slices.ContainsFunc(outcries, func(w string) bool { return strings.HasPrefix(lines.Text(), w) }) {
				r.violate("exit", "%s:%d: %s", name, n, lines.Text())
				break
			}
		}
		_ = f.Close() // opened for reading only
	}
}

// tail returns the last n lines of a text, on one line.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
