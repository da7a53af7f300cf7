package httpserver

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
)

// statuses maps every code to its HTTP status: the door's own, the planner's
// and the cluster's. A refusal that is not listed is 409: understood, and not
// done in this state.
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
	api.CodeNotAvailable:     http.StatusNotImplemented,
	api.CodeInternal:         http.StatusInternalServerError,

	string(input.NoSuchApplication): http.StatusNotFound,
	string(input.NoSuchAttempt):     http.StatusNotFound,
	string(input.NoSuchNode):        http.StatusNotFound,
	string(input.NoSuchQueue):       http.StatusNotFound,
	string(input.NoSuchReservation): http.StatusNotFound,
	string(input.NoSuchVersion):     http.StatusNotFound,
	string(input.NoSuchToken):       http.StatusNotFound,
	string(input.InvalidAsk):        http.StatusBadRequest,
	string(input.InvalidQueues):     http.StatusUnprocessableEntity,
	string(input.NeverFits):         http.StatusUnprocessableEntity,
	string(input.VersionConflict):   http.StatusPreconditionFailed,
	string(input.TokenInvalid):      http.StatusForbidden,
	string(input.TokenUsed):         http.StatusForbidden,
	string(input.TokenExpired):      http.StatusForbidden,

	"NO_SUCH_REPLICA":   http.StatusNotFound,
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

// StatusOf is the HTTP status of a code.
func StatusOf(code string) int {
	if s, ok := statuses[code]; ok {
		return s
	}
	return http.StatusConflict
}

// problem makes an answer of a code, what is wrong, and what to do about it.
func problem(code, what, do string, details ...string) *api.Error {
	return &api.Error{Code: code, Message: what, Remedy: do, Details: details, Status: StatusOf(code)}
}

// invalid is a request that cannot be understood.
func invalid(what, do string, details ...string) *api.Error {
	return problem(api.CodeInvalidRequest, what, do, details...)
}

// notAvailable says that this replica was started without a part.
func notAvailable(what string) *api.Error {
	return problem(api.CodeNotAvailable, what+" is not available on this replica", "ask another replica, or start this one with it")
}

// refuser is an error that explains itself by code, what and what to do.
type refuser interface {
	Refusal() (code, what, do string)
}

// coder is an error with a stable code whose text is CODE: what; what to do.
type coder interface {
	error
	ErrorCode() string
}

// outcomeUnknown is what a write that timed out may have done.
const outcomeUnknown = "the outcome is unknown: the change may have been made, may still be made, or never"

// errorOf turns any error into an answer.
func (s *Server) errorOf(err error, write bool) *api.Error {
	e := s.knownError(err, write)
	if e.Code != api.CodeNoLeader {
		return e
	}
	if st, _ := s.cfg.Reader.Fork(); st.Meta.ClusterID == "" {
		return notInitialized()
	}
	return e
}

// notInitialized is why a replica of no cluster yet has no leader.
func notInitialized() *api.Error {
	return problem(codeNotInitialized, "the cluster is not initialized yet", "run \"rmd cluster init\" on one replica, or \"rmd cluster join\" to enter one")
}

const codeNotInitialized = "NOT_INITIALIZED"

func (s *Server) knownError(err error, write bool) *api.Error {
	var done *api.Error
	var fault *input.Fault
	var body *http.MaxBytesError
	var old *TooOldError
	if s.cfg.RefusalOf != nil {
		if e := s.cfg.RefusalOf(err); e != nil {
			return complete(e)
		}
	}
	switch {
	case errors.As(err, &done):
		return complete(done)
	case errors.As(err, &fault):
		return problem(string(fault.Reason), fault.What, fault.Do, fault.Details...)
	case errors.As(err, &old):
		return problem(api.CodeTooOld, old.Error(), "start from the oldest index", "oldest="+strconv.FormatUint(old.Oldest, 10))
	case errors.Is(err, ErrResync):
		return problem(api.CodeTooOld, err.Error(), "start again from what is kept")
	case errors.As(err, &body):
		return problem(api.CodeTooLarge, "the body is longer than "+strconv.FormatInt(body.Limit, 10)+" bytes", "send less at once")
	case errors.Is(err, context.DeadlineExceeded) && write:
		return problem(api.CodeTimedOut, outcomeUnknown, "look at the state, or repeat the call with the same "+api.HeaderKey)
	case errors.Is(err, context.DeadlineExceeded):
		return problem(api.CodeTimedOut, "no answer in time", "ask again, or without ?consistent and ?min_index for what this replica has")
	case errors.Is(err, context.Canceled):
		return problem("CLIENT_GONE", "the caller went away", "")
	case errors.Is(err, ErrNoLeader):
		return problem(api.CodeNoLeader, "no leader is known", "wait for an election, or see \"rmd cluster status\"")
	}
	return s.refusalOf(err)
}

// refusalOf looks for errors that carry their own code.
func (s *Server) refusalOf(err error) *api.Error {
	var r refuser
	if errors.As(err, &r) {
		code, what, do := r.Refusal()
		return problem(code, what, do)
	}
	var c coder
	if errors.As(err, &c) {
		switch c.ErrorCode() {
		case "UNKNOWN_OUTCOME":
			return problem(api.CodeTimedOut, outcomeUnknown, "look at the state, or repeat the call with the same "+api.HeaderKey)
		case "NOT_LEADER", "STANDBY":
			return problem(api.CodeNoLeader, "no leader took the call", "wait for an election, or see \"rmd cluster status\"")
		}
		what := strings.TrimPrefix(c.Error(), c.ErrorCode()+": ")
		what, do, _ := strings.Cut(what, "; ")
		e := problem(c.ErrorCode(), what, do)
		if r, ok := c.(interface{ RetryAfterMillis() int64 }); ok {
			e.RetryAfterMillis = r.RetryAfterMillis()
		}
		return e
	}
	s.log.Error("request failed", "error", err)
	return problem(api.CodeInternal, err.Error(), "see the log of this replica")
}

// complete fills in a status that was left out.
func complete(e *api.Error) *api.Error {
	if e.Status == 0 {
		c := *e
		c.Status = StatusOf(e.Code)
		return &c
	}
	return e
}
