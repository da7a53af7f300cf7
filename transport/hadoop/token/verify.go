package token

import (
	"errors"
	"fmt"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// Why a token is not taken. The first two may only mean that this replica has
// not applied yet what the token follows from: catch up with the leader, then
// look again (see Behind), before the caller is told — InvalidToken kills an AM.
var (
	// ErrKeyUnknown: signed with a key that is newer than this state.
	ErrKeyUnknown = errors.New("token signed with a key that is not known here")
	// ErrUnknown: of an attempt, or an issue, that is newer than this state.
	ErrUnknown = errors.New("token of something that is not known here")
	// ErrOver: of an attempt that has ended, or a delegation token that was
	// cancelled or ran out.
	ErrOver = errors.New("token no longer good")
	// ErrBad: forged, malformed, or signed with a key that was retired.
	ErrBad = errors.New("bad token")
)

// Behind says whether a newer state may take the token.
func Behind(err error) bool { return errors.Is(err, ErrKeyUnknown) || errors.Is(err, ErrUnknown) }

// AMRMPassword returns the attempt that an AM's identifier names, and the
// password that its holder must know. With ErrOver both are returned as well: a
// server may let the AM in to hear that its attempt has ended.
func AMRMPassword(st *state.State, identifier []byte) (yarn.AttemptID, []byte, error) {
	t, err := ParseAMRM(identifier)
	if err != nil {
		return yarn.AttemptID{}, nil, fmt.Errorf("%w: %w", ErrBad, err)
	}
	key, err := NewRing(st).checking(yarn.KeyAMRM, t.KeyID)
	if err != nil {
		return t.Attempt, nil, err
	}
	if err := live(st, t.Attempt); err != nil && !errors.Is(err, ErrOver) {
		return t.Attempt, nil, err
	} else if err != nil {
		return t.Attempt, Password(key.Bytes, identifier), err
	}
	return t.Attempt, Password(key.Bytes, identifier), nil
}

// checking is the key to check a token with.
func (r Ring) checking(kind yarn.KeyKind, id int32) (state.MasterKey, error) {
	if key, ok := r.Accepted(kind, id); ok {
		return key, nil
	}
	if id > r.st.Meta.NextKey || id < 0 { // a negative one was taken over from another ResourceManager
		return state.MasterKey{}, fmt.Errorf("%w: %d", ErrKeyUnknown, id)
	}
	return state.MasterKey{}, fmt.Errorf("%w: signed with key %d, which is not good any more", ErrBad, id)
}

// live says whether an attempt is its application's current one and goes on.
// One whose AM has unregistered does: the AM may repeat that call.
func live(st *state.State, at yarn.AttemptID) error {
	slot := st.App(at.App.Seq)
	if slot == 0 {
		if at.App.Seq >= st.Meta.NextApp {
			return fmt.Errorf("%w: %s", ErrUnknown, at)
		}
		return fmt.Errorf("%w: %s is forgotten", ErrOver, at.App)
	}
	a := st.Apps.Get(slot)
	switch {
	case a.ID != at.App || at.Attempt == 0:
		return fmt.Errorf("%w: there is no %s", ErrBad, at)
	case at.Attempt > a.Attempt:
		return fmt.Errorf("%w: %s", ErrUnknown, at)
	case at.Attempt < a.Attempt || a.AttemptState == state.AttemptEnded || a.State.Ended():
		return fmt.Errorf("%w: %s has ended", ErrOver, at)
	}
	return nil
}

// DelegationPassword returns what a delegation token's identifier says, and the
// password that its holder must know. now is in Unix milliseconds.
func DelegationPassword(st *state.State, identifier []byte, now int64) (Delegation, []byte, error) {
	d, err := ParseDelegation(identifier)
	if err != nil {
		return Delegation{}, nil, fmt.Errorf("%w: %w", ErrBad, err)
	}
	key, err := NewRing(st).checking(yarn.KeyDelegation, d.KeyID)
	if err != nil {
		return d, nil, fmt.Errorf("delegation token %d: %w", d.Sequence, err)
	}
	t := st.Delegation(d.Sequence)
	switch {
	case t == nil && d.Sequence > st.Meta.NextToken:
		return d, nil, fmt.Errorf("%w: delegation token %d", ErrUnknown, d.Sequence)
	case t == nil:
		return d, nil, fmt.Errorf("%w: delegation token %d was cancelled or ran out", ErrOver, d.Sequence)
	case t.Owner != d.Owner || t.Renewer != d.Renewer || t.RealUser != d.RealUser || t.KeyID != d.KeyID:
		return d, nil, fmt.Errorf("%w: delegation token %d was issued to another", ErrBad, d.Sequence)
	case t.ExpiresMillis < now:
		return d, nil, fmt.Errorf("%w: delegation token %d ran out", ErrOver, d.Sequence)
	}
	return d, Password(key.Bytes, identifier), nil
}

// VerifyDelegation checks a delegation token that came in a message, to be
// renewed or cancelled.
func VerifyDelegation(st *state.State, p *proto.TokenProto, now int64) (Delegation, error) {
	if p.GetKind() != KindDelegation {
		return Delegation{}, fmt.Errorf("%w: kind %q", ErrBad, p.GetKind())
	}
	d, password, err := DelegationPassword(st, p.GetIdentifier(), now)
	if err != nil {
		return d, err
	}
	return d, same(password, p.GetPassword())
}

// VerifyNM checks a token for a node as the node does, apart from the keys that
// the node remembers of attempts it knows.
func (r Ring) VerifyNM(identifier, password []byte) (NM, error) {
	t, err := ParseNM(identifier)
	if err != nil {
		return NM{}, fmt.Errorf("%w: %w", ErrBad, err)
	}
	return t, r.genuine(yarn.KeyNM, t.KeyID, identifier, password)
}

// VerifyContainer checks a container's token as the node does.
func (r Ring) VerifyContainer(p *proto.TokenProto) (Container, error) {
	t, err := ParseContainer(p.GetIdentifier(), r.st.Kinds())
	if err != nil {
		return Container{}, fmt.Errorf("%w: %w", ErrBad, err)
	}
	if p.GetKind() != KindContainer {
		return t, fmt.Errorf("%w: kind %q", ErrBad, p.GetKind())
	}
	return t, r.genuine(yarn.KeyContainer, t.KeyID, p.GetIdentifier(), p.GetPassword())
}

func (r Ring) genuine(kind yarn.KeyKind, id int32, identifier, password []byte) error {
	key, err := r.checking(kind, id)
	if err != nil {
		return err
	}
	return same(Password(key.Bytes, identifier), password)
}
