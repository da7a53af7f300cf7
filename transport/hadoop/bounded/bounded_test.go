package bounded

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
)

// times returns a field of bytes n times.
func times(n int, number protowire.Number, value []byte) []byte {
	return bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value), n)
}

// nested returns a message that contains itself in a field, n deep.
func nested(n int, number protowire.Number) (b []byte) {
	for range n {
		b = times(1, number, b)
	}
	return b
}

func asks(n int) []byte {
	ask := &proto.ResourceRequestProto{Priority: &proto.PriorityProto{Priority: new(int32(1))}, ResourceName: new("*"),
		Capability:    &proto.ResourceProto{Memory: new(int64(1024)), VirtualCores: new(int32(1))},
		NumContainers: new(int32(3)), RelaxLocality: new(true)}
	req := &proto.AllocateRequestProto{ResponseId: new(int32(1))}
	for range n {
		req.Ask = append(req.Ask, ask)
	}
	b, _ := gproto.Marshal(req)
	return b
}

// TestReaders sends hostile and honest bytes to one message of each shape. The messages of all
// readers of this program go through the same function.
func TestReaders(t *testing.T) {
	for _, tc := range []struct {
		name string
		into gproto.Message
		send []byte
		ok   bool
	}{
		{"a message that may occur once, 1.9 million times", new(proto.SubmitApplicationRequestProto),
			times(1_900_000, 1, nil), false},
		{"empty messages in a list", new(proto.AllocateRequestProto), times(1_900_000, 1, nil), false},
		{"empty texts in a list", new(proto.GetApplicationsRequestProto), times(1_900_000, 3, nil), false},
		{"a text that may occur once, 1.9 million times", new(proto.ApplicationSubmissionContextProto),
			times(1_900_000, 2, []byte("x")), false},
		{"packed numbers", new(proto.GetApplicationsRequestProto), times(1, 2, bytes.Repeat([]byte{1}, 5<<20)), false},
		{"numbers in a list", new(proto.GetApplicationsRequestProto), bytes.Repeat([]byte{0x10, 1}, 2_100_000), false},
		{"entries of a map", new(proto.ContainerLaunchContextProto), times(1_900_000, 1, nil), false},
		{"constraints 101 deep", new(proto.PlacementConstraintProto), nested(101, 2), false},
		{"constraints 5,000 deep", new(proto.PlacementConstraintProto), nested(5_000, 2), false},
		{"texts that are large", new(proto.ApplicationSubmissionContextProto), times(1, 2, make([]byte, 4<<20)), true},
		{"fields that nobody knows", new(proto.AllocateRequestProto), times(4, 999, make([]byte, 1<<20)), true},
		{"15,000 asks", new(proto.AllocateRequestProto), asks(15_000), true},
		{"nothing", new(proto.AllocateRequestProto), nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			shape := ShapeOf(tc.into)
			n := testing.AllocsPerRun(1, func() { _, _ = shape.Memory(tc.send, Max) })
			if n > 20 { // the error; a few more under the race detector
				t.Errorf("the guard makes %v allocations", n)
			}
			err := UnmarshalBy(gproto.UnmarshalOptions{AllowPartial: true}, tc.send, tc.into)
			if (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrTooLarge) {
				t.Errorf("%d bytes: %v", len(tc.send), err)
			}
		})
	}
}

// TestEstimate checks that decoded messages use at most the estimated memory, and that the estimate
// is not so high that honest requests are refused.
func TestEstimate(t *testing.T) {
	for name, tc := range map[string]struct {
		into gproto.Message
		send []byte
	}{
		"asks":           {new(proto.AllocateRequestProto), asks(20_000)},
		"empty asks":     {new(proto.AllocateRequestProto), times(100_000, 1, nil)},
		"empty texts":    {new(proto.GetApplicationsRequestProto), times(400_000, 3, nil)},
		"texts":          {new(proto.GetApplicationsRequestProto), times(40_000, 3, []byte(strings.Repeat("x", 30)))},
		"packed numbers": {new(proto.GetApplicationsRequestProto), times(1, 2, bytes.Repeat([]byte{1}, 1<<20))},
	} {
		estimate, err := ShapeOf(tc.into).Memory(tc.send, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		used := heap() - decoded(t, tc.into, tc.send)
		if used = -used; used > estimate || 5*used < estimate {
			t.Errorf("%s: %d bytes are estimated at %d bytes of memory, and use %d", name, len(tc.send), estimate, used)
		}
		runtime.KeepAlive(tc.into)
	}
}

// decoded decodes into a message, and returns the heap that is in use then.
func decoded(t *testing.T, into gproto.Message, b []byte) int64 {
	if err := (gproto.UnmarshalOptions{AllowPartial: true}).Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
	return heap()
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
