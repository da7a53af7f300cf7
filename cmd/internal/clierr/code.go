package clierr

import (
	"net/http"
	"strings"

	"rmd/client"
	"rmd/internal/exitcode"
)

// Codes of errors that the command line itself reports. All other codes come from the replicas.
const (
	CodeFailed      = client.CodeFailed
	CodeUsage       = client.CodeUsage
	CodeUnknownWord = "UNKNOWN_COMMAND"
	CodeUnknownFlag = "UNKNOWN_FLAG"
	CodeNoReplica   = client.CodeNoReplica
	CodeTimedOut    = client.CodeTimedOut
	CodeNeedsYes    = "NEEDS_YES"
	CodeStopped     = "STOPPED"
	CodeConfig      = "INVALID_CONFIG"
	CodeCheck       = "CHECK_FAILED"
	CodeExists      = "EXISTS"
	CodeFile        = client.CodeFile
	CodeTrace       = "INVALID_TRACE"
	CodeUntrusted   = client.CodeUntrusted
)

// byCode has the exit codes of the error codes whose exit code does not follow from the HTTP
// status, and of those that can occur without an HTTP status.
var byCode = map[string]int{
	CodeFailed: exitcode.Failure, CodeUsage: exitcode.Usage, CodeUnknownWord: exitcode.Usage,
	CodeUnknownFlag: exitcode.Usage,
	CodeNoReplica:   exitcode.NoLeader, CodeTimedOut: exitcode.TimedOut, CodeNeedsYes: exitcode.Usage,
	CodeStopped: exitcode.Failure,
	CodeConfig:  exitcode.Usage, CodeCheck: exitcode.CheckFailed, CodeExists: exitcode.Refused,
	"NODE_EXISTS": exitcode.Refused, CodeFile: exitcode.Failure,
	CodeTrace: exitcode.Usage, CodeUntrusted: exitcode.NotAllowed,

	"NOT_FOUND": exitcode.NotFound, "TOO_OLD": exitcode.NotFound,
	"NO_LEADER": exitcode.NoLeader, "NOT_READY": exitcode.NoLeader,
	"TIMEOUT": exitcode.TimedOut, "UNKNOWN_OUTCOME": exitcode.TimedOut,
	"NOT_ALLOWED": exitcode.NotAllowed, "HOST_NOT_ALLOWED": exitcode.NotAllowed, "UNAUTHENTICATED": exitcode.NotAllowed,
	"TOO_MANY_REQUESTS": exitcode.Failure,
	"NO_SUCH_TOKEN":     exitcode.NotFound, "TOKEN_EXISTS": exitcode.Refused, "NO_ADMIN_LEFT": exitcode.Refused,
	"INVALID_REQUEST": exitcode.Usage, "UNKNOWN_FIELD": exitcode.Usage, "OUT_OF_RANGE": exitcode.Usage,
	"BUSY": exitcode.Failure, "NOT_AVAILABLE": exitcode.Failure, "TOO_LARGE": exitcode.Failure,
	"INTERNAL": exitcode.Failure,

	"NOT_INITIALIZED": exitcode.Refused, "ALREADY_INITIALIZED": exitcode.Refused, "CLUSTER_ID_DIFFERS": exitcode.Refused,
	"CLUSTER_NAME_DIFFERS": exitcode.Refused, "ID_IN_USE": exitcode.Refused, "ADDRESS_IN_USE": exitcode.Refused,
	"TOKEN_INVALID": exitcode.NotAllowed, "TOKEN_USED": exitcode.NotAllowed, "TOKEN_EXPIRED": exitcode.NotAllowed,
	"VERSION_TOO_OLD": exitcode.Refused, "REMOVED": exitcode.Refused, "NOT_CAUGHT_UP": exitcode.Refused,
	"WOULD_LEAVE_NO_VOTER": exitcode.Refused, "WOULD_LOSE_QUORUM": exitcode.Refused, "NOT_A_VOTER": exitcode.Refused,
	"ALREADY_VOTER": exitcode.Refused, "NOT_HEALTHY": exitcode.Refused, "TOO_MANY_REPLICAS": exitcode.Refused,
	"PEER_UNREACHABLE": exitcode.NoLeader, "SNAPSHOT_DAMAGED": exitcode.CheckFailed,
	"NOT_A_SNAPSHOT": exitcode.CheckFailed, "LIVE_PEER": exitcode.Refused,
	"VOTERS_LEFT": exitcode.Refused, "IN_USE": exitcode.Refused,
	"QUEUE_NOT_LEAF": exitcode.Refused, "QUEUE_AMBIGUOUS": exitcode.Refused, "QUEUE_STOPPED": exitcode.Refused,
	"QUEUE_FULL": exitcode.Refused, "PLACEMENT_REJECTED": exitcode.Refused, "QUEUE_NOT_CREATED": exitcode.Refused,
	"QUEUE_NOT_MAPPED": exitcode.Refused, "PRIORITY_TOO_HIGH": exitcode.NotAllowed,
	"NEVER_FITS": exitcode.Refused, "INVALID_ASK": exitcode.Refused, "INVALID_QUEUES": exitcode.Refused,
	"VERSION_CONFLICT": exitcode.Refused,
	"ALREADY_ENDED":    exitcode.Refused, "ALREADY_DONE": exitcode.Refused, "NOT_REGISTERED": exitcode.Refused,
	"WRONG_RESPONSE": exitcode.Refused,
	"KEY_REUSED":     exitcode.Refused,
}

// ForCode returns the exit code for an error code. For an error code that this program does not
// know, status decides: the HTTP status of the answer, or 0 if there was none.
func ForCode(code string, status int) int {
	if n, ok := byCode[code]; ok {
		return n
	}
	if strings.HasPrefix(code, "NO_SUCH_") {
		return exitcode.NotFound
	}
	switch status {
	case http.StatusBadRequest:
		return exitcode.Usage
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest:
		return exitcode.NotAllowed
	case http.StatusNotFound, http.StatusGone:
		return exitcode.NotFound
	case http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity:
		return exitcode.Refused
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return exitcode.NoLeader
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return exitcode.TimedOut
	}
	return exitcode.Failure
}
