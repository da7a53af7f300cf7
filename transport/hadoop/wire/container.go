package wire

import (
	gproto "google.golang.org/protobuf/proto"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// Exit statuses that nodes report beside the programs' own (YARN's
// ContainerExitStatus); those that the cluster gives itself are in rmd/yarn.
const (
	ExitNone           int32 = -1000 // not finished
	ExitDisksFailed    int32 = -101
	ExitVirtualMemory  int32 = -103 // over its virtual memory
	ExitPhysicalMemory int32 = -104 // over its memory
	ExitAfterApp       int32 = -107 // killed after its application had ended
	ExitByScheduler    int32 = -108 // killed by the node's container scheduler
	ExitExcessLogs     int32 = -109
)

// ContainerStatus reads what a node's heartbeat says of one container.
func ContainerStatus(p *proto.ContainerStatusProto) (input.ContainerStatus, error) {
	id, err := ContainerID(p.GetContainerId())
	if err != nil {
		return input.ContainerStatus{}, err
	}
	return status(id, p.GetState(), p.GetExitStatus(), p.Diagnostics), nil
}

// NMContainerStatus reads what a node's registration says of one container.
func NMContainerStatus(p *proto.NMContainerStatusProto) (input.ContainerStatus, error) {
	id, err := ContainerID(p.GetContainerId())
	if err != nil {
		return input.ContainerStatus{}, err
	}
	return status(id, p.GetContainerState(), p.GetContainerExitStatus(), p.Diagnostics), nil
}

// status makes a status; of a container that runs there is no exit status.
func status(id yarn.ContainerID, s proto.ContainerStateProto, exit int32, text *string) input.ContainerStatus {
	out := input.ContainerStatus{Container: id, State: ContainerState(s)}
	if out.State == yarn.ContainerCompleted {
		out.ExitStatus = exit
	}
	if text != nil {
		out.Diagnostics = *text
	}
	return out
}

// ContainerStatusProto tells an AM, or a client, of a container.
func ContainerStatusProto(s input.ContainerStatus) *proto.ContainerStatusProto {
	p := &proto.ContainerStatusProto{
		ContainerId: ContainerIDProto(s.Container),
		State:       ContainerStateProto(s.State).Enum(),
		Diagnostics: new(s.Diagnostics),
		ExitStatus:  new(ExitNone),
	}
	if s.State >= yarn.ContainerReleasing {
		p.ExitStatus = new(s.ExitStatus)
	}
	return p
}

// ACLs are who may see and who may change an application, in YARN's form
// "users groups"; the empty texts are nobody beside owner and administrators.
type ACLs struct{ View, Modify string }

// ApplicationACLs reads a list of ACLs. Where one kind is told twice the last
// counts, as in YARN.
func ApplicationACLs(list []*proto.ApplicationACLMapProto) ACLs {
	var a ACLs
	for _, e := range list {
		switch {
		case e == nil || e.AccessType == nil:
		case *e.AccessType == proto.ApplicationAccessTypeProto_APPACCESS_VIEW_APP:
			a.View = e.GetAcl()
		case *e.AccessType == proto.ApplicationAccessTypeProto_APPACCESS_MODIFY_APP:
			a.Modify = e.GetAcl()
		}
	}
	return a
}

// ApplicationACLProtos writes ACLs.
func ApplicationACLProtos(a ACLs) []*proto.ApplicationACLMapProto {
	return []*proto.ApplicationACLMapProto{
		{AccessType: proto.ApplicationAccessTypeProto_APPACCESS_VIEW_APP.Enum(), Acl: new(a.View)},
		{AccessType: proto.ApplicationAccessTypeProto_APPACCESS_MODIFY_APP.Enum(), Acl: new(a.Modify)},
	}
}

// Submission reads an application's stored context: the
// ApplicationSubmissionContextProto of a client on Hadoop's port. Applications
// that came another way have none that parses.
func Submission(context []byte) (*proto.ApplicationSubmissionContextProto, error) {
	if len(context) == 0 {
		return nil, invalid("the application has no submission context")
	}
	p := new(proto.ApplicationSubmissionContextProto)
	if err := gproto.Unmarshal(context, p); err != nil {
		return nil, invalid("submission context: %v", err)
	}
	return p, nil
}
