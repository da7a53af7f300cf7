package token

import (
	"errors"
	"fmt"

	"rmd/fsm/state"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// Reasons why a token is not accepted. The first two may mean that this replica lags. It must then
// catch up with the leader and look again (see Behind) before it answers, because InvalidToken ends
// an AM.
var (
	// ErrKeyUnknown means that the key is newer than this state.
	ErrKeyUnknown = errors.New("token signed with a key that is not known here")
	// ErrUnknown means that the attempt, or the delegation token, is newer than this state.
	ErrUnknown = errors.New("token of something that is not known here")
	// ErrOver means that the attempt has ended, or that the delegation token was cancelled or has
	// expired.
	ErrOver = errors.New("token no longer good")
	// ErrBad means that the token is forged, malformed, or signed with a retired key.
	ErrBad = errors.New("bad token")
)

// Behind reports whether a newer state may accept the token.
func Behind(err error) bool { return errors.Is(err, ErrKeyUnknown) || errors.Is(err, ErrUnknown) }

// AMRMPassword returns the attempt in an AM's identifier, and the password of the token. It returns
// both also with ErrOver, so that a server can tell the AM that its attempt has ended.
func AMRMPassword(st *state.State, identifier []byte) (yarn.AttemptID, []byte, error) {
	t, err := ParseAMRM(identifier)
	if err != nil {
		return yarn.AttemptID{}, nil, fmt.Errorf("%w: %w", ErrBad, err)
	}
	key, err := NewRing(st).checking(yarn.KeyAMRM, t.KeyID)
	if err != nil {
		return t.Attempt, nil, err
	}
	if err := checkCurrent(st, t.Attempt); err != nil && !errors.Is(err, ErrOver) {
		return t.Attempt, nil, err
	} else if err != nil {
		return t.Attempt, Password(key, identifier), err
	}
	return t.Attempt, Password(key, identifier), nil
}

// checking returns the key with which a token is checked.
func (r Ring) checking(kind yarn.KeyKind, id int32) (state.MasterKey, error) {
	if key, ok := r.Accepted(kind, id); ok {
		return key, nil
	}
	if id > r.st.Meta.NextKey || id < 0 { // a negative id was taken over from another ResourceManager
		return state.MasterKey{}, fmt.Errorf("%w: %d", ErrKeyUnknown, id)
	}
	return state.MasterKey{}, fmt.Errorf("%w: signed with key %d, which is not good any more", ErrBad, id)
}

// checkCurrent returns nil if an attempt is its application's current one and has not ended. An
// attempt whose AM has unregistered is live, because the AM may repeat that call.
func checkCurrent(st *state.State, at yarn.AttemptID) error {
	slot := st.Apps.Find(at.App.Seq)
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

// DelegationPassword returns the decoded identifier of a delegation token, and the password of the
// token. now is in Unix milliseconds.
func DelegationPassword(st *state.State, identifier []byte, now int64) (Delegation, []byte, error) {
	d, err := ParseDelegation(identifier)
	if err != nil {
		return Delegation{}, nil, fmt.Errorf("%w: %w", ErrBad, err)
	}
	key, err := NewRing(st).checking(yarn.KeyDelegation, d.KeyID)
	if err != nil {
		return d, nil, fmt.Errorf("delegation token %d: %w", d.Sequence, err)
	}
	t := st.Delegations.Find(d.Sequence)
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
	return d, Password(key, identifier), nil
}

// VerifyDelegation checks a delegation token in a message to renew or cancel it.
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

// VerifyNM checks an NM token as a node does, except for the keys that a node remembers for known
// attempts.
func (r Ring) VerifyNM(identifier, password []byte) (NM, error) {
	t, err := ParseNM(identifier)
	if err != nil {
		return NM{}, fmt.Errorf("%w: %w", ErrBad, err)
	}
	return t, r.genuine(yarn.KeyNM, t.KeyID, identifier, password)
}

// VerifyContainer checks a container's token as the node does.
func (r Ring) VerifyContainer(p *proto.TokenProto) (Container, error) {
	t, err := ParseContainer(p.GetIdentifier(), r.st.Versions.Kinds())
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
	return same(Password(key, identifier), password)
}
