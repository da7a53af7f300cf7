package server

import (
	"errors"
	"fmt"
	"net/http"

	"rmd/api"
	"rmd/cluster"
	"rmd/fsm"
	"rmd/internal/outcome"
	"rmd/transport/forward"
)

var (
	noLeader = api.Error{Code: api.CodeNoLeader, Message: "no replica leads now",
		Remedy: "wait for an election, or see \"rmd cluster status\"", Status: http.StatusServiceUnavailable}
	unknown = api.Error{Code: "UNKNOWN_OUTCOME",
		Message: "leadership changed while it was being done, the outcome is unknown",
		Remedy:  "look at the state, or repeat the call with the same " + api.HeaderKey, Status: http.StatusGatewayTimeout}
	busy = api.Error{Code: api.CodeBusy, Message: "too many calls wait", Remedy: "try again a little later",
		Status: http.StatusServiceUnavailable, RetryAfterMillis: 100}
	stopping = api.Error{Code: api.CodeNotReady, Message: "this replica is stopping", Remedy: "ask another one",
		Status: http.StatusServiceUnavailable}
	diskFull = api.Error{Code: "DISK_FULL", Message: "the leader's disk is full, writes are refused",
		Remedy: "free space on it; leadership moves when another replica has some", Status: http.StatusInsufficientStorage}
)

// known maps errors to REST answers. The first match counts.
var known = []struct {
	err error
	doc api.Error
}{
	{outcome.ErrUnknown, unknown},
	{forward.ErrStandby, noLeader},
	{cluster.ErrDiskFull, diskFull},
	{cluster.ErrNoLeader, noLeader},
	{outcome.ErrNotLeader, noLeader},
	{outcome.ErrBusy, busy},
	{fsm.ErrStopped, stopping},
	{cluster.ErrClosed, stopping},
}

// refusalOf returns the REST answer for an error, or nil for errors that package http converts
// itself.
func refusalOf(err error) *api.Error {
	for _, k := range known {
		if errors.Is(err, k.err) {
			e := k.doc
			var hint interface{ RetryAfterMillis() int64 }
			if errors.As(err, &hint) {
				e.RetryAfterMillis = hint.RetryAfterMillis()
				e.Remedy = fmt.Sprintf("try again in %d ms", e.RetryAfterMillis)
			}
			return &e
		}
	}
	return nil
}
