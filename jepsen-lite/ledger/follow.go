package ledger

import (
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// follow applies one event to the ledger. It ignores events that change neither usage nor room nor
// an identity.
func (l *Ledger) follow(e event.Event) {
	switch e := e.(type) {
	case *event.ContainerAllocated:
		l.containers.allocated(e, 0)
	case *event.ContainerLent:
		l.leases.borrowed(e)
	case *event.ContainerLaunched:
		l.containers.launched(e.Container)
	case *event.ContainerReleased:
		l.containers.released(e)
	case *event.ContainerCompleted:
		l.containers.completed(e)
	case *event.ContainerSignalled:
		l.containers.signalled(e)
	case *event.ContainerIncreased:
		l.containers.increased(e)
	case *event.ContainerDecreased:
		l.containers.decreased(e)
	case *event.ContainerResizeAsked:
		l.containers.resizeAsked(e)
	case *event.ResizeAcked:
		l.containers.sizeTold(e)
	case *event.ResizeReserved:
		l.containers.reservedToGrow(e)
	case *event.ReservationMade:
		l.reservations.reserved(e)
	case *event.ReservationFulfilled:
		l.reservations.fulfilled(e)
	case *event.ReservationCancelled:
		l.reservations.cancelled(e)
	case *event.NodeRegistered:
		l.nodes.registered(e)
	case *event.NodeStateChanged:
		l.nodes.nodeState(e)
	case *event.NodeForgotten:
		l.nodes.nodeForgotten(e)
	case *event.NodeSilenceChanged:
		l.nodes.silence(e)
	case *event.NodeResourceChanged:
		l.nodes.resized(e)
	case *event.PreemptionAsked:
		l.warnings.warned(e)
	case *event.PreemptionWithdrawn:
		l.warnings.warningWithdrawn(e)
	case *event.GuaranteeOwed:
		l.debts.Follow(l.debts, e)
	case *event.GuaranteeKept:
		l.debts.FollowKept(l.debts, e)
	case *event.LabelsSet:
		l.nodes.labelsSet(e)
	case *event.LabelsRemoved:
		l.nodes.labelsRemoved(e)
	case *event.NodesLabelled:
		l.nodes.nodesLabelled(e)
	default:
		l.followRest(e)
	}
}

func (l *Ledger) followRest(e event.Event) {
	switch e := e.(type) {
	case *event.TimeAdvanced:
		if e.NowMillis < l.now {
			l.violate("S3", nil, "the state's clock goes back from %d to %d", l.now, e.NowMillis)
		}
		l.now = e.NowMillis
		l.warnings.preemptedNow = l.warnings.preemptedNow[:0] // an entry may have several rounds
	case *event.ClusterInitialized:
		if l.apps.timestamp != 0 {
			l.violate(Audit, nil, "the cluster is initialized twice")
		}
		l.apps.timestamp = e.ClusterTimestamp
	case *event.EpochRaised:
		if e.Epoch <= l.apps.epoch {
			l.violate("S6", nil, "epoch %d is raised to %d: ids made later can meet older ones", l.apps.epoch, e.Epoch)
		}
		l.apps.epoch, l.apps.timestamp = e.Epoch, e.ClusterTimestamp
		l.reservations.renumber()
	case *event.QueuesConfigured:
		l.queues.configure(e)
	case *event.QueueCreated:
		l.queues.createQueue(e)
	case *event.QueuesRemoved:
		l.queues.removeQueues(e)
	case *event.QueuesActivated:
		l.queues.activateQueues(e)
	case *event.QueueStateChanged:
		l.queues.queueState(e)
	case *event.RequestRecorded:
		key, _, _ := strings.Cut(e.Key, " of ") // without the owner of the key
		l.calls.recorded(key)
	case *event.RequestsForgotten:
		l.calls.forgotten(int(e.Count))
	case *event.MasterKeyCreated:
		l.calls.keys = append(l.calls.keys, keyMade{e.ID, l.index})
	default:
		l.followApp(e)
	}
}

func (l *Ledger) followApp(e event.Event) {
	switch e := e.(type) {
	case *event.ApplicationSubmitted:
		l.apps.submitted(e)
	case *event.ApplicationLifetimeChanged:
		if i := l.apps.appIndex(e.App); i >= 0 {
			l.apps.list[i].lifetime = e.LifetimeMillis
		}
	case *event.ApplicationEnded:
		l.apps.ended(e)
	case *event.ApplicationMoved:
		l.apps.move(e)
	case *event.ApplicationReprioritized:
		if a := l.apps.goingOn(e.App, "is given another priority"); a != nil {
			a.priorities = append(a.priorities, Priority{l.index, e.Priority})
		}
	case *event.ApplicationForgotten:
		l.apps.dropApp(e.App)
	case *event.AttemptStarted:
		l.apps.attemptStarted(e)
	case *event.AttemptActivated:
		l.apps.attempt(e.App, "activated", pending, active)
	case *event.AttemptRegistered:
		if a := l.apps.attempt(e.App, "registered", active, registered); a != nil {
			l.apps.setAppState(a, yarn.AppRunning)
		}
	case *event.AttemptLaunched:
		l.apps.goingOn(e.App, "has its AM launched")
	case *event.AttemptUnregistered:
		if a := l.apps.attempt(e.App, "unregistered", registered, finishing); a != nil {
			a.dropAsks()
			l.apps.noReservations(a, "unregisters")
		}
	case *event.AttemptEnded:
		l.apps.attemptEnded(e)
	case *event.AttemptResynced:
		if a := l.apps.goingOn(e.App, "starts over"); a != nil {
			a.dropAsks()
			a.dropGang()
			a.black = nil
			a.response = 0
			a.resyncs++
			l.apps.noReservations(a, "starts over")
		}
	case *event.ResponseRecorded:
		l.calls.answered(e)
	case *event.AskChanged:
		l.apps.asked(e)
	case *event.BlacklistChanged:
		l.apps.blacklisted(e)
	case *event.AskLabelled:
		l.apps.askLabelled(e)
	case *event.ApplicationLabelled:
		l.apps.applicationLabelled(e)
	case *event.GangDeclared:
		l.gangs.gangDeclared(e)
	case *event.GangReserved:
		l.gangs.gangReserved(e)
	case *event.GangStarted:
		l.gangs.gangStarted(e)
	case *event.GangEnded:
		l.gangs.gangEnded(e)
	}
}

// calls are the remembered calls.
type calls struct {
	*nouns
	keys     []keyMade
	requests []string // oldest first
	set      map[string]uint64
}

// recorded records a call with an idempotency key, and checks that it is new (S5).
func (l *calls) recorded(key string) {
	if at, ok := l.set[key]; ok {
		l.violate("S5", []Step{l.step(at, "request %q is recorded", key)}, "request %q is recorded a second time", key)
		return
	}
	l.set[key] = l.index
	l.requests = append(l.requests, key)
}

func (l *calls) forgotten(count int) {
	if count > len(l.requests) {
		l.violate(Audit, nil, "%d requests are forgotten, %d are remembered", count, len(l.requests))
		count = len(l.requests)
	}
	l.Counts.Forgotten += uint64(count)
	for _, key := range l.requests[:count] {
		delete(l.set, key)
	}
	l.requests = l.requests[count:]
}

// answered records an answer to an AM. Its number must be new; otherwise an earlier answer would be
// repeated with other contents.
func (l *calls) answered(e *event.ResponseRecorded) {
	a := l.apps.goingOn(e.App, "is answered")
	if a == nil {
		return
	}
	if e.Response <= a.response {
		l.violate("S12", nil, "application %d is answered with response %d after %d", e.App, e.Response, a.response)
	}
	a.response = e.Response
}
