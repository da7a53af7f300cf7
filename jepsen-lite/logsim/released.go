package logsim

import (
	"slices"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// released judges an answer as it leaves: everything in it must be in the log.
func (c *checker) released(req input.Request, r input.Reply, k *call, o *office) {
	if r.Refused() != nil {
		return
	}
	switch in := req.Input.(type) {
	case *input.SubmitApplication:
		c.submitted(in, r.(*input.SubmitApplicationReply))
	case *input.NewApplication:
		c.given(r.(*input.NewApplicationReply).ID)
	case *input.KillApplication:
		if a := c.books.apps[in.ID.Seq]; a != nil && a.id == in.ID && !a.ended {
			c.fail("S4", "the kill of %s is acknowledged and not in the log", in.ID)
		}
	case *input.FinishAttempt:
		if !c.books.over(in.Attempt) {
			c.fail("S4", "the end of %s is acknowledged and not in the log", in.Attempt)
		}
	case *input.RegisterNode:
		reply := r.(*input.RegisterNodeReply)
		if n := c.books.nodes[reply.Number]; n == nil || n.id != in.ID {
			c.fail("S4", "the registration of %s is acknowledged as number %d, which is %+v", in.ID, reply.Number, n)
		}
		c.kills(in.ID, reply.Kill, o)
		c.ends(in.ID, in.Containers, k, o)
	case *input.NodeHeartbeat:
		reply := r.(*input.NodeHeartbeatReply)
		if !reply.Resync && !reply.Late && !reply.Shutdown { // else the node says it all again
			c.ends(in.ID, in.Statuses, k, o)
		}
		c.kills(in.ID, reply.Kill, o)
		for _, l := range reply.Launch {
			if b := c.containerOf(l.Container); b == nil || !b.am || b.size != l.Size {
				c.fail("S11", "%s is ordered to launch %s of %s, which no entry carries: %+v", in.ID, l.Container, l.Size, b)
			}
		}
	case *input.Allocate:
		c.pulled(in, r.(*input.AllocateReply), k)
	}
}

func (c *checker) submitted(in *input.SubmitApplication, r *input.SubmitApplicationReply) {
	if in.DryRun {
		return
	}
	a := c.books.apps[r.ID.Seq]
	switch known := c.books.names[in.Name]; {
	case known == 0:
		c.fail("S4", "the submission of %s is acknowledged as %s and not in the log", in.Name, r.ID)
	case known != r.ID.Seq && c.books.forgotten == 0:
		c.fail("S5", "%s is acknowledged as %s, and is application %d", in.Name, r.ID, known)
	case a != nil && (a.id != r.ID || a.name != in.Name):
		c.fail("S6", "%s is acknowledged as %s, which is %s of %s", in.Name, r.ID, a.id, a.name)
	}
}

// given judges an id that was handed out: nobody else ever got it.
func (c *checker) given(id yarn.ApplicationID) {
	if a := c.books.apps[id.Seq]; c.ids[id] || a != nil && a.id == id {
		c.fail("S6", "%s is handed out, and is somebody's already", id)
	}
	c.ids[id] = true
}

// containerOf finds what the books have of a container; nil when nothing.
func (c *checker) containerOf(id yarn.ContainerID) *containerBook {
	if a := c.books.apps[id.App.Seq]; a == nil || a.id != id.App {
		return nil
	}
	b := c.books.containers[event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number}]
	if b == nil || b.promised {
		return nil
	}
	return b
}

// kills judges orders to end containers: S11. One that lives may only be ended by
// an entry. A leader that does not know yet that it is none may not know the
// container either: that is counted.
func (c *checker) kills(node yarn.NodeID, ids []yarn.ContainerID, o *office) {
	for _, id := range ids {
		b := c.containerOf(id)
		if b == nil || !b.live || c.books.nodes[b.node].id != node {
			continue
		}
		c.fail("S11", "%s is ordered to end %s, which lives (by a leader that is none: %v)", node, id, o.ghost > 0)
	}
}

// ends judges the receipt of a node's reports: the end of a container that is
// acknowledged is in the log, since the node will not say it again: S12.
func (c *checker) ends(node yarn.NodeID, all []input.ContainerStatus, k *call, o *office) {
	for _, s := range all {
		if s.State != yarn.ContainerCompleted || k.from == nil { // nobody hears the answer to a copy
			continue
		}
		if b := c.containerOf(s.Container); b != nil && b.onNode && c.books.nodes[b.node].id == node {
			c.fail("S12", "the end of %s is acknowledged to %s and not in the log (by a leader that is none: %v)", s.Container, node, o.ghost > 0)
		}
	}
}

// pulled judges what an AM is told: S12.
func (c *checker) pulled(in *input.Allocate, r *input.AllocateReply, k *call) {
	a := c.books.apps[in.Attempt.App.Seq]
	if a == nil || a.id != in.Attempt.App {
		return
	}
	for _, g := range r.Granted {
		b := c.containerOf(g.Container)
		if b == nil || b.size != g.Size || c.books.nodes[b.node].id != g.Node {
			c.fail("S4", "%s is told of %s of %s on %s, which no entry carries: %+v", in.Attempt, g.Container, g.Size, g.Node, b)
			return
		}
		t := telling{a.resyncs, r.Response}
		if have, ok := c.told[g.Container]; ok && have.resyncs == t.resyncs && have != t {
			c.fail("S12", "%s is told of %s in answer %d, and was in answer %d", in.Attempt, g.Container, r.Response, have.response)
		}
		c.told[g.Container] = t
	}
	had := k.heard
	k.heard = nil
	if had == nil || had.Response != r.Response || len(had.Granted)+len(had.Completed) == 0 {
		return
	}
	c.w.counts.Repeated++
	same := slices.EqualFunc(had.Granted, r.Granted, func(x, y input.Granted) bool { return x.Container == y.Container }) &&
		slices.EqualFunc(had.Completed, r.Completed, func(x, y input.ContainerStatus) bool { return x.Container == y.Container })
	if !same {
		c.fail("S12", "answer %d to %s, repeated, is %+v %+v and was %+v %+v", r.Response, in.Attempt, r.Granted, r.Completed, had.Granted, had.Completed)
	}
}
