package hadoop

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// container is an allocated container. The node that runs it owns started and exit. ended tells its
// master when the node reported the completion.
type container struct {
	id      []byte // ContainerIdProto
	mb      int64
	asked   int64 // nanoseconds of the run's clock
	started int64
	killed  bool
	ended   atomic.Int64
}

// node is one fake NodeManager.
type node struct {
	r       *run
	number  int // index in its pacer
	id      yarn.NodeID
	replica replicaConn
	answer  func([]byte, error) // the method value reply, created once
	idPart  []byte              // the NodeIdProto as a field of the node status

	mu      sync.Mutex
	fresh   []*container // got since the last heartbeat
	running []*container // reported running
	ending  []*container // complete, but not acknowledged by an answer
	used    int64        // MB of all containers that are not reported complete

	// State of the heartbeat in flight, or of the last one.
	response      int32
	sequence      uint64
	keys          []byte // the known keys, as fields of a heartbeat
	containerKey  []byte
	nmKey         []byte
	status, bytes []byte
	sent          int64
}

func newNode(r *run, i int) *node {
	n := &node{r: r, number: i, id: yarn.NodeID{Host: fmt.Sprintf("198.%d.%d.%d", 18+i>>16, i>>8&255, i&255),
		Port: uint16(r.cfg.NodePort)}}
	n.replica = trackerConn(r, i)
	n.replica.shared = r.sharedConnOf(i)
	n.answer = n.reply
	id, _ := gproto.Marshal(wire.NodeIDProto(n.id)) // the message has no required fields
	n.idPart = protowire.AppendBytes([]byte{1<<3 | 2}, id)
	return n
}

// register registers the node with its containers.
func (n *node) register(ctx context.Context) error {
	total := wire.ResourceProto(yarn.NewResource(n.r.nodeMB(), n.r.cfg.VCores*int64(n.r.cfg.NodeContainers)), kinds)
	req := &proto.RegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(n.id), HttpPort: new(int32(8042)),
		Resource: total, NmVersion: new("3.4.2"), PhysicalResource: total,
		NodeStatus: &proto.NodeStatusProto{NodeId: wire.NodeIDProto(n.id), ResponseId: new(int32(0)),
			NodeHealthStatus: &proto.NodeHealthStatusProto{IsNodeHealthy: new(true), HealthReport: new(""),
				LastHealthReportTime: new(time.Now().UnixMilli())}}}
	if err := n.remember(req); err != nil {
		return err
	}
	var reply proto.RegisterNodeManagerResponseProto
	if err := n.replica.call(ctx, "registerNodeManager", req, &reply); err != nil {
		return fmt.Errorf("register node %s: %w", n.id, err)
	}
	if a := reply.GetNodeAction(); a != proto.NodeActionProto_NODE_ACTION_NORMAL {
		return fmt.Errorf("register node %s: the answer is %s: %s", n.id, a, reply.GetDiagnosticsMessage())
	}
	n.response, n.sequence = 0, 0
	var err1, err2 error
	n.containerKey, err1 = gproto.Marshal(reply.GetContainerTokenMasterKey())
	n.nmKey, err2 = gproto.Marshal(reply.GetNmTokenMasterKey())
	n.knowKeys()
	if err1 != nil {
		return err1
	}
	return err2
}

// remember adds the node's containers to a registration.
func (n *node) remember(req *proto.RegisterNodeManagerRequestProto) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	size := wire.ResourceProto(yarn.NewResource(n.r.cfg.MemoryMB, n.r.cfg.VCores), kinds)
	for _, list := range [][]*container{n.running, n.ending} {
		for _, c := range list {
			s := &proto.NMContainerStatusProto{ContainerId: new(proto.ContainerIdProto),
				ContainerState: proto.ContainerStateProto_C_RUNNING.Enum(),
				Resource:       size, Priority: wire.PriorityProto(1), ContainerExitStatus: new(int32(exitUnknown)),
				CreationTime: new(time.Now().UnixMilli())}
			if err := gproto.Unmarshal(c.id, s.ContainerId); err != nil {
				return err
			}
			if c.ended.Load() != 0 {
				s.ContainerState, s.ContainerExitStatus = proto.ContainerStateProto_C_COMPLETE.Enum(), new(c.exit())
			}
			req.ContainerStatuses = append(req.ContainerStatuses, s)
		}
	}
	return nil
}

func (c *container) exit() int32 {
	if c.killed {
		return exitKilledRM
	}
	return 0
}

// knowKeys encodes the keys that the node knows.
func (n *node) knowKeys() {
	n.keys = protowire.AppendBytes(append(n.keys[:0], 2<<3|2), n.containerKey)
	n.keys = protowire.AppendBytes(append(n.keys, 3<<3|2), n.nmKey)
}

// give gives an allocated container to the node.
func (n *node) give(c *container) {
	n.mu.Lock()
	n.fresh = append(n.fresh, c)
	n.used += c.mb
	over := n.used > n.r.nodeMB()
	n.mu.Unlock()
	if over {
		n.r.over.Add(1)
	}
}

// beat implements member.
func (n *node) beat() {
	n.sent = n.r.now()
	n.compose()
	n.send()
}

func (n *node) send() {
	if err := n.replica.conn.Go(n.r.ctx, "nodeHeartbeat", n.bytes, n.answer); err != nil {
		go n.recover(err)
	}
}

// compose encodes the next heartbeat. Completed containers are reported until a heartbeat is
// answered.
func (n *node) compose() {
	s := n.r.sizes
	b := append(n.status[:0], n.idPart...)
	b = protowire.AppendVarint(append(b, 2<<3), uint64(n.response))
	n.mu.Lock()
	still := n.running[:0]
	for _, c := range n.running {
		if !c.killed && n.sent-c.started < int64(n.r.cfg.Run) {
			still = append(still, c)
			b = appendStatus(b, c.id, s.running)
			continue
		}
		c.ended.Store(n.sent)
		n.used -= c.mb
		n.ending = append(n.ending, c)
	}
	clear(n.running[len(still):])
	for _, c := range n.ending {
		rest := s.done
		if c.killed {
			rest = s.killed
		}
		b = appendStatus(b, c.id, rest)
	}
	for _, c := range n.fresh {
		c.started = n.sent
		b = appendStatus(b, c.id, s.running)
	}
	n.running = append(still, n.fresh...)
	n.r.started.Add(int64(len(n.fresh)))
	clear(n.fresh)
	n.fresh = n.fresh[:0]
	n.mu.Unlock()
	n.status = append(b, s.tail...)
	b = protowire.AppendBytes(append(n.bytes[:0], 1<<3|2), n.status)
	b = append(b, n.keys...)
	n.bytes = protowire.AppendVarint(protowire.AppendTag(b, 8, protowire.VarintType), n.sequence)
}

// reply processes the answer of a heartbeat, on the goroutine that reads the connection.
func (n *node) reply(body []byte, err error) {
	if err != nil {
		go n.recover(err)
		return
	}
	var r beatReply
	if err := r.scan(body); err != nil {
		go n.recover(err)
		return
	}
	switch proto.NodeActionProto(r.action) {
	case proto.NodeActionProto_NODE_ACTION_RESYNC:
		n.r.resyncs.Add(1)
		go n.reregister(string(r.diagnostics))
		return
	case proto.NodeActionProto_NODE_ACTION_SHUTDOWN:
		n.r.fail(fmt.Errorf("node %s is told to shut down: %s", n.id, r.diagnostics))
	}
	ended := n.processAnswer(&r) > 0
	n.r.beats.Add(1)
	if n.r.measuring.Load() {
		took := time.Duration(n.r.now() - n.sent)
		n.r.beat.add(took)
		if ended {
			n.r.report.add(took)
		}
	}
	n.r.nodes.done(n.number)
}

// processAnswer processes an answer. It returns how many completed containers the heartbeat
// reported.
func (n *node) processAnswer(r *beatReply) (ended int) {
	n.response = r.response
	if r.told {
		n.sequence = r.sequence
	}
	if r.containerKey != nil || r.nmKey != nil {
		if r.containerKey != nil {
			n.containerKey = bytes.Clone(r.containerKey)
		}
		if r.nmKey != nil {
			n.nmKey = bytes.Clone(r.nmKey)
		}
		n.knowKeys()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	ended = len(n.ending)
	n.r.completed.Add(int64(ended))
	clear(n.ending)
	n.ending = n.ending[:0]
	for _, id := range r.kill {
		for _, list := range [][]*container{n.running, n.fresh} {
			for _, c := range list {
				c.killed = c.killed || bytes.Equal(c.id, id)
			}
		}
	}
	return ended
}

// reregister registers the node again.
func (n *node) reregister(why string) {
	n.r.note(fmt.Errorf("node %s is told to register again: %s", n.id, why))
	if err := n.register(n.r.ctx); err != nil && n.r.ctx.Err() == nil {
		n.r.fail(err)
	}
	n.r.nodes.done(n.number)
}

// errorPause is the pause after a refused call of the same caller.
const errorPause = 100 * time.Millisecond

// recover repeats a heartbeat at the next replica. It gives up a heartbeat that was refused.
func (n *node) recover(err error) {
	n.r.note(err)
	n.r.beatErrors.Add(1)
	for n.r.ctx.Err() == nil {
		if refused(err) != nil {
			n.r.pause(errorPause)
			break
		}
		if n.replica.move(n.r.ctx) != nil {
			break
		}
		if err = n.replica.conn.Go(n.r.ctx, "nodeHeartbeat", n.bytes, n.answer); err == nil {
			return
		}
	}
	n.r.nodes.done(n.number)
}

// leave unregisters the node.
func (n *node) leave(ctx context.Context) error {
	defer n.replica.close()
	return n.replica.call(ctx, "unRegisterNodeManager",
		&proto.UnRegisterNodeManagerRequestProto{NodeId: wire.NodeIDProto(n.id)}, &proto.UnRegisterNodeManagerResponseProto{})
}
