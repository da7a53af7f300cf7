package reach

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

var errRefused = errors.New("connection refused")

// TestReachIsBounded checks how often members are tried, and when one counts as not reached.
func TestReachIsBounded(t *testing.T) {
	r := newConnectionTries()
	at := time.Unix(1000, 0)
	if !r.due("a.1", at) {
		t.Error("a new member is not tried")
	}
	r.record("a.1", nil, at)
	if r.due("a.1", at.Add(reachPause-1)) || !r.due("a.1", at.Add(reachPause)) {
		t.Error("a member that was reached is not tried every", reachPause)
	}
	r.record("a.1", errRefused, at)
	if r.unreached() != nil || r.due("a.1", at.Add(reachAgain-1)) || !r.due("a.1", at.Add(reachAgain)) {
		t.Error("one failure counts, or is not followed by another try")
	}
	r.record("a.1", errRefused, at)
	if u := r.unreached(); u["a"] != errRefused.Error() {
		t.Errorf("after %d failures: %v", reachTries, u)
	}
	r.keep(raft.Configuration{})
	if u := r.unreached(); u != nil || len(r.tried) != 0 {
		t.Errorf("a replica that left: %v", u)
	}
}
