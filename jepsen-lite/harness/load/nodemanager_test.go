package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"rmd/jepsen-lite/harness/hadoop"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// tracker is a port for NodeManagers that records the calls. It sends back what answer returns; nil
// closes the connection instead.
type tracker struct {
	mu     sync.Mutex
	heard  [][]byte
	answer func(n int) []byte
}

func (f *tracker) listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(c)
		}
	}()
	return l.Addr().String()
}

func (f *tracker) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	if _, err := io.CopyN(io.Discard, in, 7); err != nil {
		return
	}
	for i := 0; ; i++ {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return
		}
		b := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(in, b); err != nil {
			return
		}
		if i == 0 {
			continue // the connection context
		}
		f.mu.Lock()
		f.heard = append(f.heard, b[bytes.Index(b, []byte(hadoop.TrackerProtocol)):]) // the part after the call id
		body := f.answer(len(f.heard))
		f.mu.Unlock()
		if body == nil {
			return
		}
		head := hadoop.Number(hadoop.Number(nil, 1, int64(i)), 2, 0)
		out := slices.Concat([]byte{byte(len(head))}, head, []byte{byte(len(body))}, body)
		// the node may have closed the connection
		_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...))
	}
}

func managed(t *testing.T, replicas ...string) *nodeManager {
	l := &Load{cfg: DefaultConfig(), ctx: t.Context()}
	l.cfg.Trackers = replicas
	n := l.newNodeManager(yarn.NodeID{Host: "n1", Port: 45454}, 0)
	t.Cleanup(n.hangUp)
	return n
}

var some = yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: 1700000000000, Seq: 7}, Attempt: 2,
	Number: 3<<40 + 9}

// TestNodeManager checks that a node's reports and the cluster's orders pass over the wire, and
// that the node skips a replica that does not listen.
func TestNodeManager(t *testing.T) {
	f := &tracker{answer: func(n int) []byte {
		if n == 1 {
			return hadoop.Number(hadoop.Bytes(nil, 1, hadoop.Number(nil, 1, 5)), 3, 0)
		}
		return hadoop.Bytes(hadoop.Number(hadoop.Number(nil, 1, 1), 4, 0), 5, containerID(some))
	}}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	n := managed(t, gone.Addr().String(), f.listen(t))
	in := &input.RegisterNode{ID: n.id, Total: yarn.NewResource(8192, 8),
		Containers: []input.ContainerStatus{{Container: some, State: yarn.ContainerRunning}}}
	if _, err := n.ask(in); err != nil {
		t.Fatal(err)
	}
	reply, err := n.ask(&input.NodeHeartbeat{ID: n.id,
		Statuses: []input.ContainerStatus{{Container: some, State: yarn.ContainerCompleted,
			ExitStatus: yarn.ExitKilledByRM}}})
	if err != nil {
		t.Fatal(err)
	}
	if r := reply.(*input.NodeHeartbeatReply); len(r.Kill) != 1 || r.Kill[0] != some || r.Resync || n.response != 1 {
		t.Errorf("%+v, response %d", r, n.response)
	}
	if len(f.heard) != 2 || !bytes.Contains(f.heard[0], containerID(some)) ||
		!bytes.Contains(f.heard[1], hadoop.Number(nil, 4, int64(yarn.ExitKilledByRM))) {
		t.Errorf("heard %q", f.heard)
	}
	if gap := n.l.BeatGap(time.Now().Add(-time.Second), time.Now()); gap <= 0 || gap > 30*time.Second {
		t.Errorf("the nodes waited %s", gap)
	}
}

// TestNodeManagerRepeatsHeartbeat checks that a node repeats an unanswered heartbeat unchanged
// before it sends the next one. The cluster may have accepted the first copy.
func TestNodeManagerRepeatsHeartbeat(t *testing.T) {
	f := &tracker{answer: func(n int) []byte {
		if n == 1 {
			return nil
		}
		return hadoop.Number(hadoop.Number(nil, 1, int64(n)), 4, 0)
	}}
	n := managed(t, f.listen(t))
	ctx, cancel := context.WithCancel(t.Context())
	n.unanswered = n.compose(&input.NodeHeartbeat{ID: n.id,
		Statuses: []input.ContainerStatus{{Container: some, State: yarn.ContainerCompleted}}})
	if _, err := n.once(ctx, "nodeHeartbeat", n.unanswered); err == nil {
		t.Fatal("an answer that was not given")
	}
	n.switchReplica()
	if _, err := n.heartbeat(ctx, &input.NodeHeartbeat{ID: n.id}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if len(f.heard) != 3 || !bytes.Equal(f.heard[0], f.heard[1]) || bytes.Equal(f.heard[1], f.heard[2]) ||
		n.response != 3 {
		t.Errorf("heard %q, response %d", f.heard, n.response)
	}
}

// TestNodeManagerResync checks that a node gets the order to register again, and that a refused
// registration is an error.
func TestNodeManagerResync(t *testing.T) {
	f := &tracker{answer: func(n int) []byte {
		if n == 1 {
			return hadoop.Number(nil, 4, actionResync)
		}
		return hadoop.Text(hadoop.Number(nil, 3, actionShutdown), 5, "too small")
	}}
	n := managed(t, f.listen(t))
	reply, err := n.ask(&input.NodeHeartbeat{ID: n.id})
	if err != nil || !reply.(*input.NodeHeartbeatReply).Resync {
		t.Errorf("heartbeat = %+v, %v, want Resync", reply, err)
	}
	if _, err := n.ask(&input.RegisterNode{ID: n.id}); err == nil {
		t.Error("a node that is not let in is in")
	}
}
