package leader_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm"
	"rmd/leader"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// refusedAMs returns calls of AMs that a leader refuses if it does not know what a later leader did
// with their attempts.
func refusedAMs(app yarn.ApplicationID) []input.Input {
	later := yarn.AttemptID{App: app, Attempt: 2}
	unknown := yarn.AttemptID{App: yarn.ApplicationID{ClusterTimestamp: app.ClusterTimestamp, Seq: app.Seq + 1},
		Attempt: 1}
	silent := yarn.AttemptID{App: app, Attempt: 1} // its AM has not registered
	return []input.Input{
		&input.RegisterAttempt{Attempt: later}, &input.Allocate{Attempt: later, Response: 5, FromAM: true},
		&input.FinishAttempt{Attempt: later},
		&input.RegisterAttempt{Attempt: unknown}, &input.Allocate{Attempt: unknown}, &input.FinishAttempt{Attempt: unknown},
		&input.Allocate{Attempt: silent, FromAM: true}, &input.FinishAttempt{Attempt: silent},
	}
}

// TestAMRefusalWaitsForCommit checks that the refusal of an AM waits for a log entry. A deposed
// leader therefore cannot stop an AM that its successor has accepted.
func TestAMRefusalWaitsForCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &machineLog{m: fsm.New(fsm.Config{}), replica: fsm.New(fsm.Config{}), delay: time.Millisecond}
		s, elect, end := run(t, l)
		defer end()
		elect(1)
		do := func(in input.Input) (input.Reply, uint64, error) { return s.Do(t.Context(), input.Request{Input: in}) }
		if _, _, err := do(oneQueue()); err != nil {
			t.Fatal(err)
		}
		r, _, err := do(&input.SubmitApplication{Name: "x", User: "ann", Queue: "a", Unmanaged: true})
		if err != nil || r.Refused() != nil {
			t.Fatalf("submission by ann: %+v, error %v, want no refusal and no error", r, err)
		}
		app := r.(*input.SubmitApplicationReply).ID
		for i, in := range refusedAMs(app) {
			before, _ := l.m.Applied()
			reply, index, err := do(in)
			if err != nil || reply.Refused() == nil || index <= before {
				t.Errorf("%T %d: %v, %v at index %d after %d", in, i, reply, err, index, before)
			}
		}
		for i := range refusedAMs(app) {
			in := refusedAMs(app)[i]
			l.mu.Lock()
			l.deposed = true
			l.mu.Unlock()
			if reply, _, err := do(in); !errors.Is(err, leader.ErrNotLeader) {
				t.Errorf("a leader that is none answers %T %d: %+v, %v", in, i, reply, err)
			}
			elect(uint64(i + 2))
		}
	})
}

// TestRefusalNeedsConfirmedLeadership checks that other refusals need a confirmed leadership but no
// log entry.
func TestRefusalNeedsConfirmedLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over error
		asked := uint64(0)
		l := &machineLog{m: fsm.New(fsm.Config{}), replica: fsm.New(fsm.Config{}), delay: time.Millisecond,
			confirm: func(_ context.Context, term uint64) error {
				asked = term
				return over
			}}
		s, elect, end := run(t, l)
		defer end()
		elect(7)
		do := func(in input.Input) (input.Reply, error) {
			r, _, err := s.Do(t.Context(), input.Request{Input: in})
			return r, err
		}
		if _, err := do(oneQueue()); err != nil || asked != 0 {
			t.Fatalf("Do with the queues: error %v, leadership confirmed in term %d, want no error and no term",
				err, asked)
		}
		before, _ := l.m.Applied()
		nowhere := &input.SubmitApplication{Name: "x", User: "ann", Queue: "nowhere", Unmanaged: true}
		if r, err := do(nowhere); err != nil || r.Refused() == nil || asked != 7 {
			t.Errorf("%v %v, asked for term %d", r, err, asked)
		}
		if after, _ := l.m.Applied(); after != before {
			t.Errorf("the refusal took %d entries", after-before)
		}
		over = errors.New("another leads")
		if r, err := do(nowhere); !errors.Is(err, leader.ErrNotLeader) {
			t.Errorf("a leader that is none answers %+v, %v", r, err)
		}
	})
}

// TestIDsOfABlockNeedNoEntry checks that only the first application id of a block needs a log
// entry. A deposed leader may hand out the rest of its block. Its successor begins after that
// block.
func TestIDsOfABlockNeedNoEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &machineLog{m: fsm.New(fsm.Config{}), replica: fsm.New(fsm.Config{}), delay: time.Millisecond}
		s, elect, end := run(t, l)
		defer end()
		id := func() uint32 {
			t.Helper()
			reply, _, err := s.Do(t.Context(), input.Request{Input: &input.NewApplication{}})
			if err != nil {
				t.Fatal(err)
			}
			return reply.(*input.NewApplicationReply).ID.Seq
		}
		elect(1)
		if _, _, err := s.Do(t.Context(), input.Request{Input: oneQueue()}); err != nil {
			t.Fatal(err)
		}
		before := l.index
		if got := id(); got != 1 || l.index != before+1 {
			t.Errorf("the first id is %d, in entry %d after %d", got, l.index, before)
		}
		for want := uint32(2); want <= 1000; want++ {
			if want == 500 {
				l.mu.Lock()
				l.deposed = true
				l.mu.Unlock()
			}
			if got := id(); got != want || l.index != before+1 {
				t.Fatalf("id %d, want %d; entry %d, want %d", got, want, l.index, before+1)
			}
		}
		if _, _, err := s.Do(t.Context(), input.Request{Input: &input.NewApplication{}}); err == nil {
			t.Error("a deposed leader handed out an id of a block that it did not get")
		}
		elect(2)
		if got := id(); got != 1001 {
			t.Errorf("the next leader begins at %d", got)
		}
	})
}
