package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/internal/sleep"
)

// Message is one message of a stream of Server-Sent Events.
type Message struct {
	ID    string
	Event string
	Data  []byte
}

// Index returns the log index in the message's id, or 0 if it has none.
func (m Message) Index() uint64 {
	n, _ := strconv.ParseUint(m.ID, 10, 64) // n is 0 if the id is not a number
	return n
}

// errStop makes Events return nil.
var errStop = errors.New("stop")

// Stop returns an error with which the callback of Events ends the stream. Events then returns nil.
func Stop() error { return errStop }

// Events reads a stream and calls each for every message. If the connection ends, or is silent for
// api.StreamSilence, it continues at another replica after the last message, until ctx ends or each
// returns an error. The stream begins after the log index from; 0 means now.
func (c *Client) Events(ctx context.Context, path string, query url.Values, from uint64,
	each func(Message) error) error {
	last := ""
	if from > 0 {
		last = strconv.FormatUint(from, 10)
	}
	for {
		h := http.Header{"Accept": {"text/event-stream"}}
		if last != "" {
			h.Set("Last-Event-ID", last)
		}
		a, err := c.Do(ctx, Request{Method: http.MethodGet, Path: path, Query: query, Header: h, Silence: api.StreamSilence})
		if err != nil {
			return err
		}
		if i := a.Index(); last == "" && i > 0 {
			last = strconv.FormatUint(i, 10) // for the case that the stream ends before the first message
		}
		err = readMessages(a.Stream, func(m Message) error {
			if m.ID != "" {
				last = m.ID
			}
			return each(m)
		})
		a.Stream.Close()
		switch {
		case errors.Is(err, errStop):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, errBroken):
			return err
		}
		c.leave(a.From)
		if !sleep.For(ctx, pauseMin) {
			return ctx.Err()
		}
	}
}

// errBroken means that the connection ended.
var errBroken = errors.New("stream ended")

const messageMax = 64 << 20

// readMessages parses a stream. It always returns an error.
func readMessages(r io.Reader, each func(Message) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), messageMax)
	var m Message
	for s.Scan() {
		line := s.Text()
		if line == "" {
			if m.Data != nil || m.Event != "" || m.ID != "" { // a heartbeat has only an id
				if err := each(m); err != nil {
					return err
				}
			}
			m = Message{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			m.ID = value
		case "event":
			m.Event = value
		case "data":
			if len(m.Data)+len(value) > messageMax {
				return fmt.Errorf("a message of the stream has more than %d bytes", messageMax)
			}
			if m.Data != nil {
				m.Data = append(m.Data, '\n')
			}
			m.Data = append(m.Data, value...)
		}
	}
	return errBroken
}
