package master

import (
	"errors"
	"fmt"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// Java classes of refusals, beside those of package ipc.
const (
	classNotRegistered    = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
	classAttemptNotFound  = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	classInvalidAsk       = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
	classInvalidLabel     = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
	classInvalidBlacklist = "org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException"
	classInvalidRelease   = "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException"
)

// classOf tells the Java class of a planner's refusal; what is not here is a
// plain YarnException. A response number that does not follow makes the AM
// register again: YARN's own answer to it would make most AMs stop.
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

// faulted is a planner's refusal as an AM is told it.
func faulted(f *input.Fault) *ipc.Error {
	class := classOf[f.Reason]
	if class == "" {
		class = ipc.ClassYarn
	}
	if class == classInvalidLabel { // YARN's sentence, which clients print
		return &ipc.Error{Class: class, Message: f.What}
	}
	return &ipc.Error{Class: class, Message: f.Error()}
}

// unavailable is what becomes of an error on the way to the leader: the AM's
// client tries again, here or at another replica, and the AM does not notice.
func unavailable(err error) error {
	if e := (*ipc.Error)(nil); errors.As(err, &e) {
		return e
	}
	return ipc.Standby(err.Error())
}

// notFound tells an AM that its attempt is over: it stops.
func notFound(id yarn.AttemptID) *ipc.Error {
	return refusal(classAttemptNotFound, "Application attempt %s doesn't exist in ApplicationMasterService cache.", id)
}

// invalidToken refuses an AM's token in YARN's words, by which clients and proxies of AMs tell
// a token that was replaced from other failures. The cause follows them.
func invalidToken(at yarn.AttemptID, err error) *ipc.Error {
	switch {
	case at == yarn.AttemptID{}:
		return ipc.InvalidToken("Can't de-serialize tokenIdentifier: " + err.Error())
	case errors.Is(err, token.ErrUnknown):
		return ipc.InvalidToken(at.String() + " not found in AMRMTokenSecretManager.")
	}
	return ipc.InvalidToken(fmt.Sprintf("Invalid AMRMToken from %s: %v", at, err))
}

// isOver says whether a refusal means that the attempt is over.
func isOver(f *input.Fault) bool { return classOf[f.Reason] == classAttemptNotFound }
