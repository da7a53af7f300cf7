package wire

import (
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

func TestApplicationStates(t *testing.T) {
	for _, c := range []struct {
		app                 state.App
		state, final, attpt string
	}{
		{state.App{State: yarn.AppSubmitted}, "SUBMITTED", "APP_UNDEFINED", "APP_ATTEMPT_NEW"},
		{state.App{State: yarn.AppAccepted, AttemptState: state.AttemptNonRunnable}, "ACCEPTED", "APP_UNDEFINED",
			"APP_ATTEMPT_SCHEDULED"},
		{state.App{State: yarn.AppAccepted, AttemptState: state.AttemptActive}, "ACCEPTED", "APP_UNDEFINED",
			"APP_ATTEMPT_SCHEDULED"},
		{state.App{State: yarn.AppAccepted, AttemptState: state.AttemptActive, MasterNumber: 1}, "ACCEPTED", "APP_UNDEFINED",
			"APP_ATTEMPT_ALLOCATED"},
		{state.App{State: yarn.AppAccepted, AttemptState: state.AttemptActive, MasterNumber: 1, LaunchedMillis: 5},
			"ACCEPTED", "APP_UNDEFINED", "APP_ATTEMPT_LAUNCHED"},
		{state.App{State: yarn.AppRunning, AttemptState: state.AttemptRegistered, LaunchedMillis: 5}, "RUNNING",
			"APP_UNDEFINED", "APP_ATTEMPT_RUNNING"},
		{state.App{State: yarn.AppRunning, AttemptState: state.AttemptFinishing, Final: yarn.FinalSucceeded}, "FINISHED",
			"APP_SUCCEEDED", "APP_ATTEMPT_FINISHING"},
		{state.App{State: yarn.AppFinished, AttemptState: state.AttemptEnded, Final: yarn.FinalFailed, FinishMillis: 9},
			"FINISHED", "APP_FAILED", "APP_ATTEMPT_FINISHED"},
		{state.App{State: yarn.AppFailed, AttemptState: state.AttemptEnded, Final: yarn.FinalUndefined}, "FAILED",
			"APP_FAILED", "APP_ATTEMPT_FAILED"},
		{state.App{State: yarn.AppKilled, AttemptState: state.AttemptEnded, Final: yarn.FinalKilled}, "KILLED", "APP_KILLED",
			"APP_ATTEMPT_KILLED"},
		{state.App{State: yarn.AppAccepted, AttemptState: state.AttemptEnded, Final: yarn.FinalFailed}, "ACCEPTED",
			"APP_UNDEFINED", "APP_ATTEMPT_FAILED"},
	} {
		a := &c.app
		if s, f, at := ApplicationState(a).String(), AppFinalStatus(a).String(), AttemptState(a).String(); s != c.state ||
			f != c.final || at != c.attpt {
			t.Errorf("%s in attempt state %d: %s %s %s, want %s %s %s", a.State, a.AttemptState, s, f, at, c.state,
				c.final, c.attpt)
		}
	}
	if got := EndedAttemptState(&state.Attempt{Unregistered: true,
		Final: yarn.FinalKilled}); got != proto.YarnApplicationAttemptStateProto_APP_ATTEMPT_FINISHED {
		t.Errorf("an attempt that unregistered is %s", got)
	}
}

func TestStatesRoundTrip(t *testing.T) {
	for s := yarn.NodeRunning; s <= yarn.NodeShutdown; s++ {
		p := NodeStateProto(s)
		if got, ok := NodeState(p); !ok || got != s || p.String() != "NS_"+s.String() {
			t.Errorf("%s is told as %s and reads back as %s", s, p, got)
		}
	}
	if _, ok := NodeState(proto.NodeStateProto_NS_NEW); ok || NodeStateProto(99) != proto.NodeStateProto_NS_NEW {
		t.Error("a state that we do not have was taken")
	}
	for s := yarn.FinalUndefined; s <= yarn.FinalEnded; s++ {
		p := FinalStatusProto(s)
		if FinalStatus(p) != s || p.String() != "APP_"+s.String() {
			t.Errorf("%s is told as %s", s, p)
		}
	}
	if FinalStatus(77) != yarn.FinalUndefined || FinalStatus(-1) != yarn.FinalUndefined {
		t.Error("a final status that does not exist was taken")
	}
	for s := yarn.QueueRunning; s <= yarn.QueueStopped; s++ {
		if got := QueueStateProto(s).String(); got != "Q_"+s.String() {
			t.Errorf("%s is told as %s", s, got)
		}
	}
}

func TestContainerStatus(t *testing.T) {
	id := yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: 1, Seq: 2}, Attempt: 1, Number: 3}
	p := &proto.ContainerStatusProto{ContainerId: ContainerIDProto(id), State: proto.ContainerStateProto_C_RUNNING.Enum()}
	if got, err := ContainerStatus(p); err != nil ||
		got != (input.ContainerStatus{Container: id, State: yarn.ContainerRunning}) {
		t.Errorf("a running container reads as %+v, %v", got, err)
	}
	ended := input.ContainerStatus{Container: id, State: yarn.ContainerCompleted, ExitStatus: -103,
		Diagnostics: "too large"}
	if got, err := ContainerStatus(ContainerStatusProto(ended)); err != nil || got != ended {
		t.Errorf("%+v reads back as %+v, %v", ended, got, err)
	}
	nm := &proto.NMContainerStatusProto{ContainerId: ContainerIDProto(id),
		ContainerState: proto.ContainerStateProto_C_COMPLETE.Enum(), ContainerExitStatus: new(int32(-103)),
		Diagnostics: new("too large")}
	if got, err := NMContainerStatus(nm); err != nil || got != ended {
		t.Errorf("a registration's container reads as %+v, %v", got, err)
	}
	if _, err := ContainerStatus(nil); err == nil {
		t.Error("nothing was taken for a status")
	}
	if got := ContainerStatusProto(input.ContainerStatus{Container: id,
		State: yarn.ContainerRunning}).GetExitStatus(); got != ExitNone {
		t.Errorf("a running container's exit status is told as %d", got)
	}
}

func TestACLsAndSubmissions(t *testing.T) {
	a := ACLs{View: "alice staff", Modify: "alice"}
	list := []*proto.ApplicationACLMapProto{
		{AccessType: proto.ApplicationAccessTypeProto_APPACCESS_VIEW_APP.Enum(), Acl: new(a.View)},
		{AccessType: proto.ApplicationAccessTypeProto_APPACCESS_MODIFY_APP.Enum(), Acl: new(a.Modify)},
	}
	if got := ApplicationACLs(list); got != a {
		t.Errorf("%+v reads back as %+v", a, got)
	}
	if got := ApplicationACLs([]*proto.ApplicationACLMapProto{nil, {Acl: new("x")}}); got != (ACLs{}) {
		t.Errorf("an ACL without a type was taken: %+v", got)
	}
	for _, bad := range []string{"", "\xff", "{\"not\":\"protobuf\"}"} {
		if p, err := Submission([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a submission: %v", bad, p)
		}
	}
}
