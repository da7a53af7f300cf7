package ipc

import (
	"context"
	"net"
	"sync"
	"testing"

	protobuf "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"rmd/transport/hadoop/proto"
)

// heartbeat returns a usual heartbeat of a node: two containers, nothing new.
func heartbeat() *proto.NodeHeartbeatRequestProto {
	container := func(id int64) *proto.ContainerStatusProto {
		return &proto.ContainerStatusProto{
			ContainerId: &proto.ContainerIdProto{
				AppAttemptId: &proto.ApplicationAttemptIdProto{
					ApplicationId: &proto.ApplicationIdProto{Id: protobuf.Int32(7), ClusterTimestamp: protobuf.Int64(1700000000000)},
					AttemptId:     protobuf.Int32(1)},
				Id: &id,
			},
			State: proto.ContainerStateProto_C_RUNNING.Enum(), Diagnostics: protobuf.String(""),
			ExitStatus: protobuf.Int32(-1000),
		}
	}
	return &proto.NodeHeartbeatRequestProto{NodeStatus: &proto.NodeStatusProto{
		NodeId:     &proto.NodeIdProto{Host: protobuf.String("node17.example.org"), Port: protobuf.Int32(45454)},
		ResponseId: protobuf.Int32(4711), ContainersStatuses: []*proto.ContainerStatusProto{container(1), container(2)},
		NodeHealthStatus: &proto.NodeHealthStatusProto{IsNodeHealthy: protobuf.Bool(true), HealthReport: protobuf.String(""),
			LastHealthReportTime: protobuf.Int64(1700000000000)},
	}}
}

func benchServer(b *testing.B, inline bool) *Server {
	m := Handle(func(_ context.Context, _ *Call,
		req *proto.NodeHeartbeatRequestProto) (*proto.NodeHeartbeatResponseProto, error) {
		return &proto.NodeHeartbeatResponseProto{
			ResponseId: protobuf.Int32(req.GetNodeStatus().GetResponseId() + 1),
			NodeAction: proto.NodeActionProto_NODE_ACTION_NORMAL.Enum(), NextHeartBeatInterval: protobuf.Int64(1000)}, nil
	})
	raw := HandleBytes(new(emptypb.Empty), func(context.Context, *Call, []byte) ([]byte,
		error) {
		return []byte{0x08, 0x01}, nil
	})
	if inline {
		m, raw = m.Inline(), raw.Inline()
	}
	return openServer(b, &testMethods{}, func(c *Config) {
		c.Protocols = []Protocol{{Name: testProtocol, Methods: map[string]Method{"nodeHeartbeat": m, "bytes": raw}}}
	})
}

// BenchmarkHeartbeats sends one heartbeat at a time on each connection, as NodeManagers do. Server
// and clients run in this process. Budget: 33 microseconds for both together, which is 30,000 a
// second on two cores.
func BenchmarkHeartbeats(b *testing.B) {
	for _, c := range []struct {
		name   string
		inline bool
		method string
	}{{"inline", true, "nodeHeartbeat"}, {"worker", false, "nodeHeartbeat"}, {"inline-bytes", true, "bytes"},
		{"worker-bytes", false, "bytes"}} {
		b.Run(c.name, func(b *testing.B) {
			s := benchServer(b, c.inline)
			req, err := protobuf.Marshal(heartbeat())
			if err != nil {
				b.Fatal(err)
			}
			frame, _ := appendRequest(nil, 0, testClientID, testProtocol, 1, c.method, func(b []byte) ([]byte, error) {
				return append(protobufLen(b, len(req)), req...), nil
			})
			const conns = 64
			var wg sync.WaitGroup
			work := make(chan struct{}, 1024)
			b.ReportAllocs()
			b.ResetTimer()
			for range conns {
				nc, err := net.Dial("tcp", s.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				defer nc.Close()
				_, _ = nc.Write(hello("yarn"))
				wg.Go(func() {
					reply := make([]byte, 512)
					for range work {
						if _, err := nc.Write(frame); err != nil {
							b.Error(err)
							return
						}
						if _, err := nc.Read(reply); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

func protobufLen(b []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// BenchmarkPipelined has many calls in flight on few connections of a Client.
func BenchmarkPipelined(b *testing.B) {
	for _, inline := range []bool{true, false} {
		b.Run(map[bool]string{true: "inline", false: "worker"}[inline], func(b *testing.B) {
			s := benchServer(b, inline)
			cl := openClient(b)
			req, err := protobuf.Marshal(heartbeat())
			if err != nil {
				b.Fatal(err)
			}
			var conns [4]*ClientConn
			for i := range conns {
				if conns[i], err = cl.Connect(b.Context(), target(s)); err != nil {
					b.Fatal(err)
				}
			}
			var wg sync.WaitGroup
			done := func(_ []byte, err error) {
				if err != nil {
					b.Error(err)
				}
				wg.Done()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				wg.Add(1)
				if err := conns[i%len(conns)].Go(b.Context(), "nodeHeartbeat", req, done); err != nil {
					b.Fatal(err)
				}
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// BenchmarkClientCall makes one call at a time over a shared connection.
func BenchmarkClientCall(b *testing.B) {
	s := benchServer(b, true)
	cl := openClient(b)
	req := heartbeat()
	b.ReportAllocs()
	for b.Loop() {
		var reply proto.NodeHeartbeatResponseProto
		if err := cl.Call(b.Context(), target(s), "nodeHeartbeat", req, &reply); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConnect measures a TOKEN handshake and one call.
func BenchmarkConnect(b *testing.B) {
	s := openServer(b, &testMethods{})
	cl := openClient(b)
	to := target(s)
	to.Token = &Token{[]byte(testToken), testPassword}
	b.ReportAllocs()
	for b.Loop() {
		cc, err := cl.Connect(b.Context(), to)
		if err != nil {
			b.Fatal(err)
		}
		if err := cc.Call(b.Context(), "echo", ask("x"), &proto.GetQueueInfoResponseProto{}); err != nil {
			b.Fatal(err)
		}
		_ = cc.Close()
	}
}

// BenchmarkRequestHeader measures the decoding of both headers of a request.
func BenchmarkRequestHeader(b *testing.B) {
	frame := call(1, "echo", "x")[4:]
	b.ReportAllocs()
	for b.Loop() {
		head, rest, _ := cut(frame)
		var h requestHeader
		if err := h.read(head); err != nil {
			b.Fatal(err)
		}
		head, _, _ = cut(rest)
		var m methodHeader
		if err := m.read(head); err != nil {
			b.Fatal(err)
		}
	}
}
