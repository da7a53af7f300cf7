package submit

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"rmd/scheduler/input"
)

// maxTries limits the repetitions of an input after errors that may not be temporary.
const maxTries = 10

// sender sends one body after another. Its goroutine owns its fields.
type sender struct {
	client *Client
	at     int       // index of the address in use
	open   []*call   // to send, repetitions first
	failed int       // successive failures
	good   time.Time // time of the last answer
	down   time.Time // since when there are open calls without an answer; zero: there are answers
}

func (s *sender) run() {
	for {
		if !s.gather() {
			return
		}
		sent := time.Now()
		answers, err := s.post(s.frames())
		if err == nil {
			err = s.deliver(answers)
		} else if errors.Is(err, ErrRejected) {
			s.reject(err)
			err = nil
		}
		if err != nil {
			s.failover(sent, err)
			continue
		}
		s.succeeded()
	}
}

// gather waits for a call and adds all other waiting calls, up to the limits of a body. It returns
// false if the client is closed.
func (s *sender) gather() bool {
	s.open = dropCanceled(s.open)
	if len(s.open) == 0 {
		s.down = time.Time{}
		select {
		case c := <-s.client.queue:
			s.open = append(s.open, c)
		case <-s.client.ctx.Done():
			return false
		}
	}
	size := 0
	for _, c := range s.open {
		size += len(c.frame)
	}
	for len(s.open) < s.client.cfg.MaxInputs && size < s.client.cfg.MaxBytes {
		select {
		case c := <-s.client.queue:
			s.open = append(s.open, c)
			size += len(c.frame)
		default:
			return s.client.ctx.Err() == nil
		}
	}
	return s.client.ctx.Err() == nil
}

// dropCanceled removes the calls whose contexts have ended.
func dropCanceled(calls []*call) []*call {
	kept := calls[:0]
	for _, c := range calls {
		if c.ctx.Err() == nil {
			kept = append(kept, c)
		}
	}
	clear(calls[len(kept):])
	return kept
}

// frames returns a body with the open calls. It creates a new body each time, because a transport
// may still read the last one after a failure.
func (s *sender) frames() []byte {
	var body []byte
	for _, c := range s.open {
		if c.sent {
			s.client.counts.repeats.Add(1)
		}
		c.sent = true
		body = appendFrame(body, c.frame)
	}
	return body
}

func (s *sender) post(body []byte) ([]answer, error) {
	ctx, cancel := context.WithTimeout(s.client.ctx, s.client.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.client.urls[s.at], bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRejected, err)
	}
	req.Header.Set("Content-Type", ContentType)
	req.Header.Set("Accept", ContentType)
	if s.client.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.client.cfg.Token)
	}
	resp, err := s.client.http.Do(req)
	if err != nil {
		if noReplica(err) {
			err = fmt.Errorf("%w: %w", ErrRejected, err)
		}
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return splitAnswers(data, len(s.open))
	}
	text := strings.TrimSpace(string(data[:min(len(data), 500)]))
	err = fmt.Errorf("%s from %s: %s", resp.Status, s.client.urls[s.at], text)
	if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests &&
		resp.StatusCode != http.StatusRequestTimeout {
		err = fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return nil, err
}

// noReplica reports whether what listens at an address is not what its scheme and certificates
// demand. Time does not mend that.
func noReplica(err error) bool {
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &cert) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.Is(err, http.ErrSchemeMismatch)
}

// deliver passes the answers to the callers. It keeps the calls to repeat open, and returns the
// last error of these.
func (s *sender) deliver(answers []answer) error {
	var again error
	kept := s.open[:0]
	for i, c := range s.open {
		a := answers[i]
		if a.fault != "" && s.repeatable(c, a.fault) {
			again = errors.New(a.fault)
			kept = append(kept, c)
			continue
		}
		s.client.counts.inputs.Add(1)
		if a.fault != "" {
			c.done <- outcome{err: fmt.Errorf("%w: %s", ErrRejected, a.fault)}
			continue
		}
		reply, err := input.DecodeReply(c.in, a.reply)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrRejected, err)
		}
		c.done <- outcome{reply: reply, err: err}
	}
	clear(s.open[len(kept):])
	s.open = kept
	s.client.counts.bodies.Add(1)
	return again
}

func (s *sender) repeatable(c *call, fault string) bool {
	if hasCode(fault, passing) {
		return true
	}
	c.tries++
	return !hasCode(fault, lasting) && c.tries < maxTries
}

func (s *sender) reject(err error) {
	for i, c := range s.open {
		c.done <- outcome{err: err}
		s.open[i] = nil
	}
	s.open = s.open[:0]
}

// failover switches to the next address. It pauses only after each round through all addresses.
func (s *sender) failover(sent time.Time, err error) {
	if s.down.IsZero() {
		s.down = sent
		if s.good.After(sent) {
			s.down = s.good
		}
	}
	s.failed++
	if n := len(s.client.urls); n > 1 {
		s.client.log.Debug("replica does not answer, trying the next", "address", s.client.urls[s.at], "error", err)
		s.at = (s.at + 1) % n
		s.client.counts.failovers.Add(1)
	}
	rounds := s.failed / len(s.client.urls)
	if s.failed%len(s.client.urls) != 0 {
		return
	}
	pause := min(s.client.cfg.Pause<<min(rounds-1, 10), time.Second)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.client.ctx.Done():
	}
}

func (s *sender) succeeded() {
	s.good = time.Now()
	s.failed = 0
	if s.down.IsZero() {
		return
	}
	gap := int64(s.good.Sub(s.down))
	s.down = time.Time{}
	for old := s.client.counts.gap.Load(); gap > old && !s.client.counts.gap.CompareAndSwap(old, gap); {
		old = s.client.counts.gap.Load()
	}
}
