package launcher

import (
	"errors"
	"fmt"
	"strings"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// refusal is a NodeManager's own no, or ours when there is nothing to start.
type refusal struct {
	class, message string
	later          bool // it may say yes later
}

func (r *refusal) Error() string {
	if r.class == "" {
		return r.message
	}
	return r.class + ": " + r.message
}

func refusef(format string, args ...any) error {
	return &refusal{message: fmt.Sprintf(format, args...)}
}

// What a NodeManager says of a container that it has been told to start before.
var started = []string{"already is running on this node!!", "Attempt to relaunch the same"}

// What a NodeManager says while it cannot start containers: it is about to stop,
// it is registering again, or it has no key yet.
var (
	laterTexts   = []string{"in the process of shutting down", "as it is allocated by a previous RM"}
	laterClasses = []string{
		"org.apache.hadoop.yarn.exceptions.NMNotYetReadyException",
		"org.apache.hadoop.ipc.RetriableException",
		"org.apache.hadoop.ipc.StandbyException",
		ipc.ClassInvalidToken,
	}
)

// judge says what a call came to: nil when the AM runs, a *refusal when the node
// said no, any other error when it was not reached.
func judge(err error, reply *proto.StartContainersResponseProto, id yarn.ContainerID) error {
	var remote *ipc.RemoteError
	switch {
	case errors.As(err, &remote):
		return refused(remote.Class, remote.Message)
	case err != nil:
		return err
	}
	for _, f := range reply.GetFailedRequests() {
		got, err := wire.ContainerID(f.GetContainerId())
		if err == nil && got != id {
			continue // of a container that we did not send
		}
		e := f.GetException()
		return refused(e.GetClassName(), messages(e))
	}
	return nil
}

func refused(class, message string) error {
	for _, s := range started {
		if strings.Contains(message, s) {
			return nil
		}
	}
	r := &refusal{class: class, message: strings.TrimSpace(message)}
	for _, s := range laterTexts {
		r.later = r.later || strings.Contains(message, s)
	}
	for _, c := range laterClasses {
		r.later = r.later || class == c
	}
	return r
}

// causesMax bounds how deep the causes of an exception are told.
const causesMax = 8

// messages are the message of an exception and those of its causes.
func messages(e *proto.SerializedExceptionProto) string {
	text := e.GetMessage()
	for i := 0; i < causesMax && e.GetCause() != nil; i++ {
		e = e.GetCause()
		if m := e.GetMessage(); m != "" && !strings.Contains(text, m) {
			text += "; caused by " + e.GetClassName() + ": " + m
		}
	}
	return text
}
