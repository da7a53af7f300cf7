package v1

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
)

// inputs serves inputs in bulk.
type inputs struct {
	*shared
	inFlight chan struct{} // one element for each input in flight
}

func (s *inputs) routes() []route.Route {
	return []route.Route{route.Route{Method: http.MethodPost, Pattern: "/v1/inputs", Class: auth.ClassWrite,
		Handle: s.postInputs}.Doc("Send encoded inputs of simulated nodes and applications in bulk",
		route.Media(api.InputsType), route.Media(api.InputsType))}
}

// answer is the frame that answers one input. done is closed when the frame is complete.
type answer struct {
	done chan struct{}
	data []byte
}

// postInputs accepts inputs in bulk (see api.InputsType). It starts each input when its frame
// arrives, and the inputs run concurrently. It sends the answers in the order of the inputs. It
// reads the whole body before it writes the first answer, as HTTP/1 clients expect.
func (s *inputs) postInputs(c *route.Call) error {
	if t := c.Media(); t != api.InputsType {
		return problem.New(api.CodeUnsupportedMedia, "content type "+t+" is not taken here", "send "+api.InputsType)
	}
	ctx, cancel := context.WithTimeout(c.R.Context(), s.cfg.WriteTimeout)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait() // no input outlives its request
	answers, err := s.startInputs(ctx, c, &wg)
	if err != nil {
		cancel()
		return err
	}
	h := c.W.Header()
	h.Set("Content-Type", api.InputsType)
	c.RoleHeaders()
	c.W.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(c.W, 32<<10)
	for _, a := range answers {
		<-a.done
		if _, err := out.Write(a.data); err != nil {
			cancel()
			return nil
		}
	}
	_ = out.Flush() // the client may be gone
	return nil
}

// startInputs reads the frames and starts an input for each. If a frame is faulty, the inputs
// before it have run nevertheless, and the whole request gets an error. The caller can repeat the
// whole body, as it can repeat every call.
func (s *inputs) startInputs(ctx context.Context, c *route.Call, wg *sync.WaitGroup) ([]*answer, error) {
	rc := http.NewResponseController(c.W)
	_ = rc.SetReadDeadline(time.Now().Add(s.cfg.BodyTimeout)) // the ResponseRecorder of tests has no deadlines
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	body := bufio.NewReaderSize(http.MaxBytesReader(c.W, c.R.Body, s.cfg.MaxInputsBytes), 32<<10)
	var out []*answer
	for {
		frame, err := api.ReadFrame(body)
		switch {
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, problem.Invalid("frame "+strconv.Itoa(len(out))+" of the body is not whole, or too long",
				"see api.AppendFrame; "+strconv.FormatInt(s.cfg.MaxInputsBytes, 10)+" bytes are the most of one body")
		case len(out) >= s.cfg.MaxInputs:
			return nil, problem.New(api.CodeTooLarge, "more than "+strconv.Itoa(s.cfg.MaxInputs)+" inputs in one body",
				"send them in several")
		}
		a := &answer{done: make(chan struct{})}
		out = append(out, a)
		if err := s.slot(ctx); err != nil {
			a.finish(api.FrameError, []byte(s.cfg.Problems.Of(err, true).Error()))
			continue
		}
		wg.Go(func() {
			defer func() { <-s.inFlight }()
			s.runInput(ctx, c, frame, a)
		})
	}
}

// slot waits until another input may be in flight.
func (s *inputs) slot(ctx context.Context) error {
	select {
	case s.inFlight <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.inFlight <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runInput submits one input. The answer to a refused input is a reply; only an error of the
// submitter is an error frame. The audit names the sender of the body as the caller, whatever the
// frame says.
func (s *inputs) runInput(ctx context.Context, c *route.Call, frame []byte, a *answer) {
	req, err := input.DecodeRequest(frame)
	if err == nil && input.Internal(req.Input) {
		err = errors.New("the audit is written by replicas")
	}
	req.Caller = input.Caller{}
	if err != nil {
		a.finish(api.FrameError, []byte(problem.Invalid(err.Error(), "").Error()))
		return
	}
	reply, _, err := s.cfg.Submitter.Do(ctx, req)
	if err != nil {
		s.cfg.Count(req.Input, "error")
		c.AuditInput(req.Input, err)
		a.finish(api.FrameError, []byte(s.cfg.Problems.Of(err, true).Error()))
		return
	}
	s.cfg.Count(req.Input, result(reply))
	if f := reply.Refused(); f != nil {
		c.AuditInput(req.Input, f)
	} else {
		c.AuditInput(req.Input, nil)
	}
	a.finish(api.FrameReply, input.EncodeReply(nil, reply))
}

func result(r input.Reply) string {
	if r.Refused() != nil {
		return "refused"
	}
	return "ok"
}

// finish stores the answer as a frame and closes done.
func (a *answer) finish(status byte, body []byte) {
	frame := make([]byte, 0, len(body)+1)
	a.data = api.AppendFrame(make([]byte, 0, len(body)+6), append(append(frame, status), body...))
	close(a.done)
}
