package launcher

import (
	"net"
	"strconv"

	"rmd/fsm/state"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// Environment variables that the ResourceManager adds to an AM's environment.
const (
	envProxyBase  = "APPLICATION_WEB_PROXY_BASE"
	envSubmitTime = "APP_SUBMIT_TIME_ENV"
)

// order is what must be started on which node, according to one state.
type order struct {
	ring      token.Ring
	attempt   yarn.AttemptID
	id        yarn.ContainerID
	node      yarn.NodeID
	user      string
	submitted int64
	container *state.Container
	label     string // of the container's request
	context   []byte
}

// order returns the order for a key, or errGone if the container no longer waits.
func (l *Launcher) order(st *state.State, k key) (*order, error) {
	a, c := find(st, k)
	if c == nil || !needsLaunch(st, c) || !st.Nodes.Get(c.Node).NodeManager {
		return nil, errGone
	}
	id := st.Apps.ContainerID(c)
	return &order{ring: token.NewRing(st), attempt: k.attempt, id: id, node: st.Nodes.Get(c.Node).ID,
		user: st.Names.Text(a.User), submitted: a.SubmittedMillis, container: c, label: st.AskedLabelOf(id),
		context: []byte(a.Details().Context)}, nil
}

// target returns the node as the target of a call, with an NM token of the attempt.
func (o *order) target(services *token.Services) (ipc.Target, error) {
	t, err := o.ring.NMToken(o.attempt, o.node, o.user, services.Of(o.node))
	if err != nil {
		return ipc.Target{}, err
	}
	address := net.JoinHostPort(o.node.Host, strconv.Itoa(int(o.node.Port)))
	return ipc.Target{Address: address, Protocol: protocolName,
		Token: &ipc.Token{Identifier: t.GetIdentifier(), Password: t.GetPassword()}}, nil
}

// request returns the parameter of the call: the submission's launch context, with tokens and
// environment added, and the container's token. The container's token also gives the application's
// log aggregation settings to the node.
func (o *order) request(services *token.Services, expires int64) (*proto.StartContainersRequestProto, error) {
	submission, err := wire.Submission(o.context)
	if err != nil {
		return nil, refusef("%v", err)
	}
	launch := submission.GetAmContainerSpec()
	if launch == nil {
		return nil, refusef("the application was submitted without a launch context for its ApplicationMaster")
	}
	if err := o.complete(launch); err != nil {
		return nil, err
	}
	c := o.container
	t, err := o.ring.ContainerToken(token.Container{
		ID: o.id, Node: o.node.String(), User: o.user, Size: c.Size, ExpiresMillis: expires, Priority: c.Key.Priority,
		CreatedMillis: c.AllocatedMillis, Logs: submission.GetLogAggregationContext(), Label: o.label, AM: true,
		AllocationID: c.Key.AllocationID,
	}, services.Of(o.node))
	if err != nil {
		return nil, err
	}
	one := &proto.StartContainerRequestProto{ContainerLaunchContext: launch, ContainerToken: t}
	return &proto.StartContainersRequestProto{StartContainerRequest: []*proto.StartContainerRequestProto{one}}, nil
}

// complete adds the AM's token, under the alias "", and two environment variables to the launch
// context.
func (o *order) complete(launch *proto.ContainerLaunchContextProto) error {
	credentials := new(token.Credentials)
	if len(launch.GetTokens()) > 0 {
		c, err := token.ReadCredentials(launch.GetTokens())
		if err != nil {
			return refusef("tokens of the launch context: %v", err)
		}
		credentials = c
	}
	am, err := o.ring.AMRMToken(o.attempt)
	if err != nil {
		return err
	}
	credentials.AddToken("", am)
	launch.Tokens = credentials.Bytes()
	launch.Environment = setEnv(launch.GetEnvironment(), envProxyBase, "/proxy/"+o.attempt.App.String())
	launch.Environment = setEnv(launch.GetEnvironment(), envSubmitTime, strconv.FormatInt(o.submitted, 10))
	return nil
}

// setEnv sets a variable and overrides the submission's value.
func setEnv(list []*proto.StringStringMapProto, name, value string) []*proto.StringStringMapProto {
	out := list[:0:0]
	for _, e := range list {
		if e.GetKey() != name {
			out = append(out, e)
		}
	}
	return append(out, &proto.StringStringMapProto{Key: new(name), Value: new(value)})
}
