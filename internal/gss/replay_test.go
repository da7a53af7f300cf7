package gss

import (
	"encoding/binary"
	"testing"
	"time"
)

// TestReplayShares fills the cache with the tokens of one client, and of many.
func TestReplayShares(t *testing.T) {
	r, now := newReplays(10*time.Minute), time.Now()
	r.max = 4 * ownPart
	count := 0
	add := func(client string) bool {
		count++
		why, ok := r.add(client, binary.BigEndian.AppendUint32(nil, uint32(count)), now)
		if !ok && why != Crowded {
			t.Fatalf("%s is refused: %s", client, why)
		}
		return ok
	}
	for i := range 6 {
		if add("eve@X") != (i < 4) {
			t.Fatalf("token %d of one client: %v", i, i >= 4)
		}
	}
	for client := range byte(ownPart - 1) {
		for range 4 {
			if !add(string('a' + client)) {
				t.Fatal("a client cannot log in because of another one")
			}
		}
	}
	if add("ann@X") {
		t.Error("more tokens than the cache may have")
	}
	now = now.Add(11 * time.Minute)
	if !add("eve@X") {
		t.Error("the earlier tokens count for ever")
	}
}
