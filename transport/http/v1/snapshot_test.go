package v1

import "testing"

func TestSnapshotTimes(t *testing.T) {
	if takenMillis("7-1200-1780000000123") != 1780000000123 || takenMillis("7-1200") != 0 || takenMillis("a-b-c") != 0 {
		t.Error("the time in a snapshot's id")
	}
}
