package state

import (
	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for AMs, ids, keys and delegation tokens.

// SubmitGiven submits an application under an id that was given before.
func (m *machine) SubmitGiven(t *rapid.T) {
	n := rapid.Uint32Range(1, max(m.s.Meta.NextApp, 1)).Draw(t, "number")
	if m.s.Apps.Find(n) != 0 || len(m.leaves()) == 0 || m.s.Apps.Len() > 8 {
		t.Skip("it is there, or there are applications enough")
	}
	m.apply(t, &event.ApplicationSubmitted{App: n, Name: "given", User: drawOf(t, "user", machineUsers),
		Queue: drawOf(t, "queue", m.leaves()),
		AM:    gb(1), MaxAttempts: 2, ValidityMillis: rapid.Int64Range(0, 9).Draw(t, "validity")})
}

// ReserveIDs reserves several ids at once. SubmitGiven may use them.
func (m *machine) ReserveIDs(t *rapid.T) {
	m.apply(t, &event.ApplicationIDsReserved{App: max(m.s.Meta.NextApp, 1),
		Count: rapid.Uint32Range(1, 5).Draw(t, "count")})
}

func (m *machine) ChangeLifetime(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return !a.State.Ended() })
	m.apply(t, &event.ApplicationLifetimeChanged{App: a.ID.Seq,
		LifetimeMillis: rapid.Int64Range(0, 99).Draw(t, "lifetime")})
}

// AllocateMaster brings an application as close as possible to a running AM.
func (m *machine) AllocateMaster(t *rapid.T) {
	slot, a := pick(t, "application", &m.s.Apps, func(a *App) bool {
		return !a.State.Ended() && !a.Unmanaged && a.AttemptState != AttemptRegistered &&
			a.AttemptState != AttemptFinishing && a.MasterNumber == 0
	})
	seq := a.ID.Seq
	if a.AttemptState == AttemptNone || a.AttemptState == AttemptEnded {
		m.apply(t, &event.AttemptStarted{App: seq, Attempt: a.Attempt + 1})
	} else if a.AttemptState == AttemptNonRunnable {
		m.apply(t, &event.AttemptStarted{App: seq, Attempt: a.Attempt})
	}
	if m.s.Apps.Get(slot).AttemptState == AttemptPending {
		m.apply(t, &event.AttemptActivated{App: seq})
	}
	m.apply(t, &event.AskChanged{App: seq, Key: yarn.SchedulerKey{Priority: -7}, Name: yarn.Any, Count: 1,
		Size: gb(1), Relax: true})
	node,
		_ := pick(t, "node", &m.s.Nodes,
		func(n *Node) bool { return n.State.Usable() && n.Reservation == 0 && m.within(gb(1), n.Unallocated()) })
	m.apply(t, &event.ContainerAllocated{App: seq, Number: m.s.Meta.NextNumber(m.s.Apps.Get(slot)),
		Key:  yarn.SchedulerKey{Priority: -7},
		Node: node, Locality: yarn.OffSwitch, AM: true})
	if a := m.s.Apps.Get(slot); a.MasterNode != node || m.s.Master(a) == 0 {
		t.Fatalf("the AM on node %d is noted as %d on %d", node, a.MasterNumber, a.MasterNode)
	}
}

func (m *machine) LaunchAttempt(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool {
		return a.Charged() && a.MasterNumber != 0 && a.LaunchedMillis == 0 && m.s.Meta.NowMillis > 0
	})
	m.apply(t, &event.AttemptLaunched{App: a.ID.Seq})
}

func (m *machine) Unregister(t *rapid.T) {
	slot, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return a.AttemptState == AttemptRegistered })
	_, reservations := m.holdings(slot)
	for _, r := range reservations {
		m.apply(t, &event.ReservationCancelled{Reservation: r, Cause: yarn.CancelAttemptEnded})
	}
	m.apply(t, &event.AttemptUnregistered{App: a.ID.Seq, Final: yarn.FinalSucceeded, Diagnostics: "bye",
		TrackingURL: drawOf(t, "url", []string{"", "h"})})
}

func (m *machine) Resync(t *rapid.T) {
	slot, a := pick(t, "application", &m.s.Apps,
		func(a *App) bool { return a.AttemptState == AttemptRegistered && a.Response > 0 })
	_, reservations := m.holdings(slot)
	for _, r := range reservations {
		m.apply(t, &event.ReservationCancelled{Reservation: r, Cause: yarn.CancelAskGone})
	}
	var undelivered []event.ContainerRef
	for _, k := range m.s.Containers.UndeliveredTo(a) {
		if k.State.Live() && k.GrantedIn == 0 {
			undelivered = append(undelivered, m.s.Apps.Ref(k))
		}
	}
	m.endContainers(t, undelivered)
	m.apply(t, &event.AttemptResynced{App: a.ID.Seq})
}

func (m *machine) Report(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return a.AttemptState == AttemptRegistered })
	m.apply(t, &event.AttemptReported{App: a.ID.Seq, Progress: rapid.Uint32Max(WholeProgress).Draw(t, "progress"),
		TrackingURL: drawOf(t, "url", []string{"", "h"})})
}

func (m *machine) Keys(t *rapid.T) {
	which := yarn.KeyKind(rapid.IntRange(0, int(yarn.KeyKinds)-1).Draw(t, "kind"))
	k := m.s.Keys(which)
	switch {
	case k.Next.ID == 0:
		m.apply(t, &event.MasterKeyCreated{Which: which, ID: m.s.Meta.NextKey + 1, Bytes: []byte{byte(which), 9},
			ActivateMillis: m.s.Meta.NowMillis + 5})
	case which == yarn.KeyDelegation && m.s.Delegations.SignedWith(k.Previous.ID):
		t.Skip("a token holds the key before")
	default:
		m.apply(t, &event.KeyActivated{Which: which})
	}
}

func (m *machine) Delegate(t *rapid.T) {
	key := m.s.Keys(yarn.KeyDelegation).Current.ID
	if key == 0 {
		t.Skip("no key")
	}
	now := m.s.Meta.NowMillis
	m.apply(t, &event.DelegationTokenIssued{Sequence: m.s.Meta.NextToken + 1, Owner: "ann", Renewer: "yarn", KeyID: key,
		MaxMillis: now + 100, ExpiresMillis: now + 10})
}

func (m *machine) Redelegate(t *rapid.T) {
	_, d := pick(t, "delegation token", &m.s.Delegations, func(*DelegationToken) bool { return true })
	if rapid.Bool().Draw(t, "renew") {
		m.apply(t, &event.DelegationTokenRenewed{Sequence: d.Sequence,
			ExpiresMillis: d.MaxMillis - rapid.Int64Range(0, 20).Draw(t, "early")})
		return
	}
	m.apply(t, &event.DelegationTokenEnded{Sequence: d.Sequence})
}
