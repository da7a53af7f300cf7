package planner

import (
	"testing"

	"rmd/scheduler/input"
)

// TestIdempotencyKeyPerCaller checks that two callers may use the same idempotency key for calls of
// their own.
func TestIdempotencyKeyPerCaller(t *testing.T) {
	h := newHouse(t, 1, true)
	submit := func(key string) input.Reply {
		t.Helper()
		r, _ := h.p.Plan(h.now, input.Request{Key: key, BodyHash: 7,
			Input: &input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}})
		if f := r.Refused(); f != nil {
			t.Fatal(f)
		}
		return r
	}
	id := func(r input.Reply) uint32 { return r.(*input.SubmitApplicationReply).ID.Seq }
	alice := id(submit(input.OwnedKey("laptop/1", "token alice")))
	if bob := id(submit(input.OwnedKey("laptop/1", "token bob"))); bob == alice {
		t.Errorf("bob is answered alice's application %d", alice)
	}
	if again := id(submit(input.OwnedKey("laptop/1", "token alice"))); again != alice {
		t.Errorf("alice's call is repeated as application %d, it was %d", again, alice)
	}
}
