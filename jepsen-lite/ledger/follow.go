package ledger

import (
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// follow enters one event into the books. What changes neither use, nor room, nor
// an identity is passed over.
func (m *Model) follow(e event.Event) {
	switch e := e.(type) {
	case *event.ContainerAllocated:
		m.allocated(e)
	case *event.ContainerLaunched:
		m.launched(e.Container)
	case *event.ContainerReleased:
		m.released(e)
	case *event.ContainerCompleted:
		m.completed(e)
	case *event.ContainerSignalled:
		m.signalled(e)
	case *event.ContainerIncreased:
		m.increased(e)
	case *event.ContainerDecreased:
		m.decreased(e)
	case *event.ContainerResizeAsked:
		m.resizeAsked(e)
	case *event.ContainerSizeTold:
		m.sizeTold(e)
	case *event.ResizeReserved:
		m.reservedToGrow(e)
	case *event.ReservationMade:
		m.reserved(e)
	case *event.ReservationFulfilled:
		m.fulfilled(e)
	case *event.ReservationCancelled:
		m.cancelled(e)
	case *event.NodeRegistered:
		m.registered(e)
	case *event.NodeStateChanged:
		m.nodeState(e)
	case *event.NodeResourceChanged:
		m.resized(e)
	default:
		m.followRest(e)
	}
}

func (m *Model) followRest(e event.Event) {
	switch e := e.(type) {
	case *event.TimeAdvanced:
		if e.NowMillis < m.now {
			m.bad("S3", nil, "the state's clock goes back from %d to %d", m.now, e.NowMillis)
		}
		m.now = e.NowMillis
	case *event.ClusterInitialized:
		if m.timestamp != 0 {
			m.bad(Audit, nil, "the cluster is initialized twice")
		}
		m.timestamp = e.ClusterTimestamp
	case *event.EpochRaised:
		if e.Epoch <= m.epoch {
			m.bad("S6", nil, "epoch %d is raised to %d: ids made later can meet older ones", m.epoch, e.Epoch)
		}
		m.epoch, m.timestamp = e.Epoch, e.ClusterTimestamp
		m.renumber()
	case *event.QueuesConfigured:
		m.configure(e)
	case *event.QueueStateChanged:
		m.queueState(e)
	case *event.RequestRecorded:
		key, _, _ := strings.Cut(e.Key, " of ") // the owner of the key
		m.recorded(key)
	case *event.RequestsForgotten:
		m.forgotten(int(e.Count))
	case *event.KeyMade:
		m.keys = append(m.keys, keyMade{e.ID, m.index})
	default:
		m.followApp(e)
	}
}

func (m *Model) followApp(e event.Event) {
	switch e := e.(type) {
	case *event.ApplicationSubmitted:
		m.submitted(e)
	case *event.ApplicationEnded:
		m.ended(e)
	case *event.ApplicationMoved:
		m.move(e)
	case *event.ApplicationReprioritized:
		if a := m.app(e.App); a != nil {
			a.priorities = append(a.priorities, Priority{m.index, e.Priority})
		}
	case *event.ApplicationForgotten:
		m.dropApp(e.App)
	case *event.AttemptStarted:
		m.attemptStarted(e)
	case *event.AttemptActivated:
		m.attempt(e.App, "activated", pending, active)
	case *event.AttemptRegistered:
		if a := m.attempt(e.App, "registered", active, registered); a != nil {
			m.turn(a, yarn.AppRunning)
		}
	case *event.AttemptUnregistered:
		if a := m.attempt(e.App, "unregistered", registered, finishing); a != nil {
			a.dropAsks()
			m.noReservations(a, "unregisters")
		}
	case *event.AttemptEnded:
		m.attemptEnded(e)
	case *event.AttemptResynced:
		if a := m.app(e.App); a != nil {
			a.dropAsks()
			a.black = nil
			a.response = 0
			a.resyncs++
			m.noReservations(a, "begins anew")
		}
	case *event.AllocateAnswered:
		m.answered(e)
	case *event.AskChanged:
		m.asked(e)
	case *event.BlacklistChanged:
		m.blacklisted(e)
	}
}

// recorded remembers a call with an idempotency key: S5.
func (m *Model) recorded(key string) {
	if at, ok := m.requestSet[key]; ok {
		m.bad("S5", []Step{m.step(at, "request %q is recorded", key)}, "request %q is recorded a second time", key)
		return
	}
	m.requestSet[key] = m.index
	m.requests = append(m.requests, key)
}

func (m *Model) forgotten(count int) {
	if count > len(m.requests) {
		m.bad(Audit, nil, "%d requests are forgotten, %d are remembered", count, len(m.requests))
		count = len(m.requests)
	}
	m.Counts.Forgotten += uint64(count)
	for _, key := range m.requests[:count] {
		delete(m.requestSet, key)
	}
	m.requests = m.requests[count:]
}

// answered closes an AM's call: the number must be new, or an answer given
// before is given again with other contents.
func (m *Model) answered(e *event.AllocateAnswered) {
	a := m.app(e.App)
	if a == nil {
		return
	}
	if e.Response <= a.response {
		m.bad("S12", nil, "application %d is answered with response %d after %d", e.App, e.Response, a.response)
	}
	a.response = e.Response
}
