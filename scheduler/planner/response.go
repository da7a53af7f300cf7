package planner

import (
	"math"

	"rmd/fsm/state"
	"rmd/internal/boolint"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// The responses to an AM are numbered. In each call an AM sends the number of the last response
// that it has. A response with content is written to the log. An idle one is not, so the next
// leader does not know of it.
//
// A copy of a call may wait in a connection for minutes. For example, an AM sends call 7 twice,
// gets response 8, and sends call 8. Then the second copy of call 7 arrives. If the planner took it
// for the AM's next call, its response would count as delivered although the AM never received it,
// and the containers in it would be lost.
//
// If the AM itself sends the numbers (input.Allocate.FromAM), they are therefore divided into
// blocks, and no two leaderships use numbers of the same block. A leadership writes its first
// response to an attempt, with a number in a new block. It may then use the other numbers of this
// block. To use the next block, it writes a response again (mustWrite). So a call with the last
// number of the current leadership is the AM's latest call, and the AM has that response: a copy of
// an older call has an older number. A call with the number to which the last response was sent
// comes from an AM that does not have this response, or is a late copy. It gets the last response
// again: the AM needs it, and a late copy takes nothing away. Other calls are refused, and the AM
// registers again.
//
// The first call that a leadership sees may be a late copy itself. A deposed leader may also still
// send idle responses, with numbers of its own block. So until an AM has sent a number of the
// current leadership, the planner also accepts a call that is newer than those that this leadership
// has seen (callStale). If the last response has content, the call gets that response, since the AM
// may not have it.

// blockSize is the size of a block of response numbers.
const blockSize = 1024

// numberMax is the highest number that may begin a block. Above it an AM has to register again.
const numberMax = math.MaxInt32 - 2*blockSize

// responseWindow has what this leadership knows about its responses to an attempt.
type responseWindow struct {
	app, attempt      uint32
	known             bool   // this leadership has sent a response, or has registered the AM
	last              int32  // the number of the last response
	answersTo         int32  // the number in the call that got the last response; -1: none
	highest           int32  // the highest number used, also before the AM registered again
	firstOfLeadership int32  // the first number of this leadership; 0: earlier numbers are refused
	idle              bool   // the last response had no content, and its call changed nothing
	payload           uint64 // payloadOf that call
}

// callKind is the kind of an AM's call, which its number decides.
type callKind uint8

const (
	callWrong callKind = iota // not valid: the AM has sent newer calls, or must register again
	callRetry                 // a repetition of the last call, which gets the same response
	callStale                 // a newer call of an earlier leadership: the last call was a late copy
	callNext                  // the next call
)

// window returns the responseWindow of the current attempt of an application. The pointer is valid
// until the next call of window.
func (at *attempts) window(slot state.AppSlot) *responseWindow {
	for int(slot) >= len(at.windows) {
		at.windows = append(at.windows, responseWindow{})
	}
	t := &at.windows[slot]
	if a := at.st.Apps.Get(slot); t.app != a.ID.Seq || t.attempt != a.Attempt {
		*t = responseWindow{app: a.ID.Seq, attempt: a.Attempt}
	}
	return t
}

// classify returns the kind of a call, and the number of the response to it.
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
	case r == t.answersTo && payloadChanged(in, t.payload): // a retry would lose what it asks for
		return callWrong, 0
	case r == t.answersTo:
		return callRetry, t.last
	case r > t.answersTo && r < t.firstOfLeadership:
		return callStale, t.after(r)
	}
	return callWrong, 0
}

// after returns the number of the response to a stale call r. A later leader can derive r from that
// number, unless this leadership has used higher numbers. In that case the number is the highest
// one plus 3, not plus 1 or 2: otherwise a call with the highest number would look like the call
// that led to the response.
func (t *responseWindow) after(r int32) int32 {
	if n := r + 1 + blockSize; n > t.highest {
		return n
	}
	return t.highest + 3
}

// begin classifies the first call of an attempt in this leadership. A call with the last written
// number or a later one shows that the AM has received that response. A call that may have led to
// the last written number gets that response again.
//
// A newer call with a number of an earlier leadership also gets it again if it asks for nothing:
// the leader that wrote the number had seen only a late copy of an older call. If the call asks for
// something, its asks may already be in the state, so the AM has to register again.
func (t *responseWindow) begin(in *input.Allocate, a *state.App, now int64) (_ callKind, n int32) {
	switch r := in.Response; {
	case a.Response == 0 && r == 0:
		// No response was written since the AM registered. Earlier numbers are not known any more,
		// so the count starts at a number derived from the time. An AM that calls every few
		// milliseconds has not reached it.
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

// mustWrite reports whether response n is written to the log even if it has no content.
func (t *responseWindow) mustWrite(in *input.Allocate, a *state.App, n int32) bool {
	return in.FromAM && (!t.known || a.Response == 0 || n/blockSize != a.Response/blockSize)
}

// give records the response n to a call that is not a repetition. idle says that the response has
// no content and that the call changed nothing.
func (t *responseWindow) give(in *input.Allocate, kind callKind, n int32, idle bool) {
	switch {
	case !in.FromAM:
		return
	case !t.known && in.Response == 0: // the AM has registered again: earlier numbers are not valid
		t.known, t.firstOfLeadership = true, 0
	case !t.known:
		t.known, t.firstOfLeadership = true, n
	case kind == callNext && in.Response == t.last:
		t.firstOfLeadership = 0
	}
	t.last, t.answersTo, t.highest, t.idle, t.payload = n, in.Response, n, idle, payloadOf(in)
}

// count starts the numbers of an attempt whose AM has registered.
func (t *responseWindow) count(response int32) {
	top := t.highest
	if !t.known && response > 0 {
		top = response | (blockSize - 1) // the last number that earlier leaders may have used
	}
	if top > numberMax/2 {
		top = 0
	}
	*t = responseWindow{app: t.app, attempt: t.attempt, known: true, answersTo: -1, highest: top}
}

// payloadChanged reports whether a call asks for something else than the call with the same number
// that got the last response. Its AM has then given up that call, and asks for more.
func payloadChanged(in *input.Allocate, body uint64) bool {
	b := payloadOf(in)
	return b != 0 && b != body
}

// payloadOf returns a hash of what a call asks for; 0 if it asks for nothing.
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
		number(boolint.Of[uint64](a.Relax))
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
		number(boolint.Of[uint64](u.Opportunistic))
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
