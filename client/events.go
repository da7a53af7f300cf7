package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"rmd/internal/sleep"
)

// Message is one message of a stream of Server-Sent Events.
type Message struct {
	ID    string
	Event string
	Data  []byte
}

// Index is the log index that the message's id is; 0 when it has none.
func (m Message) Index() uint64 {
	n, _ := strconv.ParseUint(m.ID, 10, 64) // an id that is none has no index
	return n
}

// errStop ends a stream from inside its callback.
var errStop = errors.New("stop")

// Stop is returned by a callback of Events to end the stream without an error.
func Stop() error { return errStop }

// Events reads a stream and calls each for every message. When the connection
// ends it goes on at another replica, behind the last message it had, until ctx
// ends or each returns an error. From is the log index behind which to begin; 0
// is now.
func (c *Client) Events(ctx context.Context, path string, query url.Values, from uint64, each func(Message) error) error {
	last := ""
	if from > 0 {
		last = strconv.FormatUint(from, 10)
	}
	for {
		h := http.Header{"Accept": {"text/event-stream"}}
		if last != "" {
			h.Set("Last-Event-ID", last)
		}
		a, err := c.Do(ctx, Request{Method: http.MethodGet, Path: path, Query: query, Header: h, Unlimited: true})
		if err != nil {
			return err
		}
		if i := a.Index(); last == "" && i > 0 {
			last = strconv.FormatUint(i, 10) // should it end before the first message
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
		c.next()
		if !sleep.For(ctx, pauseMin) {
			return ctx.Err()
		}
	}
}

// next begins with another replica: the one that answered last has gone away.
func (c *Client) next() { c.prefer(1) }

// errBroken says that the connection ended, which is no fault of a callback.
var errBroken = errors.New("stream ended")

const messageMax = 64 << 20

// readMessages parses the stream. It always ends with an error.
func readMessages(r io.Reader, each func(Message) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), messageMax)
	var m Message
	for s.Scan() {
		line := s.Text()
		if line == "" {
			if m.Data != nil || m.Event != "" || m.ID != "" { // a heartbeat has an id alone
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
			if m.Data != nil {
				m.Data = append(m.Data, '\n')
			}
			m.Data = append(m.Data, value...)
		}
	}
	return errBroken
}
