package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rmd/jepsen-lite/harness/hadoop"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// nodeManager sends a node's calls over Hadoop's protocol, as Hadoop's NodeManagers do. It uses one
// replica's port, and the next replica's when the connection fails, a call times out, or the
// replica is standby. It repeats an unanswered heartbeat unchanged before it sends another one.
type nodeManager struct {
	l     *Load
	id    yarn.NodeID
	at    int // the index of the present replica
	conn  *hadoop.Conn
	beats *answers

	response   int64
	keys       [2][]byte // the master keys of containers and NodeManagers, from the cluster
	unanswered []byte
}

const (
	// callWithin limits one call.
	callWithin = 6 * time.Second
	// replicaPause is the time between two rounds over all replicas.
	replicaPause = 50 * time.Millisecond
	nodeUser     = "yarn"
)

func (l *Load) newNodeManager(id yarn.NodeID, i int) *nodeManager {
	n := &nodeManager{l: l, id: id, at: i % len(l.cfg.Trackers), beats: &answers{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beats = append(l.beats, n.beats)
	return n
}

// Beats returns the number of answers that the nodes with Hadoop's protocol have received.
func (l *Load) Beats() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var n int64
	for _, a := range l.beats {
		n += a.count()
	}
	return n
}

// BeatGap returns the longest time that such a node waited for the answer to a heartbeat between
// from and to.
func (l *Load) BeatGap(from, to time.Time) time.Duration {
	l.mu.Lock()
	all := l.beats
	l.mu.Unlock()
	var longest time.Duration
	for _, a := range all {
		longest = max(longest, a.gap(from, to))
	}
	return longest
}

// ask replaces Load.ask.
func (n *nodeManager) ask(in input.Input) (input.Reply, error) { return n.l.askBy(n.do, in) }

func (n *nodeManager) do(ctx context.Context, in input.Input) (input.Reply, error) {
	switch in := in.(type) {
	case *input.RegisterNode:
		return n.register(ctx, in)
	case *input.NodeHeartbeat:
		return n.heartbeat(ctx, in)
	}
	return nil, fmt.Errorf("a NodeManager does not say %T", in)
}

func (n *nodeManager) register(ctx context.Context, in *input.RegisterNode) (input.Reply, error) {
	n.response, n.unanswered = 0, nil
	b, err := n.call(ctx, "registerNodeManager", registration(in))
	if err != nil {
		return nil, err
	}
	var action int64
	var says string
	err = hadoop.Each(b, func(field int, number int64, data []byte) {
		switch field {
		case 1, 2:
			n.keys[field-1] = data
		case 3:
			action = number
		case 5:
			says = string(data)
		}
	})
	if err == nil && action != 0 {
		err = fmt.Errorf("node %s is not let in: action %d: %s", n.id, action, says)
	}
	if err != nil {
		return nil, err
	}
	n.beats.add()
	return &input.RegisterNodeReply{}, nil
}

// Values of NodeActionProto.
const (
	actionResync   = 1
	actionShutdown = 2
)

func (n *nodeManager) heartbeat(ctx context.Context, in *input.NodeHeartbeat) (input.Reply, error) {
	reply := &input.NodeHeartbeatReply{}
	if n.unanswered != nil {
		if err := n.beat(ctx, reply); err != nil || reply.Resync {
			return reply, err
		}
	}
	n.unanswered = n.compose(in)
	return reply, n.beat(ctx, reply)
}

// beat sends the unanswered heartbeat and adds the answer to reply.
func (n *nodeManager) beat(ctx context.Context, reply *input.NodeHeartbeatReply) error {
	b, err := n.call(ctx, "nodeHeartbeat", n.unanswered)
	if err != nil {
		return err
	}
	err = hadoop.Each(b, func(field int, number int64, data []byte) {
		switch field {
		case 1:
			n.response = number
		case 2, 3:
			n.keys[field-2] = data
		case 4:
			reply.Resync, reply.Shutdown = number == actionResync, number == actionShutdown
		case 5:
			if id, ok := containerOf(data); ok {
				reply.Kill = append(reply.Kill, id)
			}
		}
	})
	if err != nil {
		return err
	}
	n.unanswered = nil
	n.beats.add()
	return nil
}

// call tries one replica after the other until one answers.
func (n *nodeManager) call(ctx context.Context, method string, request []byte) ([]byte, error) {
	for tried := 1; ; tried++ {
		b, err := n.once(ctx, method, request)
		if err == nil {
			return b, nil
		}
		if said := (*hadoop.Refusal)(nil); errors.As(err, &said) && !standby(said) {
			return nil, err
		}
		n.switchReplica()
		if ctx.Err() != nil || tried%len(n.l.cfg.Trackers) == 0 && !sleep(ctx, replicaPause) {
			return nil, err
		}
	}
}

func standby(r *hadoop.Refusal) bool {
	return strings.HasSuffix(r.Class, ".StandbyException") || strings.HasSuffix(r.Class, ".RetriableException")
}

func (n *nodeManager) once(ctx context.Context, method string, request []byte) (b []byte, err error) {
	if n.conn == nil {
		if n.conn, err = hadoop.Dial(ctx, n.l.cfg.Trackers[n.at], nodeUser, hadoop.TrackerProtocol); err != nil {
			n.conn = nil
			return nil, err
		}
	}
	return n.conn.Call(ctx, callWithin, method, request)
}

// switchReplica closes the connection and selects the next replica.
func (n *nodeManager) switchReplica() {
	n.hangUp()
	n.at = (n.at + 1) % len(n.l.cfg.Trackers)
}

func (n *nodeManager) hangUp() {
	if n.conn != nil {
		_ = n.conn.Close() // the connection is given up
		n.conn = nil
	}
}
