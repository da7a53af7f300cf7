package client

import (
	"errors"
	"fmt"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/yarn"
)

// The Java classes that clients of this protocol know.
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

// classes tells the Java class of a refusal by the planner. What is not listed
// is a YarnException, as in YARN nearly everything is.
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

// wrapped are the refusals that YARN throws as another exception inside a
// YarnException; clients see the inner one's name at the head of the text.
var wrapped = map[input.Code]string{
	input.NotAllowed:   ipc.ClassAccessControl,
	input.QueueStopped: ipc.ClassAccessControl,
	input.QueueFull:    ipc.ClassAccessControl,
	input.TokenInvalid: ipc.ClassInvalidToken,
	input.TokenExpired: ipc.ClassInvalidToken,
	input.TokenUsed:    ipc.ClassInvalidToken,
}

// refusal is a fault as an exception, in the planner's own words.
func refusal(f *input.Fault) error {
	class, ok := classes[f.Reason]
	if !ok {
		class = ipc.ClassYarn
	}
	return &ipc.Error{Class: class, Message: faultText(f)}
}

// faultText is what a fault says, below the name of the exception that YARN
// would wrap.
func faultText(f *input.Fault) string {
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

// elsewhere makes a client try another replica, except when no replica could
// do better.
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

// inside is a YarnException around another exception.
func inside(class, format string, args ...any) error {
	return yarnException("%s: %s", class, fmt.Sprintf(format, args...))
}

func denied(format string, args ...any) error {
	return inside(ipc.ClassAccessControl, format, args...)
}

func noApplication(id yarn.ApplicationID) error {
	return exception(classAppNotFound, "Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id)
}

func noAttempt(id yarn.AttemptID) error {
	return exception(classAttemptNotFound, "ApplicationAttempt with id '%s' doesn't exist in RM.", id)
}

func noContainer(id yarn.ContainerID) error {
	return exception(classContainerNotFound, "Container with id '%s' doesn't exist in RM.", id)
}
