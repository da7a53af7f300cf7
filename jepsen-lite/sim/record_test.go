package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/sim/checker"
)

// TestKeep checks that a failing seed leaves its history as text and as JSON lines, and a page.
func TestKeep(t *testing.T) {
	opt := DefaultOptions()
	opt.Faults = 10 * time.Second
	res := Run(t, 77, opt)
	if len(res.Violations) > 0 {
		t.Fatalf("%v\n%s", res.Violations, tail(res.History, checker.ReportLines))
	}
	res.Violations = []string{"S6: a container is given twice"}
	out := t.TempDir()
	res.Keep(t, out)
	h, err := history.ReadFiles(filepath.Join(out, "77", "history.jsonl"))
	if err != nil || len(h.Entries) < 10 || len(h.Replicas) < 30 {
		t.Errorf("%v, history %d entries, %d lines of replicas", err, len(h.Entries), len(h.Replicas))
	}
	for name, want := range map[string]string{"history.txt": "seed 77", "index.html": "a container is given twice"} {
		if b, err := os.ReadFile(filepath.Join(out, "77", name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, %d bytes without %q", name, err, len(b), want)
		}
	}
}

// TestProfile checks that a profile selects kinds and groups by name and refuses unknown names.
func TestProfile(t *testing.T) {
	for p, want := range map[Profile]int{"all": len(Kinds()), "calm": 0, "clock": 2, "kill,disk": 13, "bit-rot": 1} {
		n := 0
		for _, k := range Kinds() {
			if p.has(k) {
				n++
			}
		}
		if err := p.Validate(); err != nil || n != want {
			t.Errorf("%s: %d kinds, %v", p, n, err)
		}
	}
	if Profile("disk,kil").Validate() == nil {
		t.Error("a name that is none is taken")
	}
}
