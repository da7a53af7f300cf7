package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReached checks that Reached ignores a failpoint that the process reached for an earlier
// action.
func TestReached(t *testing.T) {
	r := &Replica{ID: "rm1", logFile: filepath.Join(t.TempDir(), "log")}
	say := func(text string) {
		t.Helper()
		f, err := os.OpenFile(r.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	hold, crash := FailpointAction{Point: "batch.closed", After: 1, Hold: 1},
		FailpointAction{Point: "batch.closed", After: 1}
	say("it begins")
	r.note(hold)
	if r.Reached(hold) {
		t.Error("nobody was there yet")
	}
	say(hold.Reached())
	if !r.Reached(hold) || r.Count(hold) != 1 {
		t.Error("it was there")
	}
	r.note(crash)
	if r.Reached(crash) {
		t.Error("it was there for the action before")
	}
	r.note(FailpointAction{}) // removed; what was reached stays reached
	say(crash.Reached())
	if !r.Reached(crash) || r.Count(crash) != 2 {
		t.Error("it was there again")
	}
}
