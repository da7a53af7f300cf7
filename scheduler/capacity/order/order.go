// Package order has the orders in which a parent serves its children and a leaf its applications: their
// names in a configuration, and YARN's comparison of two queues. It knows no configuration.
package order

import (
	"cmp"

	"rmd/yarn"
)

// Key has the values that decide the order of a parent's children. Compute all keys before
// sorting, because they must not change during the sort.
type Key struct {
	Used          yarn.Ratio    // Used
	AbsUsed       yarn.Ratio    // AbsUsed
	AbsCapacity   uint64        // Capacity.AbsFixed
	ConfiguredMin yarn.Resource // Capacity.ConfiguredMin
	Priority      int32
}

// Used is YARN's usedCapacity: the use divided by the guarantee, which counts as at least one
// minimum allocation.
func Used(calc yarn.Calculator, total, used, effMin, minAlloc yarn.Resource) yarn.Ratio {
	return calc.Divide(total, used, calc.Max(total, effMin, minAlloc))
}

// AbsUsed is YARN's absoluteUsedCapacity: the use divided by the resource of the nodes of the
// label.
func AbsUsed(calc yarn.Calculator, total, used yarn.Resource) yarn.Ratio {
	return calc.Divide(total, used, total)
}

// UsedShare returns Used in parts of 2^32.
func UsedShare(calc yarn.Calculator, total, used, effMin, minAlloc yarn.Resource) uint64 {
	return Used(calc, total, used, effMin, minAlloc).Fixed()
}

// AbsUsedShare returns AbsUsed in parts of 2^32.
func AbsUsedShare(calc yarn.Calculator, total, used yarn.Resource) uint64 {
	return AbsUsed(calc, total, used).Fixed()
}

// Compare compares two children of a parent. It is negative if a is served first, and 0 if a
// stable sort must keep their order in the configuration. The caller must first compare whether
// they may use the label.
//
// Source: Hadoop 3.4.2, PriorityUtilizationQueueOrderingPolicy.
func Compare(policy ParentPolicy, a, b *Key) int {
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
	if a.ConfiguredMin == b.ConfiguredMin && a.AbsCapacity == b.AbsCapacity { // so for most siblings
		return 0
	}
	if !a.ConfiguredMin.IsZero() || !b.ConfiguredMin.IsZero() {
		return compareComponents(b.ConfiguredMin, a.ConfiguredMin)
	}
	return cmp.Compare(b.AbsCapacity, a.AbsCapacity)
}

// comparePriority puts a queue below its guarantee before one that has it. If both or neither have
// it, the queue with the higher priority comes first.
func comparePriority(ua, ub *yarn.Ratio, pa, pb int32) int {
	if under := ua.BelowOne(); under != ub.BelowOne() {
		if under {
			return -1
		}
		return 1
	}
	return cmp.Compare(pb, pa)
}

// compareComponents compares memory, then vcores, then the other kinds.
func compareComponents(a, b yarn.Resource) int {
	for k := range a {
		if d := cmp.Compare(a[k], b[k]); d != 0 {
			return d
		}
	}
	return 0
}

// Less reports whether a is served before b.
func Less(policy ParentPolicy, a, b Key) bool { return Compare(policy, &a, &b) < 0 }

// LeafPolicy is the order in which a leaf serves its applications.
type LeafPolicy uint8

// Leaf policies; append only.
const (
	FIFO LeafPolicy = 1 + iota
	Fair
)

// String returns the policy as it is written in a configuration.
func (p LeafPolicy) String() string {
	switch p {
	case 0:
		return ""
	case FIFO:
		return "fifo"
	case Fair:
		return "fair"
	}
	return "unknown"
}

// ParentPolicy is the order in which a parent serves its children.
type ParentPolicy uint8

// Parent policies; append only.
const (
	Utilization ParentPolicy = 1 + iota
	PriorityUtilization
)

// String returns the policy as it is written in a configuration.
func (p ParentPolicy) String() string {
	switch p {
	case 0:
		return ""
	case Utilization:
		return "utilization"
	case PriorityUtilization:
		return "priority-utilization"
	}
	return "unknown"
}
