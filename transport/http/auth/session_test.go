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
