package client

import (
	"context"
	"slices"
	"strings"
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

var noApp = yarn.ApplicationID{ClusterTimestamp: birth, Seq: 77}

func (h *fixture) kill(user string, id yarn.ApplicationID, why string) (bool, error) {
	r, err := h.svc.killApplication(context.Background(), as(user),
		&proto.KillApplicationRequestProto{ApplicationId: wire.ApplicationIDProto(id), Diagnostics: new(why)})
	return r.GetIsKillCompleted(), err
}

func TestKill(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	h.launch(t, id)
	for i := range 2 {
		if done, err := h.kill("bob", id, " enough "); !done || err != nil {
			t.Fatalf("kill %d: completed %v, %v", i, done, err)
		}
	}
	r := h.report(t, "ann", id)
	want := "Application " + id.String() + " was killed by user bob at 10.0.0.9 with diagnostic message: enough"
	if r.GetYarnApplicationState() != proto.YarnApplicationStateProto_KILLED ||
		r.GetFinalApplicationStatus() != proto.FinalApplicationStatusProto_APP_KILLED || r.GetDiagnostics() != want {
		t.Errorf("killed: %v", r)
	}
	_, err := h.kill("ann", noApp, "")
	refused(t, err, classAppNotFound, "Trying to kill an absent application "+noApp.String())
}

// TestChangesAreAudited checks that each change through the client port is in the audit, with the
// user and the address of the caller. Refused calls and calls that change nothing leave no entry.
func TestChangesAreAudited(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	if err := h.move("ann", id, "root.batch.day"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call changes nothing
		if _, err := h.kill("bob", id, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.kill("bob", noApp, ""); err == nil {
		t.Fatal("an absent application was killed")
	}
	var got []string
	for _, a := range h.planner.State().Audit.After(0) {
		got = append(got, strings.Join([]string{a.Who, a.From, a.Action, a.Target}, " "))
		if a.AtMillis == 0 || !a.Changed() {
			t.Errorf("entry %+v", a)
		}
	}
	want := []string{"ann 10.0.0.9 app move " + id.String() + " queue root.default → root.batch.day",
		"bob 10.0.0.9 app kill " + id.String()}
	if !slices.Equal(got, want) {
		t.Errorf("audit %q, want %q", got, want)
	}
}

func TestKillCompletesWhatIsFinishing(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	at := h.launch(t, id)
	h.must(t, &input.FinishAttempt{Attempt: at, Final: yarn.FinalSucceeded})
	if done, err := h.kill("ann", id, ""); !done || err != nil {
		t.Errorf("completed %v, %v", done, err)
	}
	if s := h.report(t, "ann", id).GetYarnApplicationState(); s != proto.YarnApplicationStateProto_FINISHED {
		t.Errorf("its state is %s", s)
	}
}

// TestUnauthorizedChangesRefused checks the refusals of every method that changes an application.
func TestUnauthorizedChangesRefused(t *testing.T) {
	h := closed(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	at := h.launch(t, id)
	ctx := context.Background()
	app := wire.ApplicationIDProto(id)
	n := len(h.inputs)
	for name, err := range map[string]error{
		"kill": func() error { _, err := h.kill("eve", id, ""); return err }(),
		"fail": func() error {
			_, err := h.svc.failAttempt(ctx, as("eve"),
				&proto.FailApplicationAttemptRequestProto{ApplicationAttemptId: wire.AttemptIDProto(at)})
			return err
		}(),
		"move": func() error {
			_, err := h.svc.moveApplication(ctx, as("eve"),
				&proto.MoveApplicationAcrossQueuesRequestProto{ApplicationId: app, TargetQueue: new("night")})
			return err
		}(),
		"priority": func() error {
			_, err := h.svc.updatePriority(ctx, as("eve"),
				&proto.UpdateApplicationPriorityRequestProto{ApplicationId: app, ApplicationPriority: wire.PriorityProto(1)})
			return err
		}(),
		"timeouts": func() error {
			_, err := h.svc.updateTimeouts(ctx, as("eve"), &proto.UpdateApplicationTimeoutsRequestProto{ApplicationId: app})
			return err
		}(),
		"signal": func() error {
			_, err := h.svc.signalContainer(ctx, as("eve"), &proto.SignalContainerRequestProto{
				ContainerId: wire.ContainerIDProto(yarn.ContainerID{App: id, Attempt: 1, Number: 1}),
				Command:     proto.SignalContainerCommandProto_OUTPUT_THREAD_DUMP.Enum()})
			return err
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, err, ipc.ClassYarn,
				"org.apache.hadoop.security.AccessControlException: User eve cannot perform operation MODIFY_APP on "+id.String())
		})
	}
	if len(h.inputs) != n {
		t.Error("an unknown user's call went to the leader")
	}
	if done, err := h.kill("ann", id, ""); !done || err != nil {
		t.Errorf("the owner: %v, %v", done, err)
	}
}

func TestFailAttempt(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	at := h.launch(t, id)
	fail := func(at yarn.AttemptID) error {
		_, err := h.svc.failAttempt(context.Background(), as("ann"),
			&proto.FailApplicationAttemptRequestProto{ApplicationAttemptId: wire.AttemptIDProto(at)})
		return err
	}
	for range 2 { // the second call must not fail another attempt
		if err := fail(at); err != nil {
			t.Fatal(err)
		}
	}
	if a := h.record(t, id); a.Attempt != 2 || a.State.Ended() {
		t.Errorf("attempt %d, %s", a.Attempt, a.State)
	}
	none := yarn.AttemptID{App: id, Attempt: 3}
	refused(t, fail(none), classAttemptNotFound, "ApplicationAttempt with id '"+none.String()+"' doesn't exist in RM.")
	refused(t, fail(yarn.AttemptID{App: noApp, Attempt: 1}), classAppNotFound, noApplication(noApp).(*ipc.Error).Message)
	h.launch(t, id)
	if err := fail(yarn.AttemptID{App: id, Attempt: 2}); err != nil {
		t.Fatal(err)
	}
	if a := h.record(t, id); a.State != yarn.AppFailed ||
		!strings.Contains(a.Details().Diagnostics, "Attempt failed by user") {
		t.Errorf("state after the last attempt failed: %s, want %s; diagnostics %q, want \"Attempt failed by user\"",
			a.State, yarn.AppFailed, a.Details().Diagnostics)
	}
	if err := fail(yarn.AttemptID{App: id, Attempt: 2}); err != nil {
		t.Errorf("of an application that has ended: %v", err)
	}
}

func (h *fixture) move(user string, id yarn.ApplicationID, to string) error {
	_, err := h.svc.moveApplication(context.Background(), as(user),
		&proto.MoveApplicationAcrossQueuesRequestProto{ApplicationId: wire.ApplicationIDProto(id), TargetQueue: new(to)})
	return err
}

func TestMove(t *testing.T) {
	h := newFixture(t, confPrefix+"root.batch.night.state", "STOPPED")
	id := h.app(t, "ann", nil)
	if err := h.move("ann", id, "day"); err != nil {
		t.Fatal(err)
	}
	if q := h.report(t, "ann", id).GetQueue(); q != "root.batch.day" {
		t.Errorf("it is in %s", q)
	}
	for to, message := range map[string]string{
		"nowhere":          "The specified Queue: nowhere doesn't exist",
		"night":            "The specified Queue: night doesn't exist",
		"batch":            "The specified Queue: batch is not a Leaf Queue.",
		"root.batch.night": "org.apache.hadoop.security.AccessControlException: Queue root.batch.night is STOPPED. Cannot accept submission of application: " + id.String(),
	} {
		refused(t, h.move("ann", id, to), ipc.ClassYarn, message)
	}
	if _, err := h.kill("ann", id, ""); err != nil {
		t.Fatal(err)
	}
	refused(t, h.move("ann", id, "day"), ipc.ClassYarn, "App in KILLED state cannot be moved.")
	refused(t, h.move("ann", noApp, "day"), classAppNotFound, noApplication(noApp).(*ipc.Error).Message)
}

func TestMoveTargetQueueErrors(t *testing.T) {
	h := closed(t)
	id := h.app(t, "ann", nil)
	const head = "org.apache.hadoop.security.AccessControlException: User ann cannot submit applications to target queue or the target queue doesn't exist: "
	refused(t, h.move("ann", id, "root.night"), ipc.ClassYarn, head+"root.night while moving "+id.String())
	refused(t, h.move("ann", id, "nowhere"), ipc.ClassYarn, head+"nowhere while moving "+id.String())
	if err := h.move("ann", id, "day"); err != nil {
		t.Error(err)
	}
}

func TestPriority(t *testing.T) {
	h := newFixture(t, "yarn.cluster.max-application-priority", "5")
	id := h.app(t, "ann", nil)
	set := func(id yarn.ApplicationID, p int32) (int32, error) {
		r, err := h.svc.updatePriority(context.Background(), as("ann"),
			&proto.UpdateApplicationPriorityRequestProto{ApplicationId: wire.ApplicationIDProto(id),
				ApplicationPriority: wire.PriorityProto(p)})
		return wire.Priority(r.GetApplicationPriority()), err
	}
	if got, err := set(id, 3); got != 3 || err != nil {
		t.Errorf("priority %d, %v", got, err)
	}
	if got, err := set(id, 9); got != 5 || err != nil {
		t.Errorf("above the maximum: %d, %v", got, err)
	}
	if _, err := h.kill("ann", id, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := set(id, 1); got != 5 || err != nil {
		t.Errorf("of an application that has ended: %d, %v", got, err)
	}
	_, err := set(noApp, 1)
	refused(t, err, classAppNotFound, noApplication(noApp).(*ipc.Error).Message)
}

// TestPriorityACLs checks the ACLs of priorities at submission and later, with YARN's texts.
func TestPriorityACLs(t *testing.T) {
	h := newFixture(t, "yarn.cluster.max-application-priority", "9", "yarn.acl.enable", "true",
		confPrefix+"root.default.acl_application_max_priority",
		"[user=ann max_priority=5 default_priority=2] [group=ops max_priority=8 default_priority=7]")
	h.groups = map[string][]string{"ann": {"users"}, "bob": {"users", "ops"}}
	const head = "org.apache.hadoop.security.AccessControlException: User "
	id := h.newID(t)
	sub := func(p int32) *proto.ApplicationSubmissionContextProto {
		return &proto.ApplicationSubmissionContextProto{ApplicationId: wire.ApplicationIDProto(id),
			Priority: wire.PriorityProto(p), Resource: &proto.ResourceProto{Memory: new(int64(1024)),
				VirtualCores: new(int32(1))}}
	}
	refused(t, h.submit(t, "ann", sub(6)), ipc.ClassYarn,
		head+"ann (auth:SIMPLE) does not have permission to submit/update "+id.String()+" for 6")
	refused(t, h.submit(t, "eve", sub(0)), ipc.ClassYarn,
		head+"eve (auth:SIMPLE) does not have permission to submit/update "+id.String()+" for 0")
	if err := h.submit(t, "bob", sub(8)); err != nil {
		t.Error(err)
	}
	id = h.app(t, "ann", nil)
	if p := h.record(t, id).Priority; p != 2 {
		t.Errorf("ann's default is %d", p)
	}
	set := func(c *ipc.Call, p int32) (int32, error) {
		r, err := h.svc.updatePriority(context.Background(), c,
			&proto.UpdateApplicationPriorityRequestProto{ApplicationId: wire.ApplicationIDProto(id),
				ApplicationPriority: wire.PriorityProto(p)})
		return wire.Priority(r.GetApplicationPriority()), err
	}
	if got, err := set(as("ann"), 5); got != 5 || err != nil {
		t.Errorf("priority %d, %v", got, err)
	}
	_, err := set(as("ann"), 6)
	refused(t, err, ipc.ClassYarn, head+"ann (auth:SIMPLE) does not have permission to submit/update "+
		id.String()+" for 6")
	via := as("ann")
	via.Caller.RealUser = "oozie"
	_, err = set(via, 9)
	refused(t, err, ipc.ClassYarn,
		head+"ann (auth:PROXY) via oozie (auth:SIMPLE) does not have permission to submit/update "+id.String()+" for 9")
}

func TestTimeouts(t *testing.T) {
	h := newFixture(t, confPrefix+"root.default.maximum-application-lifetime", "7200")
	id := h.app(t, "ann", nil)
	set := func(end ...string) (string, error) {
		req := &proto.UpdateApplicationTimeoutsRequestProto{ApplicationId: wire.ApplicationIDProto(id)}
		for _, e := range end {
			req.ApplicationTimeouts = append(req.ApplicationTimeouts, timeouts(e).ApplicationTimeouts...)
		}
		r, err := h.svc.updateTimeouts(context.Background(), as("ann"), req)
		if err != nil {
			return "", err
		}
		return r.GetApplicationTimeouts()[0].GetExpireTime(), nil
	}
	// The answer has the same time in the same zone.
	end := "2026-05-28T22:26:40.000+0200" // birth is 20:26:40 UTC
	end = strings.Replace(end, "22:26", "22:56", 1)
	if got, err := set(end); got != end || err != nil {
		t.Errorf("expiry time = %q, %v, want %q", got, err, end)
	}
	a := h.record(t, id)
	if got := a.SubmittedMillis + a.LifetimeMillis; got != birth+30*60_000 {
		t.Errorf("it ends %d ms after the beginning", got-birth)
	}
	most := formatISO(a.SubmittedMillis + 7_200_000)
	if got, err := set(end, "2027-01-01T00:00:00.000+0000"); got != most || err != nil {
		t.Errorf("beyond the queue's maximum: %q, %v; want %q", got, err, most)
	}
	_, err := set()
	refused(t, err, ipc.ClassYarn, "At least one ApplicationTimeoutType should be configured for updating timeouts.")
	_, err = set("tomorrow")
	refused(t, err, ipc.ClassYarn,
		"Expire time is not in ISO8601 format. ISO8601 supported format is yyyy-MM-dd'T'HH:mm:ss.SSSZ. Configured timeout value is tomorrow")
	_, err = set("2020-01-01T00:00:00.000+0000")
	refused(t, err, ipc.ClassYarn, "Expire time is less than current time, current-time="+formatISO(h.now)+
		" expire-time=2020-01-01T00:00:00.000+0000")
	if _, err := h.kill("ann", id, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := set(end); got != end || err != nil {
		t.Errorf("of an application that has ended: %q, %v", got, err)
	}
}

func TestSignal(t *testing.T) {
	h := newFixture(t)
	h.node(t, "node1")
	id := h.app(t, "ann", nil)
	h.launch(t, id)
	c := yarn.ContainerID{App: id, Attempt: 1, Number: 1}
	signal := func(c yarn.ContainerID) error {
		_, err := h.svc.signalContainer(context.Background(), as("ann"), &proto.SignalContainerRequestProto{
			ContainerId: wire.ContainerIDProto(c), Command: proto.SignalContainerCommandProto_GRACEFUL_SHUTDOWN.Enum()})
		return err
	}
	if err := signal(c); err != nil {
		t.Fatal(err)
	}
	if k := h.svc.currentView(as("ann")).containerOf(c); k == nil || k.Signal != 2 {
		t.Errorf("container %+v", k)
	}
	for _, c := range []yarn.ContainerID{{App: id, Attempt: 1, Number: 2}, {App: noApp, Attempt: 1, Number: 1}} {
		refused(t, signal(c), ipc.ClassYarn, "Trying to signal an absent container "+c.String())
	}
}

// TestFaultClasses checks the Java class of every refusal of the planner. Clients decide by the
// class.
func TestFaultClasses(t *testing.T) {
	for code, want := range map[input.Code]string{
		input.NoSuchApplication: classAppNotFound, input.NoSuchAttempt: classAttemptNotFound,
		input.NoSuchContainer: classContainerNotFound,
		input.NeverFits:       classInvalidResource, input.InvalidAsk: classInvalidResource,
		input.NotInitialized: ipc.ClassStandby,
		input.NoSuchQueue:    ipc.ClassYarn, input.QueueNotLeaf: ipc.ClassYarn, input.QueueAmbiguous: ipc.ClassYarn,
		input.QueueStopped: ipc.ClassYarn,
		input.QueueFull:    ipc.ClassYarn, input.InvalidRequest: ipc.ClassYarn, input.AlreadyEnded: ipc.ClassYarn,
		input.NotAllowed: ipc.ClassYarn,
		input.TooLarge:   ipc.ClassYarn, input.TokenInvalid: ipc.ClassYarn, input.TokenExpired: ipc.ClassYarn,
		input.KeyReused: ipc.ClassYarn,
	} {
		text := "what; do\n  one\n  two"
		if inner := wrapped[code]; inner != "" {
			text = inner + ": " + text
		}
		refused(t, refusal(&input.Refusal{Reason: code, What: "what", Do: "do", Details: []string{"one", "two"}}), want, text)
	}
}
