package tracker

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	gproto "google.golang.org/protobuf/proto"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
)

// byGeneratedCode returns the result that readStatus must have.
func byGeneratedCode(s *Service, p *proto.ContainerStatusProto) (input.ContainerStatus, error) {
	out, err := wire.ContainerStatus(p)
	s.trim(&out)
	return out, err
}

// randomStatus returns an encoded status whose fields may be missing, negative or repeated.
func randomStatus(r *rand.Rand) []byte {
	one := func() *proto.ContainerStatusProto {
		p := &proto.ContainerStatusProto{}
		some := func(f func()) {
			if r.IntN(8) > 0 {
				f()
			}
		}
		number := func() int64 { return r.Int64N(1<<40) - 1<<36 }
		some(func() {
			p.ContainerId = &proto.ContainerIdProto{}
			some(func() { p.ContainerId.Id = new(number()) })
			some(func() {
				p.ContainerId.AppAttemptId = &proto.ApplicationAttemptIdProto{}
				some(func() { p.ContainerId.AppAttemptId.AttemptId = new(int32(number())) })
				some(func() {
					p.ContainerId.AppAttemptId.ApplicationId = &proto.ApplicationIdProto{Id: new(int32(r.IntN(1000))),
						ClusterTimestamp: new(number())}
				})
			})
		})
		some(func() { p.State = proto.ContainerStateProto(1 + r.IntN(3)).Enum() })
		some(func() { p.ExitStatus = new(int32(number())) })
		some(func() { p.Diagnostics = new("what \xff happened, at length") })
		some(func() { p.Capability = &proto.ResourceProto{Memory: new(int64(5))} })
		return p
	}
	data, err := gproto.Marshal(one())
	if err != nil {
		panic(err)
	}
	if r.IntN(3) == 0 { // a second message overrides the fields of the first
		more, _ := gproto.Marshal(one())
		data = append(data, more...)
	}
	if r.IntN(3) == 0 { // an unknown value of an enumeration, and a field with another wire type
		data = protowire.AppendVarint(protowire.AppendTag(data, 2, protowire.VarintType), r.Uint64N(6))
		data = protowire.AppendFixed32(protowire.AppendTag(data, 4, protowire.Fixed32Type), 7)
	}
	return data
}

func checkStatus(t *testing.T, s *Service, data []byte) {
	t.Helper()
	var p proto.ContainerStatusProto
	if err := gproto.Unmarshal(data, &p); err != nil {
		return
	}
	want, wrong := byGeneratedCode(s, &p)
	got, err := s.readStatus(data)
	if (err == nil) != (wrong == nil) || err == nil && got != want || err != nil && err.Error() != wrong.Error() {
		t.Fatalf("%x is read as %+v, %v; the generated code says %+v, %v", data, got, err, want, wrong)
	}
}

func TestStatusAgreesWithTheGeneratedCode(t *testing.T) {
	s := newService(t, newCluster(t))
	s.cfg.DiagnosticsMax = 20
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		data := randomStatus(r)
		checkStatus(t, s, data)
		_, _ = s.readStatus(data[:r.IntN(len(data)+1)])
	}
}

func FuzzStatus(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		f.Add(randomStatus(r))
	}
	s := newService(f, newCluster(f))
	f.Fuzz(func(t *testing.T, data []byte) { checkStatus(t, s, data) })
}

// TestCutStatuses checks that the statuses and the rest together contain the whole heartbeat.
func TestCutStatuses(t *testing.T) {
	for _, data := range samples(t) {
		var want, got proto.NodeHeartbeatRequestProto
		if err := gproto.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		statuses, rest, err := cutStatuses(bytes.Clone(data))
		if err == nil {
			err = gproto.Unmarshal(rest, &got)
		}
		if err != nil || len(got.NodeStatus.ContainersStatuses) > 0 {
			t.Fatalf("the rest is %v, %v", &got, err)
		}
		for _, s := range statuses {
			p := &proto.ContainerStatusProto{}
			if err := gproto.Unmarshal(s, p); err != nil {
				t.Fatal(err)
			}
			got.NodeStatus.ContainersStatuses = append(got.NodeStatus.ContainersStatuses, p)
		}
		if !gproto.Equal(&got, &want) {
			t.Errorf("parted and joined: %v; it was %v", &got, &want)
		}
	}
}
