package entitlement

import (
	"testing"

	"rmd/yarn"
)

// row is a queue of a test's tree. Amounts are in MiB.
type row struct {
	name       string
	parent     int32
	guaranteed int64
	used       int64
	pending    int64
	max        int64 // 0: no maximum
	reserved   int64
	priority   int32
	toTake     int64
}

// partitionOf returns a partition with the rows as queues. The first row is root.
func partitionOf(rows []row) *Partition {
	p := &Partition{Calculator: yarn.Calculator{Kinds: 2}, Cluster: yarn.Resource{rows[0].guaranteed},
		Total: yarn.Resource{rows[0].guaranteed}}
	for _, r := range rows {
		q := Queue{Parent: r.parent, Leaf: true, Priority: r.priority,
			AbsCapacity: yarn.NewFraction(r.guaranteed, rows[0].guaranteed),
			Guaranteed:  yarn.Resource{r.guaranteed}, Max: p.Total, Used: yarn.Resource{r.used},
			Reserved: yarn.Resource{r.reserved},
			Pending:  yarn.Resource{r.pending}, PendingLessReserved: yarn.Resource{max(r.pending-r.reserved, 0)}}
		if r.max > 0 {
			q.Max[yarn.Memory] = r.max
		}
		p.Queues = append(p.Queues, q)
		if r.parent >= 0 {
			p.Queues[r.parent].Leaf = false
		}
	}
	return p
}

// allAtOnce returns settings with which one round takes everything.
func allAtOnce() Settings {
	return Settings{TotalPerRound: yarn.One, NaturalTermination: yarn.One}
}

// TestScenarios checks the amounts of the specification's preemption scenarios. The names begin
// with their numbers.
func TestScenarios(t *testing.T) {
	tenth := func(s *Settings) { s.MaxIgnoredOverCapacity = yarn.NewFraction(1, 10) }
	for _, c := range []struct {
		name   string
		set    func(*Settings)
		queues []row
	}{
		{"55 the queue furthest below its guarantee is filled first", nil, []row{
			{name: "root", parent: -1, guaranteed: 100, used: 100},
			{name: "a", guaranteed: 10, used: 30, pending: 20, toTake: 10},
			{name: "b", guaranteed: 40, used: 60, pending: 5},
			{name: "c", guaranteed: 20, used: 10, pending: 20},
			{name: "d", guaranteed: 30},
		}},
		{"56 the queue most over its guarantee gives", nil, []row{
			{name: "root", parent: -1, guaranteed: 100, used: 100},
			{name: "a", guaranteed: 40, pending: 10},
			{name: "b", guaranteed: 40, used: 60},
			{name: "c", guaranteed: 20, used: 40, toTake: 10},
		}},
		{"57 little above a guarantee is ignored", tenth, []row{
			{name: "root", parent: -1, guaranteed: 100, used: 103},
			{name: "a", guaranteed: 40, used: 39, pending: 10},
			{name: "b", guaranteed: 40, used: 43},
			{name: "c", guaranteed: 20, used: 21},
		}},
		{"58 a queue at its maximum wants nothing", nil, []row{
			{name: "root", parent: -1, guaranteed: 100, used: 100},
			{name: "a", guaranteed: 40, used: 55},
			{name: "b", guaranteed: 40, used: 45, pending: 10, max: 45},
			{name: "c", guaranteed: 20},
		}},
		{"59 queues that are all over their guarantee do not fight", nil, []row{
			{name: "root", parent: -1, guaranteed: 100, used: 100},
			{name: "a", guaranteed: 40, used: 55, pending: 10},
			{name: "b", guaranteed: 40, used: 45, pending: 10},
			{name: "c", guaranteed: 20},
		}},
		{"60 a parent within its guarantee keeps what its leaves divide among them", nil, []row{
			{name: "root", parent: -1, guaranteed: 200, used: 200},
			{name: "a", guaranteed: 100, used: 110},
			{name: "b", parent: 1, guaranteed: 50, used: 60, toTake: 10},
			{name: "c", parent: 1, guaranteed: 50, used: 50},
			{name: "d", guaranteed: 100, used: 90},
			{name: "e", parent: 4, guaranteed: 10, used: 90},
			{name: "f", parent: 4, guaranteed: 90, pending: 10},
		}},
		{"60 with reservations", nil, []row{
			{name: "root", parent: -1, guaranteed: 200, used: 200},
			{name: "a", guaranteed: 100, used: 110, reserved: 25},
			{name: "b", parent: 1, guaranteed: 50, used: 60, reserved: 15, toTake: 10},
			{name: "c", parent: 1, guaranteed: 50, used: 50, reserved: 10},
			{name: "d", guaranteed: 100, used: 90, reserved: 15},
			{name: "e", parent: 4, guaranteed: 10, used: 90, reserved: 15},
			{name: "f", parent: 4, guaranteed: 90, pending: 10},
		}},
		{"61 a queue that has reserved more than it wants takes from nobody", nil, []row{
			{name: "root", parent: -1, guaranteed: 100, used: 70},
			{name: "a", guaranteed: 40, used: 70, pending: 30, reserved: 50},
			{name: "b", guaranteed: 40},
			{name: "c", guaranteed: 20},
		}},
		{"66 queues of one priority share what a lower one gives", nil, []row{
			{name: "root", parent: -1, guaranteed: 100, used: 100},
			{name: "a", guaranteed: 30, used: 40, pending: 50, priority: 1, toTake: 10},
			{name: "b", guaranteed: 30, used: 59, pending: 50, priority: 2, toTake: 15},
			{name: "c", guaranteed: 40, used: 1, pending: 25, priority: 2},
		}},
		{"66 a queue below its guarantee comes before a higher one above its own", nil, []row{
			{name: "root", parent: -1, guaranteed: 100, used: 100},
			{name: "a", guaranteed: 30, used: 40, pending: 50, priority: 1, toTake: 10},
			{name: "b", guaranteed: 30, used: 59, pending: 50, priority: 2, toTake: 15},
			{name: "c", guaranteed: 40, used: 1, pending: 25, priority: 0},
		}},
		{"67 a higher priority does not take from satisfied queues", nil, []row{
			{name: "root", parent: -1, guaranteed: 100, used: 100},
			{name: "a", guaranteed: 30, priority: 1},
			{name: "b", guaranteed: 30, used: 40, pending: 50, priority: 1},
			{name: "c", guaranteed: 40, used: 60, pending: 25, priority: 2},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := allAtOnce()
			if c.set != nil {
				c.set(&s)
			}
			for i, share := range partitionOf(c.queues).Entitlements(&s, Mode{}) {
				if got := share.ToTake[yarn.Memory]; got != c.queues[i].toTake {
					t.Errorf("%d to take from %s, want %d (ideal %d)", got, c.queues[i].name, c.queues[i].toTake,
						share.Ideal[yarn.Memory])
				}
			}
		})
	}
}

// TestDisabledQueuesKeepWhatTheyHave checks that a queue with disabled preemption gives nothing,
// and that its use above its guarantee is untouchable.
func TestDisabledQueuesKeepWhatTheyHave(t *testing.T) {
	p := partitionOf([]row{
		{name: "root", parent: -1, guaranteed: 100, used: 100},
		{name: "a", guaranteed: 40, pending: 40},
		{name: "b", guaranteed: 30, used: 60},
		{name: "c", guaranteed: 30, used: 40},
	})
	p.Queues[2].Disabled = true
	s := allAtOnce()
	shares := p.Entitlements(&s, Mode{})
	if u := shares[2].Untouchable[yarn.Memory]; u != 30 || shares[2].ToTake != (yarn.Resource{}) ||
		shares[3].ToTake[yarn.Memory] != 10 {
		t.Errorf("%d untouchable, %+v", u, shares)
	}
}

// TestQueuesWithoutGuaranteeGetWhatIsLeft checks that queues without a guarantee get resources only
// after the others have got their guarantees.
func TestQueuesWithoutGuaranteeGetWhatIsLeft(t *testing.T) {
	s := allAtOnce()
	shares := partitionOf([]row{
		{name: "root", parent: -1, guaranteed: 100, used: 100},
		{name: "a", guaranteed: 25, pending: 25},
		{name: "b", guaranteed: 25, pending: 25},
		{name: "c", guaranteed: 50, used: 50},
		{name: "d", used: 50},
	}).Entitlements(&s, Mode{})
	if got := shares[4]; got.ToTake[yarn.Memory] != 50 { // 25 in YARN
		t.Errorf("%+v of the queue without a guarantee, want 50 to take", got)
	}
}

// TestRoundsAreBounded checks that the budget and the natural termination factor limit a round, and
// that only the budget does so for reservations.
func TestRoundsAreBounded(t *testing.T) {
	p := partitionOf([]row{
		{name: "root", parent: -1, guaranteed: 1000, used: 1000},
		{name: "a", guaranteed: 500, pending: 500},
		{name: "b", guaranteed: 500, used: 1000},
	})
	s := Settings{TotalPerRound: yarn.NewFraction(1, 10), NaturalTermination: yarn.NewFraction(1, 5)}
	for _, c := range []struct {
		mode Mode
		want int64
	}{{Mode{}, 20}, {Mode{Reserved: true}, 100}, {Mode{Balance: true}, 20}} {
		share := p.Entitlements(&s, c.mode)[2]
		if share.Excess[yarn.Memory] != 100 || share.ToTake[yarn.Memory] != c.want {
			t.Errorf("%+v: excess %d, to take %d, want 100 and %d", c.mode, share.Excess[yarn.Memory],
				share.ToTake[yarn.Memory], c.want)
		}
	}
}

// TestRoundingLosesNoContainer checks that rounding errors do not cost a leaf a container. They
// take one MiB from leaf y. The leaf must give only while another leaf wants something, or when it
// uses more than its maximum.
func TestRoundingLosesNoContainer(t *testing.T) {
	rows := func() []row {
		return []row{
			{name: "root", parent: -1, guaranteed: 13_312, used: 12_288},
			{name: "a", guaranteed: 6389, used: 12_288},
			{name: "b", guaranteed: 6923},
			{name: "x", parent: 1, guaranteed: 4259, used: 8192, max: 10_240},
			{name: "y", parent: 1, guaranteed: 2129, used: 4096},
		}
	}
	const y = 4
	for _, c := range []struct {
		name   string
		change func(rows []row)
		want   bool
	}{
		{"nobody waits", func([]row) {}, true},
		{"it waits itself", func(rows []row) { rows[y].pending, rows[y].reserved = 1024, 1024 }, true},
		{"another one waits", func(rows []row) { rows[2].pending = 1024 }, false},
		{"another one waits for a node", func(rows []row) { rows[2].reserved = 1024 }, false},
		{"more than it may", func(rows []row) { rows[y].max = 4095 }, false},
		{"more than those above may", func(rows []row) { rows[1].max = 12_287 }, false},
	} {
		all := rows()
		c.change(all)
		p := partitionOf(all)
		var wanted yarn.Resource
		for i := range p.Queues {
			wanted = wanted.Add(p.Queues[i].Wanted())
		}
		if got := p.ForNobody(y, wanted); got != c.want {
			t.Errorf("%s: ForNobody(%d, %v) = %v, want %v", c.name, y, wanted, got, c.want)
		}
	}
	set := allAtOnce()
	if got := partitionOf(rows()).Entitlements(&set, Mode{})[y].ToTake; got[yarn.Memory] != 1 {
		t.Errorf("%s is to be taken: does the calculation still lose a MiB to rounding?", got)
	}
}
