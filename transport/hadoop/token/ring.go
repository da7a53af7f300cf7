package token

import (
	"errors"
	"fmt"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// ErrNoKey means that the cluster has no master key of a kind yet.
var ErrNoKey = errors.New("no master key yet")

// Ring signs and checks tokens with the master keys of one state. Create one from the newest state
// for each use.
type Ring struct{ st *state.State }

// NewRing returns the Ring of a state.
func NewRing(st *state.State) Ring { return Ring{st} }

// Signing returns the key that signs new tokens of a kind. AM tokens are signed with the next key
// as soon as there is one: only the ResourceManager checks them, and it accepts both keys. Other
// tokens use the current key, because nodes may not have the next one yet.
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

// Newest returns the next key of a kind, or the current one if there is no next key. Its ID is 0 if
// the cluster has no key yet.
func (r Ring) Newest(kind yarn.KeyKind) state.MasterKey {
	k := r.st.Keys(kind)
	if k.Next.ID != 0 {
		return k.Next
	}
	return k.Current
}

// ToHand returns the key to send to a node that has reported the key id `reported`. It returns nil
// if the node has the newest key.
func (r Ring) ToHand(kind yarn.KeyKind, reported int32) *proto.MasterKeyProto {
	k := r.Newest(kind)
	if k.ID == 0 || k.ID == reported {
		return nil
	}
	return &proto.MasterKeyProto{KeyId: new(k.ID), Bytes: k.Bytes}
}

// AtRegistration returns the key to send to a node that registers. It is the current key, because
// tokens are signed with it. The next key follows in a heartbeat.
func (r Ring) AtRegistration(kind yarn.KeyKind) (*proto.MasterKeyProto, error) {
	k := r.st.Keys(kind).Current
	if k.ID == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoKey, kind)
	}
	return &proto.MasterKeyProto{KeyId: new(k.ID), Bytes: k.Bytes}, nil
}

// Accepted returns the key with an id if tokens signed with it are accepted. These are the current
// and the next key, and, except for AM tokens, the previous one, as in YARN: nodes accept it, and
// delegation tokens outlive a roll of the keys.
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

// AMRMToken creates an AM's token. Its service is empty; the AM's client sets it to the addresses
// that it knows.
func (r Ring) AMRMToken(at yarn.AttemptID) (*proto.TokenProto, error) {
	k, err := r.Signing(yarn.KeyAMRM)
	if err != nil {
		return nil, err
	}
	return Proto(KindAMRM, "", AMRM{Attempt: at, KeyID: k.ID}.Bytes(), k), nil
}

// RenewAMRM creates a new token for an AM whose token is signed with the key `held`. It returns nil
// if that is the newest key.
func (r Ring) RenewAMRM(at yarn.AttemptID, held int32) (*proto.TokenProto, error) {
	if k := r.Newest(yarn.KeyAMRM); k.ID == held {
		return nil, nil
	}
	return r.AMRMToken(at)
}

// NMToken creates the token with which an attempt calls a node.
func (r Ring) NMToken(at yarn.AttemptID, node yarn.NodeID, user, service string) (*proto.TokenProto, error) {
	k, err := r.Signing(yarn.KeyNM)
	if err != nil {
		return nil, err
	}
	return Proto(KindNM, service, NM{Attempt: at, Node: node, User: user, KeyID: k.ID}.Bytes(), k), nil
}

// ContainerToken creates the token with which a container is started. It takes the key, the
// ResourceManager identifier and the resource types from the state.
func (r Ring) ContainerToken(c Container, service string) (*proto.TokenProto, error) {
	k, err := r.Signing(yarn.KeyContainer)
	if err != nil {
		return nil, err
	}
	c.KeyID, c.RMIdentifier, c.Kinds = k.ID, r.st.Meta.ClusterTimestamp, r.st.Versions.Kinds()
	return Proto(KindContainer, service, c.Bytes(), k), nil
}

// DelegationToken creates the token of an identifier that the cluster has issued.
func (r Ring) DelegationToken(d Delegation, service string) (*proto.TokenProto, error) {
	k, ok := r.Accepted(yarn.KeyDelegation, d.KeyID)
	if !ok {
		return nil, fmt.Errorf("%w: delegation token key %d", ErrNoKey, d.KeyID)
	}
	return Proto(KindDelegation, service, d.Bytes(), k), nil
}

// ClientToAMToken creates the token with which a client calls the AM of an application's current
// attempt. Its service is empty; the client sets it to the AM's address. The token is nil if the
// attempt has no key for its clients.
func ClientToAMToken(a *state.App, client string) *proto.TokenProto {
	k := a.Details().ClientKey
	if len(k.Bytes) == 0 {
		return nil
	}
	return Proto(KindClientToAM, "", ClientToAM{Attempt: a.AttemptID(), Client: client}.Bytes(), k)
}
