package clierr

import (
	"net/http"
	"strings"

	"rmd/client"
)

// Exit codes of every command.
const (
	OK          = 0
	Failure     = 1 // any other failure
	Usage       = 2 // wrong usage
	NotFound    = 3 // no such thing
	Ended       = 4 // wait: ended FAILED or KILLED
	NoLeader    = 5 // no leader, or no replica reached
	TimedOut    = 6 // of a write the outcome is unknown
	NotAllowed  = 7
	Refused     = 8 // by state: version conflict, would lose quorum, …
	CheckFailed = 9 // verify, health, check, validate
)

// Codes that the command line itself gives; the others come from the replicas.
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

// byCode holds the codes whose exit code is not that of their HTTP status.
var byCode = map[string]int{
	CodeFailed: Failure, CodeUsage: Usage, CodeUnknownWord: Usage, CodeUnknownFlag: Usage,
	CodeNoReplica: NoLeader, CodeTimedOut: TimedOut, CodeNeedsYes: Usage, CodeStopped: Failure,
	CodeConfig: Usage, CodeCheck: CheckFailed, CodeExists: Refused, "NODE_EXISTS": Refused, CodeFile: Failure,
	CodeTrace: Usage, CodeUntrusted: NotAllowed,

	"NOT_FOUND": NotFound, "TOO_OLD": NotFound,
	"NO_LEADER": NoLeader, "NOT_READY": NoLeader,
	"TIMEOUT": TimedOut, "UNKNOWN_OUTCOME": TimedOut,
	"NOT_ALLOWED": NotAllowed, "HOST_NOT_ALLOWED": NotAllowed, "UNAUTHENTICATED": NotAllowed, "TOO_MANY_REQUESTS": Failure,
	"NO_SUCH_TOKEN": NotFound, "TOKEN_EXISTS": Refused, "NO_ADMIN_LEFT": Refused,
	"INVALID_REQUEST": Usage, "UNKNOWN_FIELD": Usage, "OUT_OF_RANGE": Usage,
	"BUSY": Failure, "NOT_AVAILABLE": Failure, "TOO_LARGE": Failure, "INTERNAL": Failure,

	"NOT_INITIALIZED": Refused, "ALREADY_INITIALIZED": Refused, "CLUSTER_ID_DIFFERS": Refused,
	"CLUSTER_NAME_DIFFERS": Refused, "ID_IN_USE": Refused, "ADDRESS_IN_USE": Refused,
	"TOKEN_INVALID": NotAllowed, "TOKEN_USED": NotAllowed, "TOKEN_EXPIRED": NotAllowed,
	"VERSION_TOO_OLD": Refused, "REMOVED": Refused, "NOT_CAUGHT_UP": Refused,
	"WOULD_LEAVE_NO_VOTER": Refused, "WOULD_LOSE_QUORUM": Refused, "NOT_A_VOTER": Refused,
	"ALREADY_VOTER": Refused, "NOT_HEALTHY": Refused, "TOO_MANY_REPLICAS": Refused,
	"PEER_UNREACHABLE": NoLeader, "SNAPSHOT_DAMAGED": CheckFailed, "LIVE_PEER": Refused, "IN_USE": Refused,
	"QUEUE_NOT_LEAF": Refused, "QUEUE_AMBIGUOUS": Refused, "QUEUE_STOPPED": Refused, "QUEUE_FULL": Refused,
	"NEVER_FITS": Refused, "INVALID_ASK": Refused, "INVALID_QUEUES": Refused, "VERSION_CONFLICT": Refused,
	"ALREADY_ENDED": Refused, "ALREADY_DONE": Refused, "NOT_REGISTERED": Refused, "WRONG_RESPONSE": Refused,
	"KEY_REUSED": Refused,
}

// ForCode gives the exit code of an error code. Status is the HTTP status it
// came with, or 0; it decides for codes that this program does not know.
func ForCode(code string, status int) int {
	if n, ok := byCode[code]; ok {
		return n
	}
	if strings.HasPrefix(code, "NO_SUCH_") {
		return NotFound
	}
	switch status {
	case http.StatusBadRequest:
		return Usage
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest:
		return NotAllowed
	case http.StatusNotFound, http.StatusGone:
		return NotFound
	case http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity:
		return Refused
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return NoLeader
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return TimedOut
	}
	return Failure
}
