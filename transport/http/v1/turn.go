package v1

import (
	"context"
	"fmt"
	"sync/atomic"

	"rmd/transport/http/problem"
	"rmd/transport/http/v1/api"
)

// turn is what one call has at a time, since it costs a core. Who has it writes no answer before it is
// given back: a client may read slowly.
type turn struct {
	taken chan struct{}
	doing atomic.Value // what the call does that has it, for a refusal of the next: a string
}

func newTurn() *turn { return &turn{taken: make(chan struct{}, 1)} }

// take waits for the turn. Doing says what it is for to those it keeps waiting.
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
