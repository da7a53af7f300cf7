package wire

import (
	"rmd/scheduler/input"
	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// ExitNone is the exit status of a container that has not finished (YARN's ContainerExitStatus). The
// exit statuses that the cluster sets are in rmd/yarn.
const ExitNone int32 = -1000

// ContainerStatus decodes the status of a container in a node's heartbeat.
func ContainerStatus(p *proto.ContainerStatusProto) (input.ContainerStatus, error) {
	id, err := ContainerID(p.GetContainerId())
	if err != nil {
		return input.ContainerStatus{}, err
	}
	return status(id, p.GetState(), p.GetExitStatus(), p.Diagnostics), nil
}

// NMContainerStatus decodes the status of a container in a node's registration.
func NMContainerStatus(p *proto.NMContainerStatusProto) (input.ContainerStatus, error) {
	id, err := ContainerID(p.GetContainerId())
	if err != nil {
		return input.ContainerStatus{}, err
	}
	return status(id, p.GetContainerState(), p.GetContainerExitStatus(), p.Diagnostics), nil
}

// status returns a status. A running container has no exit status.
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

// ContainerStatusProto encodes the status of a container for an AM or a client.
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

// ACLs are the users and groups that may view and modify an application, in YARN's form "users
// groups". An empty text allows only the owner and administrators.
type ACLs struct{ View, Modify string }

// ApplicationACLs decodes a list of ACLs. As in YARN, the last entry of a type counts.
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

// Submission decodes an application's stored context: the ApplicationSubmissionContextProto of a
// client on Hadoop's port. Applications submitted in another way have none.
func Submission(context []byte) (*proto.ApplicationSubmissionContextProto, error) {
	if len(context) == 0 {
		return nil, invalid("the application has no submission context")
	}
	p := new(proto.ApplicationSubmissionContextProto)
	if err := bounded.Unmarshal(context, p); err != nil {
		return nil, invalid("submission context: %v", err)
	}
	return p, nil
}
