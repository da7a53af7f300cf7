package ipc

import (
	"errors"
	"fmt"
	"strings"
)

// Error is the refusal of a call, or of a connection during its setup. A handler returns an *Error
// to choose the Java exception that its caller gets.
type Error struct {
	// Class is the full name of the Java exception, Message its text.
	Class, Message string
	// Fatal ends the connection and every call in flight on it.
	Fatal bool
	// Detail is Hadoop's RpcErrorCodeProto. 0 means the usual code.
	Detail int32
}

// Error returns the class and the message.
func (e *Error) Error() string { return e.Class + ": " + e.Message }

// Java classes of exceptions that this package sends or its users need.
const (
	ClassYarn           = "org.apache.hadoop.yarn.exceptions.YarnException"
	ClassStandby        = "org.apache.hadoop.ipc.StandbyException"
	ClassAccessControl  = "org.apache.hadoop.security.AccessControlException"
	ClassAuthorization  = "org.apache.hadoop.security.authorize.AuthorizationException"
	ClassInvalidToken   = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	ClassSasl           = "javax.security.sasl.SaslException"
	ClassServer         = "org.apache.hadoop.ipc.RpcServerException"
	ClassNoSuchMethod   = "org.apache.hadoop.ipc.RpcNoSuchMethodException"
	ClassNoSuchProtocol = "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
	ClassVersion        = "org.apache.hadoop.ipc.RPC$VersionMismatch"
	ClassIPC            = "org.apache.hadoop.ipc.IpcException"
)

// The values of Hadoop's RpcErrorCodeProto.
const (
	DetailApplication     int32 = 1
	DetailNoSuchMethod    int32 = 2
	DetailNoSuchProtocol  int32 = 3
	DetailServer          int32 = 4
	DetailSerializing     int32 = 5
	DetailVersion         int32 = 6
	DetailFatalUnknown    int32 = 10
	DetailFatalHeader     int32 = 12
	DetailFatalRequest    int32 = 13
	DetailFatalVersion    int32 = 14
	DetailFatalAuthorized int32 = 15
)

// Standby returns the refusal after which a YARN client tries another ResourceManager.
func Standby(message string) *Error { return &Error{Class: ClassStandby, Message: message} }

// InvalidToken returns the refusal of an unknown or expired token. It ends the caller's retries.
func InvalidToken(message string) *Error { return &Error{Class: ClassInvalidToken, Message: message} }

// Denied returns the refusal of a caller without the necessary rights.
func Denied(message string) *Error { return &Error{Class: ClassAccessControl, Message: message} }

// fatal returns an error that ends a connection during its setup.
func fatal(detail int32, class, format string, args ...any) *Error {
	return &Error{Class: class, Message: fmt.Sprintf(format, args...), Fatal: true, Detail: detail}
}

// remedies say what to do about a refusal, by a part of Java's text.
var remedies = []struct{ part, do string }{
	{"SIMPLE authentication is not enabled",
		"set hadoop.security.authentication to kerberos in the client's core-site.xml, and get a ticket with kinit"},
	{"authentication is not enabled", "this port is for other callers: correct the address in the client's files"},
	{"selected unsupported protection",
		"set hadoop.rpc.protection in the client's core-site.xml to a value that this replica's has"},
	{"is not authorized to connect as", "let the client act for another user by hadoop.proxyuser.*, and not by its login"},
	{"Illegal principal name",
		"add a rule to hadoop.security.auth_to_local; rmd access whoami --principal shows which one applies"},
	{"is not allowed to impersonate", "allow it with hadoop.proxyuser.NAME.hosts and .users or .groups"},
	{"is not authorized for protocol", "change hadoop-policy.xml, and run yarn rmadmin -refreshServiceAcl"},
	{"GSS initiate failed", "see the refusal of the ticket, which is logged before this"},
	{"Final handshake failed", "see the refusal of the ticket, which is logged before this"},
}

// logRefusal logs a refusal of a caller, and what to do about it.
func (c *Conn) logRefusal(what string, e *Error) {
	c.s.log.Info(what, "address", c.peer, "class", e.Class, "message", e.Message, "do", remedyOf(e.Message))
}

// remedyOf returns what to do about a refusal, or "".
func remedyOf(text string) string {
	for _, r := range remedies {
		if strings.Contains(text, r.part) {
			return r.do
		}
	}
	return ""
}

// standbyError converts an error of Config.Standby.
func standbyError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Standby(err.Error())
}

// classOr returns the class of an *Error, or class for any other error.
func classOr(err error, class string) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return class
}

// textOf returns the text of an error without its class.
func textOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// clip shortens a peer's text for an error message.
func clip(b []byte) string { return string(b[:min(len(b), 200)]) }

// lastName returns the last part of a Java class.
func lastName(class string) string {
	return class[strings.LastIndexAny(class, ".$")+1:]
}

// RemoteError is an error reply of a server.
type RemoteError struct {
	// Class is the name of the Java exception. Message is its text, often with a stack trace.
	Class, Message string
	// Fatal means that the server has closed the connection.
	Fatal bool
	// Detail is Hadoop's RpcErrorCodeProto.
	Detail int32
}

// Error returns the class and the message.
func (e *RemoteError) Error() string { return e.Class + ": " + e.Message }

// The errors of a Client.
var (
	// ErrNotConnected means that no connection could be opened. The server has not seen the call.
	ErrNotConnected = errors.New("not connected")
	// ErrNotSent means that the call did not leave this process.
	ErrNotSent = errors.New("call not sent")
	// ErrOutcomeUnknown means that the connection was lost, or the time limit was reached, after
	// the call was sent.
	ErrOutcomeUnknown = errors.New("outcome of the call is unknown")
	// ErrTimeout means that the server did not answer in time.
	ErrTimeout = errors.New("no answer in time")
	// ErrClosed means that this side closed the client or the connection.
	ErrClosed = errors.New("closed")
	// ErrAuth means that the server and the client found no common authentication, or that the
	// server could not prove that it knows the token.
	ErrAuth = errors.New("not authenticated")
	// ErrFrame means that the other side sent bytes that are not a frame of this protocol.
	ErrFrame = errors.New("malformed frame")
	// ErrTooLarge means that a frame is longer than its limit.
	ErrTooLarge = errors.New("frame too large")
)
