package sim

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"rmd/jepsen-lite/sim/settings"
)

// TestLateSnapshot checks a request to install a snapshot that arrives a second time, from a queue
// or over a connection that the leader has given up. The follower has continued meanwhile. Its
// state must not go back, and its log must keep its entries.
func TestLateSnapshot(t *testing.T) {
	opt := settings.Plain()
	opt.Trailing = 0
	tellStory(t, opt, func(s *story) {
		s.addNodes(8, "n1")
		lead := s.leader(10 * election)
		f := s.rs[(slices.Index(s.rs, lead)+1)%len(s.rs)]
		f.crash()
		s.submit("app1", "a", 0, "")
		l, _ := lead.currentProcess()
		if err := l.snapshot(); err != nil {
			t.Fatal(err)
		}
		if err := f.start(); err != nil {
			t.Fatal(err)
		}
		s.submit("app2", "a", 0, "")
		s.inStep(time.Minute)
		before, _ := f.disk.LastIndex()
		q, data := s.net.LastInstall()
		q.Term = l.cluster.Term()
		fl, _ := f.currentProcess()
		answer := make(chan raft.RPCResponse, 1)
		fl.host.Deliver(raft.RPC{Command: &q, Reader: bytes.NewReader(data), RespChan: answer})
		r := <-answer
		if a, ok := r.Response.(*raft.InstallSnapshotResponse); !ok || r.Error != nil || !a.Success {
			t.Errorf("the answer is %+v: it has all of that snapshot", r)
		}
		if after, _ := f.disk.LastIndex(); after != before || before <= q.LastLogIndex {
			t.Errorf("its log ended at %d and ends at %d now; the snapshot is of %d", before, after, q.LastLogIndex)
		}
		if n := fl.cluster.Stats().Restarts; n != 0 {
			t.Errorf("raft was restarted %d times", n)
		}
	})
}

// TestMembers adds a fourth replica while a node is reserved, makes it a voter and then leader, and
// removes the old leader. The reservation must survive.
func TestMembers(t *testing.T) {
	opt := settings.Plain()
	opt.Trailing = 0
	tellStory(t, opt, func(s *story) {
		s.nine()
		old := s.leader(10 * election)
		l, _ := old.currentProcess()
		if err := l.snapshot(); err != nil {
			t.Fatal(err)
		}
		d := s.newReplica("d")
		if err := d.start(); err != nil {
			t.Fatal(err)
		}
		s.rs = append(s.rs, d)
		fresh, _ := d.currentProcess()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.joinWithToken(ctx, fresh, []string{old.id}); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(2 * time.Minute); !s.votes(l, "d"); time.Sleep(time.Second) {
			s.beat("n1")
			s.allocate("app1")
			s.allocate("app2")
			if time.Now().After(end) {
				t.Fatalf("d is not made a voter: %+v", l.cluster.Members())
			}
		}
		s.inStep(time.Minute)
		s.hand(d)
		old.set(func(r *replica) { r.leaving = true })
		if err := fresh.cluster.Remove(old.id, false); err != nil {
			t.Fatal(err)
		}
		old.crash()
		<-old.ended
		s.rs = slices.DeleteFunc(s.rs, func(r *replica) bool { return r == old })
		if got := s.reservations(d); !strings.HasPrefix(got, "[r1 app2 #2 4096MB 1vc on n1,") {
			t.Errorf("the newcomer holds %s", got)
		}
		s.complete("app1", 2, "n1")
		s.beat("n1")
		s.want("app2", s.containers(d, "app2"), "[#1 on n1 #2 on n1]")
	})
}

// TestOperatorsResume checks that an operator who gives up the replacement of a disk, because there
// is no majority, completes it in the calm.
func TestOperatorsResume(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		hurt := s.leader(10 * election)
		other := s.rs[(slices.Index(s.rs, hurt)+1)%len(s.rs)]
		other.crash()
		hurt.set(func(r *replica) { r.broken = true })
		s.replace(hurt)
		time.Sleep(operatorTime + time.Minute)
		if n := s.operators.Load(); n != 0 {
			t.Fatalf("%d operators have not given up", n)
		}
		if err := other.start(); err != nil {
			t.Fatal(err)
		}
		l, _ := s.leader(10 * election).currentProcess()
		if s.world.noneLeft(); !s.votes(l, hurt.id) {
			t.Errorf("%s is no voter: %+v", hurt.id, l.cluster.Members())
		}
		s.inStep(time.Minute)
	})
}

// TestRemovedDuringDiskReplacement checks that both operators finish if one removes a replica
// permanently while the other replaces its disk. The replica is admitted with the new disk and
// removed again.
func TestRemovedDuringDiskReplacement(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		lead := s.leader(10 * election)
		hurt := s.rs[(slices.Index(s.rs, lead)+1)%len(s.rs)]
		hurt.crash()
		hurt.set(func(r *replica) { r.broken = true })
		s.dismiss(hurt)
		s.replace(hurt)
		time.Sleep(operatorTime / 2)
		if n := s.operators.Load(); n != 0 {
			t.Errorf("%d operators have not come to their end", n)
		}
		if s.replacing != nil {
			t.Errorf("%s is still being replaced", s.replacing.id)
		}
		if l, _ := lead.currentProcess(); len(l.cluster.Members()) != 2 {
			t.Errorf("the members are %+v", l.cluster.Members())
		}
	})
}

// votes reports whether a replica is a voter according to the process l.
func (s *story) votes(l *process, id string) bool {
	for _, m := range l.cluster.Members() {
		if m.ID == id {
			return m.Voter
		}
	}
	return false
}

// TestPipelined checks that a reservation survives the end of the leader if Raft sends entries
// before earlier ones are acknowledged, as on the real network.
func TestPipelined(t *testing.T) {
	opt := settings.Plain()
	opt.Pipelined = true
	tellStory(t, opt, func(s *story) {
		s.nine()
		time.Sleep(time.Second)
		s.addNodes(8, "n3")
		held := s.reservations(s.leader(10 * election))
		_, now := s.killLeader()
		s.submit("app3", "a", 0, "")
		s.want("at the new leader", s.reservations(now), held)
	})
}
