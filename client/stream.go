package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// errSilent means that a stream sent nothing for too long.
var errSilent = errors.New("nothing came")

// silence cancels a request when its connection is silent for too long. When a machine vanishes,
// the kernel would notice only after minutes. A nil *silence does nothing.
type silence struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	max    time.Duration
}

// newSilence returns a context that ends after max, unless the timer is stopped.
func newSilence(ctx context.Context, max time.Duration) (context.Context, *silence) {
	s := &silence{max: max}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(max, func() { s.cancel(fmt.Errorf("%w for %s", errSilent, max)) })
	return s.ctx, s
}

// end releases the context.
func (s *silence) end() {
	if s != nil {
		s.timer.Stop()
		s.cancel(nil)
	}
}

// because returns the silence if it caused err, otherwise err.
func (s *silence) because(err error) error {
	if s != nil && errors.Is(context.Cause(s.ctx), errSilent) {
		return context.Cause(s.ctx)
	}
	return err
}

// stream is the body of an answer. Only the time in Read counts as silence, not the time that the
// reader needs.
type stream struct {
	body  io.ReadCloser
	quiet *silence
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	s.quiet.timer.Reset(s.quiet.max)
	n, err := s.body.Read(p)
	s.quiet.timer.Stop()
	if err != nil && err != io.EOF {
		err = s.quiet.because(err)
	}
	return n, err
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.quiet.end()
	return s.body.Close()
}
