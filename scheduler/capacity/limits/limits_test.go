package limits

import (
	"testing"

	"pgregory.net/rapid"

	"rmd/scheduler/capacity/share"
	"rmd/yarn"
)

func TestUserAMLimitForms(t *testing.T) {
	in := UserAMLimitInput{
		Calculator: memoryOnly, Total: mem(100), EffMin: mem(40), AMLimit: mem(20), MinAlloc: mem(1),
		AMPercent: fraction(t, "0.25"), MinUserLimit: fraction(t, "50"), UserLimitFactor: yarn.One, Weight: yarn.One,
		ActiveUsers: 4,
	}
	if got := UserAMLimit(in); got != mem(5) {
		t.Errorf("half of 10G: %v", got)
	}
	in.Weight = fraction(t, "1.5")
	if got := UserAMLimit(in); got != mem(8) { // 7.5G, rounded up
		t.Errorf("weight 1.5: %v", got)
	}
	in.Weight = fraction(t, "9")
	if got := UserAMLimit(in); got != mem(10) {
		t.Errorf("a weight never gives more than the whole: %v", got)
	}
	in.UserLimitFactor = fraction(t, "3")
	if got := UserAMLimit(in); got != mem(20) {
		t.Errorf("the queue's own limit holds: %v", got)
	}
	in.UserLimitOff = true
	if got := UserAMLimit(in); got != mem(10) {
		t.Errorf("user limit off: %v", got)
	}
}

func TestAMUsable(t *testing.T) {
	if got := AMUsable(memoryOnly, mem(5), mem(8)); got != mem(8) {
		t.Errorf("a guarantee above the current limit: %v", got)
	}
	if got := AMUsable(memoryOnly, mem(9), mem(8)); got != mem(9) {
		t.Errorf("a current limit above the guarantee: %v", got)
	}
}

// TestQueueLimit is scenario 6: 13G of 13G are used, and 3G of them could be unreserved.
func TestQueueLimit(t *testing.T) {
	in := QueueLimitInput{Calculator: memoryOnly, Total: mem(16), EffMax: mem(16), Limit: mem(13), Used: mem(13),
		Unreservable: mem(3), ContinueLooking: true}
	if ok, head := QueueLimit(in); !ok || head[yarn.Memory] != 0 {
		t.Errorf("continue-looking on: %v %v", ok, head)
	}
	in.ContinueLooking = false
	if ok, _ := QueueLimit(in); ok {
		t.Error("continue-looking off: at the limit and yet allowed")
	}
	in.Used = mem(12)
	if ok, head := QueueLimit(in); !ok || head != (yarn.Resource{gib}) {
		t.Errorf("1G below the limit: %v %v", ok, head)
	}
	in.Used, in.ContinueLooking = mem(18), true
	if ok, head := QueueLimit(in); ok || head[yarn.Memory] != -5*gib {
		t.Errorf("5G above, 3G unreservable: %v %v", ok, head)
	}
	in.IgnoreExclusive, in.Label, in.Used = true, in.Total, mem(14)
	if ok, head := QueueLimit(in); !ok || head[yarn.Memory] != 2*gib {
		t.Errorf("ignoring exclusivity the label is the limit: %v %v", ok, head)
	}
}

// TestUserCheck is scenario 7: a user uses 13G, of which 5G are reserved.
func TestUserCheck(t *testing.T) {
	in := UserCheckInput{Calculator: memoryOnly, Total: mem(16), Used: mem(13), AppReserved: mem(5), ContinueLooking: true}
	for _, tc := range []struct {
		limit int64
		look  bool
		ok    bool
		need  int64
	}{{14, true, true, 0}, {13, true, true, 0}, {12, true, true, 1}, {8, true, true, 5}, {7, true, false, 0},
		{12, false, false, 0}} {
		in.Limit, in.ContinueLooking = mem(tc.limit), tc.look
		ok, need := UserCheck(in)
		if ok != tc.ok || need[yarn.Memory] != tc.need*gib {
			t.Errorf("limit %dG, continue-looking %v: %v %v", tc.limit, tc.look, ok, need)
		}
	}
}

// TestChildLimit is scenario 33: p1 may use 8G of 16G, x1 uses 7G, and x1 must not get the 1G for
// which x2 is blocked.
func TestChildLimit(t *testing.T) {
	in := ChildLimitInput{Calculator: memoryOnly, Total: mem(16), Limit: mem(8), EffMax: mem(8), Used: mem(7),
		MinAlloc: mem(1)}
	if got := ChildLimit(in); got != mem(1) {
		t.Errorf("x2: %v", got)
	}
	in.Blocked, in.ChildUsed = mem(1), mem(7)
	if got := ChildLimit(in); got != mem(7) {
		t.Errorf("x1 with 1G blocked: %v", got)
	}
	in.Killable = yarn.Resource{yarn.Memory: 2*gib + 500}
	if got := ChildLimit(in); got != mem(9) {
		t.Errorf("killable is room, rounded down: %v", got)
	}
}

// TestHeadroom checks the headrooms of scenario 3: three nodes of 8G.
func TestHeadroom(t *testing.T) {
	in := HeadroomInput{Calculator: memoryOnly, Total: mem(24), UserLimit: mem(24), QueueLimit: mem(24), MinAlloc: mem(1)}
	for _, used := range []int64{8, 13, 18} {
		in.UserUsed, in.QueueUsed, in.RootUsed = mem(used), mem(used), mem(used)
		if got := Headroom(in); got[yarn.Memory] != (24-used)*gib {
			t.Errorf("%dG used: %v", used, got)
		}
	}
	in.UserLimit = mem(9)
	if got := Headroom(in); got[yarn.Memory] != 0 {
		t.Errorf("a user above its limit: %v", got)
	}
}

// TestConsumedIsExact compares consumed with plain rational arithmetic, without the fast path for
// one kind.
func TestConsumedIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calc := yarn.Calculator{Dominant: true, Kinds: 4}
		var total, part yarn.Resource
		var sum share.Share
		for k := range 4 {
			total[k] = rapid.Int64Range(0, 1<<40).Draw(t, "total")
			if total[k] > 0 {
				part[k] = rapid.Int64Range(0, total[k]).Draw(t, "part")
				sum = sum.Add(share.New(part[k], total[k]))
			}
		}
		got := consumed(calc, total, part, yarn.Resource{})
		for k := range 4 {
			exact := sum.Rat()
			exact.Mul(exact, share.New(max(total[k], 1), 1).Rat())
			want := int64(0)
			if total[k] > 0 {
				want = ceilRat(exact)
			}
			if got[k] != want {
				t.Fatalf("kind %d: %d, want %d", k, got[k], want)
			}
		}
	})
}
