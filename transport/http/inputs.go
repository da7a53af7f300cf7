package httpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
)

func (s *Server) inputRoutes() []route {
	return []route{{method: http.MethodPost, pattern: "/v1/inputs", class: ClassWrite, handle: postInputs}}
}

// answer is the frame that answers one input; done is closed when it is there.
type answer struct {
	done chan struct{}
	data []byte
}

// postInputs is the binary door (see api.InputsType). Requests start as they
// arrive and run concurrently; answers go out in order, each as soon as it and
// those before it are there. The body is read to its end before the first
// answer is written, as HTTP/1 clients expect.
func postInputs(c *call) error {
	if t := c.media(); t != api.InputsType {
		return problem(api.CodeUnsupportedMedia, "content type "+t+" is not taken here", "send "+api.InputsType)
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.WriteTimeout)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait() // none outlives its request
	answers, err := c.startInputs(ctx, &wg)
	if err != nil {
		cancel()
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", api.InputsType)
	c.roleHeaders()
	c.w.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(c.w, 32<<10)
	for _, a := range answers {
		<-a.done
		if _, err := out.Write(a.data); err != nil {
			cancel()
			return nil
		}
	}
	_ = out.Flush() // a client that is gone is no error of ours
	return nil
}

// startInputs reads the frames and starts each. After an error in the body the
// inputs before it have run; the caller is told that the body was bad, and
// repeats it whole: that is harmless, as for every repeated call.
func (c *call) startInputs(ctx context.Context, wg *sync.WaitGroup) ([]*answer, error) {
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Now().Add(c.s.cfg.BodyTimeout)) // a recorder in tests has none
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	body := bufio.NewReaderSize(http.MaxBytesReader(c.w, c.r.Body, c.s.cfg.MaxInputsBytes), 32<<10)
	var out []*answer
	for {
		frame, err := api.ReadFrame(body)
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, invalid("frame "+strconv.Itoa(len(out))+" of the body is not whole, or too long", "see api.AppendFrame; "+strconv.FormatInt(c.s.cfg.MaxInputsBytes, 10)+" bytes are the most of one body")
		case len(out) >= c.s.cfg.MaxInputs:
			return nil, problem(api.CodeTooLarge, "more than "+strconv.Itoa(c.s.cfg.MaxInputs)+" inputs in one body", "send them in several")
		}
		a := &answer{done: make(chan struct{})}
		out = append(out, a)
		if err := c.s.slot(ctx); err != nil {
			a.finish(api.FrameError, []byte(c.s.errorOf(err, true).Error()))
			continue
		}
		wg.Go(func() {
			defer func() { <-c.s.inputs }()
			c.runInput(ctx, frame, a)
		})
	}
}

// slot waits for room among the inputs in flight.
func (s *Server) slot(ctx context.Context) error {
	select {
	case s.inputs <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.inputs <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runInput takes one input through the door. A refusal is a reply like any
// other; an error is what the door itself says. An operation is recorded in the name
// of who has sent the body, whatever the frame says.
func (c *call) runInput(ctx context.Context, frame []byte, a *answer) {
	s := c.s
	req, err := input.DecodeRequest(frame)
	if _, forged := req.Input.(*input.Audit); err == nil && forged {
		err = errors.New("the audit is written by replicas")
	}
	req.Caller = input.Caller{}
	if err != nil {
		a.finish(api.FrameError, []byte(invalid(err.Error(), "").Error()))
		return
	}
	reply, _, err := s.cfg.Door.Do(ctx, req)
	if err != nil {
		s.metrics.input(req.Input, "error")
		c.auditInput(req.Input, err)
		a.finish(api.FrameError, []byte(s.errorOf(err, true).Error()))
		return
	}
	s.metrics.input(req.Input, result(reply))
	if f := reply.Refused(); f != nil {
		c.auditInput(req.Input, f)
	} else {
		c.auditInput(req.Input, nil)
	}
	a.finish(api.FrameReply, input.EncodeReply(nil, reply))
}

func result(r input.Reply) string {
	if r.Refused() != nil {
		return "refused"
	}
	return "ok"
}

// finish stores the framed answer and lets it go.
func (a *answer) finish(status byte, body []byte) {
	frame := make([]byte, 0, len(body)+1)
	a.data = api.AppendFrame(make([]byte, 0, len(body)+6), append(append(frame, status), body...))
	close(a.done)
}
