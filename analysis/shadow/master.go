package shadow

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// poll runs the AMs of the applications in dirty.
func (c *divergedRun) poll() {
	for len(c.dirty) > 0 {
		seqs := sorted(c.dirty)
		clear(c.dirty)
		for _, seq := range seqs {
			if j := c.record.jobs[seq]; j != nil {
				c.act(j)
			}
		}
	}
}

// later makes an application's AM run again at a time.
func (c *divergedRun) later(j *job, at int64) {
	c.SetTimer(at, event.ContainerRef{App: j.seq})
}

// act does what an application's AM does at the current time.
func (c *divergedRun) act(j *job) {
	st := c.State()
	slot := st.Apps.Find(j.seq)
	if slot != 0 {
		c.clearAway(slot)
	}
	if slot == 0 || st.Apps.Get(slot).State.Ended() {
		if j.over != overNot && j.own.started {
			c.leaveApp(j, slot)
		}
		return
	}
	a := st.Apps.Get(slot)
	switch {
	case j.over == overKilled && j.overAt > c.Now:
		c.later(j, j.overAt)
	case j.over == overKilled:
		c.Plan(&input.KillApplication{ID: a.ID, Diagnostics: "ended in the cluster"})
		c.dirty[j.seq] = true
		return
	}
	if !a.Activated() || !c.register(j, a) {
		return
	}
	c.ask(j)
	if j.over == overDone && len(j.ops) == 0 {
		c.finish(j)
	}
}

// leaveApp removes an application that has ended on both sides.
func (c *divergedRun) leaveApp(j *job, slot state.AppSlot) {
	if slot != 0 && j.forgotten {
		c.emit(func() {
			c.releaseTokens(j.seq)
			c.Scheduler().Emit(&event.ApplicationForgotten{App: j.seq})
		})
	}
	c.record.drop(j)
}

// releaseTokens takes an application that has ended from the tokens that it had when the shadow
// diverged. Nobody renews or cancels them for the shadow.
func (c *divergedRun) releaseTokens(seq uint32) {
	if h := c.State().AppTokens.Holder(seq); h != nil && h.LeaveMillis != 0 {
		c.Scheduler().Emit(&event.TokensReleased{App: seq, Rejected: true})
	}
}

// clearAway reports the ends of containers that the shadow has released.
func (c *divergedRun) clearAway(slot state.AppSlot) {
	st := c.State()
	var refs []event.ContainerRef
	for _, k := range st.Containers.Of(st.Apps.Get(slot)) {
		if k.State == yarn.ContainerReleasing && k.OnNode {
			refs = append(refs, st.Apps.Ref(k))
		}
	}
	for _, ref := range refs {
		c.complete(ref)
	}
}

// register registers an AM as long after its start as in the cluster. It reports whether the AM is
// registered.
func (c *divergedRun) register(j *job, a *state.App) bool {
	if a.AttemptState == state.AttemptRegistered {
		return true
	}
	if j.registered == 0 || !j.unmanaged && j.own.amStarted == 0 {
		return false
	}
	due := j.registered // an unmanaged AM registers at the same time as in the cluster
	if !j.unmanaged {
		due = j.own.amStarted + max(j.registered-j.amStarted, 0)
	}
	if due > c.Now {
		c.later(j, due)
		return false
	}
	c.Plan(&input.RegisterAttempt{Attempt: a.AttemptID()})
	if j.own.registered == 0 {
		j.own.registered = c.Now
	}
	return c.State().Apps.Get(c.State().Apps.Find(j.seq)).AttemptState == state.AttemptRegistered
}

// ask takes the granted containers and sends the asks that are due.
func (c *divergedRun) ask(j *job) {
	asks := j.own.asks
	j.own.asks = nil
	for len(j.ops) > 0 {
		o := j.ops[0]
		if due := j.own.registered + o.after; due > c.Now {
			c.later(j, due)
			break
		}
		if j.own.ended < o.ended && (j.own.live > 0 || c.outstanding(j) > 0) {
			break // the AM asks only after as many containers have ended as in the cluster
		}
		j.ops = j.ops[1:]
		c.record.ops--
		if o.black == nil && o.ask.Name == yarn.Any {
			k := j.own.key(o.ask.Key)
			k.left, k.last = max(k.left+o.delta, 0), o.ask
			if o.label != "" {
				k.label = o.label
			}
		}
		asks = append(asks, o)
	}
	if j.over == overDone && len(j.ops) == 0 {
		asks = append(asks, c.trim(j)...)
	}
	st := c.State()
	a := st.Apps.Get(st.Apps.Find(j.seq))
	in := &input.Allocate{Attempt: a.AttemptID(), Response: a.Response, Progress: a.Progress}
	for _, o := range asks {
		if o.black != nil {
			in.BlacklistAdd = append(in.BlacklistAdd, o.black.Add...)
			in.BlacklistRemove = append(in.BlacklistRemove, o.black.Remove...)
			continue
		}
		x := input.Ask{Key: o.ask.Key, Name: o.ask.Name, Size: o.ask.Size, Relax: o.ask.Relax, Label: o.label}
		if x.Name == yarn.Any {
			x.Count = j.own.key(x.Key).left
		} else {
			x.Count = max(countOf(st, j.seq, x.Key, x.Name)+o.delta, 0)
		}
		in.Asks = append(in.Asks, x)
	}
	if len(in.Asks) > 0 || len(in.BlacklistAdd)+len(in.BlacklistRemove) > 0 || a.Undelivered != 0 {
		c.Plan(in)
	}
}

// trim returns asks that withdraw what the application did not get in the cluster until its end.
func (c *divergedRun) trim(j *job) (asks []op) {
	for _, key := range sortedKeys(j.own.keys) {
		k := j.own.keys[key]
		most := 0
		if r := j.keys[key]; r != nil {
			most = len(r.list) - len(r.vacant)
		}
		if left := max(int64(most-k.next+len(k.vacant)), 0); k.left > left {
			k.left = left
			asks = append(asks, op{ask: k.last, label: k.label})
		}
	}
	return asks
}

// outstanding returns the number of containers for which an application still waits.
func (c *divergedRun) outstanding(j *job) (n int64) {
	for _, k := range j.own.keys { // the order does not matter: they are summed
		n += k.left
	}
	return n
}

// finish unregisters an AM when its work is done, as long after the end of its last container as in
// the cluster.
func (c *divergedRun) finish(j *job) {
	if j.own.live > 0 || c.outstanding(j) > 0 {
		return
	}
	if due := max(j.own.lastEnd, j.own.registered) + j.overAt - max(j.lastEnd, j.registered); due > c.Now {
		c.later(j, due)
		return
	}
	st, am := c.State(), j.own.am
	c.Plan(&input.FinishAttempt{Attempt: st.Apps.Get(st.Apps.Find(j.seq)).AttemptID(), Final: yarn.FinalSucceeded})
	c.complete(am)
	c.dirty[j.seq] = true
}

// applyExternal applies an event of the cluster that is not a decision, such as a submission or the
// loss of a node.
func (c *divergedRun) applyExternal(real *state.State, e event.Event) {
	if now := real.Meta.NowMillis; now > c.Now {
		c.advance(now)
	}
	st := c.State()
	nodeID := func(slot state.NodeSlot) yarn.NodeID { return real.Nodes.Get(slot).ID }
	app := func(seq uint32) (yarn.ApplicationID, bool) {
		slot := st.Apps.Find(seq)
		if slot == 0 {
			return yarn.ApplicationID{}, false
		}
		return st.Apps.Get(slot).ID, !st.Apps.Get(slot).State.Ended()
	}
	switch e := e.(type) {
	case *event.ApplicationIDsReserved, *event.LabelsSet, *event.LabelsRemoved, *event.NodesLabelled, *event.LevelRaised,
		*event.ApplicationLabelled, *event.ApplicationLifetimeChanged, *event.NodeListsSet:
		c.applyUnchanged(e)
	case *event.ApplicationSubmitted:
		c.applyUnchanged(e)
		if j := c.record.jobs[e.App]; j != nil && st.Apps.Find(e.App) == 0 { // its queue does not exist in the shadow
			c.record.drop(j)
		}
	case *event.AttemptStarted:
		c.start(e.App)
	case *event.ApplicationMoved:
		if id, ok := app(e.App); ok {
			c.Plan(&input.MoveApplication{ID: id, Queue: e.Queue})
		}
	case *event.ApplicationReprioritized:
		if id, ok := app(e.App); ok {
			c.Plan(&input.SetPriority{ID: id, Priority: e.Priority})
		}
	case *event.GangDeclared:
		if id, ok := app(e.App); ok {
			c.Plan(&input.SetGang{ID: id, Gang: e.Gang.String()})
		}
	case *event.GangEnded:
		if slot := st.Apps.Find(e.App); slot != 0 && st.Gangs.Has(slot) && st.Gangs.Get(slot).HoldsBack() {
			c.emit(func() { c.Scheduler().EndGang(slot, e.Cause) })
		}
	case *event.NodeRegistered:
		c.Plan(c.registration(e))
	case *event.NodeStateChanged:
		if in := nodeChange(nodeID(e.Node), e, st); in != nil {
			c.Plan(in)
		}
	case *event.NodeSilenceChanged:
		if in := silence(st.Nodes.Find(nodeID(e.Node)), e); in != nil {
			c.Plan(in)
		}
	case *event.NodeResourceChanged:
		if real.Nodes.Get(e.Node).State == yarn.NodeRunning {
			c.Plan(&input.SetNodeResource{ID: nodeID(e.Node), Total: e.Total})
		}
	case *event.NodeForgotten:
		if slot := st.Nodes.Find(e.ID); slot != 0 && st.Nodes.Get(slot).Containers == 0 {
			c.Plan(&input.ForgetNode{ID: e.ID})
		}
	case *event.QueueStateChanged:
		c.applyUnchanged(e)
	case *event.ApplicationForgotten:
		if j := c.record.jobs[e.App]; j != nil {
			j.forgotten = true
			break
		}
		c.emit(func() { c.releaseTokens(e.App) })
		c.applyUnchanged(e)
	}
}

// runMasters runs the AMs of the applications that changes of the cluster concern. The log may be
// ahead of the shadow.
func (c *divergedRun) runMasters(changes []change.Change) {
	for i := range changes {
		x := &changes[i]
		dirty := false
		switch x.Kind {
		case change.ContainerEnded:
			c.realEnded(x.Ref.App)
		case change.AskChanged:
			dirty = !x.Increase
		case change.BlacklistChanged:
			dirty = true
		case change.AttemptPhase:
			dirty = x.Attempt == state.AttemptRegistered || x.Attempt == state.AttemptFinishing
		case change.AppPhase:
			dirty = x.AppState.Ended()
		}
		if dirty {
			c.dirty[x.Ref.App] = true
		}
	}
}

// applyUnchanged applies an event of the cluster unchanged, and counts it in left if the shadow's
// state refuses it.
func (c *divergedRun) applyUnchanged(e event.Event) {
	sched := c.Scheduler()
	sched.Begin(c.Now)
	sched.AdvanceTime()
	if sched.Apply(e) != nil {
		c.left++
		return
	}
	c.took([]event.Event{e}, sched.State.Changes())
}

// start starts the first attempt of an application. The shadow starts later attempts by itself.
func (c *divergedRun) start(seq uint32) {
	slot, j := c.State().Apps.Find(seq), c.record.jobs[seq]
	if slot == 0 || j == nil || j.own.started {
		return
	}
	j.own.started = true
	c.emit(func() { c.Scheduler().StartAttempt(slot) })
	c.dirty[seq] = true
}

// registration returns the input that registers a node with the containers that the shadow has
// there.
func (c *divergedRun) registration(e *event.NodeRegistered) input.Input {
	st := c.State()
	in := &input.RegisterNode{ID: e.ID, HTTPPort: e.HTTPPort, Rack: e.Rack, Total: e.Total, Version: e.Version}
	if slot := st.Nodes.Find(e.ID); slot != 0 {
		for _, k := range st.Containers.On(st.Nodes.Get(slot)) {
			in.Containers = append(in.Containers, input.ContainerStatus{Container: st.Apps.ContainerID(k),
				State: yarn.ContainerRunning})
		}
	}
	return in
}

// silence returns the input that marks a node as silent or ends the mark, or nil if the shadow does
// not have the node.
func silence(slot state.NodeSlot, e *event.NodeSilenceChanged) input.Input {
	switch {
	case slot == 0:
		return nil
	case e.SinceMillis != 0:
		return &input.NodeSilence{Silent: []input.SilentNode{{Node: slot, SinceMillis: e.SinceMillis}}}
	}
	return &input.NodeSilence{Heard: []state.NodeSlot{slot}}
}

// nodeChange returns the input that brings a node into a state, or nil.
func nodeChange(id yarn.NodeID, e *event.NodeStateChanged, st *state.State) input.Input {
	slot := st.Nodes.Find(id)
	if slot == 0 || st.Nodes.Get(slot).State == e.State && e.State != yarn.NodeDecommissioning {
		return nil
	}
	switch e.State {
	case yarn.NodeLost:
		return &input.ExpireNode{ID: id}
	case yarn.NodeUnhealthy:
		return &input.NodeHeartbeat{ID: id, Unhealthy: true, Report: e.Report}
	case yarn.NodeShutdown:
		return &input.UnregisterNode{ID: id}
	case yarn.NodeDecommissioning:
		return &input.DrainNode{ID: id, DeadlineMillis: e.DeadlineMillis}
	case yarn.NodeDecommissioned:
		return &input.DrainNode{ID: id, Now: true}
	case yarn.NodeRunning, yarn.NodeRebooted:
		if st.Nodes.Get(slot).State == yarn.NodeUnhealthy {
			return &input.NodeHeartbeat{ID: id}
		}
		return &input.DrainNode{ID: id, Back: true}
	}
	return nil
}

// realEnded sets the end of a container in the shadow after the corresponding container of the
// cluster has ended.
func (c *divergedRun) realEnded(app uint32) {
	j, p := c.record.jobs[app], c.record.last
	if j == nil || p.index < 0 {
		return
	}
	k := j.own.key(p.key)
	ref, ok := k.running[p.index]
	if !ok {
		return
	}
	run, real := c.running[ref], j.keys[p.key].list[p.index]
	run.sure = true
	c.endAt(ref, run, run.from+real.to-real.from)
}
