package submit

import (
	"bytes"
	"context"
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

// lane sends one body after another. Its goroutine owns its fields.
type lane struct {
	client *Client
	at     int       // index of the address in use
	open   []*call   // to send, repetitions first
	failed int       // successive failures
	good   time.Time // time of the last answer
	down   time.Time // since when there are open calls without an answer; zero: there are answers
}

func (l *lane) run() {
	for {
		if !l.gather() {
			return
		}
		sent := time.Now()
		answers, err := l.post(l.frames())
		if err == nil {
			err = l.deliver(answers)
		} else if errors.Is(err, ErrRejected) {
			l.reject(err)
			err = nil
		}
		if err != nil {
			l.failover(sent, err)
			continue
		}
		l.succeeded()
	}
}

// gather waits for a call and adds all other waiting calls, up to the limits of a body. It returns
// false if the client is closed.
func (l *lane) gather() bool {
	l.open = dropCanceled(l.open)
	if len(l.open) == 0 {
		l.down = time.Time{}
		select {
		case c := <-l.client.queue:
			l.open = append(l.open, c)
		case <-l.client.ctx.Done():
			return false
		}
	}
	size := 0
	for _, c := range l.open {
		size += len(c.frame)
	}
	for len(l.open) < l.client.cfg.MaxInputs && size < l.client.cfg.MaxBytes {
		select {
		case c := <-l.client.queue:
			l.open = append(l.open, c)
			size += len(c.frame)
		default:
			return l.client.ctx.Err() == nil
		}
	}
	return l.client.ctx.Err() == nil
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
func (l *lane) frames() []byte {
	var body []byte
	for _, c := range l.open {
		if c.sent {
			l.client.counts.repeats.Add(1)
		}
		c.sent = true
		body = appendFrame(body, c.frame)
	}
	return body
}

func (l *lane) post(body []byte) ([]answer, error) {
	ctx, cancel := context.WithTimeout(l.client.ctx, l.client.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.client.urls[l.at], bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRejected, err)
	}
	req.Header.Set("Content-Type", ContentType)
	req.Header.Set("Accept", ContentType)
	if l.client.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+l.client.cfg.Token)
	}
	resp, err := l.client.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return splitAnswers(data, len(l.open))
	}
	text := strings.TrimSpace(string(data[:min(len(data), 500)]))
	err = fmt.Errorf("%s from %s: %s", resp.Status, l.client.urls[l.at], text)
	if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusRequestTimeout {
		err = fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return nil, err
}

// deliver passes the answers to the callers. It keeps the calls to repeat open, and returns the
// last error of these.
func (l *lane) deliver(answers []answer) error {
	var again error
	kept := l.open[:0]
	for i, c := range l.open {
		a := answers[i]
		if a.fault != "" && l.repeatable(c, a.fault) {
			again = errors.New(a.fault)
			kept = append(kept, c)
			continue
		}
		l.client.counts.inputs.Add(1)
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
	clear(l.open[len(kept):])
	l.open = kept
	l.client.counts.bodies.Add(1)
	return again
}

func (l *lane) repeatable(c *call, fault string) bool {
	if hasCode(fault, passing) {
		return true
	}
	c.tries++
	return !hasCode(fault, lasting) && c.tries < maxTries
}

func (l *lane) reject(err error) {
	for i, c := range l.open {
		c.done <- outcome{err: err}
		l.open[i] = nil
	}
	l.open = l.open[:0]
}

// failover switches to the next address. It pauses only after each round through all addresses.
func (l *lane) failover(sent time.Time, err error) {
	if l.down.IsZero() {
		l.down = sent
		if l.good.After(sent) {
			l.down = l.good
		}
	}
	l.failed++
	if n := len(l.client.urls); n > 1 {
		l.client.log.Debug("replica does not answer, trying the next", "address", l.client.urls[l.at], "error", err)
		l.at = (l.at + 1) % n
		l.client.counts.failovers.Add(1)
	}
	rounds := l.failed / len(l.client.urls)
	if l.failed%len(l.client.urls) != 0 {
		return
	}
	pause := min(l.client.cfg.Pause<<min(rounds-1, 10), time.Second)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.client.ctx.Done():
	}
}

func (l *lane) succeeded() {
	l.good = time.Now()
	l.failed = 0
	if l.down.IsZero() {
		return
	}
	gap := int64(l.good.Sub(l.down))
	l.down = time.Time{}
	for old := l.client.counts.gap.Load(); gap > old && !l.client.counts.gap.CompareAndSwap(old, gap); {
		old = l.client.counts.gap.Load()
	}
}
