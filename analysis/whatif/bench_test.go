package whatif

import (
	"fmt"
	"testing"

	"rmd/fsm/state"
	"rmd/internal/growth"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

const queueKey = "yarn.scheduler.capacity."

// largeCluster is a cluster of 10,000 nodes of 16 GiB and 100 queues.
type largeCluster struct {
	b     *testing.B
	p     *planner.Planner
	now   int64
	paths []string
}

func (c *largeCluster) do(in input.Input) input.Reply {
	c.b.Helper()
	reply, _ := c.p.Plan(c.now, input.Request{Input: in})
	if f := reply.Refused(); f != nil {
		c.b.Fatalf("%T was refused: %v", in, f)
	}
	return reply
}

func newLargeCluster(b *testing.B, properties map[string]string) *largeCluster {
	b.Helper()
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		b.Fatal(err)
	}
	c := &largeCluster{b: b, p: p, now: 1_000_000}
	in := &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Entropy: make([]byte, 1024)}
	for q := range 100 {
		c.paths = append(c.paths, fmt.Sprintf("root.q%02d", q))
		in.Properties = append(in.Properties, input.Property{Name: queueKey + c.paths[q] + ".user-limit-factor",
			Value: "100"})
	}
	for _, q := range preset.QueuesFor(c.paths) {
		in.Properties = append(in.Properties, input.Property(q))
	}
	in.Properties = append(in.Properties, input.Property{Name: "yarn.node-labels.enabled", Value: "true"},
		input.Property{Name: queueKey + "maximum-applications", Value: "100000"})
	for name, value := range properties { // the order does not matter
		in.Properties = append(in.Properties, input.Property{Name: name, Value: value})
	}
	c.do(in)
	for n := range 10_000 {
		c.do(&input.RegisterNode{ID: yarn.NodeID{Host: fmt.Sprintf("m%04d", n), Port: 1}, Rack: fmt.Sprintf("/r%d", n/40),
			Total: yarn.NewResource(16384, 16)})
	}
	return c
}

// asks submits an application that asks for containers, on hosts if it names any, and takes what it gets.
func (c *largeCluster) asks(queue int, count, memory int64, hosts ...string) {
	c.b.Helper()
	id := yarn.AttemptID{App: c.do(&input.SubmitApplication{User: "u", Name: "job", Queue: c.paths[queue],
		Unmanaged: true}).(*input.SubmitApplicationReply).ID, Attempt: 1}
	c.do(&input.RegisterAttempt{Attempt: id})
	key := yarn.SchedulerKey{Priority: 1}
	asks := []input.Ask{{Key: key, Name: yarn.Any, Count: count, Size: yarn.NewResource(memory, 1), Relax: true}}
	for _, host := range hosts {
		asks = append(asks, input.Ask{Key: key, Name: host, Count: count, Size: yarn.NewResource(memory, 1), Relax: true})
	}
	c.do(&input.Allocate{Attempt: id, Asks: asks})
	for range min(count, 10) {
		st := c.p.State()
		c.do(&input.Allocate{Attempt: id, Response: st.Apps.Get(st.Apps.ByID(id.App)).Response})
	}
}

// BenchmarkWhatIf answers each kind of what-if and preview while 500 applications wait. Budget: 2 s of
// processor time for each.
func BenchmarkWhatIf(b *testing.B) {
	key := func(path string) string { return queueKey + path + ".maximum-capacity" }
	b.Run("full", func(b *testing.B) { // but for 1 GiB on each node
		c := newLargeCluster(b, nil)
		for q := range 100 {
			c.asks(q, 500, 3072)
		}
		for i := range 500 {
			c.asks(i%100, 1, 3072)
		}
		benchmarkWhatIf(b, c, key("root.q00"))
	})
	b.Run("held", func(b *testing.B) { // by the maximum of a queue, which the what-if raises
		c := newLargeCluster(b, map[string]string{key("root.q00"): "1"})
		for i := range 500 {
			c.asks(0, 100, 3072, fmt.Sprintf("m%04d", i))
		}
		benchmarkWhatIf(b, c, key("root.q00"))
	})
	b.Run("named", func(b *testing.B) { // all have room for asks whose queue has reached its maximum
		c := newLargeCluster(b, map[string]string{key("root.q01"): "0.01"})
		for q := range 100 {
			c.asks(q, 500, 3072)
		}
		for i := range 400 {
			c.asks(2+i%98, 1, 3072, fmt.Sprintf("m%04d", i))
		}
		for range 100 {
			c.asks(1, 2, 1024)
		}
		benchmarkWhatIf(b, c, key("root.q00"))
	})
}

func benchmarkWhatIf(b *testing.B, c *largeCluster, key string) {
	st := c.p.State()
	waiting := int64(0)
	st.Asks.Each(func(_ state.AskSlot, k *state.Ask) bool { waiting += k.Count; return true })
	b.Logf("%d containers are waited for, %d allocated, %d nodes reserved", waiting, st.Containers.Len(),
		st.Reservations.Len())
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			before := growth.ProcessorTime()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((growth.ProcessorTime()-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
	props := []input.Property{{Name: key, Value: "90"}}
	var conf []capacity.Property
	for _, p := range st.Versions.Current().Properties {
		if p.Name != key {
			props = append(props, input.Property{Name: p.Name, Value: p.Value})
		}
		conf = append(conf, capacity.Property{Name: p.Name, Value: p.Value})
	}
	never := func() bool { return false }
	run("queues", func() error {
		d, err := Queues(st.Fork(), props, true, never)
		if err == nil && !d.Complete {
			err = fmt.Errorf("%d nodes were left out", d.NodesLeft)
		}
		if err == nil {
			b.Logf("%d passes, %+v", d.Turns, d.Totals)
		}
		return err
	})
	var last yarn.ApplicationID
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool { last = a.ID; return true })
	run("submission", func() error {
		_, err := Submission(st.Fork(), &input.SubmitApplication{User: "u", Queue: "root.q05", AM: yarn.NewResource(1024, 1)})
		return err
	})
	run("landings", func() error {
		from, err := capacity.Parse(conf)
		if err != nil {
			return err
		}
		explain.CompareLandings(st, from, from, func(slot state.AppSlot, a *state.App) placement.Submission {
			return explain.SubmissionOf(st, slot, a)
		}, never)
		return nil
	})
	run("labels", func() error {
		return Try(st.Fork(), &input.SetLabels{Labels: []input.Label{{Name: "x"}}})
	})
	run("preemption", func() error {
		_, err := PreemptionNow(st.Fork())
		return err
	})
	run("drain", func() error {
		explain.CheapestToDrain(st, 20)
		return nil
	})
	run("explain", func() error {
		var x explain.Explainer
		_, err := x.Explain(st, last)
		return err
	})
}
