package access

import (
	"context"

	"rmd/scheduler/input"
	"rmd/transport/caller"
	"rmd/transport/hadoop/ipc"
)

// InNameOf has the changes made with a context recorded as a caller's. Over HTTP the
// context already says who has proved to ask; that one acts for the user then.
func InNameOf(ctx context.Context, c *ipc.Caller) context.Context {
	out := input.Caller{Who: c.User, From: Address(c)}
	via := caller.Of(ctx)
	switch {
	case c.RealUser != "":
		out.Who += " via " + c.RealUser
	case via.Who != "" && via.Who != c.User:
		out.Who += " via " + via.Who
	}
	if via.From != "" {
		out.From = via.From
	}
	return caller.With(ctx, out)
}

// Address is where a caller asks from; empty when that is not known.
func Address(c *ipc.Caller) string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.Addr().Unmap().WithZone("").String()
}
