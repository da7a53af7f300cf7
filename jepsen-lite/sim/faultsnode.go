package sim

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"time"

	"rmd/internal/sleep"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/settings"
	"rmd/scheduler/input"
)

// drainNode drains a node with containers, with a deadline or at once. Some time later it ends the
// drain, or takes the node back.
func (d *driver) drainNode() {
	d.retire("drained", func(ctx context.Context, c *load.Caller, n *load.Node) bool {
		return sleep.For(ctx, time.Duration(c.Rng.Intn(40))*time.Second)
	})
}

// forgetNode drains a node and forgets it. The node registers again, possibly under another number.
func (d *driver) forgetNode() {
	d.retire("forgotten", func(ctx context.Context, c *load.Caller, n *load.Node) bool {
		for range 20 { // AMs must first receive the ends of their containers on this node
			reply, ok := c.Call(ctx, c.Keyed(&input.ForgetNode{ID: n.Id}))
			if ok && reply.Refused() == nil {
				return true
			}
			if !ok || !sleep.For(ctx, 3*time.Second) {
				break
			}
		}
		return false
	})
}

// labelNodes changes the labels of some nodes with containers and reservations, and which labels
// are exclusive. The leader may crash right after the answer.
func (d *driver) labelNodes() {
	in := &input.LabelNodes{}
	for range 1 + d.rng.Intn(3) {
		n := input.LabelledNode{ID: d.l.Nodes[d.rng.Intn(len(d.l.Nodes))].Id}
		if i := d.rng.Intn(1 + len(settings.Labels)); i > 0 {
			n.Labels = []string{settings.Labels[i-1].Name}
		}
		if !slices.ContainsFunc(in.Nodes, func(o input.LabelledNode) bool { return o.ID == n.ID }) {
			in.Nodes = append(in.Nodes, n)
		}
	}
	set := &input.SetLabels{Labels: slices.Clone(settings.Labels), Change: true}
	set.Labels[1].Exclusive = d.oneIn(3)
	kill := d.oneIn(3)
	d.note("nodes get labels: %+v", in.Nodes)
	d.operate("labelled", kill, set, in)
}

// unlabelNodes removes the labels of all nodes, so that they can serve the remaining asks.
func (d *driver) unlabelNodes() bool {
	in := &input.LabelNodes{}
	for _, n := range d.l.Nodes {
		in.Nodes = append(in.Nodes, input.LabelledNode{ID: n.Id})
	}
	d.operate("unlabelled", false, in)
	return d.w.operatorsDone()
}

// operate makes an operator's calls, which must not be refused. With kill, the leader crashes after
// the answers.
func (d *driver) operate(what string, kill bool, ins ...input.Input) {
	w := d.w
	d.changes++
	c := load.NewCaller(w, fmt.Sprintf("operator%d", d.changes), rand.New(rand.NewSource(d.rng.Int63())))
	w.ops.Go(func() {
		ctx, cancel := context.WithTimeout(w.ctx, operatorTime)
		defer cancel()
		for _, in := range ins {
			reply, ok := c.Call(ctx, c.Keyed(in))
			if !ok {
				return
			}
			if f := reply.Refused(); f != nil {
				w.check.Fail("%T is refused: %v", in, f)
			}
		}
		if kill {
			d.crashLeading()
		}
		w.check.Achieved(what)
	})
}

// crashLeading crashes the leader, except in the calm, for which the driver has started all
// replicas.
func (d *driver) crashLeading() {
	if !d.l.DemandStopped() {
		d.leading().crash()
	}
}

// retire drains a node, calls then, and takes the node back. The leader may crash right after the
// drain has begun.
func (d *driver) retire(what string, then func(context.Context, *load.Caller, *load.Node) bool) {
	n := d.l.Nodes[d.rng.Intn(len(d.l.Nodes))]
	if !n.Retire() {
		return
	}
	w := d.w
	d.changes++
	c := load.NewCaller(w, fmt.Sprintf("operator%d", d.changes), rand.New(rand.NewSource(d.rng.Int63())))
	in := &input.DrainNode{ID: n.Id, Now: what == "forgotten" || d.oneIn(4),
		DeadlineMillis: time.Now().UnixMilli() + d.rng.Int63n(30_000)}
	kill := d.oneIn(3)
	d.note("node %s is to be %s", n.Id, what)
	w.ops.Go(func() {
		defer n.Serve()
		ctx, cancel := context.WithTimeout(w.ctx, operatorTime)
		defer cancel()
		if _, ok := c.Call(ctx, c.Keyed(in)); ok {
			if kill {
				d.crashLeading()
			}
			if then(ctx, c, n) {
				w.check.Achieved(what)
			}
		}
		c.Call(w.ctx, c.Keyed(&input.DrainNode{ID: n.Id, Back: true})) // refused if it is in service or unknown
	})
}
