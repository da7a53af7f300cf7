package submit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// ContentType is the media type of a body and of its answer.
const ContentType = "application/x-rmd-inputs"

// Status bytes of an answer.
const (
	statusReply = 0
	statusError = 1
)

// maxAnswer is the maximum size of one answer in bytes.
const maxAnswer = 256 << 20

var errAnswer = errors.New("answer is not one for each input")

// answer is the answer to one input.
type answer struct {
	reply []byte
	fault string // text of the error; "" if there is a reply
}

func appendFrame(buf, frame []byte) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(frame)))
	return append(buf, frame...)
}

// splitAnswers splits an answer into exactly want parts.
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

// passing are the codes of temporary errors: there is no leader, a replica is busy or stops, or an
// outcome is unknown. Such inputs are repeated as long as the caller waits.
var passing = []string{"NO_LEADER", "NOT_LEADER", "UNKNOWN_OUTCOME", "OUTCOME_UNKNOWN", "BUSY", "TIMEOUT", "TIMED_OUT",
	"STANDBY", "STOPPING", "SHUTTING_DOWN", "UNAVAILABLE", "NOT_READY"}

// lasting are the codes of errors that remain when the input is repeated.
var lasting = []string{"INVALID", "MALFORMED", "BAD_", "UNSUPPORTED", "NOT_ALLOWED", "UNAUTHORIZED",
	"FORBIDDEN", "TOO_LARGE"}

func hasCode(text string, codes []string) bool {
	for _, c := range codes {
		if strings.HasPrefix(text, c) {
			return true
		}
	}
	return false
}
