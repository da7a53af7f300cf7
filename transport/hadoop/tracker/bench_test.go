package tracker

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// patched returns an encoded heartbeat, and a function that sets its response id. The id has a
// fixed number of bytes, so the function can change it in place.
func patched(tb testing.TB, n *nm) (body []byte, set func(int32)) {
	n.response = 0x0fffffff // four bytes
	body = n.bytes()
	at := -1
	for i := range body {
		if body[i] == 0x10 && body[i+1] == 0xff && body[i+2] == 0xff && body[i+3] == 0xff && body[i+4] == 0x7f {
			at = i + 1
			break
		}
	}
	if at < 0 {
		tb.Fatal("no response id in the heartbeat")
	}
	return body, func(id int32) {
		for i := range 4 {
			body[at+i] = byte(id>>(7*i)) | 0x80
		}
		body[at+3] &= 0x7f
	}
}

// BenchmarkIdleHeartbeat measures an idle heartbeat of a node with some containers, from the bytes
// of the request to those of the answer.
func BenchmarkIdleHeartbeat(b *testing.B) {
	for _, containers := range []int{0, 10, 50} {
		b.Run(fmt.Sprintf("containers=%d", containers), func(b *testing.B) {
			c := newCluster(b)
			s := newService(b, c, func(cfg *Config) { cfg.ViewFor = 10 * time.Millisecond })
			n := newNM(b, s, "node00001.example.com")
			n.register()
			if containers > 0 {
				_, n.running = c.app(c.slot(n.id), min(containers, 8))
				for i := len(n.running); i < containers; i++ { // containers of the cluster: the node has no room for more
					n.running = append(n.running, yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: 1, Seq: 9}, Attempt: 1,
						Number: uint64(i)})
				}
			}
			n.beat()
			body, set := patched(b, n)
			id := int32(1)
			ctx, call := context.Background(), &ipc.Call{}
			set(id)
			c.took()
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if out, err := s.nodeHeartbeat(ctx, call, body); err != nil || len(out) == 0 {
					b.Fatalf("nodeHeartbeat: %v, an answer of %d bytes, want no error and an answer",
						err, len(out))
				}
				id = id%0x0ffffffe + 1
				set(id)
			}
			if got := kinds(c.took()); got != "" {
				b.Fatalf("idle heartbeats became %s", got)
			}
		})
	}
}

// BenchmarkDecode compares scan with the generated code. The difference is the reason for scan.
func BenchmarkDecode(b *testing.B) {
	for _, containers := range []int{0, 10, 50} {
		n := newNM(b, nil, "node00001.example.com")
		for i := range containers {
			n.running = append(n.running, yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: 1, Seq: 9}, Attempt: 1,
				Number: uint64(i)})
		}
		body := n.bytes()
		b.Run(fmt.Sprintf("generated/containers=%d", containers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var p proto.NodeHeartbeatRequestProto
				if err := gproto.Unmarshal(body, &p); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("scan/containers=%d", containers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var x beat
				if err := x.scan(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkChangedHeartbeat measures a heartbeat that the planner processes.
func BenchmarkChangedHeartbeat(b *testing.B) {
	c := newCluster(b)
	s := newService(b, c)
	n := newNM(b, s, "node1")
	n.register()
	n.beat()
	n.healthy = false // the heartbeats of an unhealthy node all go to the planner
	b.ReportAllocs()
	for b.Loop() {
		n.beat()
	}
}

// BenchmarkSessionMemory reports the memory of one idle node's session, in bytes.
func BenchmarkSessionMemory(b *testing.B) {
	for _, containers := range []int{0, 10} {
		b.Run(fmt.Sprintf("containers=%d", containers), func(b *testing.B) {
			const nodes = 10_000
			c := newCluster(b)
			for b.Loop() {
				cfg := DefaultConfig()
				cfg.Logger, cfg.Submitter, cfg.Reader, cfg.Racks = hclog.NewNullLogger(), c, c, newService(b, c).cfg.Racks
				s, err := New(cfg)
				if err != nil {
					b.Fatal(err)
				}
				before := heap()
				for i := range nodes {
					ss := &session{id: yarn.NodeID{Host: fmt.Sprintf("node%05d.example.com", i), Port: 45454}}
					s.open(nil, ss)
					ss.running = make([]yarn.ContainerID, containers)
				}
				b.ReportMetric(float64(heap()-before)/nodes, "B/node")
				runtime.KeepAlive(s)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
