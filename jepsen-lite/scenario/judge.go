package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/history"
)

// judge reads the history back and holds it against every invariant.
func (r *run) judge() error {
	h, err := history.ReadFiles(filepath.Join(r.opt.Out, historyFile))
	if err != nil {
		return err
	}
	r.res.History = h
	opt := check.DefaultOptions()
	cfg := r.config()
	opt.Election, opt.Calm, opt.Watchdog, opt.Search = cfg.Election, calmWithin, 8*time.Second, 10*time.Second
	opt.Autopilot = true
	if r.opt.Scenario.Spare > 0 || len(r.opt.Scenario.Finale) > 0 {
		opt.Ceilings.Installs = 1000
	}
	v, err := check.Judge(h, opt)
	if err != nil {
		return fmt.Errorf("judge the history: %w", err)
	}
	r.res.Verdict = v
	r.own("S4", uint64(r.res.Apps), "applications")
	r.own("L3", uint64(r.rested), "states")
	if r.res.OK() && !r.opt.Keep {
		return os.RemoveAll(filepath.Join(r.opt.Out, dataDir))
	}
	return nil
}

// own marks an invariant as held that the history tells nothing of, and the run
// itself has looked at: what is wrong with it is among the violations.
func (r *run) own(id string, checked uint64, unit string) {
	for i := range r.res.Verdict.Findings {
		if f := &r.res.Verdict.Findings[i]; f.ID == id && f.Status == check.Skipped && checked > 0 {
			f.Status, f.Checked, f.Unit, f.Why = check.OK, checked, unit, ""
		}
	}
}
