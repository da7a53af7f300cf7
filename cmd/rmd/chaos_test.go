package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestChaosSmoke runs the smoke of `rmd chaos` with the code under test: the
// leader is killed, paused and cut off under load, and the history is judged.
func TestChaosSmoke(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "chaos", "run", "smoke", "--seed", "1", "--duration", "12s", "--out", out, "-o", "json")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var doc struct {
		OK    bool           `json:"ok"`
		Acked int64          `json:"acked"`
		Apps  int            `json:"apps_acked"`
		Beats int64          `json:"hadoop_beats"`
		Lost  []string       `json:"lost"`
		Kinds map[string]int `json:"faults"`
	}
	if err := json.Unmarshal(text, &doc); err != nil || !doc.OK || doc.Acked == 0 || doc.Apps == 0 || doc.Beats < 10 || len(doc.Lost) > 0 || doc.Kinds["kill-leader"] == 0 {
		t.Errorf("%+v %v", doc, err)
	}
	for _, name := range []string{"index.html", "history.jsonl"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
