package capacity

import (
	"cmp"

	"rmd/yarn"
)

// OrderKey is what the order of a parent's children depends on. Take all keys
// before sorting: the order is that of a snapshot.
type OrderKey struct {
	Used          yarn.Ratio    // Used
	AbsUsed       yarn.Ratio    // AbsUsed
	AbsCapacity   uint64        // Capacity.AbsFixed
	ConfiguredMin yarn.Resource // Capacity.ConfiguredMin
	Priority      int32
}

// Used is usedCapacity: use over the guarantee (at least one minimum
// allocation).
func Used(calc yarn.Calculator, total, used, effMin, minAlloc yarn.Resource) yarn.Ratio {
	return calc.Divide(total, used, calc.Max(total, effMin, minAlloc))
}

// AbsUsed is absoluteUsedCapacity: use over the label resource.
func AbsUsed(calc yarn.Calculator, total, used yarn.Resource) yarn.Ratio {
	return calc.Divide(total, used, total)
}

// UsedShare is Used in parts of 2^32.
func UsedShare(calc yarn.Calculator, total, used, effMin, minAlloc yarn.Resource) uint64 {
	return Used(calc, total, used, effMin, minAlloc).Fixed()
}

// AbsUsedShare is AbsUsed in parts of 2^32.
func AbsUsedShare(calc yarn.Calculator, total, used yarn.Resource) uint64 {
	return AbsUsed(calc, total, used).Fixed()
}

// CompareQueues orders two children of a parent: negative when a is served
// first. Ties that remain are 0; a stable sort in the configured order resolves
// them. (Access to a label comes before this; without labels all have it.)
func CompareQueues(policy ParentPolicy, a, b *OrderKey) int {
	if (a.AbsCapacity > 0) != (b.AbsCapacity > 0) {
		if a.AbsCapacity > 0 {
			return -1
		}
		return 1
	}
	ua, ub := &a.Used, &b.Used
	if a.AbsCapacity == 0 {
		ua, ub = &a.AbsUsed, &b.AbsUsed
	}
	if policy == PriorityUtilization {
		if d := comparePriority(ua, ub, a.Priority, b.Priority); d != 0 {
			return d
		}
	}
	if d := ua.Cmp(*ub); d != 0 {
		return d
	}
	if a.ConfiguredMin == b.ConfiguredMin && a.AbsCapacity == b.AbsCapacity { // as of most siblings
		return 0
	}
	if !a.ConfiguredMin.IsZero() || !b.ConfiguredMin.IsZero() {
		return compareComponents(b.ConfiguredMin, a.ConfiguredMin)
	}
	return cmp.Compare(b.AbsCapacity, a.AbsCapacity)
}

// comparePriority puts the under-used queue before the satisfied one, and among
// queues on the same side the one of higher priority.
func comparePriority(ua, ub *yarn.Ratio, pa, pb int32) int {
	if under := ua.BelowOne(); under != ub.BelowOne() {
		if under {
			return -1
		}
		return 1
	}
	return cmp.Compare(pb, pa)
}

// compareComponents compares memory, then vcores, then the further kinds.
func compareComponents(a, b yarn.Resource) int {
	for k := range a {
		if d := cmp.Compare(a[k], b[k]); d != 0 {
			return d
		}
	}
	return 0
}

// QueueLess says whether a is served before b.
func QueueLess(policy ParentPolicy, a, b OrderKey) bool { return CompareQueues(policy, &a, &b) < 0 }
