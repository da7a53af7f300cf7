package twin

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"

	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// CompareEntitlements computes entitlements of random queue trees with rmd and with Hadoop's
// PreemptableResourceCalculator. It returns how many trees differ, and prints the first three.
func CompareEntitlements(cache string, first, trees uint64, out io.Writer) (differing int, err error) {
	hadoop := entitlementJVMs{cache: cache}
	defer hadoop.close()
	queues, giving, imitated := 0, 0, 0
	for seed := first; seed < first+trees; seed++ {
		p := randomPartition(seed)
		var diff string
		for _, m := range modes {
			want, same, err := hadoop.entitlements(p, m)
			if err != nil {
				return differing, fmt.Errorf("tree %d: %w", seed, err)
			}
			got := p.entitlements(m)
			for _, line := range got {
				queues++
				giving += gives(line)
			}
			if !same {
				imitated++
			}
			if d := differentLines(got, want); d != "" && diff == "" {
				diff = p.text(m) + d
			}
		}
		if diff == "" {
			continue
		}
		if differing++; differing <= 3 {
			fmt.Fprintf(out, "tree %d: ideal, untouchable, excess, to take\n%s", seed, diff)
		}
	}
	fmt.Fprintf(out,
		"%d trees, %d queues in %d modes, %d must give; intended: leftover for queues without a guarantee %d times; %d trees differ\n",
		trees, queues/len(modes), len(modes), giving, imitated, differing)
	return differing, nil
}

// modes are those that selectors use, and one that none uses.
var modes = []entitlement.Mode{{}, {Reserved: true}, {Balance: true}, {Reserved: true, Balance: true}}

// entitlementJVMs run Hadoop's calculator. One JVM knows only memory and vcores, the other one also
// GPUs, because Hadoop compares two kinds differently from three.
type entitlementJVMs struct {
	cache   string
	byKinds [yarn.MaxKinds + 1]*jvm
}

// entitlements returns Hadoop's result. same reports whether the result would be the same without
// imitating rmd.
func (h *entitlementJVMs) entitlements(p *randomTree, m entitlement.Mode) (lines []string, same bool, err error) {
	j := &h.byKinds[p.Calculator.Kinds]
	if *j == nil {
		const class = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.TwinEntitlement"
		more := []string{yarn.GPUName}[:p.Calculator.Kinds-2]
		if *j, err = startJVM(h.cache, class, more...); err != nil {
			return nil, false, err
		}
	}
	lines, err = (*j).ask(p.text(m), len(p.Queues)+1)
	if err != nil {
		return nil, false, err
	}
	return lines[:len(p.Queues)], lines[len(p.Queues)] == "same", nil
}

func (h *entitlementJVMs) close() {
	for _, j := range h.byKinds {
		if j != nil {
			j.Close()
		}
	}
}

// entitlements returns rmd's result.
func (p *randomTree) entitlements(m entitlement.Mode) []string {
	var out []string
	for _, s := range p.Entitlements(&p.settings, m) {
		out = append(out, fmt.Sprint(p.amount(s.Ideal), " ", p.amount(s.Untouchable), " ", p.amount(s.Excess), " ",
			p.amount(s.ToTake)))
	}
	return out
}

// gives returns 1 if something must be taken from the queue of a line, otherwise 0.
func gives(line string) int {
	if strings.Trim(line[strings.LastIndexByte(line, ' '):], " 0,") == "" {
		return 0
	}
	return 1
}

func differentLines(got, want []string) string {
	var b strings.Builder
	for i := range got {
		if got[i] != want[i] {
			fmt.Fprintf(&b, "queue %d: rmd %s, Hadoop %s\n", i, got[i], want[i])
		}
	}
	return b.String()
}

// randomTree is a partition with its settings of preemption.
type randomTree struct {
	*entitlement.Partition
	settings entitlement.Settings
}

// text formats the partition for the Java side.
func (p *randomTree) text(m entitlement.Mode) string {
	var b strings.Builder
	calculator := "default"
	if p.Calculator.Dominant {
		calculator = "dominant"
	}
	s := &p.settings
	fmt.Fprintln(&b, "partition", calculator, p.amount(p.Cluster), p.amount(p.Total), s.TotalPerRound,
		s.MaxIgnoredOverCapacity, s.NaturalTermination, m.Reserved, m.Balance)
	for i := range p.Queues {
		q := &p.Queues[i]
		fmt.Fprintln(&b, "queue", q.Parent, q.Disabled, q.Priority, q.AbsCapacity, p.amount(q.Guaranteed), p.amount(q.Max),
			p.amount(q.Used),
			p.amount(q.Reserved), p.amount(q.Pending), p.amount(q.PendingLessReserved), p.amount(q.Killable))
	}
	return b.String() + "end\n"
}

func (p *randomTree) amount(r yarn.Resource) string {
	words := make([]string, p.Calculator.Kinds)
	for k := range words {
		words[k] = strconv.FormatInt(r[k], 10)
	}
	return strings.Join(words, ",")
}

// millionths returns a fraction that a float does not represent exactly.
func millionths(n int64) yarn.Fraction { return yarn.NewFraction(n, 1_000_000) }

// randomPartition returns a queue tree of two to four levels, with the usage and demand of its
// queues.
func randomPartition(seed uint64) *randomTree {
	r := rand.New(rand.NewPCG(seed, 0))
	p := &randomTree{Partition: &entitlement.Partition{Calculator: yarn.Calculator{Dominant: r.IntN(4) > 0, Kinds: 2}}}
	if p.Calculator.Dominant && r.IntN(3) == 0 {
		p.Calculator.Kinds = 3
	}
	scale := []int64{100, 10_000, 1 << 20, 1 << 28, 1 << 36}[r.IntN(5)]
	p.Total = yarn.Resource{1 + r.Int64N(scale), 1 + r.Int64N(min(scale, 200_000))}
	if p.Calculator.Kinds == 3 {
		p.Total[2] = r.Int64N(20) * r.Int64N(20)
	}
	p.Cluster = p.Total
	if r.IntN(3) == 0 {
		p.Cluster = p.Total.Times(3)
	}
	pick := func(usual ...int64) yarn.Fraction {
		if r.IntN(2) == 0 {
			return millionths(r.Int64N(1_000_001))
		}
		return millionths(usual[r.IntN(len(usual))])
	}
	p.settings = entitlement.Settings{TotalPerRound: pick(100_000, 1_000_000), MaxIgnoredOverCapacity: pick(0, 100_000),
		NaturalTermination: pick(200_000, 1_000_000)}
	p.Queues = []entitlement.Queue{{Parent: -1, AbsCapacity: yarn.One, Guaranteed: p.Total, Max: p.Total}}
	p.grow(r, 0, 1+r.IntN(3))
	p.fillLeaves(r)
	return p
}

// grow adds children to a queue, down to the given number of levels.
func (p *randomTree) grow(r *rand.Rand, parent int32, levels int) {
	if levels == 0 || parent > 0 && r.IntN(3) == 0 {
		p.Queues[parent].Leaf = true
		return
	}
	children := 1 + r.IntN(5)
	vectors, priorities, tiny := r.IntN(4) == 0, r.IntN(3) == 0, r.IntN(5) == 0
	left, above := p.Queues[parent].Guaranteed, p.Queues[parent].AbsCapacity
	parts := above.MulFloor(1_000_000)
	for n := range children {
		part := r.Int64N(2*parts/int64(children)+1) % (parts + 1)
		switch {
		case r.IntN(6) == 0:
			part = 0
		case tiny:
			part = min(parts, r.Int64N(30))
		case n == children-1 && r.IntN(2) == 0:
			part = parts
		}
		parts -= part
		q := entitlement.Queue{Parent: parent, AbsCapacity: millionths(part), Max: p.Total}
		q.Guaranteed = p.Calculator.MultiplyRoundDown(p.Total, q.AbsCapacity)
		if vectors {
			for k := range p.Calculator.Kinds {
				q.Guaranteed[k] = r.Int64N(left[k] + 1)
			}
			left = left.Sub(q.Guaranteed)
		}
		if q.Guaranteed.IsZero() && (vectors || r.IntN(2) == 0) {
			q.AbsCapacity = millionths(0) // Hadoop multiplies by this capacity, which can be 0 if the guarantee is
		}
		if priorities {
			q.Priority = r.Int32N(3)
		}
		if r.IntN(4) == 0 {
			for k := range p.Calculator.Kinds {
				q.Max[k] = q.Guaranteed[k] + r.Int64N(p.Total[k]-q.Guaranteed[k]+1)
			}
		}
		p.Queues = append(p.Queues, q)
		p.grow(r, int32(len(p.Queues)-1), levels-1)
	}
}

// fillLeaves sets usage and demand of leaves, and adds up the usage of their parents.
func (p *randomTree) fillLeaves(r *rand.Rand) {
	leaves := int64(0)
	for i := range p.Queues {
		if p.Queues[i].Leaf {
			leaves++
		}
	}
	amount := func(most yarn.Resource) (out yarn.Resource) {
		for k := range p.Calculator.Kinds {
			out[k] = r.Int64N(most[k] + 1)
		}
		return out
	}
	for i := len(p.Queues) - 1; i >= 0; i-- {
		q := &p.Queues[i]
		if q.Leaf {
			even := p.Total.Times(2)
			for k := range even {
				even[k] /= leaves
			}
			switch r.IntN(5) {
			case 0: // idle
			case 1:
				q.Used = q.Guaranteed
			case 2:
				q.Used = amount(q.Guaranteed)
			default:
				q.Used = amount(even)
			}
			if r.IntN(3) > 0 {
				q.Pending = amount(even)
				q.PendingLessReserved = q.Pending
			}
			if r.IntN(4) == 0 {
				q.Reserved = amount(q.Used)
				q.PendingLessReserved = yarn.ComponentMax(q.Pending.Sub(q.Reserved), yarn.Resource{})
			}
			if r.IntN(8) == 0 {
				q.Killable = amount(q.Used)
			}
			q.Disabled = r.IntN(7) == 0
		}
		if q.Parent >= 0 {
			above := &p.Queues[q.Parent]
			above.Used, above.Reserved, above.Killable = above.Used.Add(q.Used), above.Reserved.Add(q.Reserved),
				above.Killable.Add(q.Killable)
		}
	}
}
