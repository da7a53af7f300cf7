package logsim

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/jepsen-lite/ledger"
	"rmd/jepsen-lite/ledger/statediff"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// This file checks what AMs learn of warned containers.

// toldWarning is a warning that an AM received.
type toldWarning struct {
	attempt  yarn.AttemptID // the attempt that received it
	of       yarn.ContainerID
	deadline int64
}

// warningAnswer identifies the response in which an AM received a warning.
type warningAnswer struct {
	resyncs  int
	response int32
}

// warned checks the warnings in an answer: S19. Each is in the log, and the AM receives it once. The
// size is that of the time of the answer, and the log may have gone on.
func (c *checker) warned(in *input.Allocate, r *input.AllocateReply, a ledger.App) {
	for _, p := range r.Preempted {
		if k, ok := c.containerOf(p.Container); !ok || k.Size != p.Size && !k.Resized ||
			c.ledger.Warned(p.Container, p.DeadlineMillis) == 0 {
			c.fail("S19", "%s is told that %s of %s is to end at %d, which no entry carries: %+v", in.Attempt, p.Container,
				p.Size, p.DeadlineMillis, k)
			return
		}
		c.w.counts.Told++
		w, t := toldWarning{in.Attempt, p.Container, p.DeadlineMillis}, warningAnswer{a.Resyncs, r.Response}
		if have, ok := c.told[w]; ok && have.resyncs == t.resyncs && have != t {
			c.fail("S19", "%s is told in answer %d that %s is to end at %d, and was in answer %d", in.Attempt, r.Response,
				p.Container, p.DeadlineMillis, have.response)
		}
		c.told[w] = t
	}
}

// warnedAgain checks a repeated answer: S19. It contains the same warnings as the first answer,
// except those that have ended.
func (c *checker) warnedAgain(in *input.Allocate, r, had *input.AllocateReply) {
	for _, p := range r.Preempted {
		if !slices.Contains(had.Preempted, p) {
			c.fail("S19", "answer %d to %s, repeated, tells of %+v, and did not", r.Response, in.Attempt, p)
		}
	}
	for _, p := range had.Preempted {
		if w, ok := c.ledger.Warning(event.ContainerRef{App: p.Container.App.Seq, Attempt: p.Container.Attempt,
			Number: p.Container.Number}); ok && w.DeadlineMillis == p.DeadlineMillis && !slices.Contains(r.Preempted, p) {
			c.fail("S19", "answer %d to %s, repeated, does not tell of %+v any more", r.Response, in.Attempt, p)
		}
	}
}

// overdueMillis is how long a warning may exist after its deadline, in milliseconds, while there is
// a leader. The next round of preemption handles it.
const overdueMillis = 30_000

// deadlines checks that what a deadline ends does not exist long after it: L6. A leader ends it at
// its next tick. before counts the ticks at which each thing was late; deadlines returns the new
// counts.
func (c *checker) deadlines(st *state.State, before map[string]int) map[string]int {
	late := map[string]int{}
	for _, text := range statediff.Overdue(st) {
		if late[text] = before[text] + 1; late[text] > lateTicks {
			c.fail("L6", "%s, at %d", text, st.Meta.NowMillis)
		}
	}
	return late
}

// lateTicks is the number of ticks that a leader has to end what is over. Batches may be full.
const lateTicks = 4

// overdue checks that no warning exists long after its deadline: L6.
func (c *checker) overdue() {
	for _, s := range c.ledger.Overdue(overdueMillis) {
		c.fail("L6", "more than %d ms after its deadline a warning stands: %s", overdueMillis, s.Text)
	}
}
