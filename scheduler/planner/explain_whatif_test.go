package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rmd/scheduler/explain"
	"rmd/scheduler/input"
)

// whatIf compares the story's configuration with the same configuration after changes of queue
// properties.
func (w *world) whatIf(lim explain.WhatIfLimits, change ...string) (*explain.Comparison, error) {
	w.t.Helper()
	props := append([]input.Property(nil), w.props...)
	for i := 0; i+1 < len(change); i += 2 {
		found := false
		for k := range props {
			if props[k].Name == confPrefix+change[i] {
				props[k].Value, found = change[i+1], true
			}
		}
		if !found {
			props = append(props, input.Property{Name: confPrefix + change[i], Value: change[i+1]})
		}
	}
	before := w.p.st.Digest()
	c, err := explain.WhatIf(w.fork(), w.fork(), props, lim)
	if w.p.st.Digest() != before {
		w.t.Fatal("the question changed the state")
	}
	return c, err
}

const whatIfStory = `
conf queues=(a:50, b:50) a.maximum-capacity=50 b.maximum-capacity=50 a.user-limit-factor=10 b.user-limit-factor=10 max=16G
node add n1 8G
node add n2 8G
app app1 user=u1 queue=a
ask app1 1x8G
hb n1 quiet
app app2 user=u2 queue=a
ask app2 1x4G
app app3 user=u3 queue=b
ask app3 1x4G`

// TestWhatIfStarts checks that a larger maximum lets a waiting application start, and that the
// forecast comes true when the change is made.
func TestWhatIfStarts(t *testing.T) {
	w := newWorld(t)
	w.tellAll(whatIfStory)
	c, err := w.whatIf(explain.DefaultWhatIfLimits(), "root.a.maximum-capacity", "100")
	if err != nil {
		t.Fatal(err)
	}
	if !c.Complete || c.Version != 1 || c.Totals != (explain.Totals{Starts: 1}) ||
		c.Starts[0].ID != w.apps["app2"].String() ||
		c.Starts[0].Before.Reason != "QUEUE_MAX_CAPACITY" || c.Starts[0].After.Containers != 1 {
		t.Fatalf("a higher maximum of root.a: %+v, want a complete answer in which only app2 starts, 1 container",
			c)
	}
	found := false
	for _, q := range c.Queues {
		if q.Path == "root.a" {
			found = q.Before.Max != q.After.Max && q.Over
		}
	}
	if !found {
		t.Errorf("queues %+v", c.Queues)
	}
	w.tellAll("conf a.maximum-capacity=100\nhb n1 n2 n1 n2 quiet")
	if _, a := w.app("app2"); a.Live != 1 {
		t.Error("it does not come true")
	}
}

// TestWhatIfWaits checks that a smaller maximum makes an application wait that would start now.
func TestWhatIfWaits(t *testing.T) {
	w := newWorld(t)
	w.tellAll(whatIfStory)
	c, err := w.whatIf(explain.DefaultWhatIfLimits(), "root.b.maximum-capacity", "20", "root.b.capacity", "20",
		"root.a.capacity", "80", "root.a.maximum-capacity", "80")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Waits) != 1 || c.Waits[0].ID != w.apps["app3"].String() || c.Waits[0].After.Reason != "QUEUE_MAX_CAPACITY" ||
		c.Totals.Starts != 1 {
		t.Fatalf("a smaller maximum of root.b: waits %+v, %d starts, want app3 for QUEUE_MAX_CAPACITY and 1 start",
			c.Waits, c.Totals.Starts)
	}
}

// TestWhatIfReservesAlike checks that a what-if in eager mode reserves the node that is expected to
// have room first, as the leader does. If it reserved the first node, small would wait.
func TestWhatIfReservesAlike(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`
conf queues=(a:50, b:50) a.maximum-capacity=25 a.capacity=20 b.capacity=80 b.user-limit-factor=10 a.user-limit-factor=10 max=16G
mode eager
node add n1 8G
node add n2 8G
app long user=u1 queue=b lifetime=1000
ask long 1x2G hosts=(n1:1) strict
app short user=u1 queue=b lifetime=100
ask short 1x2G hosts=(n2:1) strict
app large user=u2 queue=a
ask large 1x7G
app small user=u3 queue=a
ask small 1x2G hosts=(n1:1) strict`)
	c, err := w.whatIf(explain.DefaultWhatIfLimits(), "root.a.maximum-capacity", "100")
	if err != nil || c.Totals != (explain.Totals{Starts: 1}) || c.Starts[0].ID != w.apps["small"].String() {
		t.Fatalf("a higher maximum of root.a: %+v, %v, want that only small starts", c, err)
	}
	w.tellAll("conf a.maximum-capacity=100\nhb n1 n2 n1 n2 quiet")
	if _, a := w.app("small"); a.Live != 1 {
		t.Error("it does not come true")
	}
}

func TestWhatIfGainsAndLoses(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`
conf queues=(a:50, b:50) a.maximum-capacity=50 b.maximum-capacity=50 a.user-limit-factor=10 b.user-limit-factor=10 max=16G
node add n1 16G
app app1 user=u1 queue=a
ask app1 20x1G
hb n1 quiet
app app2 user=u2 queue=b
ask app2 20x1G
hb n1 quiet`)
	c, err := w.whatIf(explain.DefaultWhatIfLimits(), "root.a.capacity", "75", "root.a.maximum-capacity", "75",
		"root.b.capacity", "25", "root.b.maximum-capacity", "25")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Gains) != 1 || len(c.Loses) != 1 || c.Gains[0].Queue != "root.a" || c.Loses[0].After.Containers != 4 {
		t.Fatalf("gains %+v, loses %+v, want one each: in root.a, and down to 4 containers",
			c.Gains, c.Loses)
	}
}

func TestWhatIfBounds(t *testing.T) {
	w := newWorld(t)
	w.tellAll(whatIfStory)
	c, err := w.whatIf(explain.WhatIfLimits{Turns: 1})
	if err != nil || c.Complete || c.Turns != 2 {
		t.Errorf("whatIf with one turn = %+v, %v, want an incomplete comparison after 2 turns", c, err)
	}
	c, err = w.whatIf(explain.WhatIfLimits{Turns: 100, Stop: func() bool { return true }})
	if err != nil || c.Complete || c.Turns != 0 {
		t.Errorf("whatIf that is stopped at once = %+v, %v, want an incomplete comparison after 0 turns",
			c, err)
	}
	var fault *input.Refusal
	if _, err := w.whatIf(explain.DefaultWhatIfLimits(), "root.a.capacity", "90"); !errors.As(err, &fault) ||
		fault.Reason != input.InvalidQueues {
		t.Errorf("an invalid configuration: %v", err)
	}
}

// nodesStory is a cluster of n equal nodes of 8 GiB, each with 1 GiB left, and tells the given lines after it.
func nodesStory(n int, lines string) string {
	var b strings.Builder
	b.WriteString("conf queues=(a:50, b:50) a.maximum-capacity=100 b.maximum-capacity=100 a.user-limit-factor=10 b.user-limit-factor=10 max=16G\nmode eager\n")
	for i := range n {
		fmt.Fprintf(&b, "node add n%d 8G\n", i+1)
	}
	fmt.Fprintf(&b, "app full user=u1 queue=a\nask full %dx7G\n", n)
	b.WriteString("hb")
	for i := range n {
		fmt.Fprintf(&b, " n%d", i+1)
	}
	return b.String() + " quiet\n" + lines
}

// TestWhatIfWork checks how many passes a what-if needs in a full cluster: those on reserved nodes, and one
// on the nodes that are alike, with each configuration.
func TestWhatIfWork(t *testing.T) {
	w := newWorld(t)
	w.tellAll(nodesStory(400, "app app1 user=u2 queue=b\nask app1 1x4G\napp app2 user=u3 queue=b\nask app2 1x4G"))
	reserved := w.p.st.Reservations.Len()
	c, err := w.whatIf(explain.DefaultWhatIfLimits(), "root.a.maximum-capacity", "90")
	if most := 2 * 2 * (reserved + 2); err != nil || !c.Complete || reserved == 0 || c.Turns > most {
		t.Errorf("a what-if of 400 full nodes, %d of them reserved: %+v, %v, want a complete answer after at most %d passes",
			reserved, c, err, most)
	}
}

// TestWhatIfNodesNotAlike checks that what-ifs serve asks that may use only some of the nodes that have the
// same room, and asks that must first wait for a host.
func TestWhatIfNodesNotAlike(t *testing.T) {
	for _, x := range []struct{ name, lines string }{
		{"blacklist", "app app1 user=u2 queue=b\nblacklist app1 n1 n2\nask app1 1x1G"},
		{"strict host", "app app1 user=u2 queue=b\nask app1 1x1G hosts=(n4:1) strict"},
		{"host without room",
			"node add other 1G\napp first user=u2 queue=a\nask first 1x1G hosts=(other:1) strict\nhb other quiet\napp app1 user=u2 queue=b\nask app1 1x1G hosts=(other:1)"},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld(t)
			w.tellAll(strings.NewReplacer("a:50, b:50", "a:99, b:1", "b.maximum-capacity=100", "b.maximum-capacity=1", "max=16G",
				"max=16G rack-locality-additional-delay=10").Replace(nodesStory(5, x.lines)))
			c, err := w.whatIf(explain.DefaultWhatIfLimits(), "root.b.maximum-capacity", "100")
			if err != nil || !c.Complete || !slices.ContainsFunc(c.Starts,
				func(a explain.ComparedApp) bool { return a.ID == w.apps["app1"].String() }) {
				t.Errorf("a maximum of 100 %%: %+v, %v, want that app1 starts", c, err)
			}
		})
	}
}

// TestWhatIfLeavesOut checks that both configurations serve the same nodes if a limit ends a what-if, so that
// the answer shows no difference where there is none.
func TestWhatIfLeavesOut(t *testing.T) {
	w := newWorld(t)
	w.tellAll(nodesStory(100, "app app1 user=u2 queue=b\nblacklist app1 n1\nmode heartbeat\nask app1 50x1G"))
	stops := 0
	c, err := w.whatIf(explain.WhatIfLimits{Turns: 1000, Stop: func() bool {
		stops++
		return stops > 1
	}}, "root.a.maximum-capacity", "90")
	if err != nil || c.Complete || c.NodesLeft != 36 || c.Totals != (explain.Totals{}) {
		t.Errorf("a what-if that ends after 64 nodes: %+v, %v, want 36 nodes left out and no difference", c, err)
	}
}
