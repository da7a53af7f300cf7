package forward

import (
	"fmt"
	"time"

	"rmd/internal/codec"
	"rmd/internal/outcome"
	"rmd/scheduler/input"
)

// version is the version of the frame of inputs and replies.
const version = 1

// status is the result of a forwarded input.
type status uint8

// The statuses. The numbers are part of the protocol: append only.
const (
	statusDone      status = 1 + iota // a reply follows
	statusNotLeader                   // nothing happened
	statusUnknown                     // the outcome is unknown
	statusBusy                        // nothing happened; a pause follows
	statusRefused                     // nothing happened; a code and a text follow
	statusVersion                     // the receiver does not know the version of the request
)

// answer is the frame of a reply.
type answer struct {
	status           status
	index            uint64
	reply            []byte
	retryAfterMillis int64
	code, text       string
}

func (a *answer) codec(c *codec.Coder) {
	v := uint8(version)
	c.U8(&v)
	if c.Decoding() && c.Err() == nil && v != version {
		c.Fail(fmt.Errorf("%w: %d, this replica speaks %d", ErrVersion, v, version))
		return
	}
	codec.Enum(c, &a.status)
	switch a.status {
	case statusDone:
		c.U64(&a.index)
		c.Raw(&a.reply)
	case statusBusy:
		c.I64(&a.retryAfterMillis)
	case statusRefused:
		c.String(&a.code)
		c.String(&a.text)
	case statusNotLeader, statusUnknown, statusVersion:
	default:
		c.Fail(fmt.Errorf("%w: status %d", codec.ErrMalformed, a.status))
	}
}

func (a *answer) encode() []byte {
	c := codec.NewEncoder(nil)
	a.codec(c)
	return c.Bytes()
}

func decodeAnswer(b []byte) (answer, error) {
	var a answer
	c := codec.NewDecoder(b)
	a.codec(c)
	return a, c.Finish()
}

// encodeRequest encodes a request: the version of the frame, then the request with the version of
// its codec.
func encodeRequest(req input.Request) []byte { return input.EncodeRequest([]byte{version}, req) }

func decodeRequest(b []byte) (input.Request, error) {
	if len(b) == 0 || b[0] != version {
		return input.Request{}, ErrVersion
	}
	return input.DecodeRequest(b[1:])
}

// answerTo returns the answer for a result of the sequencer.
func answerTo(reply input.Reply, index uint64, err error) answer {
	if err == nil {
		return answer{status: statusDone, index: index, reply: input.EncodeReply(nil, reply)}
	}
	switch code := outcome.Code(err); code {
	case codeNotLeader:
		return answer{status: statusNotLeader}
	case codeUnknown:
		return answer{status: statusUnknown}
	case codeBusy:
		return answer{status: statusBusy, retryAfterMillis: outcome.RetryAfter(err).Milliseconds()}
	case "": // the caller's context or the replica ended: the input may still be executed
		return answer{status: statusUnknown}
	default:
		return answer{status: statusRefused, code: code, text: err.Error()}
	}
}

// result is the result of one try.
type result struct {
	reply input.Reply
	index uint64
	kind  verdict
	pause time.Duration // how long to wait, if busy
	err   error
}

// verdict says what to do after a try.
type verdict uint8

const (
	verdictDone    verdict = iota // return the reply or the error
	verdictAgain                  // nothing happened: try again
	verdictUnknown                // try again; it may have happened
	verdictBusy                   // nothing happened: try again later
)

// resultOf decodes the leader's answer to an input.
func resultOf(in input.Input, b []byte) result {
	a, err := decodeAnswer(b)
	if err != nil {
		return result{kind: verdictUnknown, err: fmt.Errorf("answer of the leader: %w", err)}
	}
	switch a.status {
	case statusDone:
		reply, err := input.DecodeReply(in, a.reply)
		if err != nil {
			return result{kind: verdictUnknown, err: fmt.Errorf("answer of the leader: %w", err)}
		}
		return result{reply: reply, index: a.index}
	case statusNotLeader:
		return result{kind: verdictAgain}
	case statusBusy:
		return result{kind: verdictBusy, pause: time.Duration(a.retryAfterMillis) * time.Millisecond}
	case statusRefused:
		return result{err: &RefusedError{a.code, a.text}}
	case statusVersion:
		return result{err: ErrVersion}
	}
	return result{kind: verdictUnknown}
}
