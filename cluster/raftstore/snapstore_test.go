package raftstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// TestSnapshotRefused checks that data which fails verification does not become a snapshot.
func TestSnapshotRefused(t *testing.T) {
	dir := t.TempDir()
	inner, err := openSnapshots(dir, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	g := NewGuard(GuardConfig{Logger: hclog.NewNullLogger()})
	failed := 0
	s := &SnapshotStore{g: g, finishMu: NewMutex(), inner: inner, verify: verifyState, OnFailed: func(error) { failed++ }}
	write := func(b []byte) error {
		k, err := s.Create(1, 10, 2, raft.Configuration{}, 1, AddressEncoder{})
		if err != nil {
			t.Fatal(err)
		}
		_, werr := io.Copy(k, bytes.NewReader(b))
		return errors.Join(werr, k.Close())
	}
	if err := write([]byte("garbage")); err == nil {
		t.Fatal("garbage became a snapshot")
	}
	if list, _ := s.List(); len(list) != 0 || g.Failure() != nil || failed != 1 {
		t.Fatalf("%d snapshots, failure %v, told %d times", len(list), g.Failure(), failed)
	}
	if err := write(append([]byte("SNAP"), make([]byte, 24)...)); err != nil {
		t.Fatal(err)
	}
	list, _ := s.List()
	if len(list) != 1 {
		t.Fatalf("%d snapshots", len(list))
	}
	path := filepath.Join(dir, dirSnapshots, list[0].ID, "state.bin")
	b, _ := os.ReadFile(path)
	b[9] ^= 1
	_ = os.WriteFile(path, b, 0o600)
	if _, _, err := s.Open(list[0].ID); err == nil {
		t.Fatal("a damaged snapshot was opened")
	}
}

// TestSnapshotSuperseded checks that a snapshot is dropped if a newer one was finished before it.
func TestSnapshotSuperseded(t *testing.T) {
	inner, err := openSnapshots(t.TempDir(), hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	g := NewGuard(GuardConfig{Logger: hclog.NewNullLogger()})
	s := &SnapshotStore{g: g, finishMu: NewMutex(), inner: inner, OnFailed: func(err error) {
		t.Errorf("a snapshot that is not needed any more has failed: %v", err)
	}}
	begin := func(index uint64) raft.SnapshotSink {
		k, err := s.Create(1, index, 2, raft.Configuration{}, 1, AddressEncoder{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Write([]byte("state")); err != nil {
			t.Fatal(err)
		}
		return k
	}
	old, newer := begin(10), begin(13)
	if err := newer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); !errors.Is(err, ErrSnapshotSuperseded) {
		t.Errorf("the older one, finished last: %v", err)
	}
	if list, _ := s.List(); len(list) != 1 || list[0].Index != 13 || g.Failure() != nil {
		t.Errorf("%d snapshots, failure %v", len(list), g.Failure())
	}
}

// TestReceivedSnapshotWaitsForOwn checks that a received snapshot is not finished between the end
// of the replica's own snapshot and the time when raft has recorded it.
func TestReceivedSnapshotWaitsForOwn(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		inner, err := openSnapshots(dir, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		s := &SnapshotStore{g: NewGuard(GuardConfig{Logger: hclog.NewNullLogger()}), finishMu: NewMutex(), inner: inner}
		begin := func(index uint64) raft.SnapshotSink {
			k, err := s.Create(1, index, 2, raft.Configuration{}, 1, AddressEncoder{})
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		own := NewOwnSnapshot(state("own"))
		sink, received, finished := begin(10), begin(13), make(chan error, 1)
		if err := errors.Join(own.Persist(sink), sink.Close()); err != nil {
			t.Fatal(err)
		}
		go func() { finished <- received.Close() }()
		synctest.Wait()
		if len(finished) > 0 {
			t.Error("the received one is finished between the end of the replica's own and raft's knowing of it")
		}
		own.Release()
		if err := <-finished; err != nil {
			t.Error(err)
		}
		if list, _ := s.List(); len(list) != 2 || list[0].Index != 13 {
			t.Errorf("%d snapshots", len(list))
		}
	})
}

// state is the content of a snapshot. It is valid if it begins with SNAP.
type state string

func (s state) Persist(k raft.SnapshotSink) error {
	if _, err := k.Write([]byte(s)); err != nil {
		return errors.Join(err, k.Cancel())
	}
	return k.Close()
}
func (state) Release() {}

// verifyState reads a snapshot and checks it.
func verifyState(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err == nil && !bytes.HasPrefix(b, []byte("SNAP")) {
		err = fmt.Errorf("not a test snapshot: %q", b)
	}
	return err
}
