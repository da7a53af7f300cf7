package logsim

import (
	"slices"

	"rmd/jepsen-lite/ledger"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// released checks an answer when it leaves: everything in it must be in the log.
func (c *checker) released(req input.Request, r input.Reply, k *call, l *leadership) {
	if r.Refused() != nil {
		return
	}
	switch in := req.Input.(type) {
	case *input.SubmitApplication:
		c.submitted(in, r.(*input.SubmitApplicationReply))
	case *input.NewApplication:
		c.checkNewID(r.(*input.NewApplicationReply).ID)
	case *input.KillApplication:
		if a, ok := c.appOf(in.ID); ok && !a.State.Ended() {
			c.fail("S4", "the kill of %s is acknowledged and not in the log", in.ID)
		}
	case *input.FinishAttempt:
		if !c.attemptEnded(in.Attempt) {
			c.fail("S4", "the end of %s is acknowledged and not in the log", in.Attempt)
		}
	case *input.RegisterNode:
		reply := r.(*input.RegisterNodeReply)
		if n, ok := c.ledger.Node(reply.Number); !ok || n.ID != in.ID {
			c.fail("S4", "the registration of %s is acknowledged as number %d, which is %+v", in.ID, reply.Number, n)
		}
		c.kills(in.ID, reply.Kill, l)
		c.checkCompleted(in.ID, in.Containers, k, l)
	case *input.NodeHeartbeat:
		reply := r.(*input.NodeHeartbeatReply)
		if !reply.Resync && !reply.Late && !reply.Shutdown { // else the node reports everything again
			c.checkCompleted(in.ID, in.Statuses, k, l)
		}
		c.kills(in.ID, reply.Kill, l)
		for _, l := range reply.Launch {
			if k, ok := c.containerOf(l.Container); !ok || !k.AM || k.Size != l.Size {
				c.fail("S11", "%s is ordered to launch %s of %s, which no entry carries: %+v", in.ID, l.Container, l.Size, k)
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
	a, there := c.ledger.AppBySeq(r.ID.Seq)
	switch known := c.ledger.Submitted(in.Name); {
	case known == 0:
		c.fail("S4", "the submission of %s is acknowledged as %s and not in the log", in.Name, r.ID)
	case known != r.ID.Seq && c.ledger.Counts.Forgotten == 0:
		c.fail("S5", "%s is acknowledged as %s, and is application %d", in.Name, r.ID, known)
	case there && !a.Forgotten && (a.ID != r.ID || a.Name != in.Name):
		c.fail("S6", "%s is acknowledged as %s, which is %s of %s", in.Name, r.ID, a.ID, a.Name)
	}
}

// checkNewID checks an application id that was handed out: S6. It was never handed out before.
func (c *checker) checkNewID(id yarn.ApplicationID) {
	if _, known := c.ledger.AppByID(id); known || c.ids[id] {
		c.fail("S6", "%s is handed out, and is somebody's already", id)
	}
	c.ids[id] = true
}

// appOf returns the application in the ledger. It returns false if the application was never
// submitted or is forgotten.
func (c *checker) appOf(id yarn.ApplicationID) (ledger.App, bool) {
	a, ok := c.ledger.AppByID(id)
	return a, ok && !a.Forgotten
}

// containerOf returns the container in the ledger. It returns false if the container's application
// is forgotten.
func (c *checker) containerOf(id yarn.ContainerID) (ledger.Fact, bool) {
	if _, ok := c.appOf(id.App); !ok {
		return ledger.Fact{}, false
	}
	return c.ledger.ContainerByID(id)
}

// attemptEnded reports whether an attempt is no longer the running attempt of its application.
func (c *checker) attemptEnded(id yarn.AttemptID) bool {
	a, ok := c.appOf(id.App)
	return !ok || a.State.Ended() || a.Finishing || a.Attempt != id.Attempt
}

// attemptOf returns the running attempt of an application, or 0 if the application has ended.
func (c *checker) attemptOf(id yarn.ApplicationID) uint32 {
	if a, ok := c.appOf(id); ok && !a.State.Ended() {
		return a.Attempt
	}
	return 0
}

// kills checks orders to end containers: S11. Only an entry of the log may end a live container. A
// deposed leader that does not know that it is deposed may not know the container either.
func (c *checker) kills(node yarn.NodeID, ids []yarn.ContainerID, l *leadership) {
	for _, id := range ids {
		if k, ok := c.containerOf(id); !ok || !k.Live || k.Node != node {
			continue
		}
		c.fail("S11", "%s is ordered to end %s, which lives (by a deposed leader: %v)", node, id, l.deposed > 0)
	}
}

// checkCompleted checks the answer to a node's report: S12. If the leader acknowledges the end of a
// container, that end is in the log, because the node does not report it again.
func (c *checker) checkCompleted(node yarn.NodeID, all []input.ContainerStatus, k *call, l *leadership) {
	for _, s := range all {
		if s.State != yarn.ContainerCompleted || k.from == nil { // a copy: no caller gets the answer
			continue
		}
		if k, ok := c.containerOf(s.Container); ok && k.OnNode && k.Node == node {
			c.fail("S12", "the end of %s is acknowledged to %s and not in the log (by a deposed leader: %v)", s.Container, node,
				l.deposed > 0)
		}
	}
}

// pulled checks an answer to an AM: S12.
func (c *checker) pulled(in *input.Allocate, r *input.AllocateReply, k *call) {
	a, ok := c.appOf(in.Attempt.App)
	if !ok {
		return
	}
	for _, g := range r.Granted {
		if k, ok := c.containerOf(g.Container); !ok || k.Size != g.Size || k.Node != g.Node {
			c.fail("S4", "%s is told of %s of %s on %s, which no entry carries: %+v", in.Attempt, g.Container, g.Size, g.Node, k)
			return
		}
		t := grantAnswer{a.Resyncs, r.Response}
		if have, ok := c.granted[g.Container]; ok && have.resyncs == t.resyncs && have != t {
			c.fail("S12", "%s is told of %s in answer %d, and was in answer %d", in.Attempt, g.Container, r.Response,
				have.response)
		}
		c.granted[g.Container] = t
	}
	c.warned(in, r, a)
	had := k.heard
	k.heard = nil
	if had == nil || had.Response != r.Response || len(had.Granted)+len(had.Completed)+len(had.Preempted) == 0 {
		return
	}
	c.w.counts.Repeated++
	same := slices.EqualFunc(had.Granted, r.Granted,
		func(x, y input.Granted) bool { return x.Container == y.Container }) &&
		slices.EqualFunc(had.Completed, r.Completed,
			func(x, y input.ContainerStatus) bool { return x.Container == y.Container })
	if !same {
		c.fail("S12", "answer %d to %s, repeated, is %+v %+v and was %+v %+v", r.Response, in.Attempt, r.Granted, r.Completed,
			had.Granted, had.Completed)
	}
	c.warnedAgain(in, r, had)
}
