package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/history"
)

// judge reads the history and checks it against every invariant.
func (r *run) judge() error {
	h, err := history.ReadFiles(filepath.Join(r.opt.Out, historyFile))
	if err != nil {
		return err
	}
	r.res.History = h
	cfg := r.config()
	opt := check.DefaultOptions(cfg.Election)
	opt.Recovery, opt.Watchdog, opt.Search = recoverWithin, 8*time.Second, 10*time.Second
	opt.Autopilot = true
	if r.opt.Scenario.Spare > 0 || len(r.opt.Scenario.Finale) > 0 {
		opt.Ceilings.Installs = 1000
	}
	v, err := check.Judge(h, opt)
	if err != nil {
		return fmt.Errorf("judge the history: %w", err)
	}
	r.res.Verdict = v
	if !r.complete {
		if err := r.judgeReplayed(h, opt); err != nil {
			return err
		}
	}
	r.markChecked("S4", uint64(r.res.Apps), "applications")
	r.markChecked("L3", uint64(r.rested), "states")
	if r.res.OK() && !r.opt.Keep {
		return os.RemoveAll(filepath.Join(r.opt.Out, dataDir))
	}
	return nil
}

// replayed are the invariants that the checks verify by replaying the log.
var replayed = []string{"S6", "S7", "S8", "S9", "S10", "S11", "S17", "S18", "S20", "L7", "audit"}

// judgeReplayed checks these invariants on the first part of the history if the log was replaced or
// lost later.
func (r *run) judgeReplayed(h *history.History, opt check.Options) error {
	if r.archive == nil || r.archive.safe.ns <= 0 {
		return nil
	}
	at := r.archive.safe
	before, err := check.Judge(historyUntil(h, at), opt)
	if err != nil {
		return fmt.Errorf("judge the history up to index %d: %w", at.index, err)
	}
	for i := range r.res.Verdict.Findings {
		f := &r.res.Verdict.Findings[i]
		if was := before.Find(f.ID); f.Status == check.Skipped && slices.Contains(replayed, f.ID) &&
			was.Status != check.Skipped {
			*f = was
			f.Figure = strings.TrimSpace(f.Figure + fmt.Sprintf(" up to index %d, %s", at.index,
				time.Duration(at.ns).Round(time.Second)))
		}
	}
	return nil
}

// markChecked marks an invariant as checked that the history does not cover but the run itself has
// checked. Its violations are in the result.
func (r *run) markChecked(id string, checked uint64, unit string) {
	for i := range r.res.Verdict.Findings {
		if f := &r.res.Verdict.Findings[i]; f.ID == id && f.Status == check.Skipped && checked > 0 {
			f.Status, f.Checked, f.Unit, f.Why = check.OK, checked, unit, ""
		}
	}
}
