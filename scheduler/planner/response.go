package planner

import (
	"math"
	"slices"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// The answers to an AM are numbered, and an AM repeats the number of the last answer
// that it has. An answer with something in it is written to the log; an idle one is
// not, and so leaves no trace for the next leader.
//
// A copy of a call may lie in a connection for minutes. For example, an AM sends call 7
// twice, gets answer 8, and sends call 8. Then the second copy of call 7 arrives. If it
// passed for the AM's next call, its answer would count as delivered though the AM never
// received it, and the containers in it would be lost.
//
// The numbers of an AM that names them itself (input.Allocate.FromAM) therefore come in
// blocks, and no two leaderships give numbers of the same block: one may give those
// of the block of the last number written, when that was written by itself, and
// begins the next block by writing its first answer to an attempt. So a call
// that names the last number of the present leadership comes from an AM that has had that
// answer, and is its latest call: a copy of an older call names an older number. A call
// that names another number comes from an AM that has not had the last answer, or is late.
// It gets the same answer again: the AM needs it, and a late copy takes nothing away.
//
// A leader's first call of an AM may be a late copy itself, and a leader that is none
// any more may answer without an entry, by a number of a block that is over. So until
// an AM has shown that it knows a number of the present leader's, a call is let in
// that is newer than those which that has seen. It is answered with what the AM may
// not have had.

// blockSize is how many numbers a leadership may give after one written.
const blockSize = 1024

// numberMax is the last number that begins nothing: above it an AM has to register
// again.
const numberMax = math.MaxInt32 - 2*blockSize

// responseWindow is what this leadership knows of its answers to an attempt.
type responseWindow struct {
	app, attempt      uint32
	known             bool   // it has given a number, or has seen the AM register
	last              int32  // number of the last answer
	answersTo         int32  // what the call carried that it answers; -1: none
	highest           int32  // highest number given, also before the AM registered again
	firstOfLeadership int32  // first number of this leadership; 0: no call of a leadership before counts
	idle              bool   // there was nothing in the last answer, and the call changed nothing
	payload           uint64 // what that asked
}

// callKind is what an AM's call is, by its number.
type callKind uint8

const (
	callWrong callKind = iota // of no use: the AM has gone on, or counts otherwise
	callRetry                 // the call that was answered last: the same answer
	callStale                 // one after it, though the AM has not had its answer: a late copy was answered
	callNext                  // the next call
)

// window finds what is known of the current attempt of an application. It is
// good until that of another one is asked for.
func (p *Planner) window(slot uint32) *responseWindow {
	for int(slot) >= len(p.windows) {
		p.windows = append(p.windows, responseWindow{})
	}
	t := &p.windows[slot]
	if a := p.st.Apps.Get(slot); t.app != a.ID.Seq || t.attempt != a.Attempt {
		*t = responseWindow{app: a.ID.Seq, attempt: a.Attempt}
	}
	return t
}

// classify judges a call; n is the number of its answer.
func (t *responseWindow) classify(in *input.Allocate, a *state.App, now int64) (_ callKind, n int32) {
	r := in.Response
	switch {
	case r < 0 || r == math.MaxInt32 || t.highest > numberMax:
		return callWrong, 0
	case !in.FromAM:
		t.known = false
		switch {
		case r == a.Response-1:
			return callRetry, a.Response
		case r < a.Response:
			return callWrong, 0
		}
		return callNext, r + 1
	case !t.known:
		return t.begin(in, a, now)
	case r == t.last:
		return callNext, t.highest + 1
	case r == t.answersTo && payloadChanged(in, t.payload) && t.idle:
		return callNext, t.highest + 1
	case r == t.answersTo && payloadChanged(in, t.payload): // what it asks would be lost
		return callWrong, 0
	case r == t.answersTo:
		return callRetry, t.last
	case r > t.answersTo && r < t.firstOfLeadership:
		return callStale, t.after(r)
	}
	return callWrong, 0
}

// after is the number of the answer to a call of a leadership before. It tells a later leader which call that was,
// unless this leadership has given higher ones; then it is not the next one either, or a call that names the highest
// one would be taken for the one that was answered.
func (t *responseWindow) after(r int32) int32 {
	if n := r + 1 + blockSize; n > t.highest {
		return n
	}
	return t.highest + 3
}

// begin judges the first call that this leadership sees of an attempt. That it
// names the number written last, or a later one, shows that the AM has heard that;
// one that led to that number is answered as it was. So is one that asks nothing
// and is newer than that, of a leadership before: a late copy led to that number, by
// a leader that saw no other call of the AM. (What such a call asks could be here
// already: its AM has to register again.)
func (t *responseWindow) begin(in *input.Allocate, a *state.App, now int64) (_ callKind, n int32) {
	switch r := in.Response; {
	case a.Response == 0 && r == 0:
		// Nothing was told since the AM registered. What was given before that is not
		// known any more: an AM that calls every few milliseconds has not come so far.
		return callNext, blockSize + int32((now-a.AttemptMillis)>>2&(1<<30-1))
	case r >= a.Response && a.Response > 0 && r < numberMax:
		return callNext, r + 1 + blockSize
	case r == a.Response-1 || r == a.Response-2 || r == a.Response-1-blockSize || r == 0:
		return callRetry, a.Response
	case r > a.Response-1-blockSize && r/blockSize < a.Response/blockSize && payloadOf(in) == 0:
		return callRetry, a.Response
	}
	return callWrong, 0
}

// mustWrite says whether an answer is written though nothing is in it.
func (t *responseWindow) mustWrite(in *input.Allocate, a *state.App, n int32) bool {
	return in.FromAM && (!t.known || a.Response == 0 || n/blockSize != a.Response/blockSize)
}

// give notes the answer to a call that is not answered again; idle: there was
// nothing in it, and the call has changed nothing.
func (t *responseWindow) give(in *input.Allocate, kind callKind, n int32, idle bool) {
	switch {
	case !in.FromAM:
		return
	case !t.known && in.Response == 0: // the AM has registered since: numbers of before are over
		t.known, t.firstOfLeadership = true, 0
	case !t.known:
		t.known, t.firstOfLeadership = true, n
	case kind == callNext && in.Response == t.last:
		t.firstOfLeadership = 0
	}
	t.last, t.answersTo, t.highest, t.idle, t.payload = n, in.Response, n, idle, payloadOf(in)
}

// count begins the count of an attempt whose AM has registered.
func (t *responseWindow) count(response int32) {
	top := t.highest
	if !t.known && response > 0 {
		top = response | (blockSize - 1) // what leaders before may have given
	}
	if top > numberMax/2 {
		top = 0
	}
	*t = responseWindow{app: t.app, attempt: t.attempt, known: true, answersTo: -1, highest: top}
}

// unheard says whether there was something in an answer, of which an AM that has
// not had it must hear.
func (p *Planner) unheard(slot uint32, n int32) bool {
	for c, k := range p.st.UndeliveredTo(p.st.Apps.Get(slot)) {
		if k.GrantedIn == n || k.CompletedIn == n {
			return true
		}
		if _, told := p.resized(k, n); told {
			return true
		}
		if _, told := p.preempting(c, k, n); told {
			return true
		}
	}
	return false
}

// payloadChanged says whether a call asks something else than the one of the same number
// that was answered: its AM has given that up, and asks for more.
func payloadChanged(in *input.Allocate, body uint64) bool {
	b := payloadOf(in)
	return b != 0 && b != body
}

// payloadOf tells what two calls of the same number ask from one another; 0 when it
// is nothing.
func payloadOf(in *input.Allocate) uint64 {
	if len(in.Asks)+len(in.Releases)+len(in.BlacklistAdd)+len(in.BlacklistRemove)+len(in.Updates)+len(in.Gang) == 0 {
		return 0
	}
	h := uint64(14695981039346656037)
	number := func(n uint64) { h = (h ^ n) * 1099511628211; h ^= h >> 29 }
	text := func(s string) {
		number(uint64(len(s)))
		for i := range len(s) {
			number(uint64(s[i]))
		}
	}
	for _, a := range in.Asks {
		number(uint64(uint32(a.Key.Priority)))
		number(uint64(a.Key.AllocationID))
		text(a.Name)
		number(uint64(a.Count))
		number(uint64(boolToInt(a.Relax)))
		resource(a.Size, number)
		text(a.Label)
	}
	number(uint64(len(in.Asks)))
	text(in.Gang)
	for _, id := range in.Releases {
		number(id.Number)
	}
	for _, u := range in.Updates {
		number(u.Container.Number)
		number(uint64(uint32(u.Version))<<8 | uint64(u.Type))
		number(uint64(boolToInt(u.Opportunistic)))
		resource(u.Size, number)
	}
	for _, list := range [][]string{in.BlacklistAdd, in.BlacklistRemove} {
		number(uint64(len(list)))
		for _, s := range list {
			text(s)
		}
	}
	return h | 1
}

func resource(r yarn.Resource, number func(uint64)) {
	for _, v := range r {
		number(uint64(v))
	}
}

// Twin is a planner on a fork of the planning state that knows what p knows, and
// must decide as p does. It is made to check p.
func (p *Planner) Twin() (*Planner, error) {
	q, err := New(p.st.Fork(), p.opt)
	if err == nil {
		q.windows, q.ids = slices.Clone(p.windows), p.ids
	}
	return q, err
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
