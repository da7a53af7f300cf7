package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"rmd/cluster/local"
	"rmd/cluster/offline"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/internal/exitcode"
)

func TestCheckAndRecover(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	inStep(t, rs, put(t, rs, 10))
	l := leader(t, rs)
	if err := l.c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	inStep(t, rs, put(t, rs, 5))
	want, count, _ := l.fsm.state()
	var other *replica
	var lost []string
	for _, r := range rs {
		r.stop()
		if r != l {
			other = r
			lost = append(lost, r.id)
		}
	}
	rep, err := offline.Check(l.dir, verifyTestSnap)
	if err != nil || len(rep.Voters) != 3 || len(rep.Snapshots) != 1 || rep.Last == 0 || rep.Term == 0 || rep.Unclean {
		t.Fatalf("Check of a stopped leader: %v, want no error, 3 voters, one snapshot, an index and term "+
			"that are not 0, and a clean end; got %+v", err, rep)
	}

	peers := []offline.RecoverPeer{{ID: l.id, Address: l.addr}}
	opt := func() offline.RecoverOptions {
		return offline.RecoverOptions{FSM: newTestFSM(), Verify: verifyTestSnap, Without: lost}
	}
	live := opt()
	live.Alive = func(string) bool { return true }
	_, err = offline.Recover(l.dir, peers, live)
	wantRefusal(t, err, refusal.LivePeer)
	_, err = offline.Recover(l.dir, []offline.RecoverPeer{{ID: other.id, Address: other.addr}}, opt())
	wantRefusal(t, err, refusal.NotAVoter)
	_, err = offline.Recover(l.dir, append(peers, offline.RecoverPeer{ID: other.id, Address: other.addr}), opt())
	wantRefusal(t, err, refusal.WouldLoseQuorum)
	for _, without := range [][]string{nil, lost[1:], append([]string{l.id}, lost...)} {
		few := opt()
		few.Without = without
		_, err = offline.Recover(l.dir, peers, few)
		wantRefusal(t, err, refusal.VotersLeft)
	}

	raised := false
	o := opt()
	o.RaiseEpoch = func(in io.Reader, out io.Writer) error {
		raised = true
		_, err := io.Copy(out, in)
		return err
	}
	got, err := offline.Recover(l.dir, peers, o)
	if err != nil || !raised || got.Epoch != 1 || got.Unknown == 0 {
		t.Fatalf("Recover: %v, RaiseEpoch called %v, report %+v; want no error, true, epoch 1, and unknown entries",
			err, raised, got)
	}
	l.start()
	elect(t, l)
	if d, n, _ := l.fsm.state(); d != want || n != count {
		t.Fatalf("%d entries, not %d", n, count)
	}
	put(t, []*replica{l}, 3)

	// A replica of the earlier epoch, with its old disk, is refused. A fresh replica can join.
	other.start()
	time.Sleep(500 * time.Millisecond)
	if id, _ := other.c.Leader(); id != "" {
		t.Fatal("a replica of before the recovery follows")
	}
	if other.c.Term() > l.c.Term() && !l.c.IsLeader() {
		t.Fatal("a replica of before the recovery disturbed the cluster")
	}
	fresh := newReplica(t, other.id, nil).start()
	if err := fresh.c.Join(t.Context(), []string{l.addr}, "", false); err != nil {
		t.Fatal(err)
	}
	inStep(t, []*replica{l, fresh}, put(t, []*replica{l}, 3))
}

// TestRecoverTwice recovers two disks of one cluster while no replica runs. Nothing on the disks can
// tell the second that the first was recovered, so the two must refuse each other for ever.
func TestRecoverTwice(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	inStep(t, rs, put(t, rs, 3))
	for _, r := range rs {
		r.stop()
	}
	for i, r := range rs[:2] {
		lost := []string{rs[1-i].id, rs[2].id}
		if _, err := offline.Recover(r.dir, []offline.RecoverPeer{{ID: r.id, Address: r.addr}},
			offline.RecoverOptions{FSM: newTestFSM(), Verify: verifyTestSnap, Without: lost}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := rs[0], rs[1]
	a.start()
	b.start()
	elect(t, a)
	elect(t, b)
	if a.c.Identity().WireID() == b.c.Identity().WireID() {
		t.Errorf("both recovered clusters are %s", a.c.Identity().WireID())
	}
	if _, err := protocol.Ask[info](t.Context(), a.c.core.Peer, b.addr, protocol.Info, protocol.None{}); err == nil ||
		!strings.Contains(err.Error(), codeOtherCluster) {
		t.Errorf("the other recovered cluster answers: %v", err)
	}
	rs[2].start() // with the disk of before
	if _, err := protocol.Ask[info](t.Context(), a.c.core.Peer, rs[2].addr, protocol.Info, protocol.None{}); err == nil ||
		!strings.Contains(err.Error(), codeOtherCluster) {
		t.Errorf("a disk of before the recovery answers: %v", err)
	}
}

func TestRecoverEmpty(t *testing.T) {
	r := newReplica(t, "rm1", nil).start()
	r.stop()
	_, err := offline.Recover(r.dir, []offline.RecoverPeer{{ID: "rm1", Address: "127.0.0.1:1"}},
		offline.RecoverOptions{FSM: newTestFSM()})
	wantRefusal(t, err, refusal.NoSuchReplica)
	if _, err := offline.Check(t.TempDir(), nil); err == nil {
		t.Fatal("an empty directory was checked")
	}
	if _, err := offline.ParsePeers([]byte(`[]`)); err == nil {
		t.Fatal("no peers were taken")
	}
	if ps, err := offline.ParsePeers([]byte(`[{"id":"rm1","address":"a:1","non_voter":true}]`)); err != nil ||
		len(ps) != 1 || !ps[0].NonVoter {
		t.Fatalf("ParsePeers of one non-voter = %v, %v, want it as a non-voter", ps, err)
	}
}

// compareTestDigests makes replicas compare the digests of their testFSM often.
func compareTestDigests(c *Config) {
	c.DigestInterval = 5 * time.Millisecond
	f := c.FSM.(*testFSM)
	c.Digest = func(index uint64) (uint64, []byte, bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if index == 0 {
			index = f.last
		}
		d, ok := f.history[index]
		return index, bytes.Repeat([]byte{byte(d)}, 8), ok
	}
}

// TestBackupsOfOneIndex checks that no replica takes a second backup of the same index for a damaged
// state, while the others have yet to receive it.
func TestBackupsOfOneIndex(t *testing.T) {
	t.Parallel()
	rs := trio(t, compareTestDigests)
	index := put(t, rs, 5)
	inStep(t, rs, index)
	l := leader(t, rs)
	for digest := range uint64(50) {
		b := []byte("SNAP")
		for _, v := range []uint64{digest, 5, index} {
			b = binary.BigEndian.AppendUint64(b, v)
		}
		if err := l.c.RestoreSnapshot(SnapshotInfo{Index: index, Term: 1, Size: int64(len(b))},
			bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rs {
		if err := r.c.Failure(); err != nil {
			t.Errorf("%s stopped: %v", r.id, err)
		}
	}
}

// TestDigestMinorityStops checks that a replica whose state differs stops with exit code 74.
func TestDigestMinorityStops(t *testing.T) {
	t.Parallel()
	rs := trio(t, compareTestDigests)
	inStep(t, rs, put(t, rs, 5))
	time.Sleep(200 * time.Millisecond) // enough for some comparisons of equal states
	l := leader(t, rs)
	var bad *replica
	for _, r := range rs {
		if r != l {
			bad = r
		}
		if err := r.c.Failure(); err != nil {
			t.Fatalf("%s stopped: %v", r.id, err)
		}
	}
	bad.fsm.mu.Lock()
	bad.fsm.digest ^= 1
	bad.fsm.mu.Unlock()
	put(t, rs, 1)
	select {
	case f := <-bad.fatal:
		if f.Code != exitcode.Diverged || !errors.Is(f.Err, local.ErrDigest) {
			t.Fatalf("the diverged replica ends with exit code %d, %v; want %d, %v", f.Code, f.Err, exitcode.Diverged,
				local.ErrDigest)
		}
	case <-time.After(patience):
		t.Fatal("a replica with another state goes on")
	}
}
