package master

import (
	"errors"
	"fmt"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// Java classes of exceptions, in addition to those of package ipc.
const (
	classNotRegistered    = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
	classAttemptNotFound  = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	classInvalidAsk       = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
	classInvalidLabel     = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
	classInvalidBlacklist = "org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException"
	classInvalidRelease   = "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException"
)

// classOf are the Java classes of the planner's refusals. Other refusals are a YarnException. If a
// response number does not follow the last one, the AM must register again. YARN's own answer would
// make most AMs stop.
var classOf = map[input.Code]string{
	input.NoSuchApplication: classAttemptNotFound,
	input.NoSuchAttempt:     classAttemptNotFound,
	input.AlreadyEnded:      classAttemptNotFound,
	input.NotRegistered:     classNotRegistered,
	input.WrongResponse:     classNotRegistered,
	input.InvalidAsk:        classInvalidAsk,
	input.NeverFits:         classInvalidAsk,
	input.TooLarge:          classInvalidAsk,
	input.InvalidRelease:    classInvalidRelease,
	input.InvalidBlacklist:  classInvalidBlacklist,
	input.NoSuchLabel:       classInvalidLabel,
	input.InvalidLabel:      classInvalidLabel,
	input.LabelsOff:         classInvalidLabel,
	input.NotInitialized:    ipc.ClassStandby,
}

func refusal(class, format string, args ...any) *ipc.Error {
	return &ipc.Error{Class: class, Message: fmt.Sprintf(format, args...)}
}

// faulted converts a planner's refusal to the AM's exception.
func faulted(f *input.Refusal) *ipc.Error {
	class := classOf[f.Reason]
	if class == "" {
		class = ipc.ClassYarn
	}
	if class == classInvalidLabel { // clients print YARN's text
		return &ipc.Error{Class: class, Message: f.What}
	}
	return &ipc.Error{Class: class, Message: f.Error()}
}

// unavailable converts an error on the way to the leader. The AM's client repeats the call, here or
// at another replica.
func unavailable(err error) error {
	if e := (*ipc.Error)(nil); errors.As(err, &e) {
		return e
	}
	return ipc.Standby(err.Error())
}

// notFound returns the exception for an attempt that has ended. The AM stops.
func notFound(id yarn.AttemptID) *ipc.Error {
	return refusal(classAttemptNotFound, "Application attempt %s doesn't exist in ApplicationMasterService cache.", id)
}

// invalidToken returns the refusal of an AM's token with YARN's text. Clients and the proxies of
// AMs recognize a replaced token by that text. The cause follows it.
func invalidToken(at yarn.AttemptID, err error) *ipc.Error {
	switch {
	case at == yarn.AttemptID{}:
		return ipc.InvalidToken("Can't de-serialize tokenIdentifier: " + err.Error())
	case errors.Is(err, token.ErrUnknown):
		return ipc.InvalidToken(at.String() + " not found in AMRMTokenSecretManager.")
	}
	return ipc.InvalidToken(fmt.Sprintf("Invalid AMRMToken from %s: %v", at, err))
}

// isOver reports whether a refusal means that the attempt has ended.
func isOver(f *input.Refusal) bool { return classOf[f.Reason] == classAttemptNotFound }
