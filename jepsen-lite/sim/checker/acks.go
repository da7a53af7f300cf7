package checker

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// acks records the answers that callers received.
type acks struct {
	ids        map[yarn.ApplicationID]bool // application ids that a replica has assigned
	submitted  map[yarn.ApplicationID]submission
	priorities map[uint32]int32
	killed     map[uint32]bool
	finished   map[uint32]bool
	released   map[event.ContainerRef]bool
	granted    map[yarn.ContainerID]grant
	ended      map[yarn.ContainerID]ending
	told       map[toldWarning][]int32
	again      map[yarn.AttemptID]int // number of times that an AM has had to register again
}

type submission struct{ name, user, queue string }

// grant is a container as an AM received it.
type grant struct {
	attempt  yarn.AttemptID
	again    int
	response int32
	node     yarn.NodeID
	size     yarn.Resource
}

// ending is the end of a container as an AM received it.
type ending struct {
	again    int
	response int32
}

func newAcks() *acks {
	return &acks{ids: map[yarn.ApplicationID]bool{}, submitted: map[yarn.ApplicationID]submission{},
		priorities: map[uint32]int32{}, killed: map[uint32]bool{}, finished: map[uint32]bool{},
		released: map[event.ContainerRef]bool{}, granted: map[yarn.ContainerID]grant{}, ended: map[yarn.ContainerID]ending{},
		told: map[toldWarning][]int32{}, again: map[yarn.AttemptID]int{}}
}

func refOf(id yarn.ContainerID) event.ContainerRef {
	return event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number}
}

// Acked is called after a replica has answered a caller and named its applied index. What the
// answer promises must already be in the ledger, because a reply must not leave before its entry is
// committed (S4, S6, S11, S12).
func (c *Checker) Acked(id string, applied uint64, in input.Input, reply input.Reply, index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Acked++
	if applied < index {
		c.violate("S4: %s answers %T as of index %d and has applied %d", id, in, index, applied)
	}
	if index > c.last {
		c.violate("S4: %s answers %T as of index %d, the newest command applied anywhere is %d", id, in, index, c.last)
	}
	c.floor = max(c.floor, index)
	if reply.Refused() != nil {
		c.counts.Refused++
		return
	}
	switch in := in.(type) {
	case *input.SubmitApplication:
		c.ackedSubmit(id, in, reply.(*input.SubmitApplicationReply))
	case *input.NewApplication:
		c.ackedID(id, reply.(*input.NewApplicationReply).ID)
	case *input.SetPriority:
		want := reply.(*input.SetPriorityReply).Priority
		c.acks.priorities[in.ID.Seq] = want
		if a, ok := c.ledger.AppBySeq(in.ID.Seq); !ok || a.Priority() != want {
			c.violate("S4: %s acknowledges priority %d of %s, the ledger has %+v", id, want, in.ID, a)
		}
	case *input.MoveApplication:
		c.ackedMove(in)
	case *input.KillApplication:
		c.acks.killed[in.ID.Seq] = true
		c.mustBeOver(id, in, in.ID.Seq)
	case *input.FinishAttempt:
		c.acks.finished[in.Attempt.App.Seq] = true
		c.mustBeOver(id, in, in.Attempt.App.Seq)
	case *input.Allocate:
		c.ackedAllocate(id, in, reply.(*input.AllocateReply))
	case *input.RegisterNode:
		c.ackedEnds(id, in.ID, in.Containers)
	case *input.NodeHeartbeat:
		r := reply.(*input.NodeHeartbeatReply)
		if !r.Resync && !r.Late && !r.Shutdown { // otherwise the node reports everything again
			c.ackedEnds(id, in.ID, in.Statuses)
		}
		for _, l := range r.Launch {
			if k, ok := c.ledger.ContainerByRef(refOf(l.Container)); !ok || !k.AM || k.Node != in.ID {
				c.violate("S11: %s orders %s to launch %s, the ledger has %+v", id, in.ID, l.Container, k)
			}
		}
	}
}

// ackedEnds checks that the ends of containers in an answered report are in the log, because the
// node does not report them again (S12).
func (c *Checker) ackedEnds(id string, node yarn.NodeID, all []input.ContainerStatus) {
	for _, s := range all {
		if k, ok := c.ledger.ContainerByRef(refOf(s.Container)); s.State == yarn.ContainerCompleted && ok && k.OnNode &&
			k.Node == node {
			c.violate("S12: %s acknowledges to %s that %s has ended, the ledger has %+v", id, node, s.Container, k)
		}
	}
}

func (c *Checker) mustBeOver(id string, in input.Input, app uint32) {
	if a, ok := c.ledger.AppBySeq(app); !ok || !a.State.Ended() {
		c.violate("S4: %s acknowledges %T of application %d, which goes on", id, in, app)
	}
}

// ackedID checks that an assigned id is unique.
func (c *Checker) ackedID(replica string, id yarn.ApplicationID) {
	if _, known := c.ledger.AppBySeq(id.Seq); known || c.acks.ids[id] {
		c.violate("S6: %s hands out %s, which is somebody's already", replica, id)
	}
	c.acks.ids[id] = true
}

func (c *Checker) ackedSubmit(id string, in *input.SubmitApplication, r *input.SubmitApplicationReply) {
	if in.ID.Seq != 0 && in.ID != r.ID {
		c.violate("S6: %s acknowledges the submission of %s as %s", id, in.ID, r.ID)
	}
	c.acks.submitted[r.ID] = submission{in.Name, in.User, r.Queue}
	if a, ok := c.ledger.AppBySeq(r.ID.Seq); !ok || a.Name != in.Name {
		c.violate("S4: %s acknowledges the submission of %s as %s, the ledger has %+v", id, in.Name, r.ID, a)
	}
}

func (c *Checker) ackedAllocate(id string, in *input.Allocate, r *input.AllocateReply) {
	again := c.acks.again[in.Attempt] // after another registration, answers may be repeated
	for _, g := range r.Granted {
		if k, ok := c.ledger.ContainerByRef(refOf(g.Container)); !ok || k.Node != g.Node || k.Size != g.Size {
			c.violate("S4: %s grants %s on %s to %s, the ledger has %+v", id, g.Container, g.Node, in.Attempt, k)
		}
		now := grant{in.Attempt, again, r.Response, g.Node, g.Size}
		if before, ok := c.acks.granted[g.Container]; ok && before.again == again && before != now {
			c.violate("S6: %s is given twice: as %+v and as %+v", g.Container, before, now)
		}
		c.acks.granted[g.Container] = now
	}
	for _, s := range r.Completed {
		if k, ok := c.ledger.ContainerByRef(refOf(s.Container)); !ok || k.Live {
			c.violate("S12: %s tells %s of the end of %s, the ledger has %+v", id, in.Attempt, s.Container, k)
		}
		if before, ok := c.acks.ended[s.Container]; ok && before.again == again && before.response != r.Response {
			c.violate("S12: the end of %s is told with response %d and again with %d", s.Container, before.response, r.Response)
		}
		c.acks.ended[s.Container] = ending{again, r.Response}
	}
	c.ackedWarnings(id, in, r)
	for _, rel := range in.Releases {
		c.acks.released[refOf(rel)] = true
		if k, ok := c.ledger.ContainerByRef(refOf(rel)); ok && k.Live {
			c.violate("S4: %s acknowledges the release of %s, which lives", id, rel)
		}
	}
}

// RegistersAgain reports whether an AM whose call was refused may have to register again: the call
// changes something, and leadership has changed twice since the AM began the call that was answered
// last (the README's "Found and open").
func (c *Checker) RegistersAgain(in *input.Allocate, f *input.Refusal, since int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Reason != input.WrongResponse || len(in.Asks)+len(in.Releases) == 0 || c.counts.Terms-since < 2 {
		return false
	}
	c.acks.again[in.Attempt]++
	c.counts.Again++
	c.write("%s registers again", in.Attempt)
	return true
}

// Unknown counts a call with an unknown outcome.
func (c *Checker) Unknown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Unknown++
}

// Acknowledged checks a final state against everything that was acknowledged.
func (c *Checker) Acknowledged(id string, st *state.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for app, want := range c.acks.submitted {
		if a, ok := c.ledger.AppByID(app); ok && a.Forgotten { // the ledger checks whether that is right
			continue
		}
		slot := st.Apps.ByID(app)
		if slot == 0 {
			c.violate("S4: %s has lost %s (%s), whose submission was acknowledged", id, app, want.name)
			continue
		}
		a := st.Apps.Get(slot)
		if got := (submission{a.Details().Name, st.Names.Get(a.User).Text, st.QueueOf(a)}); got != want {
			c.violate("S4: %s has %s as %+v, acknowledged was %+v", id, app, got, want)
		}
		if p, ok := c.acks.priorities[app.Seq]; ok && a.Priority != p {
			c.violate("S4: %s has %s with priority %d, acknowledged was %d", id, app, a.Priority, p)
		}
		if (c.acks.killed[app.Seq] || c.acks.finished[app.Seq]) && !a.State.Ended() {
			c.violate("S4: %s has %s as %s, its end was acknowledged", id, app, a.State)
		}
	}
	for ref := range c.acks.released {
		if slot := st.Container(ref); slot != 0 && st.Containers.Get(slot).State.Live() {
			c.violate("S4: %s has %+v alive, whose release was acknowledged", id, ref)
		}
	}
}
