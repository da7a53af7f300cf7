package submit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// ContentType is that of a body and of its answer.
const ContentType = "application/x-rmd-inputs"

// Status bytes of an answer.
const (
	statusReply = 0
	statusError = 1
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 256 << 20

var errAnswer = errors.New("answer is not one for each input")

// answer is what came back for one input.
type answer struct {
	reply []byte
	fault string // text of the error; empty when there is a reply
}

func appendFrame(buf, frame []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(frame)))
	return append(buf, frame...)
}

// splitAnswers cuts an answer into exactly want parts.
func splitAnswers(data []byte, want int) ([]answer, error) {
	out := make([]answer, 0, want)
	for len(data) > 0 {
		size, n := binary.Uvarint(data)
		if n <= 0 || size == 0 || size > uint64(len(data)-n) || len(out) == want {
			return nil, fmt.Errorf("%w: bad frame after %d of %d", errAnswer, len(out), want)
		}
		frame := data[n : n+int(size)]
		data = data[n+int(size):]
		switch frame[0] {
		case statusReply:
			out = append(out, answer{reply: frame[1:]})
		case statusError:
			out = append(out, answer{fault: orUnnamed(string(frame[1:]))})
		default:
			return nil, fmt.Errorf("%w: status %d", errAnswer, frame[0])
		}
	}
	if len(out) != want {
		return nil, fmt.Errorf("%w: %d for %d", errAnswer, len(out), want)
	}
	return out, nil
}

func orUnnamed(text string) string {
	if text == "" {
		return "unnamed error"
	}
	return text
}

// passing are the codes of errors that go away by themselves: a leader is being elected, a replica is busy or
// stopping, an outcome is not known. Each is repeated for as long as the caller waits.
var passing = []string{"NO_LEADER", "NOT_LEADER", "UNKNOWN_OUTCOME", "OUTCOME_UNKNOWN", "BUSY", "TIMEOUT", "TIMED_OUT",
	"STANDBY", "STOPPING", "SHUTTING_DOWN", "UNAVAILABLE", "NOT_READY"}

// lasting are those that no repetition mends.
var lasting = []string{"INVALID", "MALFORMED", "BAD_", "UNSUPPORTED", "NOT_ALLOWED", "UNAUTHORIZED", "FORBIDDEN", "TOO_LARGE"}

func hasCode(text string, codes []string) bool {
	for _, c := range codes {
		if strings.HasPrefix(text, c) {
			return true
		}
	}
	return false
}
