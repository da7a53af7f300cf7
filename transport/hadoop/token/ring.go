package token

import (
	"errors"
	"fmt"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// ErrNoKey says that the cluster has no key of a kind yet.
var ErrNoKey = errors.New("no master key yet")

// Ring signs and checks with the master keys of one state. It is a view: make
// one from the newest state for each use.
type Ring struct{ st *state.State }

// NewRing returns the ring of a state.
func NewRing(st *state.State) Ring { return Ring{st} }

// Signing is the key that new tokens of a kind are signed with. An AM's token
// is signed with the next key as soon as there is one: only the ResourceManager
// checks it, and it takes both. Nodes may not have the next key yet.
func (r Ring) Signing(kind yarn.KeyKind) (state.MasterKey, error) {
	k := r.st.Keys(kind)
	if kind == yarn.KeyAMRM && k.Next.ID != 0 {
		return k.Next, nil
	}
	if k.Current.ID == 0 {
		return state.MasterKey{}, fmt.Errorf("%w: %s", ErrNoKey, kind)
	}
	return k.Current, nil
}

// Newest is the next key of a kind or, without one, the current one; its ID is
// 0 when the cluster has none yet.
func (r Ring) Newest(kind yarn.KeyKind) state.MasterKey {
	k := r.st.Keys(kind)
	if k.Next.ID != 0 {
		return k.Next
	}
	return k.Current
}

// ToHand is the key that a node must be given which reports that it knows the
// key with the id reported; nil when it has the newest.
func (r Ring) ToHand(kind yarn.KeyKind, reported int32) *proto.MasterKeyProto {
	k := r.Newest(kind)
	if k.ID == 0 || k.ID == reported {
		return nil
	}
	return &proto.MasterKeyProto{KeyId: new(k.ID), Bytes: k.Bytes}
}

// AtRegistration are the keys that a node gets when it registers: the current
// one when its successor is to come, since tokens are signed with that; the
// successor follows in its heartbeats.
func (r Ring) AtRegistration(kind yarn.KeyKind) (*proto.MasterKeyProto, error) {
	k := r.st.Keys(kind).Current
	if k.ID == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoKey, kind)
	}
	return &proto.MasterKeyProto{KeyId: new(k.ID), Bytes: k.Bytes}, nil
}

// Accepted is the key with an id, when tokens signed with it are taken: current
// and next, and the previous one where YARN takes that: at nodes, and for
// delegation tokens, which outlive a roll-over.
func (r Ring) Accepted(kind yarn.KeyKind, id int32) (state.MasterKey, bool) {
	k := r.st.Keys(kind)
	switch {
	case id == 0:
		return state.MasterKey{}, false
	case id == k.Current.ID:
		return k.Current, true
	case id == k.Next.ID:
		return k.Next, true
	case id == k.Previous.ID && kind != yarn.KeyAMRM:
		return k.Previous, true
	}
	return state.MasterKey{}, false
}

// AMRMToken makes an AM's token. Its service is empty: the AM's side sets it to
// all the addresses that it knows.
func (r Ring) AMRMToken(at yarn.AttemptID) (*proto.TokenProto, error) {
	k, err := r.Signing(yarn.KeyAMRM)
	if err != nil {
		return nil, err
	}
	return Proto(KindAMRM, "", AMRM{Attempt: at, KeyID: k.ID}.Bytes(), k.Bytes), nil
}

// RenewAMRM makes the token that an AM must be given whose own is signed with
// the key with the id held; nil when that is the newest.
func (r Ring) RenewAMRM(at yarn.AttemptID, held int32) (*proto.TokenProto, error) {
	if k := r.Newest(yarn.KeyAMRM); k.ID == held {
		return nil, nil
	}
	return r.AMRMToken(at)
}

// NMToken makes the token with which an attempt calls a node.
func (r Ring) NMToken(at yarn.AttemptID, node yarn.NodeID, user, service string) (*proto.TokenProto, error) {
	k, err := r.Signing(yarn.KeyNM)
	if err != nil {
		return nil, err
	}
	return Proto(KindNM, service, NM{Attempt: at, Node: node, User: user, KeyID: k.ID}.Bytes(), k.Bytes), nil
}

// ContainerToken makes the token with which a container is started. Key,
// ResourceManager identifier and resource kinds are filled in from the state.
func (r Ring) ContainerToken(c Container, service string) (*proto.TokenProto, error) {
	k, err := r.Signing(yarn.KeyContainer)
	if err != nil {
		return nil, err
	}
	c.KeyID, c.RMIdentifier, c.Kinds = k.ID, r.st.Meta.ClusterTimestamp, r.st.Kinds()
	return Proto(KindContainer, service, c.Bytes(), k.Bytes), nil
}

// DelegationToken makes the token of an identity that the cluster has issued.
func (r Ring) DelegationToken(d Delegation, service string) (*proto.TokenProto, error) {
	k, ok := r.Accepted(yarn.KeyDelegation, d.KeyID)
	if !ok {
		return nil, fmt.Errorf("%w: delegation token key %d", ErrNoKey, d.KeyID)
	}
	return Proto(KindDelegation, service, d.Bytes(), k.Bytes), nil
}
