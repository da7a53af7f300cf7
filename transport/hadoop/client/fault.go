package client

import (
	"errors"
	"fmt"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// Java classes of exceptions that the clients of this protocol handle.
const (
	classAppNotFound       = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	classAttemptNotFound   = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	classContainerNotFound = "org.apache.hadoop.yarn.exceptions.ContainerNotFoundException"
	classInvalidResource   = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
	classInvalidLabel      = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
	classDynamicEdit       = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerDynamicEditException"
	classNotEnabled        = "org.apache.hadoop.yarn.exceptions.YARNFeatureNotEnabledException"

	javaIllegalArgument = "java.lang.IllegalArgumentException"
)

// classes are the Java classes of the planner's refusals. Other refusals are a YarnException, as
// nearly everything is in YARN.
var classes = map[input.Code]string{
	input.NoSuchApplication: classAppNotFound,
	input.NoSuchAttempt:     classAttemptNotFound,
	input.NoSuchContainer:   classContainerNotFound,
	input.NeverFits:         classInvalidResource,
	input.InvalidAsk:        classInvalidResource,
	input.NoSuchLabel:       classInvalidLabel,
	input.InvalidLabel:      classInvalidLabel,
	input.LabelsOff:         classInvalidLabel,
	input.NotInitialized:    ipc.ClassStandby,
}

// wrapped are the refusals that YARN throws as another exception inside a YarnException. The text
// then begins with the name of the inner exception.
var wrapped = map[input.Code]string{
	input.NotAllowed:   ipc.ClassAccessControl,
	input.QueueStopped: ipc.ClassAccessControl,
	input.QueueFull:    ipc.ClassAccessControl,
	input.TokenInvalid: ipc.ClassInvalidToken,
	input.TokenExpired: ipc.ClassInvalidToken,
	input.TokenUsed:    ipc.ClassInvalidToken,
}

// refusal converts a planner's refusal to an exception with the planner's text.
func refusal(f *input.Refusal) error {
	class, ok := classes[f.Reason]
	if !ok {
		class = ipc.ClassYarn
	}
	return &ipc.Error{Class: class, Message: faultText(f)}
}

// faultText returns the text of a refusal, after the name of the exception that YARN would wrap.
func faultText(f *input.Refusal) string {
	text := f.What
	if f.Do != "" {
		text += "; " + f.Do
	}
	for _, d := range f.Details {
		text += "\n  " + d
	}
	if inner := wrapped[f.Reason]; inner != "" {
		text = inner + ": " + text
	}
	return text
}

// elsewhere converts an error of the Submitter to a StandbyException, so that the client tries
// another replica. It does not if no replica could do better.
func elsewhere(err error) error {
	var e *ipc.Error
	if errors.As(err, &e) {
		return e
	}
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) && coded.ErrorCode() == string(input.TooLarge) {
		return yarnException("%v", err)
	}
	return ipc.Standby(err.Error())
}

func exception(class, format string, args ...any) error {
	return &ipc.Error{Class: class, Message: fmt.Sprintf(format, args...)}
}

func yarnException(format string, args ...any) error {
	return exception(ipc.ClassYarn, format, args...)
}

// wrapException returns a YarnException with another exception in its text.
func wrapException(class, format string, args ...any) error {
	return yarnException("%s: %s", class, fmt.Sprintf(format, args...))
}

func denied(format string, args ...any) error {
	return wrapException(ipc.ClassAccessControl, format, args...)
}

func noApplication(id yarn.ApplicationID) error {
	return exception(classAppNotFound,
		"Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id)
}

func noAttempt(id yarn.AttemptID) error {
	return exception(classAttemptNotFound, "ApplicationAttempt with id '%s' doesn't exist in RM.", id)
}

func noContainer(id yarn.ContainerID) error {
	return exception(classContainerNotFound, "Container with id '%s' doesn't exist in RM.", id)
}
