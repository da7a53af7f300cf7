package planner

import (
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// counting is an AM that numbers its calls by the last response, and the house that it calls.
type counting struct {
	*house
	at   yarn.AttemptID
	last int32
}

func newCounting(t *testing.T) *counting {
	h := newHouse(t, 1, true)
	h.p.setEager(false) // asks wait for a heartbeat of the node
	return &counting{house: h, at: h.run()}
}

func (c *counting) call(response int32, asks ...input.Ask) *input.Allocate {
	return &input.Allocate{Attempt: c.at, Response: response, Asks: asks, FromAM: true}
}

// pull makes the AM's next call and receives the answer.
func (c *counting) pull(asks ...input.Ask) *input.AllocateReply {
	c.t.Helper()
	r := c.must(c.t, c.call(c.last, asks...)).(*input.AllocateReply)
	c.last = r.Response
	return r
}

// late delivers a call whose answer the AM does not receive.
func (c *counting) late(in *input.Allocate, refused bool) {
	c.t.Helper()
	if r, _ := c.try(in); (r.Refused() != nil) != refused || (refused && r.Refused().Reason != input.WrongResponse) {
		c.t.Errorf("the late call %d is answered %+v", in.Response, r)
	}
}

// elect replaces the leader and returns the old one.
func (c *counting) elect() (before *Planner) {
	before = c.p
	c.p = must(New(c.p.st.Fork(), Options{}))
	return before
}

// granted counts the containers that the AM gets in its next four calls.
func (c *counting) granted() (n int) {
	for range 4 {
		n += len(c.pull().Granted)
	}
	return n
}

// TestLateCallTakesNothing checks that late copies of a call take no container away from the AM.
// The AM has had idle answers since, and a container waits to be delivered. The test also runs with
// an election in between, and with several copies.
func TestLateCallTakesNothing(t *testing.T) {
	for _, elected := range []bool{false, true} {
		for copies := range int32(4) {
			c := newCounting(t)
			c.pull(askFor(yarn.SchedulerKey{Priority: 1}))
			first := c.last
			for range 3 {
				c.pull()
			}
			if elected {
				c.elect()
			}
			c.beat(0)
			for i := range copies {
				// A leader answers the first call that it sees, whichever that is.
				c.late(c.call(first+i), !elected && i < 2)
			}
			if n := c.granted(); n != 1 {
				t.Errorf("elected %v, %d copies: the AM was told of %d containers", elected, copies, n)
			}
		}
	}
}

// TestLateCallAtPreviousLeader checks an AM of which one leader sees only a late copy of a call,
// and the next leader knows only what this copy left behind. If the AM asks for nothing, its calls
// are accepted all the same, and it learns of everything once, also of what the answer to the copy
// contained.
func TestLateCallAtPreviousLeader(t *testing.T) {
	for _, idle := range []int{2, 3, blockSize - 2, blockSize + 5} {
		for back := int32(1); back <= 2; back++ {
			for _, beat := range []int{0, 1, 2} { // the container exists before the copy, after it, or only at the end
				c := newCounting(t)
				c.pull(askFor(yarn.SchedulerKey{Priority: 1}))
				for range idle {
					c.pull()
				}
				for leader := range 2 {
					if c.elect(); beat == leader {
						c.beat(0)
					}
					if leader == 0 {
						c.late(c.call(c.last-back), false)
					}
				}
				n := c.granted()
				if beat == 2 {
					c.beat(0)
					n = c.granted()
				}
				if n != 1 {
					t.Errorf("%d idle answers, a copy %d older, beat %d: the AM was told of %d containers", idle, back, beat, n)
				}
			}
		}
	}
}

// TestLateCallFromBeforeRegistration checks that a call from before a registration changes nothing
// when it arrives after another leader has answered the AM's first call.
func TestLateCallFromBeforeRegistration(t *testing.T) {
	key := yarn.SchedulerKey{Priority: 1}
	c := newCounting(t)
	c.pull()
	c.pull()
	none := askFor(key)
	none.Count = 0
	late := c.call(c.last, none)
	c.must(t, &input.RegisterAttempt{Attempt: c.at})
	c.last = 0
	c.elect()
	c.now += 4 * blockSize * blockSize // the leader's first number is now above the copy's
	c.pull(askFor(key))
	c.late(late, true)
	c.beat(0)
	if n := c.granted(); n != 1 {
		t.Errorf("the AM was told of %d containers", n)
	}
}

// TestRepeatedCallSameAnswer checks that every leader gives a repeated call the same answer.
func TestRepeatedCallSameAnswer(t *testing.T) {
	for _, when := range []int{0, 1, 2} {
		c := newCounting(t)
		c.pull(askFor(yarn.SchedulerKey{Priority: 1}))
		c.pull()
		if when == 0 {
			c.elect()
		}
		c.beat(0)
		in := c.call(c.last)
		lost := c.must(t, in).(*input.AllocateReply)
		if when == 1 {
			c.elect()
		}
		again := c.must(t, in).(*input.AllocateReply)
		if len(lost.Granted) != 1 || len(again.Granted) != 1 || again.Granted[0].Container != lost.Granted[0].Container ||
			again.Response != lost.Response {
			t.Errorf("%d: %+v, then %+v", when, lost, again)
		}
		c.last = again.Response
		if n := c.granted(); n != 0 {
			t.Errorf("%d: told of %d more", when, n)
		}
	}
}

// TestIdleAnswerFromDeposedLeader checks an AM that got an idle answer from a deposed leader. The
// present leader does not know that answer, and must read the AM's next asks all the same.
func TestIdleAnswerFromDeposedLeader(t *testing.T) {
	c := newCounting(t)
	c.pull(askFor(yarn.SchedulerKey{Priority: 1}))
	ghost := c.elect()
	c.beat(0)
	in := c.call(c.last)
	c.late(in, false)
	r, events := ghost.Plan(c.now, input.Request{Input: in})
	if r.Refused() != nil || len(events) > 0 {
		t.Fatalf("Allocate at the deposed leader = %+v, events %v, want no refusal and no events",
			r, kindsOf(events))
	}
	c.last = r.(*input.AllocateReply).Response
	first := c.pull(askFor(yarn.SchedulerKey{Priority: 2}))
	c.beat(0)
	if n := len(first.Granted) + c.granted(); n != 2 {
		t.Errorf("the AM was told of %d containers", n)
	}
}

// TestResponseIDsUnique checks that no response number is given twice, neither by two leaders nor
// after a registration.
func TestResponseIDsUnique(t *testing.T) {
	c := newCounting(t)
	given := map[int32]bool{}
	pull := func() {
		t.Helper()
		c.now += 50
		if r := c.pull(); given[r.Response] {
			t.Fatalf("number %d is given again", r.Response)
		}
		given[c.last] = true
	}
	for i := range 12 {
		if i%3 == 1 {
			c.elect()
		}
		for range 5 {
			pull()
		}
		if i%4 == 3 {
			last := c.p.st.Apps.Get(c.p.st.Apps.ByID(c.at.App)).Response
			c.must(t, &input.RegisterAttempt{Attempt: c.at, HasResponse: true, Response: last})
			c.last = 0
		}
	}
	for seen := 0; seen < 2*blockSize; seen++ {
		pull()
	}
}

// TestIdleCallsOneEventPerBlock checks that idle calls lead to one event per block of numbers.
func TestIdleCallsOneEventPerBlock(t *testing.T) {
	c := newCounting(t)
	c.pull()
	written := 0
	for range 4 * blockSize {
		r, events := c.try(c.call(c.last))
		written += min(events, 1)
		c.last = r.(*input.AllocateReply).Response
	}
	if written != 4 {
		t.Errorf("%d idle answers were written", written)
	}
	if n := testing.AllocsPerRun(100, func() { c.pull() }); n > 3 { // call, slice and reply
		t.Errorf("an idle call allocates %v times", n)
	}
}

// TestResponseIDsExhausted checks that an AM must register again when its response numbers are used
// up, after two thousand million answers.
func TestResponseIDsExhausted(t *testing.T) {
	for _, elected := range []bool{false, true} {
		c := newCounting(t)
		c.pull()
		slot := c.p.st.Apps.ByID(c.at.App)
		c.p.attempts.window(slot).highest = numberMax - 1
		c.pull()
		c.pull()
		if elected {
			c.elect()
		}
		c.late(c.call(c.last), true)
		a := c.p.st.Apps.Get(slot)
		c.must(t, &input.RegisterAttempt{Attempt: c.at, HasResponse: true, Response: a.Response})
		c.last = 0
		if c.pull(); c.last != 1 || c.p.st.Apps.Get(slot).AttemptState != state.AttemptRegistered {
			t.Errorf("elected %v: answered with number %d", elected, c.last)
		}
	}
}

// TestTwinJudgesCallsAlike checks that a twin, made to check another planner, judges an AM's calls
// as that planner does.
func TestTwinJudgesCallsAlike(t *testing.T) {
	c := newCounting(t)
	c.pull(askFor(yarn.SchedulerKey{Priority: 1}))
	c.pull()
	in := input.Request{Input: c.call(c.last)}
	twin := must(c.p.Twin())
	a, _ := c.p.Plan(c.now, in)
	b, events := twin.Plan(c.now, in)
	if string(input.EncodeReply(nil, a)) != string(input.EncodeReply(nil, b)) || len(events) > 0 {
		t.Errorf("%+v, the twin %+v and %v", a, b, kindsOf(events))
	}
}

// BenchmarkIdleAllocate measures an AM's call that changes nothing. The budget is 2 µs, also for an
// AM that counts its answers.
func BenchmarkIdleAllocate(b *testing.B) {
	for _, counted := range []bool{false, true} {
		b.Run(map[bool]string{false: "loose", true: "counted"}[counted], func(b *testing.B) {
			w := newPlant(b, plantSize{100, 10, 100, 8, false, 0}, Options{})
			in := &input.Allocate{Attempt: w.apps[7], FromAM: counted}
			w.must(b, in)
			b.ReportAllocs()
			for b.Loop() {
				r, _ := w.p.Plan(w.now, input.Request{Input: in})
				in.Response = r.(*input.AllocateReply).Response
			}
		})
	}
}
