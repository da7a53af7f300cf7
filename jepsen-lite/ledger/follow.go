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
		l.allocated(e, 0)
	case *event.ContainerLent:
		l.borrowed(e)
	case *event.ContainerLaunched:
		l.launched(e.Container)
	case *event.ContainerReleased:
		l.released(e)
	case *event.ContainerCompleted:
		l.completed(e)
	case *event.ContainerSignalled:
		l.signalled(e)
	case *event.ContainerIncreased:
		l.increased(e)
	case *event.ContainerDecreased:
		l.decreased(e)
	case *event.ContainerResizeAsked:
		l.resizeAsked(e)
	case *event.ResizeAcked:
		l.sizeTold(e)
	case *event.ResizeReserved:
		l.reservedToGrow(e)
	case *event.ReservationMade:
		l.reserved(e)
	case *event.ReservationFulfilled:
		l.fulfilled(e)
	case *event.ReservationCancelled:
		l.cancelled(e)
	case *event.NodeRegistered:
		l.registered(e)
	case *event.NodeStateChanged:
		l.nodeState(e)
	case *event.NodeForgotten:
		l.nodeForgotten(e)
	case *event.NodeSilenceChanged:
		l.silence(e)
	case *event.NodeResourceChanged:
		l.resized(e)
	case *event.PreemptionAsked:
		l.warned(e)
	case *event.PreemptionWithdrawn:
		l.warningWithdrawn(e)
	case *event.LabelsSet:
		l.labelsSet(e)
	case *event.LabelsRemoved:
		l.labelsRemoved(e)
	case *event.NodesLabelled:
		l.nodesLabelled(e)
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
	case *event.ClusterInitialized:
		if l.timestamp != 0 {
			l.violate(Audit, nil, "the cluster is initialized twice")
		}
		l.timestamp = e.ClusterTimestamp
	case *event.EpochRaised:
		if e.Epoch <= l.epoch {
			l.violate("S6", nil, "epoch %d is raised to %d: ids made later can meet older ones", l.epoch, e.Epoch)
		}
		l.epoch, l.timestamp = e.Epoch, e.ClusterTimestamp
		l.renumber()
	case *event.QueuesConfigured:
		l.configure(e)
	case *event.QueueCreated:
		l.createQueue(e)
	case *event.QueuesRemoved:
		l.removeQueues(e)
	case *event.QueuesActivated:
		l.activateQueues(e)
	case *event.QueueStateChanged:
		l.queueState(e)
	case *event.RequestRecorded:
		key, _, _ := strings.Cut(e.Key, " of ") // without the owner of the key
		l.recorded(key)
	case *event.RequestsForgotten:
		l.forgotten(int(e.Count))
	case *event.MasterKeyCreated:
		l.keys = append(l.keys, keyMade{e.ID, l.index})
	default:
		l.followApp(e)
	}
}

func (l *Ledger) followApp(e event.Event) {
	switch e := e.(type) {
	case *event.ApplicationSubmitted:
		l.submitted(e)
	case *event.ApplicationLifetimeChanged:
		if i := l.appIndex(e.App); i >= 0 {
			l.apps[i].lifetime = e.LifetimeMillis
		}
	case *event.ApplicationEnded:
		l.ended(e)
	case *event.ApplicationMoved:
		l.move(e)
	case *event.ApplicationReprioritized:
		if a := l.goingOn(e.App, "is given another priority"); a != nil {
			a.priorities = append(a.priorities, Priority{l.index, e.Priority})
		}
	case *event.ApplicationForgotten:
		l.dropApp(e.App)
	case *event.AttemptStarted:
		l.attemptStarted(e)
	case *event.AttemptActivated:
		l.attempt(e.App, "activated", pending, active)
	case *event.AttemptRegistered:
		if a := l.attempt(e.App, "registered", active, registered); a != nil {
			l.setAppState(a, yarn.AppRunning)
		}
	case *event.AttemptLaunched:
		l.goingOn(e.App, "has its AM launched")
	case *event.AttemptUnregistered:
		if a := l.attempt(e.App, "unregistered", registered, finishing); a != nil {
			a.dropAsks()
			l.noReservations(a, "unregisters")
		}
	case *event.AttemptEnded:
		l.attemptEnded(e)
	case *event.AttemptResynced:
		if a := l.goingOn(e.App, "starts over"); a != nil {
			a.dropAsks()
			a.dropGang()
			a.black = nil
			a.response = 0
			a.resyncs++
			l.noReservations(a, "starts over")
		}
	case *event.ResponseRecorded:
		l.answered(e)
	case *event.AskChanged:
		l.asked(e)
	case *event.BlacklistChanged:
		l.blacklisted(e)
	case *event.AskLabelled:
		l.askLabelled(e)
	case *event.ApplicationLabelled:
		l.applicationLabelled(e)
	case *event.GangDeclared:
		l.gangDeclared(e)
	case *event.GangReserved:
		l.gangReserved(e)
	case *event.GangStarted:
		l.gangStarted(e)
	case *event.GangEnded:
		l.gangEnded(e)
	}
}

// recorded records a call with an idempotency key, and checks that it is new (S5).
func (l *Ledger) recorded(key string) {
	if at, ok := l.requestSet[key]; ok {
		l.violate("S5", []Step{l.step(at, "request %q is recorded", key)}, "request %q is recorded a second time", key)
		return
	}
	l.requestSet[key] = l.index
	l.requests = append(l.requests, key)
}

func (l *Ledger) forgotten(count int) {
	if count > len(l.requests) {
		l.violate(Audit, nil, "%d requests are forgotten, %d are remembered", count, len(l.requests))
		count = len(l.requests)
	}
	l.Counts.Forgotten += uint64(count)
	for _, key := range l.requests[:count] {
		delete(l.requestSet, key)
	}
	l.requests = l.requests[count:]
}

// answered records an answer to an AM. Its number must be new; otherwise an earlier answer would be
// repeated with other contents.
func (l *Ledger) answered(e *event.ResponseRecorded) {
	a := l.goingOn(e.App, "is answered")
	if a == nil {
		return
	}
	if e.Response <= a.response {
		l.violate("S12", nil, "application %d is answered with response %d after %d", e.App, e.Response, a.response)
	}
	a.response = e.Response
}
