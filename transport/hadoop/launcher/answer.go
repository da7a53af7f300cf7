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

// refusal is a NodeManager's refusal, or the launcher's own if there is nothing to start.
type refusal struct {
	class, message string
	later          bool // a later try may succeed
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

// Texts of a NodeManager for a container that it has already started.
var started = []string{"already is running on this node!!", "Attempt to relaunch the same"}

// Texts and classes of a NodeManager that cannot start containers now: it is about to stop,
// registers again, or has no key yet.
var (
	laterTexts   = []string{"in the process of shutting down", "as it is allocated by a previous RM"}
	laterClasses = []string{
		"org.apache.hadoop.yarn.exceptions.NMNotYetReadyException",
		"org.apache.hadoop.ipc.RetriableException",
		"org.apache.hadoop.ipc.StandbyException",
		ipc.ClassInvalidToken,
	}
)

// judge returns the result of a call: nil if the AM runs, a *refusal if the node refused, and
// another error if the node was not reached.
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

// causesMax limits the number of causes in an error text.
const causesMax = 8

// messages returns the message of an exception with those of its causes.
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
