package sim

import (
	"fmt"
	"maps"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/internal/codec"
	"rmd/jepsen-lite/sim/checker"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/result"
	"rmd/jepsen-lite/sim/settings"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/snapshot"
	workload "rmd/workload/agent"
	"rmd/yarn"
)

// Users of TestManyQueues: the total without RMD_SIM_QUEUES, and the number in a wave. The regular
// users come in each wave; half of them have a dynamic queue that each wave creates again, half a
// leaf of a managed parent.
const (
	queuesInAll  = 750
	queuesAtOnce = 250
	regulars     = 4
	queueCallers = 8
)

// TestManyQueues creates and removes queues in waves; each wave has other users. Each wave kills
// one leader while submissions create queues, one while their applications end, and one while idle
// queues are removed. It configures the queues twice, and makes a replica leader that was restored
// from a snapshot. After each wave, all replicas must have the same contents, and no more than
// after the first wave.
func TestManyQueues(t *testing.T) {
	users := queuesInAll
	if text := os.Getenv("RMD_SIM_QUEUES"); text != "" {
		var err error
		if users, err = strconv.Atoi(text); err != nil || users < 3*queuesAtOnce {
			t.Fatalf("RMD_SIM_QUEUES is %q: a number of at least %d", text, 3*queuesAtOnce)
		}
	}
	opt := settings.Plain()
	opt.SnapshotAfter, opt.Trailing, opt.Users, opt.Managed = 200, 0, true, true
	opt.Queues = []settings.Queue{{Name: "a", Capacity: "50"}, {Name: "b", Capacity: "50"}}
	tellStory(t, opt, func(s *story) {
		q := &manyQueues{story: s, load: load.New(s.world, s.check, s.opt, 1)}
		q.load.Begin(load.Size{Nodes: 2})
		for q.users < users && !t.Failed() && !s.check.Broken() {
			q.wave(min(queuesAtOnce, users-q.users))
		}
		q.load.Stop()
		t.Log(q.summary())
		c := s.check.Outcome().Counts
		if n := users + q.waves*(regulars+1); c.Created != n+regulars || c.Removed != n {
			t.Errorf("%d queues were created and %d removed, not %d and %d", c.Created, c.Removed, n+regulars, n)
		}
		if c.Terms < 4*q.waves || c.Restores < q.waves || c.Activated < q.waves || c.Deactivated < q.waves ||
			c.Allocated < q.waves {
			t.Error("the waves do not do what they are there for")
		}
	})
}

// manyQueues plays the waves.
type manyQueues struct {
	*story
	load         *load.Load
	waves, users int // so far

	records map[string]int // number of records by table, after the first wave
	bytes   [2]int         // size of all tables except the names, after the first and the last wave
	whole   [2]int         // size of a snapshot, after the first and the last wave
}

func (q *manyQueues) summary() string {
	cpu, _ := result.Usage()
	c := q.check.Outcome().Counts
	return fmt.Sprintf("%d users in %d waves: %d queues created, %d removed; leaves of managed parents got their capacity %d times, lost it %d times; "+
		"%d containers; %d leaders, %d restores, %d configurations; %d entries, %d digests; after the first and the last wave %d bytes in tables, snapshots of %d; %s of virtual time, %.0f CPU seconds",
		q.users, q.waves, c.Created, c.Removed, c.Activated, c.Deactivated, c.Allocated, c.Terms, c.Restores, 2*q.waves,
		c.Entries, c.Digests,
		q.bytes, q.whole, q.check.Age().Round(time.Second), cpu.Seconds())
}

// wave creates, uses and removes queues.
func (q *manyQueues) wave(users int) {
	first, before := q.users, len(q.dynamic(q.leader(10*election)))
	q.waves, q.users = q.waves+1, q.users+users
	q.configure()
	ids := make([]yarn.ApplicationID, users)
	q.underFire(users, func(c *load.Caller, i int) {
		user := fmt.Sprintf("u%05d", first+i)
		path := "root.users." + user
		if i%2 == 0 {
			path = fmt.Sprintf("root.users.g%d.%s", q.waves%3, user)
		}
		ids[i] = q.submitAs(c, "of-"+user, user, path)
	})
	q.inStep(time.Minute)
	for _, r := range q.rs {
		if n := len(q.dynamic(r)) - before; n != users+1 { // and a parent
			q.t.Errorf("wave %d: %s has %d new queues, not %d", q.waves, r.id, n, users+1)
		}
	}
	behind := q.follower()
	behind.crash()
	q.configure()
	q.regulars()
	q.restoreAndLead(behind)
	q.underFire(users, func(c *load.Caller, i int) {
		reply, ok := c.Call(q.ctx, input.Request{Input: &input.KillApplication{ID: ids[i], Diagnostics: "the wave ebbs"}})
		// an earlier try succeeded
		if f := failure(reply, ok); f != "" && !strings.Contains(f, string(input.NoSuchApplication)) {
			q.check.Fail("the end of %s: %s", ids[i], f)
		}
	})
	q.awaitDone("applications end", func() string {
		if n := q.check.Running(); n > 0 {
			return fmt.Sprintf("%d go on", n)
		}
		return ""
	})
	time.Sleep(time.Duration(q.waves%4) * time.Second)
	old, _ := q.killLeader()
	q.restart(old)
	q.awaitDone("idle queues are removed", func() string {
		return q.check.IdleQueues()
	})
	q.measure()
}

// configure changes the weights of the users' queues. It makes ended applications be forgotten at
// once, so that a wave leaves only queues behind.
func (q *manyQueues) configure() {
	weight := 1 + q.check.Submissions()%3
	props := append(q.opt.Properties(q.opt.Queues, false),
		input.Property{Name: "yarn.resourcemanager.max-completed-applications", Value: "0"},
		input.Property{Name: capacity.Prefix + "root.users.auto-queue-creation-v2.template.capacity",
			Value: fmt.Sprintf("%dw", weight)})
	q.plan(&input.SetQueues{Properties: props, Author: "operator"})
}

// underFire makes calls from several callers and kills the leader after half of them.
func (q *manyQueues) underFire(calls int, call func(c *load.Caller, i int)) {
	var next, done atomic.Int64
	var wg sync.WaitGroup
	shot := make(chan *replica, 1)
	for k := range queueCallers {
		wg.Go(func() {
			c := load.NewCaller(q.world, fmt.Sprintf("caller%d", k), rand.New(rand.NewSource(int64(100*q.waves+k)))).StartAt(k)
			for i := next.Add(1) - 1; i < int64(calls); i = next.Add(1) - 1 {
				call(c, int(i))
				if done.Add(1) == int64(calls/2) {
					old := q.leader(10 * election)
					old.crash()
					shot <- old
				}
			}
		})
	}
	wg.Wait()
	q.restart(<-shot)
}

func (q *manyQueues) restart(r *replica) {
	if err := r.start(); err != nil {
		q.t.Fatal(err)
	}
	q.inStep(time.Minute)
}

// submitAs submits an unmanaged application as Hadoop's clients do: it asks for an id first.
func (q *manyQueues) submitAs(c *load.Caller, name, user, queue string) yarn.ApplicationID {
	reply, ok := c.Call(q.ctx, input.Request{Input: &input.NewApplication{}})
	if f := failure(reply, ok); f != "" {
		q.check.Fail("an id for %s: %s", name, f)
		return yarn.ApplicationID{}
	}
	id := reply.(*input.NewApplicationReply).ID
	reply,
		ok = c.Call(q.ctx, input.Request{Input: &input.SubmitApplication{ID: id, Name: name, User: user, Queue: queue,
		Unmanaged: true}})
	if f := failure(reply, ok); f != "" {
		_, known := q.check.App(id.Seq) // an earlier try succeeded
		if !known {
			q.check.Fail("submission of %s: %s", name, f)
		}
	}
	return id
}

// failure returns why a call did not succeed, or "" if it did.
func failure(reply input.Reply, answered bool) string {
	if !answered {
		return "no answer"
	}
	if f := reply.Refused(); f != nil {
		return fmt.Sprint(f.Reason, ": ", f)
	}
	return ""
}

// regulars runs the applications of the regular users: half of them in queues of their own, half in
// leaves of the managed parent, of which two are active at a time.
func (q *manyQueues) regulars() {
	c := q.load.Caller("regular")
	for i := range 2 * regulars {
		user := fmt.Sprintf("regular%d", i)
		name, queue := fmt.Sprintf("%s-%d", user, q.waves), "root.users."+user
		if i < regulars {
			queue = ""
		}
		q.load.Add(name, workload.Group{Priority: 1, Count: 2, Size: yarn.NewResource(1024, 1)})
		q.load.StartMaster(name, yarn.AttemptID{App: q.submitAs(c, name, user, queue), Attempt: 1}, nil)
	}
}

// awaitDone waits up to a minute until left returns "".
func (q *manyQueues) awaitDone(what string, left func() string) {
	const within = time.Minute
	text := left()
	for end := time.Now().Add(within); text != "" && !q.check.Broken(); text = left() {
		if time.Now().After(end) {
			q.check.Fail("wave %d: %s: after %s still: %s", q.waves, what, within, text)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// dynamic returns the dynamic queues of a replica.
func (q *manyQueues) dynamic(r *replica) []yarn.DynamicQueue { return q.state(r).DynamicQueueList() }

// measure compares the replicas with each other, and their contents with those after the first
// wave.
func (q *manyQueues) measure() {
	q.inStep(time.Minute)
	var same [32]byte
	for i, r := range q.rs {
		st := q.state(r)
		if err := st.Check(); err != nil {
			q.t.Errorf("wave %d: %s: %v", q.waves, r.id, err)
		}
		if sum := checker.Contents(st); i == 0 {
			same = sum
		} else if sum != same {
			q.t.Errorf("wave %d: contents of %s and %s differ", q.waves, q.rs[0].id, r.id)
		}
	}
	st := q.state(q.rs[0])
	records, bytes := tables(st)
	if len(q.dynamic(q.rs[0])) != regulars {
		q.t.Errorf("wave %d: dynamic queues are left: %v", q.waves, q.dynamic(q.rs[0]))
	}
	whole := q.snapshotOf(st)
	if q.records == nil {
		q.records, q.bytes, q.whole = records, [2]int{bytes, bytes}, [2]int{whole, whole}
	}
	q.bytes[1], q.whole[1] = bytes, whole
	if !maps.Equal(records, q.records) {
		q.t.Errorf("wave %d: records by table: %v, after the first wave: %v", q.waves, records, q.records)
	}
	if most := q.bytes[0] + growth; bytes > most {
		q.t.Errorf("wave %d: the tables have %d bytes, after the first wave %d", q.waves, bytes, q.bytes[0])
	}
}

// growth is how many bytes the tables may grow. Ids are encoded with as few bytes as possible, so
// larger ids need more, and the applications of a wave are forgotten in the next one.
const growth = 5 * queuesAtOnce

// tables returns the number of records of each table, and the size of all tables in bytes. It
// leaves out the last configurations, and the table with the keys, whose number depends on the time.
func tables(st *state.State) (records map[string]int, bytes int) {
	records = map[string]int{}
	for _, s := range state.Sections() {
		if s.Name == "configuration" || s.Name == "meta" {
			continue
		}
		records[s.Name] = s.Len(st)
		s.Each(st, func(slot uint32) bool {
			enc := codec.NewEncoder(nil)
			s.Code(st, slot, enc)
			bytes += len(enc.Bytes())
			return true
		})
	}
	return records, bytes
}

// snapshotOf returns the size of a snapshot in bytes.
func (q *manyQueues) snapshotOf(st *state.State) int {
	var n counter
	if err := snapshot.Write(&n, snapshot.HeaderOf(st, 1, 1, 1), st); err != nil {
		q.t.Fatal(err)
	}
	return int(n)
}

type counter int

// Write implements io.Writer.
func (n *counter) Write(b []byte) (int, error) {
	*n += counter(len(b))
	return len(b), nil
}
