package planner

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"rmd/fsm/state"
	"rmd/internal/boolint"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// floor is a small cluster for gangs in virtual time. AMs release the containers.
type floor struct {
	tb    testing.TB
	p     *Planner
	nodes []yarn.NodeID
	slots []state.NodeSlot
	now   int64
}

func newFloor(tb testing.TB, nodes int, memoryMB int64) *floor {
	f := &floor{tb: tb, p: must(New(state.New(), Options{Eager: true})), now: 1_000_000}
	f.do(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Properties: []input.Property{
		{Name: confPrefix + "root.queues", Value: "a,b"}, {Name: confPrefix + "root.a.capacity", Value: "50"},
		{Name: confPrefix + "root.b.capacity", Value: "50"},
		{Name: confPrefix + "root.a.user-limit-factor", Value: "10"},
		{Name: confPrefix + "root.b.user-limit-factor", Value: "10"},
		{Name: confPrefix + "maximum-am-resource-percent", Value: "1"},
		{Name: confPrefix + "maximum-applications", Value: "1000000"},
		{Name: confPrefix + "per-node-heartbeat.maximum-offswitch-assignments", Value: "100"}}})
	for i := range nodes {
		id := yarn.NodeID{Host: fmt.Sprint("n", i), Port: 1}
		f.do(&input.RegisterNode{ID: id, Rack: fmt.Sprint("/r", i%2), Total: yarn.NewResource(memoryMB, 64)})
		f.nodes, f.slots = append(f.nodes, id), append(f.slots, f.p.st.Nodes.Find(id))
	}
	return f
}

func (f *floor) do(in input.Input) input.Reply {
	f.tb.Helper()
	r, _ := f.p.Plan(f.now, input.Request{Input: in})
	if fault := r.Refused(); fault != nil {
		f.tb.Fatalf("%T: %v", in, fault)
	}
	return r
}

// work is an application on a floor that asks for containers of one size and releases them.
type work struct {
	f        *floor
	id       yarn.AttemptID
	response int32
	want     int
	size     yarn.Resource
	has      []yarn.ContainerID
}

// start submits an application that asks for containers. If gang is not empty, it describes the
// containers as a gang.
func (f *floor) start(queue, gang string, want int, size yarn.Resource) *work {
	in := &input.SubmitApplication{User: "u", Queue: queue, Unmanaged: true}
	if gang != "" {
		in.Tags = []string{yarn.GangTag + gang}
	}
	w := &work{f: f, want: want, size: size,
		id: yarn.AttemptID{App: f.do(in).(*input.SubmitApplicationReply).ID, Attempt: 1}}
	f.do(&input.RegisterAttempt{Attempt: w.id})
	w.ask()
	return w
}

// ask asks for the containers that the AM does not have yet.
func (w *work) ask() {
	w.poll()
	w.call(&input.Allocate{Asks: []input.Ask{
		{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: int64(w.want - len(w.has)), Size: w.size, Relax: true}}})
}

func (w *work) call(in *input.Allocate) {
	in.Attempt, in.Response = w.id, w.response
	r := w.f.do(in).(*input.AllocateReply)
	w.response = r.Response
	for _, g := range r.Granted {
		w.has = append(w.has, g.Container)
	}
}

// poll collects the granted containers.
func (w *work) poll() { w.call(&input.Allocate{}) }

// giveBack releases the first n containers and lowers want by n.
func (w *work) giveBack(n int) {
	gone := w.has[:n]
	w.has = w.has[n:]
	w.want -= n
	w.call(&input.Allocate{Releases: gone})
}

func (w *work) finish() {
	w.f.do(&input.FinishAttempt{Attempt: w.id, Final: yarn.FinalSucceeded})
}

// pass advances the time and sends the heartbeats of all nodes.
func (f *floor) pass(millis int64) {
	f.now += millis
	f.do(&input.NodesHeard{Nodes: f.slots})
}

const (
	pairNodes    = 4
	pairMemoryMB = 8192
	pairPatience = 3000 // rounds of heartbeats within which both gangs must have run
)

// pairGang draws a gang that fits on the empty floor, but rarely beside another one.
func pairGang(rng *rand.Rand) (text string, count int, size yarn.Resource) {
	gb := 1 + rng.IntN(4)
	perNode := 8 / gb
	count = 1 + rng.IntN(pairNodes*perNode)
	text = fmt.Sprintf("priority=1,count=%d", count)
	switch rng.IntN(4) {
	case 0:
		each := 1 + rng.IntN(perNode)
		nodes := 1 + rng.IntN(pairNodes)
		count = each * nodes
		text = fmt.Sprintf("priority=1,per-node=%d,nodes=%d", each, nodes)
	case 1:
		count = 1 + rng.IntN(2*perNode) // each rack has two nodes
		text = fmt.Sprintf("priority=1,count=%d,rack=one", count)
	}
	return text, count, yarn.NewResource(int64(gb)*1024, 1)
}

// pair runs two random gangs among small containers that come and go, until both gangs have run. It
// returns the number of heartbeat rounds and how many of the gangs reserved nodes; ok is false if a
// gang never starts.
func (f *floor) pair(rng *rand.Rand) (beats, held int, ok bool) {
	small := f.start("root.a", "", 4+rng.IntN(24), yarn.NewResource(1024, 1))
	var gangs [2]*work
	var left [2]int // heartbeat rounds that the gang still runs
	for i, q := range []string{"root.a", "root.b"} {
		text, count, size := pairGang(rng)
		gangs[i] = f.start(q, text, count, size)
		left[i] = 1 + rng.IntN(5)
	}
	var holds [2]bool
	for open := 2; open > 0; beats++ {
		if beats == pairPatience {
			return beats, 0, false
		}
		f.pass(1000 * int64(1+rng.IntN(10)))
		small.poll()
		if n := len(small.has); n > 0 && rng.IntN(4) == 0 {
			small.giveBack(1 + rng.IntN(min(n, 3)))
		}
		if beats < 20 && rng.IntN(4) == 0 { // more small containers
			small.want = min(small.want+1+rng.IntN(6), 40)
			small.ask()
		}
		for i, g := range gangs {
			if g == nil {
				continue
			}
			g.poll()
			members, _ := f.p.st.GangReserved(f.p.st.Apps.ByID(g.id.App))
			holds[i] = holds[i] || members > 0
			switch {
			case len(g.has) == 0:
			case len(g.has) != g.want:
				f.tb.Fatalf("a gang of %d starts with %d", g.want, len(g.has))
			case left[i] > 0:
				left[i]--
			default:
				g.finish()
				gangs[i] = nil
				open--
			}
		}
	}
	small.finish()
	return beats, int(boolint.Of[int](holds[0]) + boolint.Of[int](holds[1])), true
}

// amount returns the number in the environment variable, or usual if the variable is not set.
func amount(t *testing.T, variable string, usual int) int {
	v := os.Getenv(variable)
	if v == "" {
		return usual
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a number above zero", variable, v)
	}
	return n
}

// TestGangPairs checks that two gangs that want the same room do not keep each other from starting
// for ever. It plays 400 random pairs; RMD_GANG_PAIRS sets another number.
func TestGangPairs(t *testing.T) {
	pairs := amount(t, "RMD_GANG_PAIRS", 400)
	const perFloor = 500
	var held, longest, deadlocks int
	for from := 0; from < pairs; from += perFloor {
		f := newFloor(t, pairNodes, pairMemoryMB)
		for i := from; i < min(from+perFloor, pairs); i++ {
			beats, holds, ok := f.pair(rand.New(rand.NewPCG(uint64(i), 24)))
			if !ok {
				t.Errorf("pair %d: a gang has not started after %d heartbeats", i, beats)
				deadlocks++
				break
			}
			held += holds
			longest = max(longest, beats)
		}
	}
	t.Logf("%d pairs, %d deadlocks; %d gangs held nodes before they started, the longest pair took %d heartbeats", pairs,
		deadlocks, held, longest)
	if held*20 < pairs {
		t.Errorf("only %d gangs of %d pairs held nodes: does the test still meet what it is there for?", held, pairs)
	}
}
