package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"rmd/api"
	"rmd/jepsen-lite/history"
)

// answer is the answer to one request.
type answer struct {
	body  []byte
	index uint64
}

// callTimeout limits one request to one replica.
const callTimeout = 6 * time.Second

// request sends one request to one replica. If the replica refuses, the error is an *api.Error.
func (l *Load) request(ctx context.Context, method, url string, head http.Header, body any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return answer{}, err
	}
	req.Header = head
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return answer{}, fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode >= 300 {
		refusal := &api.Error{Status: resp.StatusCode}
		if json.Unmarshal(b, refusal) != nil || refusal.Code == "" {
			refusal.Code, refusal.Message = api.CodeInternal, string(b[:min(len(b), 200)])
		}
		return answer{}, refusal
	}
	index, _ := strconv.ParseUint(resp.Header.Get(api.HeaderIndex), 10, 64) // no header gives 0
	return answer{b, index}, nil
}

// refusal returns the code of a refusal that means that the operation has not happened. It returns
// false for codes that mean an unknown outcome.
func refusal(err error) (string, bool) {
	var e *api.Error
	if !errors.As(err, &e) {
		return "", false
	}
	switch e.Code {
	case api.CodeNoLeader, api.CodeTimedOut, api.CodeInternal, "UNKNOWN_OUTCOME", "TIMEOUT":
		return "", false
	}
	if e.Status >= 500 && e.Code != api.CodeBusy && e.Code != api.CodeNotReady {
		return "", false
	}
	return e.Code, true
}

// temporary reports whether a refusal is temporary.
func temporary(code string) bool {
	return code == api.CodeBusy || code == api.CodeNotReady || code == api.CodeTooManyRequests
}

// write sends a write to a replica, and to the next one if there is no answer, with the same
// idempotency key. If no replica has answered after Patience, the error is not a refusal and the
// outcome is unknown.
func (l *Load) write(rng *rand.Rand, method, path, key string, body any) (answer, error) {
	return l.send(rng, method, path, http.Header{api.HeaderKey: {key}}, body)
}

// writeMatching sends a write with an If-Match condition on a version.
func (l *Load) writeMatching(rng *rand.Rand, path, key string, version uint64, body any) (answer, error) {
	return l.send(rng, http.MethodPut, path,
		http.Header{api.HeaderKey: {key}, "If-Match": {`"` + strconv.FormatUint(version, 10) + `"`}}, body)
}

func (l *Load) send(rng *rand.Rand, method, path string, head http.Header, body any) (answer, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.Patience)
	defer cancel()
	l.Counts.Asked.Add(1)
	at := rng.IntN(len(l.replicas))
	for try := 0; ; try++ {
		got, err := l.request(ctx, method, l.replicas[(at+try)%len(l.replicas)]+path, head.Clone(), body)
		if err == nil {
			l.Counts.Acked.Add(1)
			return got, nil
		}
		if code, refused := refusal(err); refused && !temporary(code) {
			l.Counts.Refused.Add(1)
			return got, err
		}
		if !sleep(ctx, time.Duration(20<<min(try, 5))*time.Millisecond) {
			l.Counts.Unknown.Add(1)
			return answer{}, fmt.Errorf("nobody answered: %w", err)
		}
	}
}

// record records the outcome of a write.
func record(hist *history.Client, out history.Value, err error) bool {
	if err == nil {
		hist.OK(out)
		return true
	}
	if code, refused := refusal(err); refused {
		hist.Fail(codeOf(code))
		return false
	}
	hist.Info(err.Error())
	return false
}

// codeOf returns one name for all refusals that mean that the object does not exist.
func codeOf(code string) string {
	if code == api.CodeNotFound || len(code) > 8 && code[:8] == "NO_SUCH_" {
		return history.NotFound
	}
	return code
}

// session is a sequence of reads that must not go back, whichever replica answers: each read asks
// for a state at least as new as the last answer. A nil session means consistent reads.
type session struct {
	name  string
	index uint64
}

// value marks a value of the history with the session.
func (s *session) value(v history.Value) history.Value {
	if s != nil {
		v.Stale, v.Session = true, s.name
	}
	return v
}

// read reads from one random replica, consistently or within a session.
func (l *Load) read(rng *rand.Rand, path string, s *session) (answer, error) {
	ctx, cancel := context.WithTimeout(l.ctx, callTimeout)
	defer cancel()
	if s == nil {
		path += "?consistent"
	} else if s.index > 0 {
		path += "?min_index=" + strconv.FormatUint(s.index, 10)
	}
	l.Counts.Asked.Add(1)
	got, err := l.request(ctx, http.MethodGet, l.replicas[rng.IntN(len(l.replicas))]+path, http.Header{}, nil)
	_, refused := refusal(err)
	switch {
	case err == nil:
		l.Counts.Acked.Add(1)
		if s != nil {
			s.index = max(s.index, got.index)
		}
	case refused:
		l.Counts.Refused.Add(1)
	default:
		l.Counts.Unknown.Add(1)
	}
	return got, err
}
