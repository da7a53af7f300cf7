package master

import (
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// responseBuilder builds one answer for an attempt from one state.
type responseBuilder struct {
	*Service
	st    *state.State
	ring  token.Ring
	kinds yarn.Kinds
	a     *attempt
	pages *pages
}

// newResponse returns a builder for one answer. The caller must call close.
func (s *Service) newResponse(a *attempt) *responseBuilder {
	st := s.cfg.Reader.Fork()
	m := &responseBuilder{Service: s, st: st, ring: token.NewRing(st), kinds: st.Versions.Kinds(), a: a,
		pages: s.buffers.Get().(*pages)}
	m.pages.size = m.pages.size[:0]
	return m
}

func (m *responseBuilder) close() { m.buffers.Put(m.pages) }

// statuses returns the messages for completed containers.
func statuses(list []input.ContainerStatus) []*proto.ContainerStatusProto {
	if len(list) == 0 {
		return nil
	}
	out := make([]*proto.ContainerStatusProto, len(list))
	for i, c := range list {
		out[i] = wire.ContainerStatusProto(c)
		out[i].ExecutionType = proto.ExecutionTypeProto_GUARANTEED.Enum()
	}
	return out
}

// expires returns the time when a container's token expires, in Unix milliseconds. It is between
// one and one and an eighth expiry intervals from now. The time is computed in steps from the time
// of the allocation, not from the clock, so that a repeated answer has the same token, here or at
// another replica.
func (m *responseBuilder) expires(allocated int64) int64 {
	interval := int64(m.cfg.ContainerExpiry / time.Millisecond)
	step := interval / 8
	late := max(m.st.Meta.NowMillis-allocated, 0)
	return allocated + (late/step+1)*step + interval
}

// nmTokens creates NM tokens for the nodes of granted containers. It leaves out nodes for which the
// attempt already has a token, unless the key has changed or the node has registered again. A
// repeated response contains the tokens that were sent with it. The caller holds the attempt's
// lock.
func (m *responseBuilder) nmTokens(granted []input.Granted, response int32) ([]*proto.NMTokenProto, error) {
	if len(granted) == 0 {
		return nil, nil
	}
	key, err := m.ring.Signing(yarn.KeyNM)
	if err != nil {
		return nil, err
	}
	var out []*proto.NMTokenProto
	var last yarn.NodeID
	for i := range granted {
		node := granted[i].Node
		if node == last {
			continue // an answer often has several containers on one node
		}
		last = node
		now := sentToken{response: response, key: key.ID, registered: m.registered(node)}
		if sent, ok := m.a.tokens[node]; ok && sent.key == now.key && sent.registered == now.registered &&
			(sent.response != response || listed(out, node)) {
			continue
		}
		t, err := m.ring.NMToken(m.a.id, node, m.a.user, m.cfg.Services.Of(node))
		if err != nil {
			return nil, err
		}
		if m.a.tokens == nil {
			m.a.tokens = make(map[yarn.NodeID]sentToken)
		}
		m.a.tokens[node] = now
		out = append(out, &proto.NMTokenProto{NodeId: wire.NodeIDProto(node), Token: t})
	}
	return out, nil
}

// registered returns the time of a node's last registration.
func (m *responseBuilder) registered(node yarn.NodeID) int64 {
	if slot := m.st.Nodes.Find(node); slot != 0 {
		return m.st.Nodes.Get(slot).Registered
	}
	return 0
}

// listed reports whether this answer has a token for a node. The list is short, because it has only
// nodes that are new to the attempt.
func listed(list []*proto.NMTokenProto, node yarn.NodeID) bool {
	for _, t := range list {
		if t.NodeId.GetHost() == node.Host && t.NodeId.GetPort() == int32(node.Port) {
			return true
		}
	}
	return false
}

// amToken returns a new token for an AM that called with a token of an older key. While the older
// key is still accepted, every answer contains it, as in YARN. When only the newest key is in
// force, it is sent until an answer with it has arrived, because the AM continues on its old
// connection. The caller holds the attempt's lock.
func (m *responseBuilder) amToken(who token.AMRM, response int32) (*proto.TokenProto, error) {
	newest := m.ring.Newest(yarn.KeyAMRM).ID
	waits := m.st.Keys(yarn.KeyAMRM).Next.ID != 0
	if who.KeyID == newest || (!waits && m.a.ownKey == newest && m.a.ownSent != response) {
		return nil, nil
	}
	m.a.ownKey, m.a.ownSent = newest, response
	return m.ring.RenewAMRM(m.a.id, who.KeyID)
}
