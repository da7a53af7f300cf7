package event

import "testing"

// TestNoKindAboveTheLevel checks that this build may write all events that it knows.
func TestNoKindAboveTheLevel(t *testing.T) {
	for _, k := range Kinds() {
		if e, ok := New(k).(Later); ok && e.Since() > Level {
			t.Errorf("%s is since feature level %d, and this build has %d: raise Level", k, e.Since(), Level)
		}
	}
}
