package tracker

import (
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// grown returns a node with a running container of 1 GB, whose size the cluster has since increased
// to 3 GB.
func grown(t *testing.T) (*cluster, *nm, yarn.AttemptID, yarn.ContainerID) {
	c, _, n := started(t)
	at, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	n.beat()
	c.must(&input.Allocate{Attempt: at, Response: 2,
		Updates: []input.Update{{Container: ids[0], Type: input.IncreaseResource, Size: yarn.NewResource(3072, 1)}}})
	c.must(&input.NodesHeard{Nodes: []state.NodeSlot{c.slot(n.id)}})
	c.took()
	return c, n, at, ids[0]
}

func (c *cluster) resize(id yarn.ContainerID) (unconfirmed, ordered bool, version int32) {
	st := c.Fork()
	r := st.Resizes.Of(st.Containers.Get(st.Container(
		event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})))
	return r.Unconfirmed, r.Unacked, r.Version
}

func capability(mb int64) *proto.ResourceProto {
	return &proto.ResourceProto{Memory: new(mb), VirtualCores: new(int32(1))}
}

// TestNodeConfirmsGrowth checks both confirmations: the size in the container's status, and the
// list of increased containers, which a node sends once.
func TestNodeConfirmsGrowth(t *testing.T) {
	for name, say := range map[string]func(s *proto.NodeStatusProto, id yarn.ContainerID){
		"status": func(s *proto.NodeStatusProto, _ yarn.ContainerID) {
			s.ContainersStatuses[0].Capability = capability(3072)
		},
		"list": func(s *proto.NodeStatusProto, id yarn.ContainerID) {
			s.IncreasedContainers = []*proto.ContainerProto{{Id: wire.ContainerIDProto(id), Resource: capability(3072)}}
		},
	} {
		c, n, _, id := grown(t)
		if unconfirmed, _, version := c.resize(id); !unconfirmed || version != 1 {
			t.Fatalf("%s: not granted", name)
		}
		n.beat() // reports the old size, which confirms nothing
		if unconfirmed, _, _ := c.resize(id); !unconfirmed {
			t.Fatalf("%s: confirmed by a node that has not grown it", name)
		}
		n.change = func(r *proto.NodeHeartbeatRequestProto) { say(r.NodeStatus, id) }
		n.beat()
		if unconfirmed, _, _ := c.resize(id); unconfirmed {
			t.Errorf("%s: not confirmed", name)
		}
		if c.node(n.id).PendingCommands != 0 {
			t.Errorf("%s: %d orders are open", name, c.node(n.id).PendingCommands)
		}
	}
}

// TestNodeIsToldOfDecrease checks that a node gets a decrease in both lists, with a token of the
// new size and version, until it has received the answer.
func TestNodeIsToldOfDecrease(t *testing.T) {
	c, n, at, id := grown(t)
	reply := c.must(&input.Allocate{Attempt: at, Response: 3}).(*input.AllocateReply)
	if len(reply.Resized) != 1 {
		t.Fatalf("the AM is told %+v", reply)
	}
	c.must(&input.Allocate{Attempt: at, Response: 4,
		Updates: []input.Update{{Container: id, Version: 1, Type: input.DecreaseResource, Size: yarn.NewResource(2048, 1)}}})
	p := n.beat()
	if len(p.ContainersToUpdate) != 1 || len(p.ContainersToDecrease) != 1 {
		t.Fatalf("the node is answered %v", p)
	}
	got := p.ContainersToUpdate[0]
	tok, err := token.NewRing(c.Fork()).VerifyContainer(got.GetContainerToken())
	if err != nil || tok.ID != id || tok.Version != 2 || tok.Size != yarn.NewResource(2048, 1) ||
		tok.Node != n.id.String() || tok.User == "" {
		t.Errorf("token %+v, %v", tok, err)
	}
	if got.GetVersion() != 2 || got.GetResource().GetMemory() != 2048 {
		t.Errorf("order %v", got)
	}
	if p := n.beat(); p.ContainersToUpdate != nil || p.ContainersToDecrease != nil {
		t.Errorf("it is told again: %v", p)
	}
	if _, ordered, _ := c.resize(id); ordered {
		t.Error("the cluster does not know that the node was told")
	}
	c.took()
	n.beat()
	wantInputs(t, c, "")
}

// TestExpiredGrowthIsTakenBack checks that a node that has not confirmed an increase in time is
// told the old size.
func TestExpiredGrowthIsTakenBack(t *testing.T) {
	c, n, _, id := grown(t)
	c.must(&input.ExpireContainers{Containers: []yarn.ContainerID{id}})
	p := n.beat()
	if len(p.ContainersToUpdate) != 1 || p.ContainersToUpdate[0].GetResource().GetMemory() != 1024 ||
		p.ContainersToUpdate[0].GetVersion() != 2 {
		t.Errorf("the node is answered %v", p)
	}
}
