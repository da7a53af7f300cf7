// Package caller passes the identity of a caller in a context, from the port where a call arrives
// to the forwarder, which sends it to the leader.
package caller

import (
	"context"

	"rmd/scheduler/input"
)

type key struct{}

// With returns a context whose changes are made in the name of c.
func With(ctx context.Context, c input.Caller) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// Of returns the caller, or the zero value if there is none.
func Of(ctx context.Context) input.Caller {
	c, _ := ctx.Value(key{}).(input.Caller)
	return c
}
