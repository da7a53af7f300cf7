package rafttransport

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"
)

// TestDeposedSendsNoEntries checks that entries are not sent after the leadership has ended, and
// that a receiver refuses entries of a later term than the request's.
func TestDeposedSendsNoEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a := raft.NewInmemTransport("a")
		_, b := raft.NewInmemTransport("b")
		a.Connect("b", b)
		leader := &replica{leads: 7}
		from, to := over(t, leader, a), over(t, &replica{}, b)
		defer from.Stop()
		defer to.Stop()
		taken := 0
		go func() {
			for rpc := range to.out {
				taken++
				rpc.Respond(&raft.AppendEntriesResponse{Term: 7, Success: true}, nil)
			}
		}()
		defer close(to.out)
		send := func(prev, entry uint64) error {
			q := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, Addr: []byte("a")}, Term: 7}
			if entry > 0 {
				q.PrevLogEntry, q.PrevLogTerm, q.Entries = 1, prev, []*raft.Log{{Index: 2, Term: entry}}
			}
			return from.AppendEntries("b", "b", q, new(raft.AppendEntriesResponse))
		}
		if err := send(7, 7); err != nil || taken != 1 {
			t.Fatalf("a leader's entry: %v, %d taken", err, taken)
		}
		for _, terms := range [][2]uint64{{7, 9}, {9, 9}, {9, 7}} {
			if err := send(terms[0], terms[1]); err == nil || taken != 1 {
				t.Errorf("an entry of term %d behind one of term %d is taken in the name of term 7", terms[1], terms[0])
			}
		}
		leader.leads = 0
		if err := send(7, 7); !errors.Is(err, errDeposed) || taken != 1 {
			t.Errorf("the entry of a leader of before is sent: %v", err)
		}
		if err := send(0, 0); err != nil || taken != 2 {
			t.Errorf("a heartbeat is held back, which says nothing of the log: %v", err)
		}
	})
}
