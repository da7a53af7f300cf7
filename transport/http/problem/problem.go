// Package problem turns errors into answers of the API: a code, what is wrong, what to do about it,
// and the HTTP status. Only the table statuses maps codes to statuses.
package problem

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/scheduler/input"
)

// ofClass are the HTTP statuses of the planner's refusals. Others have the status 409.
var ofClass = map[input.Class]int{
	input.Missing:      http.StatusNotFound,
	input.Malformed:    http.StatusBadRequest,
	input.Unacceptable: http.StatusUnprocessableEntity,
	input.Outdated:     http.StatusPreconditionFailed,
	input.Forbidden:    http.StatusForbidden,
	input.Oversized:    http.StatusRequestEntityTooLarge,
}

func init() {
	for _, r := range input.Refusals() {
		if s, ok := ofClass[r.Class]; ok {
			statuses[string(r.Code)] = s
		}
	}
}

// statuses maps codes to HTTP statuses: the codes of the server and the cluster, and, by their
// classes, those of the planner. Other codes have the status 409: the request is understood, but the
// state does not allow it.
var statuses = map[string]int{
	api.CodeNotFound:         http.StatusNotFound,
	api.CodeMethodNotAllowed: http.StatusMethodNotAllowed,
	api.CodeInvalidRequest:   http.StatusBadRequest,
	api.CodeUnknownField:     http.StatusBadRequest,
	api.CodeTooLarge:         http.StatusRequestEntityTooLarge,
	api.CodeUnsupportedMedia: http.StatusUnsupportedMediaType,
	api.CodeNotAllowed:       http.StatusForbidden,
	api.CodeHostNotAllowed:   http.StatusMisdirectedRequest,
	api.CodeUnauthenticated:  http.StatusUnauthorized,
	api.CodeTooManyRequests:  http.StatusTooManyRequests,
	api.CodeNoLeader:         http.StatusServiceUnavailable,
	api.CodeNotReady:         http.StatusServiceUnavailable,
	api.CodeBusy:             http.StatusServiceUnavailable,
	api.CodeTimedOut:         http.StatusGatewayTimeout,
	api.CodeTooOld:           http.StatusGone,
	api.CodeNoShadow:         http.StatusNotFound,
	api.CodeNotAvailable:     http.StatusNotImplemented,
	api.CodeInternal:         http.StatusInternalServerError,

	"NO_SUCH_REPLICA":   http.StatusNotFound,
	"NO_SUCH_USER":      http.StatusNotFound,
	"OUT_OF_RANGE":      http.StatusBadRequest,
	"TIMEOUT":           http.StatusGatewayTimeout,
	"PEER_UNREACHABLE":  http.StatusBadGateway,
	"VERSION":           http.StatusBadGateway,
	"SNAPSHOT_DAMAGED":  http.StatusUnprocessableEntity,
	"DISK_FULL":         http.StatusInsufficientStorage,
	"REMOVED":           http.StatusGone,
	"CLIENT_GONE":       499,
	"VERSION_TOO_OLD":   http.StatusConflict,
	"WOULD_LOSE_QUORUM": http.StatusConflict,
}

// Status returns the HTTP status of a code.
func Status(code string) int {
	if s, ok := statuses[code]; ok {
		return s
	}
	return http.StatusConflict
}

// Codes returns the codes in statuses, sorted.
func Codes() []string { return slices.Sorted(maps.Keys(statuses)) }

// New returns an answer with a code, what is wrong and what to do about it.
func New(code, what, do string, details ...string) *api.Error {
	return &api.Error{Code: code, Message: what, Remedy: do, Details: details, Status: Status(code)}
}

// Invalid returns the answer to a request that cannot be understood.
func Invalid(what, do string, details ...string) *api.Error {
	return New(api.CodeInvalidRequest, what, do, details...)
}

// NotAvailable returns the answer if this replica runs without a part.
func NotAvailable(what string) *api.Error {
	return New(api.CodeNotAvailable, what+" is not available on this replica",
		"ask another replica, or start this one with it")
}

// refuser is an error that has a code, what is wrong and what to do about it.
type refuser interface {
	Refusal() (code, what, do string)
}

// coder is an error with a stable code whose text is CODE: what; what to do.
type coder interface {
	error
	ErrorCode() string
}

// outcomeUnknown says what a write that timed out may have done.
const outcomeUnknown = "the outcome is unknown: the change may have been made, may still be made, or never"

// Translator turns any error into an answer.
type Translator struct {
	// RefusalOf turns an error of another package into an answer. It returns nil for an error that
	// it does not know. RefusalOf may be nil.
	RefusalOf func(error) *api.Error
	// Initialized reports whether the replica has a state of a cluster.
	Initialized func() bool
	// NoState returns the answer of the replica while it has none.
	NoState func() *api.Error
	// Missing says which replicas must be started so that there can be a leader, or "".
	Missing func() string
	Logger  hclog.Logger
}

// Of returns the answer to an error. write says that the request may have changed something.
func (t *Translator) Of(err error, write bool) *api.Error {
	e := t.known(err, write)
	if (e.Code == api.CodeNoLeader || e.Code == api.CodeNotInitialized) && !t.Initialized() {
		return t.NoState()
	}
	if e.Code == api.CodeNoLeader {
		if m := t.Missing(); m != "" { // no election comes
			e.Remedy = m
		}
	}
	return e
}

// NotInitialized returns the answer of a replica that is not a member of a cluster.
func NotInitialized() *api.Error {
	return New(api.CodeNotInitialized, "this replica is not a member of a cluster yet",
		api.JoinAdvice+"; run \"rmd cluster init\" only if no replica has a cluster")
}

// AwaitsExpected returns the answer of a replica that waits for the others with which it shall create
// a cluster.
func AwaitsExpected(expect uint, why string) *api.Error {
	return New(api.CodeNotInitialized, fmt.Sprintf(
		"this replica is not a member of a cluster yet: it waits for %d replicas (raft.bootstrap_expect): %s", expect, why),
		api.JoinAdvice+"; else start all replicas in raft.join and let them reach each other")
}

// UnknownCommit returns the answer of a member that has not learned since its start what the
// cluster has committed. Its state may lack everything, so it answers no read and makes no backup.
func UnknownCommit(what string) *api.Error {
	return New(api.CodeNotReady,
		what+
			" and does not know yet what the cluster has committed: it waits for a leader, which a majority of the voters elects within seconds",
		"ask again; if there is no leader after some seconds, start the other replicas and see \"rmd cluster status\"; its data is needed, keep it")
}

func (t *Translator) known(err error, write bool) *api.Error {
	var done *api.Error
	var fault *input.Refusal
	var body *http.MaxBytesError
	var old *TooOldError
	if t.RefusalOf != nil {
		if e := t.RefusalOf(err); e != nil {
			return complete(e)
		}
	}
	switch {
	case errors.As(err, &done):
		return complete(done)
	case errors.As(err, &fault):
		return New(string(fault.Reason), fault.What, fault.Do, fault.Details...)
	case errors.As(err, &old):
		return New(api.CodeTooOld, old.Error(), "start from the oldest index", "oldest="+strconv.FormatUint(old.Oldest, 10))
	case errors.Is(err, ErrResync):
		return New(api.CodeTooOld, err.Error(), "start again from what is kept")
	case errors.As(err, &body):
		return New(api.CodeTooLarge, "the body is longer than "+strconv.FormatInt(body.Limit, 10)+" bytes",
			"send less at once")
	case errors.Is(err, context.DeadlineExceeded) && write:
		return New(api.CodeTimedOut, outcomeUnknown, "look at the state, or repeat the call with the same "+api.HeaderKey)
	case errors.Is(err, context.DeadlineExceeded):
		return New(api.CodeTimedOut, "no answer in time",
			"ask again, or without ?consistent and ?min_index for what this replica has")
	case errors.Is(err, context.Canceled):
		return New("CLIENT_GONE", "the caller went away", "")
	case errors.Is(err, ErrNoLeader):
		return New(api.CodeNoLeader, "no leader is known", "wait for an election, or see \"rmd cluster status\"")
	}
	return t.coded(err)
}

// coded handles errors that have their own code, and unknown errors.
func (t *Translator) coded(err error) *api.Error {
	var r refuser
	if errors.As(err, &r) {
		code, what, do := r.Refusal()
		return New(code, what, do)
	}
	var c coder
	if errors.As(err, &c) {
		switch c.ErrorCode() {
		case "UNKNOWN_OUTCOME":
			return New(api.CodeTimedOut, outcomeUnknown, "look at the state, or repeat the call with the same "+api.HeaderKey)
		case api.CodeNotLeader, "STANDBY":
			return New(api.CodeNoLeader, "no leader took the call", "wait for an election, or see \"rmd cluster status\"")
		}
		what := strings.TrimPrefix(c.Error(), c.ErrorCode()+": ")
		what, do, _ := strings.Cut(what, "; ")
		e := New(c.ErrorCode(), what, do)
		if r, ok := c.(interface{ RetryAfterMillis() int64 }); ok {
			e.RetryAfterMillis = r.RetryAfterMillis()
		}
		return e
	}
	t.Logger.Error("request failed", "error", err)
	return New(api.CodeInternal, err.Error(), "see the log of this replica")
}

// complete returns e with a status, which it fills in if it is missing.
func complete(e *api.Error) *api.Error {
	if e.Status == 0 {
		c := *e
		c.Status = Status(e.Code)
		return &c
	}
	return e
}

// ErrResync means that a watcher has missed batches and must start again.
var ErrResync = errors.New("watcher was too slow, batches are missing")

// ErrNoLeader means that no leader is known, or that none was found in time.
var ErrNoLeader = errors.New("no leader")

// TooOldError means that the replica no longer has history before Oldest. A watch may start after
// Oldest, a read of the log at Oldest.
type TooOldError struct{ Oldest uint64 }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("history before index %d is not kept", e.Oldest)
}

// NoQueues returns the answer of a cluster that has no queue configuration yet.
func NoQueues() error {
	return New(api.CodeNotInitialized, "the cluster has no queue configuration yet", "see the log of the leader")
}
