package capacity

import (
	"testing"

	"rmd/scheduler/capacity/limits"
	"rmd/yarn"
)

// leaf85 returns the leaf of the specification's example: 8.5 % of two nodes of 8 GiB,
// maximum 100 %, user-limit-factor 2.
func leaf85(t testing.TB, mulp string) limits.UserLimitInput {
	c := parse(t, "root.queues = a,b\nroot.a.capacity = 8.5\nroot.b.capacity = 91.5\n"+
		"root.a.minimum-user-limit-percent = "+mulp+"\nroot.a.user-limit-factor = 2")
	tree := c.Compute(yarn.NewResource(16*gib, 16))
	e := tree.Capacities[1]
	if e.EffMin[yarn.Memory] != 1392 || e.EffMax[yarn.Memory] != 16*gib {
		t.Fatalf("8.5 %% of 16384 MiB: %v, %v", e.EffMin, e.EffMax)
	}
	return limits.UserLimitInput{
		Calculator: c.Calculator, Label: tree.Cluster, MinAlloc: c.MinAlloc, EffMin: e.EffMin, EffMax: e.EffMax,
		MinUserLimit: c.Queues[1].MinUserLimitPercent, UserLimitFactor: c.Queues[1].UserLimitFactor,
		ActiveWeight: yarn.NewFraction(2, 1), AllWeight: yarn.NewFraction(2, 1),
	}
}

// using sets the sums for active users with these usages, in MiB.
func using(in limits.UserLimitInput, m ...int64) limits.UserLimitInput {
	in.DominantUsed, in.ActiveUsed = yarn.Resource{}, yarn.Resource{}
	for _, v := range m {
		in.DominantUsed = in.DominantUsed.Add(limits.DominantPart(in.Calculator, in.Label, mib(v)))
		in.ActiveUsed = in.ActiveUsed.Add(mib(v))
	}
	return in
}

// TestUserLimitTable checks the specification's table for two users, MULP 50 and ULF 2, and its
// variant with MULP 50.1 (scenario 21).
func TestUserLimitTable(t *testing.T) {
	for _, tc := range []struct {
		mulp  string
		used  []int64
		limit int64
	}{
		{"50", []int64{0, 0}, 1024},
		{"50", []int64{3072, 0}, 2048},
		{"50", []int64{3072, 1024}, 3072},
		{"50.1", []int64{0, 0}, 1024},
		{"50.1", []int64{3072, 0}, 3072},
	} {
		if got := limits.UserLimit(using(leaf85(t, tc.mulp), tc.used...)); got != mib(tc.limit) {
			t.Errorf("MULP %s, used %v: %v, want %d", tc.mulp, tc.used, got, tc.limit)
		}
	}
}

// TestUserLimitOfWeightedUser checks the specification's variant in which u0 has weight 1.5.
func TestUserLimitOfWeightedUser(t *testing.T) {
	in := leaf85(t, "50")
	in.ActiveWeight = yarn.NewFraction(5, 2)
	for _, tc := range []struct{ used, limit int64 }{{0, 1024}, {4096, 4096}, {8192, 4096}} {
		got := limits.WeightedUserLimit(in.Calculator, limits.UserLimit(using(in, tc.used, 0)),
			yarn.NewFraction(3, 2), in.MinAlloc)
		if got != mib(tc.limit) {
			t.Errorf("u0 uses %d: %v, want %d", tc.used, got, tc.limit)
		}
	}
}

// TestUserLimitCaps checks the upper bounds of the limit: the factor (scenario 22), none with
// factor −1 (scenario 23), and the label's nodes if exclusivity is ignored.
func TestUserLimitCaps(t *testing.T) {
	in := leaf85(t, "100")
	in.ActiveWeight, in.UserLimitFactor = yarn.One, yarn.One
	if got := limits.UserLimit(using(in, 4096)); got != mib(2048) {
		t.Errorf("factor 1: %v", got)
	}
	in.UserLimitOff = true
	if got := limits.UserLimit(using(in, 4096)); got != mib(5120) {
		t.Errorf("factor off: %v", got)
	}
	in.EffMax = mib(4096)
	if got := limits.UserLimit(using(in, 4096)); got != mib(4096) {
		t.Errorf("factor off, maximum 4G: %v", got)
	}
	in.IgnoreExclusive = true
	if got := limits.UserLimit(using(in, 4096)); got != mib(5120) {
		t.Errorf("exclusivity ignored: %v", got)
	}
	in.EffMin, in.IgnoreExclusive, in.UserLimitOff = yarn.Resource{}, false, false
	if got := limits.UserLimit(using(in, 4096)); got != mib(4096) {
		t.Errorf("a queue without a guarantee is capped by its maximum: %v", got)
	}
}

// TestUserLimitOfAllUsers checks the limit that preemption uses: the capacity is divided by the
// weights of all users of the queue, active or not.
func TestUserLimitOfAllUsers(t *testing.T) {
	in := using(leaf85(t, "10"), 4096, 4096)
	in.AllUsers, in.UserLimitOff, in.AllWeight = true, true, yarn.NewFraction(4, 1)
	// C = 8192 + 1024; / 4 = 2304; rounded up.
	if got := limits.UserLimit(in); got != mib(3072) {
		t.Errorf("all users: %v", got)
	}
	in.AllUsers = false // A = 8192 + 1024, W = 2
	if got := limits.UserLimit(in); got != mib(5120) {
		t.Errorf("active users: %v", got)
	}
}

// TestUserLimitWithoutActiveUsers checks that no active weight leads to no division by zero.
func TestUserLimitWithoutActiveUsers(t *testing.T) {
	in := using(leaf85(t, "50"))
	in.ActiveWeight = yarn.Fraction{Num: 0, Den: 1}
	if got := limits.UserLimit(in); got != mib(1024) {
		t.Errorf("nobody active: %v", got)
	}
}

// TestUserLimitDominant checks that each kind counts: one user fills the vcores and another one the
// memory, and both ratios are summed.
func TestUserLimitDominant(t *testing.T) {
	calc := yarn.Calculator{Dominant: true, Kinds: 2}
	label, step := yarn.NewResource(100*gib, 100), yarn.NewResource(1024, 1)
	cpu, memory := yarn.NewResource(1*gib, 30), yarn.NewResource(40*gib, 1)
	in := limits.UserLimitInput{
		Calculator: calc, Label: label, MinAlloc: step, EffMin: yarn.NewResource(50*gib, 50), EffMax: label,
		ActiveUsed: cpu.Add(memory), ActiveWeight: yarn.NewFraction(2, 1),
		DominantUsed: limits.DominantPart(calc, label, cpu).Add(limits.DominantPart(calc, label, memory)),
		MinUserLimit: yarn.NewFraction(50, 1), UserLimitFactor: yarn.NewFraction(10, 1),
	}
	if in.DominantUsed != yarn.NewResource(40*gib, 30) {
		t.Fatalf("dominant parts %v", in.DominantUsed)
	}
	// U = 0.7: consumed 70G/70; C = 71G/71; half of it 36G/36. Even share: 42G/32 over 2 = 21G/16.
	if got := limits.UserLimit(in); got != yarn.NewResource(36*gib, 36) {
		t.Errorf("limit %v", got)
	}
}
