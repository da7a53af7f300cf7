package statestore

import (
	"errors"
	"fmt"

	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// applicationStates are the states that YARN stores (RMAppStateProto). An application without one
// has not ended. Other states are never stored.
var applicationStates = map[int32]yarn.ApplicationState{0: 0, 8: yarn.AppFinished, 9: yarn.AppFailed,
	10: yarn.AppKilled}

// attemptStates are the stored states of attempts (RMAppAttemptStateProto).
var attemptStates = map[int32]yarn.ApplicationState{0: 0, 6: yarn.AppFailed, 9: yarn.AppFinished, 10: yarn.AppKilled}

const noDiagnostics = "N/A" // the text in the store for no diagnostics

func decodeApplication(name string, b []byte) (Application, error) {
	var p proto.ApplicationStateDataProto
	if err := bounded.Unmarshal(b, &p); err != nil {
		return Application{}, fmt.Errorf("its znode is not an ApplicationStateDataProto: %w", err)
	}
	sub := p.GetApplicationSubmissionContext()
	id, err := wire.ApplicationID(sub.GetApplicationId())
	if err != nil {
		return Application{}, err
	}
	state, known := applicationStates[p.GetApplicationState()]
	switch {
	case name != id.String():
		return Application{}, fmt.Errorf("its znode has the context of %s", id)
	case !known:
		return Application{}, fmt.Errorf("state %d is not known", p.GetApplicationState())
	case p.GetUser() == "":
		return Application{}, errors.New("it has no user")
	}
	context, err := gproto.MarshalOptions{Deterministic: true}.Marshal(sub)
	if err != nil {
		return Application{}, err
	}
	app := Application{ID: id, User: p.GetUser(), Context: context, State: state, Diagnostics: diagnostics(p.Diagnostics),
		SubmittedMillis: p.GetSubmitTime(), EndedMillis: p.GetFinishTime()}
	for _, t := range p.GetApplicationTimeouts() {
		app.ExpiresMillis = max(t.GetTimeout(), 0)
	}
	return app, nil
}

func diagnostics(text *string) string {
	if text == nil || *text == noDiagnostics {
		return ""
	}
	return *text
}

// maxAttempt is the highest accepted number of an attempt.
const maxAttempt = 100_000

func decodeAttempt(app yarn.ApplicationID, name string, b []byte) (Attempt, error) {
	var p proto.ApplicationAttemptStateDataProto
	if err := bounded.Unmarshal(b, &p); err != nil {
		return Attempt{}, fmt.Errorf("its znode is not an ApplicationAttemptStateDataProto: %w", err)
	}
	id, err := wire.AttemptID(p.AttemptId)
	if err != nil {
		return Attempt{}, err
	}
	state, known := attemptStates[p.GetAppAttemptState()]
	final := p.GetFinalApplicationStatus()
	switch {
	case id.App != app || id.String() != name || id.Attempt == 0 || id.Attempt > maxAttempt:
		return Attempt{}, fmt.Errorf("its znode has the data of %s", id)
	case !known:
		return Attempt{}, fmt.Errorf("attempt state %d is not known", p.GetAppAttemptState())
	case final < 0 || final > int32(yarn.FinalEnded):
		return Attempt{}, fmt.Errorf("final status %d is not known", final)
	}
	out := Attempt{Number: id.Attempt, State: state, Final: yarn.FinalStatus(final),
		ExitStatus:  p.GetAmContainerExitStatus(),
		Diagnostics: diagnostics(p.Diagnostics), TrackingURL: p.GetFinalTrackingUrl(),
		StartedMillis: p.GetStartTime(), EndedMillis: p.GetFinishTime(), ResourceSeconds: map[string]int64{}}
	for _, use := range p.GetApplicationResourceUsageMap() {
		out.ResourceSeconds[use.GetKey()] = use.GetValue()
	}
	if m := p.GetMasterContainer(); m != nil {
		c, err := wire.ContainerID(m.GetId())
		if err != nil {
			return Attempt{}, fmt.Errorf("AM container: %w", err)
		}
		if c.App != app || c.Attempt != id.Attempt {
			return Attempt{}, fmt.Errorf("its AM container is %s", c)
		}
		out.Master = c.Number
	}
	return out, nil
}

func decodeAMRM(b []byte) (AMRMKeys, error) {
	var p proto.AMRMTokenSecretManagerStateProto
	if err := bounded.Unmarshal(b, &p); err != nil {
		return AMRMKeys{}, fmt.Errorf("the keys of AMs' tokens cannot be read: %w", err)
	}
	key := func(m *proto.MasterKeyProto) Key { return Key{ID: m.GetKeyId(), Bytes: m.GetBytes()} }
	keys := AMRMKeys{Current: key(p.CurrentMasterKey), Next: key(p.NextMasterKey)}
	if keys.Current.ID == 0 || len(keys.Current.Bytes) == 0 || (keys.Next.ID != 0) != (len(keys.Next.Bytes) != 0) {
		return AMRMKeys{}, errors.New("the keys of AMs' tokens are incomplete")
	}
	return keys, nil
}

func decodeDelegationKey(b []byte) (Key, error) {
	id, _, secret, err := token.ParseDelegationKey(b)
	return Key{ID: id, Bytes: secret}, err
}

func decodeDelegationToken(b []byte) (DelegationToken, error) {
	var p proto.RMDelegationTokenIdentifierDataProto
	if err := bounded.Unmarshal(b, &p); err != nil {
		return DelegationToken{}, fmt.Errorf("its znode is not an RMDelegationTokenIdentifierDataProto: %w", err)
	}
	t := p.GetTokenIdentifier()
	if t.GetSequenceNumber() <= 0 || t.GetOwner() == "" {
		return DelegationToken{}, fmt.Errorf("its sequence number is %d, its owner is %q",
			t.GetSequenceNumber(), t.GetOwner())
	}
	return DelegationToken{Sequence: uint32(t.GetSequenceNumber()), Owner: t.GetOwner(), Renewer: t.GetRenewer(),
		RealUser: t.GetRealUser(),
		KeyID:    t.GetMasterKeyId(), IssuedMillis: t.GetIssueDate(), MaxMillis: t.GetMaxDate(),
		ExpiresMillis: p.GetRenewDate()}, nil
}
