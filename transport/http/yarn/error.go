package yarnweb

import (
	"bytes"
	"errors"
	"net/http"
	"strings"

	"rmd/api"
	"rmd/transport/http/route"
)

// remoteError is an error in Hadoop's format: the Java class that clients look at, and the message.
type remoteError struct {
	status  int
	class   string // with its Java package
	message string // may be empty
}

func (e *remoteError) Error() string { return e.class + ": " + e.message }

// Java classes in the errors of Hadoop's web services.
const (
	webappPackage     = "org.apache.hadoop.yarn.webapp."
	badRequest        = webappPackage + "BadRequestException"
	notFound          = webappPackage + "NotFoundException"
	forbidden         = webappPackage + "ForbiddenException"
	illegalArgument   = "java.lang.IllegalArgumentException"
	webApplication    = "javax.ws.rs.WebApplicationException"
	causedByException = "java.lang.Exception: "
	yarnExceptions    = "org.apache.hadoop.yarn.exceptions."
)

// wsBad returns a bad request with Hadoop's message.
func wsBad(message string) error {
	return &remoteError{http.StatusBadRequest, badRequest, causedByException + message}
}

// wsBadCause is like wsBad, for errors for which Hadoop reports an inner exception.
func wsBadCause(cause string) error {
	return &remoteError{http.StatusBadRequest, badRequest, cause}
}

// wsIllegal returns an illegal argument that Java itself refuses.
func wsIllegal(message string) error {
	return &remoteError{http.StatusBadRequest, illegalArgument, message}
}

// wsNotFound returns a missing object with Hadoop's message.
func wsNotFound(message string) error {
	return &remoteError{http.StatusNotFound, notFound, causedByException + message}
}

// wsNotFoundCause is like wsNotFound, for errors for which Hadoop reports an inner exception.
func wsNotFoundCause(cause string) error {
	return &remoteError{http.StatusNotFound, notFound, cause}
}

// wsForbidden returns a refusal for lack of rights.
func wsForbidden(message string) error {
	return &remoteError{http.StatusForbidden, forbidden, causedByException + message}
}

// classes maps HTTP statuses to the Java classes of errors that are not Hadoop's own.
var classes = map[int]string{
	http.StatusNotFound:           notFound,
	http.StatusBadRequest:         badRequest,
	http.StatusForbidden:          forbidden,
	http.StatusConflict:           webappPackage + "ConflictException",
	http.StatusServiceUnavailable: "org.apache.hadoop.ipc.StandbyException",
}

// remoteErrorOf converts an error of rmd to Hadoop's format.
func remoteErrorOf(e *api.Error) *remoteError {
	class := classes[e.Status]
	if class == "" {
		class = webApplication
	}
	message := e.Message
	if e.Status == http.StatusNotFound || e.Status == http.StatusBadRequest {
		message = causedByException + message
	}
	return &remoteError{e.Status, class, message}
}

// Fail answers a call with an error in Hadoop's format.
func Fail(mux *route.Mux, c *route.Call, err error) {
	var remote *remoteError
	if errors.As(err, &remote) {
		c.RoleHeaders()
	} else {
		remote = remoteErrorOf(mux.Refuse(c, err))
		c.W.Header().Del("WWW-Authenticate") // Hadoop's clients would take it for Kerberos
	}
	writeRemote(c.W, c.R, remote)
}

func writeRemote(w http.ResponseWriter, r *http.Request, e *remoteError) {
	doc := obj{{"exception", e.class[strings.LastIndexAny(e.class, ".$")+1:]}}
	if e.message != "" {
		doc = append(doc, field{"message", e.message})
	}
	doc = append(doc, field{"javaClassName", e.class})
	var b bytes.Buffer
	if wantsXML(r) {
		w.Header().Set("Content-Type", xmlType)
		b.WriteString(xmlHead)
		writeXML(&b, "RemoteException", doc)
	} else {
		w.Header().Set("Content-Type", jsonType)
		writeJSON(&b, obj{{"RemoteException", doc}})
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}
