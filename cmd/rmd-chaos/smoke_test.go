package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSmoke runs the scenario smoke with the rmd of this tree: the leader is killed, paused and
// disconnected under load, and the history is checked.
func TestSmoke(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	rmd, out := filepath.Join(t.TempDir(), "rmd"), filepath.Join(t.TempDir(), "out")
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-o", rmd,
		"rmd/cmd/rmd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r := chaos(t, "run", "smoke", "--bin", rmd, "--seed", "1", "--duration", "12s", "--out", out, "-o", "json")
	if r.exit != 0 {
		t.Fatalf("run smoke: exit %d, want 0; stderr %q", r.exit, r.err)
	}
	var doc struct {
		OK    bool           `json:"ok"`
		Acked int64          `json:"acked"`
		Apps  int            `json:"apps_acked"`
		Beats int64          `json:"hadoop_beats"`
		Lost  []string       `json:"lost"`
		Kinds map[string]int `json:"faults"`
	}
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil || !doc.OK || doc.Acked == 0 || doc.Apps == 0 ||
		doc.Beats < 10 || len(doc.Lost) > 0 || doc.Kinds["kill-leader"] == 0 {
		t.Errorf("result of smoke: %+v, decoding: %v; want ok, acknowledged inputs and applications, "+
			"10 Hadoop heartbeats, nothing lost, and kill-leader among the faults", doc, err)
	}
	for _, name := range []string{"index.html", "history.jsonl"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("Stat(%s) = %+v, %v; want a file that is not empty", name, info, err)
		}
	}
}
