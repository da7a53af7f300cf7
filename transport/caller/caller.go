// Package caller carries the identity of a caller through contexts, from the port where a call
// arrives to the point where it leaves for the leader.
package caller

import (
	"context"

	"rmd/scheduler/input"
)

type key struct{}

// With says in whose name the changes made with a context are asked for.
func With(ctx context.Context, c input.Caller) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// Of is who asks; zero when nobody said so.
func Of(ctx context.Context) input.Caller {
	c, _ := ctx.Value(key{}).(input.Caller)
	return c
}
