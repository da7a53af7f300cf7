package problem

import (
	"net/http"
	"strings"
	"testing"

	"rmd/api"
	"rmd/scheduler/input"
)

// TestStatuses checks that the status of every refusal by the planner is a client error, and that
// all statuses in the table exist.
func TestStatuses(t *testing.T) {
	for _, code := range []input.Code{input.NoSuchApplication, input.QueueNotLeaf, input.QueueStopped, input.QueueFull,
		input.NeverFits, input.InvalidAsk, input.InvalidRequest,
		input.InvalidQueues, input.VersionConflict, input.AlreadyEnded, input.NotRegistered, input.WrongResponse,
		input.KeyReused, input.TokenInvalid, input.NotInitialized, input.NotAllowed, input.TooLarge} {
		if s := Status(string(code)); s < 400 || s >= 500 {
			t.Errorf("Status(%s) = %d, want a 4xx status", code, s)
		}
	}
	for code, s := range statuses {
		if s < 400 || (http.StatusText(s) == "" && s != 499) {
			t.Errorf("statuses[%s] = %d, want a known status of at least 400", code, s)
		}
	}
}

// TestNoLeaderNamesMissing checks that nobody is told to wait for an election that cannot come.
func TestNoLeaderNamesMissing(t *testing.T) {
	missing := ""
	tr := &Translator{Initialized: func() bool { return true }, Missing: func() string { return missing }}
	for _, missing = range []string{"", "start rm2 or rm3"} {
		e := tr.Of(ErrNoLeader, true)
		if e.Code != api.CodeNoLeader || missing != "" && e.Remedy != missing ||
			missing == "" && !strings.HasPrefix(e.Remedy, "wait for an election") {
			t.Errorf("%q: %+v", missing, e)
		}
	}
}
