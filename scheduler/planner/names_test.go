package planner

import (
	"fmt"
	"testing"

	"rmd/scheduler/input"
	"rmd/scheduler/planner/token"
	"rmd/yarn"
)

// TestManyNames checks that the AMs of one user cannot fill the table of names. Beyond the user's
// share, the hosts and racks that the cluster does not know are dropped, and the rest of the call
// counts. Other users still add names. When the work has ended, the table is as before.
func TestManyNames(t *testing.T) {
	h := newHouse(t, 1, true)
	before := h.p.st.Names.Len()
	submit := func(user string, places ...yarn.Place) yarn.AttemptID {
		r := h.must(t, &input.SubmitApplication{User: user, Queue: "root.a", Unmanaged: true, AMPlaces: places}).(*input.SubmitApplicationReply)
		at := yarn.AttemptID{App: r.ID, Attempt: 1}
		h.must(t, &input.RegisterAttempt{Attempt: at})
		return at
	}
	allocate := func(at yarn.AttemptID, in input.Allocate) {
		t.Helper()
		in.Attempt, in.Response = at, h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App)).Response
		h.must(t, &in)
	}
	size := yarn.NewResource(1024, 1)
	asks := func(priority int32, names ...string) (out []input.Ask) {
		key := yarn.SchedulerKey{Priority: priority}
		out = append(out, input.Ask{Key: key, Name: yarn.Any, Count: 1, Size: size})
		for _, n := range names {
			out = append(out, input.Ask{Key: key, Name: n, Count: 1, Size: size})
		}
		return out
	}
	next := 0
	names := func(n int) (out []string) {
		for range n {
			next++
			out = append(out, fmt.Sprint("unknown", next))
		}
		return out
	}
	const limit = 1 << 19
	var evil []yarn.AttemptID
	for user := range 2 {
		for app := range 2 {
			at := submit(fmt.Sprint("evil", user))
			evil = append(evil, at)
			for call := range int32(8) {
				allocate(at, input.Allocate{Asks: asks(call+1, names(20_000)...)})
			}
			allocate(at, input.Allocate{BlacklistAdd: names(10_000)})
			t.Logf("user %d, application %d: %d names", user, app, h.p.st.Names.Len())
		}
		if got, most := h.p.st.Names.Len(), limit-limit>>(user+1)+10; got > most {
			t.Fatalf("%d users make %d names, want at most %d", user+1, got, most)
		}
	}

	good := submit("good")
	more := asks(1, "later", h.nodes[0].Host, "r")
	more[0].Count = 50 // more than there is room for
	allocate(good, input.Allocate{Asks: more, BlacklistAdd: []string{"bad"}})
	for _, name := range []string{"later", "bad"} {
		if h.p.st.Names.Find(name) == 0 {
			t.Errorf("the name %q of another user is dropped", name)
		}
	}
	allocate(evil[0], input.Allocate{Asks: asks(77, "dropped", h.nodes[0].Host, "r"),
		BlacklistAdd: []string{"dropped too", "r"}})
	a := h.p.st.Apps.Get(h.p.st.Apps.ByID(evil[0].App))
	if k := h.p.st.Asks.Get(h.p.st.Asks.Find(a, yarn.SchedulerKey{Priority: 77})); k.Count != 1 || k.Entries != 3 ||
		h.p.st.Names.Find("dropped") != 0 || h.p.st.Names.Find("dropped too") != 0 || !a.Blacklisted(h.node(0)) {
		t.Errorf("beyond the share, the ask is %+v on nodes %v", k, a.Blacklisted(h.node(0)))
	}

	for _, at := range append(evil, good) {
		h.must(t, &input.KillApplication{ID: at.App})
	}
	h.now++
	h.p.sched.Begin(h.now)
	h.p.apps.forget()
	if got := h.p.st.Names.Len(); got != before {
		t.Errorf("the work has ended, and there are %d names, want %d", got, before)
	}
	if err := h.p.st.Check(); err != nil {
		t.Error(err)
	}
}

// TestManyDelegationTokens checks that one owner gets at most half of all tokens, and that another
// owner then still gets some.
func TestManyDelegationTokens(t *testing.T) {
	r := newRig(t)
	has := func(owner string, most int) (n int) {
		for n < most {
			f := r.p.tokens().Input(&input.IssueDelegationToken{Owner: owner}).Refused()
			if f != nil && f.Reason != input.TooLarge {
				t.Fatal(f)
			}
			if f != nil {
				break
			}
			n++
		}
		return n
	}
	if a, b := has("a", token.MaxDelegations), has("b", 100); a != token.MaxDelegations/2 || b != 100 {
		t.Errorf("the first owner gets %d of %d, the second one %d of 100", a, token.MaxDelegations, b)
	}
}
