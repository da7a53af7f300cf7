package v1

import (
	"context"
	"fmt"
	"sync/atomic"

	"rmd/api"
	"rmd/transport/http/problem"
)

// callSlot allows one call at a time to do work that needs a core. The call must give the slot back
// before it writes its answer, because the client may read slowly.
type callSlot struct {
	taken chan struct{}
	doing atomic.Value // a string: what the current call does, for the refusal of the next one
}

func newCallSlot() *callSlot { return &callSlot{taken: make(chan struct{}, 1)} }

// take waits for the slot. doing says what the caller does; a call that waits in vain gets it in
// its error.
func (s *callSlot) take(ctx context.Context, doing string) error {
	select {
	case s.taken <- struct{}{}:
		s.doing.Store(doing)
		return nil
	case <-ctx.Done():
		e := problem.New(api.CodeBusy, fmt.Sprintf("this replica is busy %s", s.doing.Load()), "ask again")
		e.RetryAfterMillis = 1000
		return e
	}
}

func (s *callSlot) give() { <-s.taken }
