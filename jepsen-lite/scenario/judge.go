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
	if r.res.OK() && !r.opt.Keep {
		return os.RemoveAll(filepath.Join(r.opt.Out, dataDir))
	}
	return nil
}
