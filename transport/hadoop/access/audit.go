package access

import (
	"context"

	"rmd/scheduler/input"
	"rmd/transport/caller"
	"rmd/transport/hadoop/ipc"
)

// InNameOf returns a context whose changes are recorded as made by a caller. Over HTTP the context
// already has an authenticated caller, who then acts for the user. A caller with a ticket is recorded
// with its principal.
func InNameOf(ctx context.Context, c *ipc.Caller) context.Context {
	out := input.Caller{Who: c.User, From: Address(c)}
	via := caller.Of(ctx)
	switch {
	case c.RealUser != "" && c.Principal != "":
		out.Who += " via " + c.Principal
	case c.RealUser != "":
		out.Who += " via " + c.RealUser
	case c.Principal != "":
		out.Who += " (" + c.Principal + ")"
	case via.Who != "" && via.Who != c.User:
		out.Who += " via " + via.Who
	}
	if via.From != "" {
		out.From = via.From
	}
	return caller.With(ctx, out)
}

// Address returns the address of a caller, or "" if it is unknown.
func Address(c *ipc.Caller) string {
	if !c.Address.IsValid() {
		return ""
	}
	return c.Address.Addr().Unmap().WithZone("").String()
}
