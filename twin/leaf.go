package twin

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"rmd/scheduler/entitlement"
	"rmd/yarn"
)

// CompareLeaves computes with rmd and with Hadoop's FifoIntraQueuePreemptionPlugin how much
// applications of random leaves must give to others of their leaf. It returns how many leaves
// differ, and prints the first three.
func CompareLeaves(cache string, first, leaves uint64, out io.Writer) (differing int, err error) {
	j, err := startLeafJVM(cache)
	if err != nil {
		return 0, err
	}
	defer j.Close()
	apps, giving := 0, 0
	for seed := first; seed < first+leaves; seed++ {
		l := randomPreemptedLeaf(seed)
		want, err := j.ask(l.text(), len(l.Apps))
		if err != nil {
			return differing, fmt.Errorf("leaf %d: %w", seed, err)
		}
		got := l.shares()
		for _, line := range got {
			apps++
			giving += gives(" " + line)
		}
		if diff := differentLines(got, want); diff != "" {
			if differing++; differing <= 3 {
				fmt.Fprintf(out, "leaf %d: to take, lines are applications\n%s%s", seed, l.text(), diff)
			}
		}
	}
	fmt.Fprintf(out, "%d leaves, %d applications, %d must give; %d leaves differ\n", leaves, apps, giving, differing)
	return differing, nil
}

func startLeafJVM(cache string) (*jvm, error) {
	return startJVM(cache, "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.TwinLeaf")
}

// randomLeaf is a leaf with its settings of preemption.
type randomLeaf struct {
	entitlement.Leaf
	settings entitlement.Settings
	budget   yarn.Resource
}

func (l *randomLeaf) shares() (out []string) {
	for _, s := range l.AppShares(&l.settings, l.budget) {
		out = append(out, amountOf(s.ToTake))
	}
	return out
}

func amountOf(r yarn.Resource) string { return fmt.Sprintf("%d,%d", r[yarn.Memory], r[yarn.VCores]) }

// text formats the leaf for the Java side.
func (l *randomLeaf) text() string {
	var b strings.Builder
	calculator, order := "default", "USERLIMIT_FIRST"
	if l.Calculator.Dominant {
		calculator = "dominant"
	}
	if l.settings.Intra.Order == entitlement.PriorityFirst {
		order = "PRIORITY_FIRST"
	}
	fmt.Fprintln(&b, "leaf", calculator, amountOf(l.Cluster), amountOf(l.MinAlloc), amountOf(l.Guaranteed),
		amountOf(l.Used), amountOf(l.ToTake),
		amountOf(l.budget), l.settings.Intra.MaxAllowable, l.settings.Intra.ConservativeDRF, order)
	for _, u := range l.Users {
		fmt.Fprintln(&b, "user", amountOf(u.Limit), amountOf(u.Used))
	}
	for _, a := range l.Apps {
		fmt.Fprintln(&b, "app", a.User, a.Priority, amountOf(a.Used), amountOf(a.AMUsed), amountOf(a.Pending))
	}
	return b.String() + "end\n"
}

// randomPreemptedLeaf returns a leaf with applications of a few users, the highest priority first.
func randomPreemptedLeaf(seed uint64) *randomLeaf {
	r := rand.New(rand.NewPCG(seed, 1))
	l := &randomLeaf{Leaf: entitlement.Leaf{Calculator: yarn.Calculator{Dominant: r.IntN(3) > 0, Kinds: 2}}}
	scale := []int64{20, 100, 10_000, 1 << 20}[r.IntN(4)]
	amount := func(most int64) yarn.Resource {
		return yarn.Resource{r.Int64N(most + 1), r.Int64N(min(most, 50_000) + 1)}
	}
	l.Cluster = amount(scale * 10).Add(yarn.Resource{scale, scale})
	l.Guaranteed, l.MinAlloc, l.budget = amount(scale), yarn.Resource{1 + r.Int64N(scale/20+1), 1}, amount(scale*2)
	if r.IntN(2) == 0 {
		l.budget = l.Cluster
	}
	if r.IntN(4) == 0 {
		l.ToTake = amount(scale / 4)
	}
	l.settings.Intra = entitlement.Intra{MaxAllowable: millionths(r.Int64N(1_000_001)), ConservativeDRF: r.IntN(2) == 0,
		Order: entitlement.UserLimitFirst}
	if r.IntN(3) == 0 {
		l.settings.Intra.Order = entitlement.PriorityFirst
	}
	if r.IntN(2) == 0 {
		l.settings.Intra.MaxAllowable = yarn.One
	}
	users, apps, priorities := 1+r.IntN(3), r.IntN(7), 1+r.Int32N(4)
	l.Users = make([]entitlement.LeafUser, users)
	for i := range l.Users {
		l.Users[i].Limit = amount(scale / 2)
	}
	priority := int32(9)
	for range apps {
		a := entitlement.LeafApp{User: r.IntN(users), Priority: priority, Used: amount(scale / 3), Pending: amount(scale / 4)}
		switch r.IntN(4) {
		case 0:
			a.Used = yarn.Resource{}
		case 1:
			a.Pending = yarn.Resource{}
		}
		a.AMUsed = yarn.Resource{r.Int64N(a.Used[0]/4 + 1), r.Int64N(a.Used[1]/4 + 1)}
		l.Apps = append(l.Apps, a)
		l.Used, l.AMUsed = l.Used.Add(a.Used), l.AMUsed.Add(a.AMUsed)
		u := &l.Users[a.User]
		u.Used, u.AMUsed = u.Used.Add(a.Used), u.AMUsed.Add(a.AMUsed)
		priority -= r.Int32N(priorities)
	}
	return l
}
