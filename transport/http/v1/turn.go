package v1

import (
	"context"
	"fmt"
	"sync/atomic"

	"rmd/api"
	"rmd/transport/http/problem"
)

// turn allows one call at a time to do work that needs a core. The call must give the turn back
// before it writes its answer, because the client may read slowly.
type turn struct {
	taken chan struct{}
	doing atomic.Value // a string: what the current call does, for the refusal of the next one
}

func newTurn() *turn { return &turn{taken: make(chan struct{}, 1)} }

// take waits for the turn. doing says what the caller does; a call that waits in vain gets it in
// its error.
func (t *turn) take(ctx context.Context, doing string) error {
	select {
	case t.taken <- struct{}{}:
		t.doing.Store(doing)
		return nil
	case <-ctx.Done():
		e := problem.New(api.CodeBusy, fmt.Sprintf("this replica is busy %s", t.doing.Load()), "ask again")
		e.RetryAfterMillis = 1000
		return e
	}
}

func (t *turn) give() { <-t.taken }
