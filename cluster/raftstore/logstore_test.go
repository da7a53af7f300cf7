package raftstore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

// TestLogHole checks that Inspect detects missing entries between the snapshot and the log.
func TestLogHole(t *testing.T) {
	inner := raft.NewInmemStore()
	g := NewGuard(GuardConfig{Logger: hclog.NewNullLogger()})
	for i := uint64(5); i < 9; i++ {
		_ = inner.StoreLog(seal(&raft.Log{Index: i, Term: 1, Data: []byte("x")}))
	}
	logs, err := openLog(g, inner)
	if err != nil {
		t.Fatal(err)
	}
	st := &Stores{Logs: logs, Stable: &StableStore{g: g, inner: inner},
		Snapshots: &SnapshotStore{g: g, finishMu: NewMutex(), inner: raft.NewInmemSnapshotStore()}}
	if _, err := st.Inspect(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "begins at 5") {
		t.Fatalf("Inspect of a log without entries 1 to 4: %v, want %v and \"begins at 5\"", err, ErrDamaged)
	}
}

// TestLogStoreModel compares the log store with a map, with deletions at both ends.
func TestLogStoreModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := NewGuard(GuardConfig{Logger: hclog.NewNullLogger()})
		inner := raft.NewInmemStore()
		s, _ := openLog(g, inner)
		model := map[uint64]*raft.Log{}
		var first, last, term uint64 = 0, 0, 1
		rt.Repeat(map[string]func(*rapid.T){
			"store": func(rt *rapid.T) {
				n := rapid.IntRange(1, 700).Draw(rt, "n")
				var ls []*raft.Log
				for i := range n {
					l := &raft.Log{Index: last + uint64(i) + 1, Term: term, Data: fmt.Appendf(nil, "%d/%d", term, i)}
					ls = append(ls, l)
					model[l.Index] = l
				}
				if err := s.StoreLogs(ls); err != nil {
					rt.Fatal(err)
				}
				if first == 0 {
					first = last + 1
				}
				last += uint64(n)
			},
			"head": func(rt *rapid.T) {
				if first == 0 || first == last {
					rt.Skip()
				}
				to := rapid.Uint64Range(first, last-1).Draw(rt, "to")
				if err := s.DeleteRange(first, to); err != nil {
					rt.Fatal(err)
				}
				for ; first <= to; first++ {
					delete(model, first)
				}
			},
			"tail": func(rt *rapid.T) {
				if first == 0 || first == last {
					rt.Skip()
				}
				from := rapid.Uint64Range(first+1, last).Draw(rt, "from")
				if err := s.DeleteRange(from, last); err != nil {
					rt.Fatal(err)
				}
				for ; last >= from; last-- {
					delete(model, last)
				}
				term++
			},
			"": func(rt *rapid.T) {
				gf, _ := s.FirstIndex()
				gl, gt := s.Tail()
				if gf != first || gl != last {
					rt.Fatalf("bounds %d to %d, want %d to %d", gf, gl, first, last)
				}
				if last > 0 && gt != model[last].Term {
					rt.Fatalf("last term %d", gt)
				}
				if first == 0 {
					return
				}
				i := rapid.Uint64Range(first, last).Draw(rt, "read")
				var l raft.Log
				if err := s.Peek(i, &l); err != nil || !bytes.Equal(l.Data, model[i].Data) || l.Term != model[i].Term {
					rt.Fatalf("entry %d: %v %v", i, l, err)
				}
				if err := s.Peek(last+1, &l); err != raft.ErrLogNotFound {
					rt.Fatalf("entry after the end: %v", err)
				}
			},
		})
	})
}
