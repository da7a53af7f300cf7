package snapshot

import (
	"bytes"
	"fmt"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// apply applies events and fails the test if the state rejects one.
func apply(tb testing.TB, st *state.State, events ...event.Event) {
	tb.Helper()
	for _, e := range events {
		if err := st.Apply(e); err != nil {
			tb.Fatal(err)
		}
	}
}

var key = yarn.SchedulerKey{Priority: 1}

// began returns a state with two queues and the given number of nodes of 100 GB.
func began(tb testing.TB, nodes int) *state.State {
	st := state.New()
	apply(tb, st,
		&event.TimeAdvanced{NowMillis: 1_700_000_000_000},
		&event.ClusterInitialized{ClusterID: "c-1", ClusterTimestamp: 1_700_000_000_000, Level: event.Level},
		&event.QueuesConfigured{
			Version: 1, Kinds: []string{yarn.MemoryName, yarn.VCoresName}, Author: "seed",
			Properties: []event.Property{{Name: "yarn.scheduler.capacity.root.queues", Value: "a,b"}},
			Queues: []event.QueueDefinition{
				{Path: "root", State: yarn.QueueRunning},
				{Path: "root.a", Leaf: true, State: yarn.QueueRunning},
				{Path: "root.b", Leaf: true, State: yarn.QueueRunning},
			},
		})
	for i := range nodes {
		apply(tb, st, &event.NodeRegistered{
			Node: state.NodeSlot(i + 1), ID: yarn.NodeID{Host: fmt.Sprintf("host-%d", i+1), Port: 45454},
			HTTPPort: 8042, Rack: fmt.Sprintf("/rack-%d", i/20), Total: yarn.NewResource(100<<10, 100), Version: "3.4.2",
		})
	}
	return st
}

// submit submits an application and registers its AM, so that it can get containers.
func submit(tb testing.TB, st *state.State, app uint32, queue string) {
	apply(tb, st,
		&event.ApplicationSubmitted{App: app, Name: fmt.Sprintf("app %d", app), User: "ann", Queue: queue, Type: "TEZ",
			Tags: []string{"x", "y"}, AM: yarn.NewResource(512, 1), Unmanaged: true, MaxAttempts: 2, Context: []byte("context")},
		&event.AttemptStarted{App: app, Attempt: 1},
		&event.AttemptActivated{App: app},
		&event.AttemptRegistered{App: app, Host: "am", RPCPort: 1, TrackingURL: "http://am"})
}

// grant allocates count containers of memoryMB, perNode on each node, beginning with node first.
func grant(tb testing.TB, st *state.State, app uint32, memoryMB int64, count, first, perNode int) {
	apply(tb, st, &event.AskChanged{App: app, Key: key, Name: yarn.Any, Count: int64(count),
		Size: yarn.NewResource(memoryMB, 1), Relax: true})
	for i := range count {
		apply(tb, st, &event.ContainerAllocated{App: app, Number: uint64(i + 1), Key: key,
			Node: state.NodeSlot(first + i/perNode), Locality: yarn.OffSwitch})
	}
}

// small returns a state with at least one record in every section.
func small(tb testing.TB) *state.State {
	st := withResizes(tb)
	apply(tb, st, &event.ApplicationIDsReserved{App: st.Meta.NextApp, Count: 1000})
	// its node already has the command to forget attempt 1's AM
	finished := event.ContainerRef{App: 3, Attempt: 2, Number: 1}
	apply(tb, st, &event.RemovalsAcked{Node: 4, Through: 1}, &event.ContainerCompleted{Container: finished})
	apply(tb, st,
		&event.Audited{Who: "token ci", From: "10.0.0.9:4", Action: "node drain", Target: "host-1:45454",
			Result: event.AuditDone},
		&event.Audited{Who: "mallory", From: "10.0.0.8:4", Action: "node drain", Target: "host-1:45454",
			Result: "NOT_ALLOWED"})
	withLabels(tb, st)
	withPreemptions(tb, st)
	withDynamicQueues(tb, st)
	withGang(tb, st)
	withLease(tb, st)
	withSilence(tb, st)
	withTokens(tb, st)
	return st
}

// withTokens adds an application with tokens of other services, of which one was replaced.
func withTokens(tb testing.TB, st *state.State) {
	now := st.Meta.NowMillis
	apply(tb, st, &event.TokensAdded{App: 1, Conf: []byte("conf"), Keep: true, DelayMillis: 600_000,
		Tokens: []event.AppToken{
			{Kind: "HDFS_DELEGATION_TOKEN", Service: "ha-hdfs:ns", Identifier: []byte("old"), Password: []byte("secret"),
				MaxMillis: now + 9000},
			{Kind: "kms-dt", Service: "kms:1", Identifier: []byte("kms"), Password: []byte("secret")}}},
		&event.TokenRenewed{Token: 2, EndMillis: now + 1000, NextMillis: now + 900},
		&event.TokensReplaced{Apps: []uint32{1}, Credentials: []byte("HDTS"), Tokens: []event.AppToken{
			{Kind: "HDFS_DELEGATION_TOKEN", Service: "ha-hdfs:ns", Identifier: []byte("new"), Password: []byte("secret"),
				MaxMillis: now + 99_000}}},
		&event.TokenCallFailed{Token: 3, NextMillis: now + 10, Why: "connection refused"})
}

// withSilence adds a node that has missed heartbeats, and one that an ask avoids.
func withSilence(tb testing.TB, st *state.State) {
	number := st.Meta.NextNumber(st.Apps.Get(st.Apps.Find(1)))
	key := yarn.SchedulerKey{Priority: 9}
	apply(tb, st, &event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 1,
		Size: yarn.NewResource(1<<10, 1), Relax: true},
		&event.ContainerAllocated{App: 1, Number: number, Key: key, Node: 4, Locality: yarn.OffSwitch},
		&event.ContainerCompleted{Container: event.ContainerRef{App: 1, Attempt: 1, Number: number},
			ExitStatus: yarn.ExitAborted},
		&event.NodeSilenceChanged{Node: 4, SinceMillis: st.Meta.NowMillis - 5000})
}

// withDynamicQueues adds dynamic queues: one with an application, an idle one, and one that is
// removed after its application has ended.
func withDynamicQueues(tb testing.TB, st *state.State) {
	apply(tb, st,
		&event.QueueCreated{Path: "root.users", State: yarn.QueueRunning},
		&event.QueueCreated{Path: "root.users.ann", Leaf: true, State: yarn.QueueRunning},
		&event.QueueCreated{Path: "root.users.bob", Leaf: true, State: yarn.QueueRunning},
		&event.QueuesActivated{Active: []string{"root.users.bob"}},
		&event.ApplicationSubmitted{App: st.Meta.NextApp, Name: "own queue", User: "ann", Queue: "root.users.ann",
			MaxAttempts: 2})
	ended := st.Meta.NextApp
	apply(tb, st, &event.QueueCreated{Path: "root.users.cid", Leaf: true, State: yarn.QueueRunning},
		&event.ApplicationSubmitted{App: ended, Name: "over", User: "cid", Queue: "root.users.cid", MaxAttempts: 2},
		&event.ApplicationEnded{App: ended, State: yarn.AppKilled}, &event.QueuesRemoved{Paths: []string{"root.users.cid"}})
}

// withGang adds a gang that has reserved a node.
func withGang(tb testing.TB, st *state.State) {
	gang := yarn.SchedulerKey{Priority: 8}
	apply(tb, st, &event.GangDeclared{App: 1,
		Gang: yarn.Gang{Priority: 8, AnyRequest: true, Count: 2, TimeoutMillis: 60_000}},
		&event.AskChanged{App: 1, Key: gang, Name: yarn.Any, Count: 2, Size: yarn.NewResource(1<<10, 1), Relax: true},
		&event.GangReserved{Reservation: st.Meta.NextReservation + 1, App: 1,
			Number: st.Meta.NextNumber(st.Apps.Get(st.Apps.Find(1))), Node: 3,
			Members: 2, ExpectedMillis: st.Meta.NowMillis + 1000})
}

// withLabels labels the node of a running container and adds asks for labels.
func withLabels(tb testing.TB, st *state.State) {
	key := yarn.SchedulerKey{Priority: 5}
	id := yarn.NodeID{Host: "host-3", Port: 45454}
	apply(tb, st,
		&event.LabelsSet{Labels: []event.Label{{Name: "gpu", Exclusive: true}, {Name: "spot"}}},
		&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: yarn.NodeID{Host: id.Host}, Label: "gpu"},
			{ID: id, Label: "spot"}, {ID: yarn.NodeID{Host: "unheard-of"}, Label: "gpu"}}},
		&event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 3, Size: yarn.NewResource(1<<10, 1), Relax: true},
		&event.AskLabelled{App: 1, Key: key, Label: "spot"}, &event.AskMissesUpdated{App: 1, Key: key, Missed: 7},
		&event.ContainerAllocated{App: 1, Number: st.Meta.NextNumber(st.Apps.Get(st.Apps.Find(1))), Key: key, Node: 3,
			Locality: yarn.OffSwitch})
	apply(tb, st, &event.ApplicationSubmitted{App: st.Meta.NextApp, Name: "labelled", User: "ann", Queue: "root.a",
		MaxAttempts: 2})
	apply(tb, st, &event.ApplicationLabelled{App: st.Meta.NextApp - 1, Label: "spot", AMLabel: "gpu"},
		&event.ApplicationPlaced{App: st.Meta.NextApp - 1, Rule: 2, Text: "u:%user:root.%user",
			Why: "there is no queue \"root.ann\"", For: "eve"})
}

// withPreemptions preempts one container, preempts another one for a reservation that still exists,
// and warns a third one.
func withPreemptions(tb testing.TB, st *state.State) {
	key := yarn.SchedulerKey{Priority: 6}
	number := st.Meta.NextNumber(st.Apps.Get(st.Apps.Find(1)))
	apply(tb, st, &event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 2,
		Size: yarn.NewResource(1<<10, 1), Relax: true})
	for i := range uint64(2) {
		ref := event.ContainerRef{App: 1, Attempt: 1, Number: number + i}
		apply(tb, st,
			&event.ContainerAllocated{App: 1, Number: ref.Number, Key: key, Node: 3, Locality: yarn.OffSwitch},
			&event.PreemptionAsked{Container: ref, Queue: "root.b", Cause: yarn.PreemptGuarantee,
				DeadlineMillis: st.Meta.NowMillis + 15_000,
				Under:          yarn.NewResource(4<<10, 4), Over: yarn.NewResource(2<<10, 2), Sets: 41, Cost: 180})
	}
	apply(tb, st, &event.ContainerReleased{Container: event.ContainerRef{App: 1, Attempt: 1, Number: number},
		ExitStatus: yarn.ExitPreempted})
	ref := event.ContainerRef{App: 1, Attempt: 1, Number: 4} // on the reserved node
	apply(tb, st, &event.PreemptionAsked{Container: ref, Reservation: 2, Queue: "root.b", Cause: yarn.PreemptReservation,
		DeadlineMillis: st.Meta.NowMillis},
		&event.ContainerReleased{Container: ref, ExitStatus: yarn.ExitPreempted},
		&event.GuaranteeOwed{Path: "root.b", Debt: yarn.DebtOwed},
		&event.GuaranteeOwed{Path: "root.b", Debt: yarn.DebtOverdue},
		&event.GuaranteeOwed{Path: "root.a", Label: "gpu", Debt: yarn.DebtOwed},
		&event.GuaranteeKept{Path: "root.b", Size: yarn.NewResource(3<<10, 2), ReachedMillis: 5, IdleLeft: 6},
		&event.GuaranteeKept{Path: "root.b", Label: "gpu", Size: yarn.NewResource(1<<10, 1)})
}

// withLease adds a container that runs in the idle room of the reserved node.
func withLease(tb testing.TB, st *state.State) {
	key := yarn.SchedulerKey{Priority: 7}
	apply(tb, st,
		&event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 1, Size: yarn.NewResource(512, 1), Relax: true},
		&event.ContainerLent{ContainerAllocated: event.ContainerAllocated{App: 1,
			Number: st.Meta.NextNumber(st.Apps.Get(st.Apps.Find(1))), Key: key,
			Node: st.Reservations.Get(st.Reservations.Find(2)).Node, Locality: yarn.OffSwitch}, Reservation: 2,
			DeadlineMillis: st.Meta.NowMillis + 60_000})
}

// withResizes returns a state with containers whose size changes.
func withResizes(tb testing.TB) *state.State {
	st := withApplications(tb)
	first := event.ContainerRef{App: 1, Attempt: 1, Number: 1}
	apply(tb, st,
		&event.ContainerResizeAsked{Container: first, Size: yarn.NewResource(50<<10, 1)},
		&event.ContainerDecreased{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 4},
			Size: yarn.NewResource(30<<10, 1)},
		&event.ContainerResizeAsked{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 3},
			Size: yarn.NewResource(90<<10, 1)})
	return st
}

// withApplications returns a state with applications, asks, reservations, keys and tokens.
func withApplications(tb testing.TB) *state.State {
	st := began(tb, 3)
	submit(tb, st, 1, "root.a")
	submit(tb, st, 2, "root.b")
	grant(tb, st, 1, 40<<10, 4, 1, 2)
	wide := yarn.SchedulerKey{Priority: 2, AllocationID: 7}
	apply(tb, st,
		&event.AskChanged{App: 2, Key: wide, Name: yarn.Any, Count: 2, Size: yarn.NewResource(60<<10, 4)},
		&event.AskChanged{App: 2, Key: wide, Name: "host-1", Count: 1, Size: yarn.NewResource(60<<10, 4), Relax: true},
		&event.AskCountersUpdated{App: 2, Key: wide, Opportunities: 3, ReReservations: 1},
		&event.BlacklistChanged{App: 2, Add: []string{"host-9"}},
		&event.ReservationMade{Reservation: 1, App: 2, Number: 1, Key: wide, Node: 1},
		&event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator},
		&event.ReservationMade{Reservation: 2, App: 2, Number: 2, Key: wide, Node: 2},
		&event.ResponseRecorded{App: 1, Response: 1},
		&event.ContainerLaunched{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 1}},
		&event.ContainerReleased{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 2}, ExitStatus: yarn.ExitAborted,
			Diagnostics: "released"},
		&event.RequestRecorded{Key: "cli/1", BodyHash: 99, Reply: []byte("reply")},
		&event.JoinTokenCreated{Hash: []byte("hash"), Voter: true, ExpiresMillis: 1_800_000_000_000, CreatedBy: "ann"},
		&event.MasterKeyCreated{Which: yarn.KeyDelegation, ID: 1, Bytes: []byte("secret")},
		&event.MasterKeyCreated{Which: yarn.KeyNM, ID: 2, Bytes: []byte("current")},
		&event.MasterKeyCreated{Which: yarn.KeyNM, ID: 3, Bytes: []byte("next"), ActivateMillis: 1_700_000_900_000},
		&event.DelegationTokenIssued{Sequence: 1, Owner: "ann", Renewer: "yarn", RealUser: "oozie", KeyID: 1,
			MaxMillis: 1_700_600_000_000, ExpiresMillis: 1_700_086_400_000},
		&event.NodeListsSet{Include: []string{"host-1", "host-2"}, Exclude: []string{"host-8"}},
		&event.AccessTokenSet{Name: "ci", Hash: bytes.Repeat([]byte{7}, 32), Role: yarn.RoleOperator,
			ExpiresMillis: 1_800_000_000_000, By: "ann"},
		&event.AutopilotSet{CleanupDeadServers: true, DeadServerMillis: 60_000, MinQuorum: 3, LastContactMillis: 10_000,
			MaxTrailingLogs: 1000, StabilizationMillis: 10_000})
	withAttempts(tb, st)
	return st
}

// withAttempts adds an application whose first attempt failed and whose second one finishes on a
// NodeManager.
func withAttempts(tb testing.TB, st *state.State) {
	am := yarn.SchedulerKey{Priority: yarn.AMPriority}
	asked := &event.AskChanged{App: 3, Key: am, Name: yarn.Any, Count: 1, Size: yarn.NewResource(512, 1), Relax: true}
	master := &event.ContainerAllocated{App: 3, Number: 1, Key: am, Node: 4, Locality: yarn.OffSwitch, AM: true}
	apply(tb, st,
		&event.NodeRegistered{Node: 4, ID: yarn.NodeID{Host: "host-4", Port: 45454}, HTTPPort: 8042, Rack: "/rack-0",
			Total: yarn.NewResource(100<<10, 100), Version: "3.4.2", NodeManager: true},
		&event.ApplicationSubmitted{App: 3, Name: "app 3", User: "bob", Queue: "root.b", Type: "MAPREDUCE",
			AM:          yarn.NewResource(512, 1),
			MaxAttempts: 2, ValidityMillis: 60_000, LifetimeMillis: 3_600_000, Context: []byte("context")},
		&event.AttemptStarted{App: 3, Attempt: 1}, asked, &event.AttemptActivated{App: 3}, master,
		&event.AttemptLaunched{App: 3},
		&event.ContainerCompleted{Container: event.ContainerRef{App: 3, Attempt: 1, Number: 1}, ExitStatus: 1},
		&event.AttemptEnded{App: 3, Final: yarn.FinalFailed, Counts: true, Diagnostics: "exit 1"},
		&event.AttemptStarted{App: 3, Attempt: 2}, asked, &event.AttemptActivated{App: 3}, master,
		&event.AttemptLaunched{App: 3},
		&event.AttemptRegistered{App: 3, Host: "host-4", RPCPort: 7, TrackingURL: "http://am", ClientKey: []byte("client"),
			ClientAlgorithm: yarn.HMACSHA256},
		&event.AttemptReported{App: 3, Progress: 5000},
		&event.AttemptUnregistered{App: 3, Final: yarn.FinalSucceeded, TrackingURL: "http://history"})
}

// large returns a state with about n containers on n/50 nodes.
func large(tb testing.TB, n int) *state.State {
	const perApp, perNode = 5000, 50
	st := began(tb, (n+perNode-1)/perNode)
	for app := 0; app*perApp < n; app++ {
		submit(tb, st, uint32(app+1), "root.a")
		grant(tb, st, uint32(app+1), 1024, min(perApp, n-app*perApp), 1+app*perApp/perNode, perNode)
	}
	return st
}
