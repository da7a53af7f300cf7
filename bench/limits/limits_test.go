package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	"rmd/fsm/event"
	pb "rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// given returns a figure of rmd's benchmark that the limit depends on, or otherwise if the limit
// runs alone.
func given(b *testing.B, unit string, otherwise float64) float64 {
	b.Helper()
	text := os.Getenv(variable(unit))
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func create(b *testing.B) *os.File {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	return f
}

// BenchmarkSyncs measures the disk's part of a commit: the leader writes and syncs a page, then a
// follower does.
func BenchmarkSyncs(b *testing.B) {
	f, page := create(b), make([]byte, 4096)
	for b.Loop() {
		for range 2 {
			if _, err := f.Write(page); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkBolt stores entries as large as rmd's, one after the other, in a store without other
// load.
func BenchmarkBolt(b *testing.B) {
	s, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(b.TempDir(), "raft.db"),
		BoltOptions: &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	decisions := given(b, "decisions/entry", 400)
	data := entry(int(decisions))
	for i := uint64(1); b.Loop(); i++ {
		if err := s.StoreLogs([]*raft.Log{{Index: i, Term: 1, Data: data}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(decisions*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

// entry returns a log entry with n decisions.
func entry(n int) []byte {
	var w event.Writer
	for i := range n / 2 {
		w.Append(&event.ContainerAllocated{App: 1, Number: uint64(i), Key: yarn.SchedulerKey{Priority: 1},
			Node: yarn.NodeSlot(i), Locality: yarn.OffSwitch})
		w.Append(&event.ContainerCompleted{Container: event.ContainerRef{App: 1, Attempt: 1, Number: uint64(i)}})
	}
	return w.Finish(event.Level, 1)
}

// BenchmarkMemory copies more bytes than the caches hold.
func BenchmarkMemory(b *testing.B) {
	from, to := make([]byte, 256<<20), make([]byte, 256<<20)
	copy(to, from) // allocates the pages
	b.SetBytes(int64(len(from)))
	for b.Loop() {
		copy(to, from)
	}
}

// BenchmarkCopy copies as many bytes as a fork allocates.
func BenchmarkCopy(b *testing.B) {
	from := make([]byte, int(given(b, "B/op", 1<<20)))
	to := bytes.Clone(from)
	for b.Loop() {
		copy(to, from)
	}
}

// BenchmarkDisk writes a file of 256 MiB and syncs it.
func BenchmarkDisk(b *testing.B) {
	part := make([]byte, 1<<20)
	b.SetBytes(256 << 20)
	for b.Loop() {
		f := create(b)
		for range 256 {
			if _, err := f.Write(part); err != nil {
				b.Fatal(err)
			}
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMessages decodes and encodes the messages that a ResourceManager exchanges about one
// container: the node reports its end, the ApplicationMaster gets the container and its end, and
// the node may forget the container.
func BenchmarkMessages(b *testing.B) {
	const batch = 100
	id := func(i int) *pb.ContainerIdProto {
		return &pb.ContainerIdProto{Id: proto.Int64(int64(i)),
			AppAttemptId: &pb.ApplicationAttemptIdProto{AttemptId: proto.Int32(1),
				ApplicationId: &pb.ApplicationIdProto{Id: proto.Int32(7), ClusterTimestamp: proto.Int64(1700000000000)}}}
	}
	beat := &pb.NodeHeartbeatRequestProto{NodeStatus: &pb.NodeStatusProto{}}
	answer := &pb.NodeHeartbeatResponseProto{}
	master := &pb.AllocateResponseProto{}
	for i := range batch {
		ended := &pb.ContainerStatusProto{ContainerId: id(i), State: pb.ContainerStateProto_C_COMPLETE.Enum(),
			Diagnostics: proto.String(""), ExitStatus: proto.Int32(0)}
		beat.NodeStatus.ContainersStatuses = append(beat.NodeStatus.ContainersStatuses, ended)
		answer.ContainersToBeRemovedFromNm = append(answer.ContainersToBeRemovedFromNm, id(i))
		master.CompletedContainerStatuses = append(master.CompletedContainerStatuses, ended)
		master.AllocatedContainers = append(master.AllocatedContainers,
			&pb.ContainerProto{Id: id(i), NodeId: &pb.NodeIdProto{Host: proto.String("node17.example.org"),
				Port: proto.Int32(45454)},
				NodeHttpAddress: proto.String("node17.example.org:8042"),
				Resource:        &pb.ResourceProto{Memory: proto.Int64(1024), VirtualCores: proto.Int32(1)},
				Priority:        &pb.PriorityProto{Priority: proto.Int32(1)}})
	}
	body, err := proto.Marshal(beat)
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	for b.Loop() {
		if err := proto.Unmarshal(body, &pb.NodeHeartbeatRequestProto{}); err != nil {
			b.Fatal(err)
		}
		for _, m := range []proto.Message{answer, master} {
			if buf, err = (proto.MarshalOptions{}).MarshalAppend(buf[:0], m); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(time.Microsecond)/float64(b.N)/batch, "µs/container")
}
