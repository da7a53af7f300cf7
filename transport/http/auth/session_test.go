package auth

import (
	"testing"
	"time"
)

func TestSessionsAreBounded(t *testing.T) {
	var l sessions
	for range sessionsMax + 50 {
		if _, err := l.open([32]byte{}, time.UnixMilli(0), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.byID); n > sessionsMax {
		t.Errorf("%d sessions are kept", n)
	}
}

// TestSessionLimitPerCaller checks that a caller that starts sessions without end loses its own
// sessions, oldest first, and not those of others.
func TestSessionLimitPerCaller(t *testing.T) {
	var l sessions
	open := func(token byte, at int64) string {
		id, err := l.open([32]byte{token}, time.UnixMilli(at), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	there := func(id string) bool { _, ok := l.find(id, time.UnixMilli(0)); return ok }
	first := []string{open(1, 0), open(2, 0)}
	flood := open(3, 1)
	for i := range 2 * sessionsMax {
		flood = open(3, int64(2+i))
	}
	if !there(first[0]) || !there(first[1]) || !there(flood) || len(l.byID) != sessionsMax {
		t.Errorf("the sessions of others are there: %v, %v; the newest: %v; %d in all", there(first[0]), there(first[1]),
			there(flood), len(l.byID))
	}
}
