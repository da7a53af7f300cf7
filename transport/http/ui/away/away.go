// Package away says which replicas do not answer.
package away

import (
	"context"

	"rmd/api"
)

// Replica is a replica that does not answer.
type Replica struct {
	ID          string
	SinceMillis int64 // since when the leader has not reached it; 0 if that is not known
}

// Of returns the replicas of a list that do not answer. It asks the leader's autopilot since when, but
// only if there are such replicas.
func Of(ctx context.Context, list []api.Member,
	pilot func(context.Context) (api.AutopilotState, error)) (out []Replica) {
	for _, m := range api.Unreachable(list) {
		out = append(out, Replica{ID: m.ID})
	}
	if out == nil {
		return nil
	}
	state, err := pilot(ctx)
	if err != nil {
		return out // without a leader, nobody knows
	}
	for _, s := range state.Servers {
		for i := range out {
			if out[i].ID == s.ID && !s.Healthy {
				out[i].SinceMillis = s.StableSinceMillis
			}
		}
	}
	return out
}
