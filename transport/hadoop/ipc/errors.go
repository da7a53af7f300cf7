package ipc

import (
	"errors"
	"fmt"
	"strings"
)

// Error is what a call, or a connection that is being set up, is refused with. A
// handler returns one to choose the Java class that its caller sees.
type Error struct {
	// Class is the full name of the Java exception, Message its text.
	Class, Message string
	// Fatal ends the connection, and with it every call in flight on it.
	Fatal bool
	// Detail is Hadoop's RpcErrorCodeProto; 0 stands for the usual one.
	Detail int32
}

// Error is class and text.
func (e *Error) Error() string { return e.Class + ": " + e.Message }

// The Java classes that this package itself sends, and the two that its callers
// need.
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

// Hadoop's RpcErrorCodeProto.
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

// Standby is the refusal that makes a YARN client try another ResourceManager.
func Standby(message string) *Error { return &Error{Class: ClassStandby, Message: message} }

// InvalidToken is the refusal of a token that is not, or no longer, good. It
// ends the caller's retries.
func InvalidToken(message string) *Error { return &Error{Class: ClassInvalidToken, Message: message} }

// Denied is the refusal of a caller who may not do what it asks for.
func Denied(message string) *Error { return &Error{Class: ClassAccessControl, Message: message} }

// fatal is an error that ends a connection while it is set up.
func fatal(detail int32, class, format string, args ...any) *Error {
	return &Error{Class: class, Message: fmt.Sprintf(format, args...), Fatal: true, Detail: detail}
}

// standbyError is what is sent for an error of Config.Standby.
func standbyError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Standby(err.Error())
}

// classOr is the class of an *Error, and class for any other error.
func classOr(err error, class string) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return class
}

// textOf is what is sent of an error beside its class.
func textOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// clip bounds what is repeated of a peer's words.
func clip(b []byte) string { return string(b[:min(len(b), 200)]) }

// lastName is the part of a Java class that a counter is named by.
func lastName(class string) string {
	return class[strings.LastIndexAny(class, ".$")+1:]
}

// RemoteError is a refusal that came from a server.
type RemoteError struct {
	// Class is the Java exception's name, Message its text, often with a stack.
	Class, Message string
	// Fatal means that the server has ended the connection.
	Fatal bool
	// Detail is Hadoop's RpcErrorCodeProto.
	Detail int32
}

// Error is class and text.
func (e *RemoteError) Error() string { return e.Class + ": " + e.Message }

// Errors of a client.
var (
	// ErrNotConnected means that no connection came about: nothing was asked of
	// the server.
	ErrNotConnected = errors.New("not connected")
	// ErrNotSent means that the call did not leave this process.
	ErrNotSent = errors.New("call not sent")
	// ErrOutcomeUnknown means that the connection was lost, or the time was up,
	// after the call was sent.
	ErrOutcomeUnknown = errors.New("outcome of the call is unknown")
	// ErrTimeout means that the server did not answer in time.
	ErrTimeout = errors.New("no answer in time")
	// ErrClosed means that the client, or the connection, was closed here.
	ErrClosed = errors.New("closed")
	// ErrAuth means that server and client found no common way to authenticate,
	// or that the server could not prove that it knows the token.
	ErrAuth = errors.New("not authenticated")
	// ErrFrame means that the other side sent what is no frame of this protocol.
	ErrFrame = errors.New("malformed frame")
	// ErrTooLarge means that a frame is longer than the bound.
	ErrTooLarge = errors.New("frame too large")
)
