package tracker

import (
	"context"
	"fmt"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// nodeHeartbeat answers one heartbeat. It runs on the goroutine that reads the connection, until it
// has to wait.
func (s *Service) nodeHeartbeat(ctx context.Context, call *ipc.Call, body []byte) ([]byte, error) {
	b := beat{}
	if err := b.scan(body); err != nil {
		return nil, invalid("nodeHeartbeat: %v", err)
	}
	if call.Conn != nil {
		b.conn = call.Conn.ID()
	}
	b.from = address(call)
	if out := s.fastPath(&b); out != nil {
		return out, nil
	}
	r, err := s.read(&b, body)
	if err != nil {
		return nil, err
	}
	call.Detach()
	return s.handle(ctx, r)
}

// fastPath answers an idle heartbeat: it reports nothing new, and there is nothing to tell the
// node. It returns nil for any other heartbeat.
func (s *Service) fastPath(b *beat) []byte {
	ss := s.find(b.host, uint16(b.port))
	if ss == nil {
		return nil
	}
	now := s.now()
	v := s.recent(now)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	switch {
	case ss.busy != nil || ss.full || ss.failed || ss.pending != nil,
		b.response != ss.last || b.unhealthy || b.more,
		!ss.hashed || b.hash != ss.hash || b.containers != len(ss.running),
		b.containerKey != v.containerKey || b.nmKey != v.nmKey,
		v.tokens != 0 && b.tokens != v.tokens, b.keepsAlive && v.releases,
		otherAddress(ss.address, b.from), !ss.nothingPending(v.st), s.leaderUnreachable(now):
		return nil
	}
	if n := v.st.Nodes.Get(ss.number); (n.TotalSet && n.SetTotal != ss.total) ||
		lastRemoval(v.st, ss.number) != ss.removed {
		return nil
	}
	ss.last, ss.answered, ss.answer = next(ss.last), true, nil
	ss.conn, ss.lastHeartbeat, ss.use, ss.hasHeartbeat = b.conn, now, b.use, true
	s.idle.add(ss.number)
	return s.plain(ss.last, tokenSequence(v.st))
}

// report is a decoded heartbeat.
type report struct {
	beat
	id        yarn.NodeID
	statuses  []input.ContainerStatus
	text      string // health report
	sizes     []input.ContainerSize
	keepAlive []yarn.ApplicationID // ended applications whose logs the node still collects
	labels    *proto.NodeLabelsProto
}

// read decodes the heartbeat from which b was scanned. The report does not share memory with body.
func (s *Service) read(b *beat, body []byte) (*report, error) {
	list, rest, err := cutStatuses(body)
	if err != nil {
		return nil, invalid("nodeHeartbeat: %v", err)
	}
	var req proto.NodeHeartbeatRequestProto
	if err := ipc.UnmarshalPartial(rest, &req); err != nil {
		return nil, invalid("nodeHeartbeat: %v", err)
	}
	r := &report{beat: *b, text: s.text(req.GetNodeStatus().GetNodeHealthStatus().GetHealthReport())}
	r.host, r.labels = nil, req.GetNodeLabels()
	if r.id, err = wire.NodeID(req.GetNodeStatus().GetNodeId()); err != nil {
		return nil, invalid("nodeHeartbeat: %v", err)
	}
	if len(list) > s.cfg.ContainersMax {
		return nil, invalid("nodeHeartbeat: %d containers of node %s, at most %d are taken", len(list), r.id,
			s.cfg.ContainersMax)
	}
	r.statuses = make([]input.ContainerStatus, len(list))
	for i, data := range list {
		if r.statuses[i], err = s.readStatus(data); err != nil {
			return nil, invalid("nodeHeartbeat: node %s: %v", r.id, err)
		}
	}
	if r.sizes, err = s.sizes(r.id, body); err != nil {
		return nil, invalid("nodeHeartbeat: node %s: %v", r.id, err)
	}
	if r.keepAlive, err = s.keepAlive(req.GetNodeStatus()); err != nil {
		return nil, invalid("nodeHeartbeat: node %s: %v", r.id, err)
	}
	return r, nil
}

// keepAlive returns the applications that a node keeps alive. They matter while the node drains.
func (s *Service) keepAlive(p *proto.NodeStatusProto) ([]yarn.ApplicationID, error) {
	list := p.GetKeepAliveApplications()
	if len(list) > s.cfg.ApplicationsMax {
		return nil, fmt.Errorf("%d applications to keep alive, at most %d are taken", len(list), s.cfg.ApplicationsMax)
	}
	return wire.ApplicationIDs(list)
}

// trim removes the parts of a status that the cluster does not keep. It keeps the diagnostics of an
// end, up to a limit.
func (s *Service) trim(c *input.ContainerStatus) {
	if c.State == yarn.ContainerCompleted {
		c.Diagnostics = s.text(c.Diagnostics)
	} else {
		c.Diagnostics = ""
	}
}

// text returns the end of a text, where the cause is, within the limit.
func (s *Service) text(t string) string {
	if over := len(t) - s.cfg.DiagnosticsMax; over > 0 {
		t = t[over:]
	}
	return strings.ToValidUTF8(t, "\uFFFD")
}

// handle answers a heartbeat that is not idle.
func (s *Service) handle(ctx context.Context, r *report) (out []byte, err error) {
	ss, out, err := s.enter(ctx, r)
	if ss == nil {
		return out, err
	}
	work, answered := ss.busy, false
	defer func() {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		if !answered { // it is unknown whether the heartbeat had an effect
			ss.full, ss.failed = true, true
		}
		ss.release(work)
	}()
	in, reply := ss.input(r), &input.NodeHeartbeatReply{}
	if s.local(ss, in) {
		s.idle.add(ss.number)
	} else if reply, err = s.plan(ctx, in); err != nil {
		return nil, err
	}
	if reply.Late {
		return nil, ipc.Standby("node " + ss.id.String() + " has been heard by another call since")
	}
	var labels *labelAnswer
	if !reply.Resync && !reply.Shutdown {
		if labels, err = s.labelNode(ctx, r.id, r.labels); err != nil {
			return nil, err
		}
	}
	out = s.finish(ss, r, reply, labels)
	answered = true
	return out, nil
}

// plan plans a node's report.
func (s *Service) plan(ctx context.Context, in *input.NodeHeartbeat) (*input.NodeHeartbeatReply, error) {
	reply, err := s.do(ctx, in)
	if err != nil {
		return nil, err
	}
	if f := reply.Refused(); f != nil {
		return nil, invalid("nodeHeartbeat of %s: %v", in.ID, f)
	}
	out, ok := reply.(*input.NodeHeartbeatReply)
	if !ok {
		return nil, ipc.Standby("the leader's answer is of another kind")
	}
	return out, nil
}

// local reports whether an input would only tell the leader that the node is alive.
func (s *Service) local(ss *session, in *input.NodeHeartbeat) bool {
	now := s.now()
	v := s.fresh(now)
	st := v.st
	return !(v.releases && len(in.KeepAlive) > 0) && !in.Full && len(in.Statuses) == 0 && !in.Unhealthy &&
		ss.pending == nil && !s.leaderUnreachable(now) && ss.nothingPending(st) && ss.unacked(st) < unackedMax
}

// finish updates the session with the leader's reply and returns the answer for the node.
func (s *Service) finish(ss *session, r *report, reply *input.NodeHeartbeatReply, labels *labelAnswer) []byte {
	v := s.fresh(s.now())
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.failed = false
	ss.use = r.use
	switch {
	case reply.Shutdown:
		s.forget(ss)
		s.cfg.Logger.Info("node is told to shut down", "node", ss.id)
		return s.shutdown("node %s is decommissioned", ss.id)
	case reply.Resync:
		ss.full = true
		s.cfg.Logger.Info("node is told to register again", "node", ss.id)
		return s.resync("the cluster has taken node %s out: it must register again", ss.id)
	}
	o := orders{kill: reply.Kill, cleanUp: reply.CleanUp, signals: reply.Signals, labels: labels}
	var sized []input.SizeOrder
	o.resize, sized = s.resized(v.st, reply.Resize)
	if t := ss.pending; t != nil {
		o.kill = append(t.kill, o.kill...)
		o.cleanUp = append(t.cleanUp, o.cleanUp...)
		o.remove = t.remove
	}
	running, forget := split(v.st, ss.number, r.statuses)
	ss.running, ss.hash, ss.hashed = running, r.hash, len(running) == len(r.statuses)
	o.remove = append(o.remove, forget...)
	n := ss.record(v.st)
	if n != nil {
		o.remove = append(o.remove, ss.removals(v.st)...)
	}
	o.kill = append(o.kill, unknownContainers(v.st, n, ss.running, o.kill)...)
	ss.pending = nil
	if len(reply.CleanUp) > 0 || len(reply.Signals) > 0 || len(sized) > 0 {
		ss.pending = &pendingOrders{cleanUpSent: reply.CleanUp, resizeSent: sized}
		for _, g := range reply.Signals {
			ss.pending.signalSent = append(ss.pending.signalSent, g.Container)
		}
	}
	if n != nil && n.TotalSet && n.SetTotal != ss.total {
		ss.total, o.total = n.SetTotal, &n.SetTotal
	}
	// A node that is neither running nor decommissioning reports everything in each heartbeat,
	// because its containers may have been ended without it.
	ss.full = n == nil || (n.State != yarn.NodeRunning && n.State != yarn.NodeDecommissioning)
	ss.last, ss.answered = next(ss.last), true
	var out []byte
	out, ss.answer = s.answer(v, r, ss.last, &o)
	return out
}

// unknownContainers returns the containers that run on a node although the cluster no longer has
// them there, except those in kill. The cluster may have ended them without the node, for instance
// while the node was unhealthy, and remember them only for their AM.
func unknownContainers(st *state.State, n *state.Node, running, kill []yarn.ContainerID) (out []yarn.ContainerID) {
	if len(running) == 0 || n == nil {
		return nil
	}
	known := make(map[yarn.ContainerID]struct{}, len(running)) // looked up by key only
	for _, k := range st.Containers.On(n) {
		known[st.Apps.ContainerID(k)] = struct{}{}
	}
	for _, id := range kill {
		known[id] = struct{}{}
	}
	for _, id := range running {
		if _, ok := known[id]; !ok {
			out = append(out, id)
		}
	}
	return out
}
