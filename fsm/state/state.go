package state

import (
	"fmt"
	"math/bits"

	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/fsm/state/index"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// Limits of remembered requests and queue configurations. Age is measured on the log's clock, so
// that every replica forgets the same requests.
const (
	MaxRequests       = 100_000
	RequestKeepMillis = 24 * 60 * 60 * 1000
	maxQueueVersions  = 100
)

// State is the whole replicated state. Its tables, slices and Meta are in snapshots; parts lists
// them. Reindex computes the other unexported fields from them.
//
// It has five layers. A method belongs to the lowest layer that has what it touches, and a table's
// own methods touch nothing else.
type State struct {
	Running

	Requests     Requests
	Attempts     Attempts // ended attempts
	Delegations  Delegations
	Audit        Audit
	FormerQueues FormerQueues // by slot of an App that ended in a queue that was removed
	Placements   Placements   // by slot of an App: the rule that placed it

	JoinTokens JoinTokens   // replaced whole
	Access     AccessTokens // by name; replaced whole
	Autopilot  Autopilot
	AppTokens  apptoken.Ledger
}

// Running is what runs on nodes and is reserved there, and what is remembered of it.
type Running struct {
	Cluster

	Diagnostics      table.Table[DiagnosticsSlot, Diagnostics]
	Reservations     Reservations
	AskedLabels      AskedLabels // by slot of a Container: the label of its ask
	Preemptions      Preemptions // by slot of a Container
	Preempted        Losses      // by slot of an App: what it has lost by preemption
	PreemptionTotals PreemptionTotals
	Lengths          Histories    // see lengths.go
	Leases           Leases       // by slot of a Container that runs in the room of a reservation
	Avoided          AvoidedNodes // oldest first; replaced whole; see avoid.go
}

// Cluster is the nodes, and what they must still learn.
type Cluster struct {
	Demand

	Nodes            Nodes
	ReservationBans  ReservationBans
	NodeApplications NodeApplications
	Removable        table.Table[RemovalsSlot, Removals]
	LabelledHosts    LabelledHosts
	Hosts            HostLists // replaced whole

	writer *writer
}

// Demand is what applications have and ask for, and what the last event did to them.
type Demand struct {
	Accounts

	Apps       Apps
	Asks       Asks
	Locations  Locations
	Containers Containers
	Resizes    Resizes
	Gangs      Gangs // by slot of an App that has not ended; see gang.go

	changes changes // what the last event did
}

// Accounts are the queues and users, and the sums to which what they use is charged.
type Accounts struct {
	Meta Meta

	Names           Names
	Versions        QueueVersions // ascending; replaced whole
	Queues          Queues
	DynamicQueues   DynamicQueues // by slot of a Queue
	Debts           QueueDebts    // by slot of a Queue that waits for its guarantee
	Users           Users
	Labels          Labels // including removed labels
	LabelUses       LabelUses
	LargeContainers LargeContainers // by label; the slot is the label plus 1
}

// New returns the empty state of a cluster that is not initialized yet.
func New() *State {
	s := &State{Audit: newAudit()}
	s.writer = new(writer)
	s.Locations.index = index.New[LocationSlot]()
	for _, p := range parts {
		p.init(s)
	}
	return s
}

// Fork returns an independent copy of the state. It copies only the page tables. Afterwards
// different goroutines may use the two states. During Fork no other goroutine may use s.
func (s *State) Fork() *State {
	f := new(State)
	*f = *s
	f.writer, f.changes, f.LabelUses.changed = new(writer), nil, 0
	f.Locations.index = s.Locations.index.Fork()
	for _, p := range parts {
		p.fork(s, f)
	}
	return f
}

// Digest returns the rolling digest. Every event folds its number and its effects into the digest,
// so equal digests at one index mean equal histories and equal effects.
func (s *State) Digest() uint64 { return s.Meta.Digest }

func (s *Accounts) fold(v uint64)                { s.Meta.fold(v) }
func (s *Accounts) foldResource(r yarn.Resource) { s.Meta.foldResource(r) }

// fold folds a number into the digest.
func (m *Meta) fold(v uint64) {
	hi, lo := bits.Mul64(m.Digest^v, 0x9e3779b97f4a7c15)
	m.Digest = bits.RotateLeft64(hi^lo, 23) + 0xd1b54a32d192ed03
}

func (m *Meta) foldResource(r yarn.Resource) {
	h := uint64(0)
	for _, v := range r {
		h = h*0x9e3779b97f4a7c15 + uint64(v)
	}
	m.fold(h)
}

// BrokenError means that an event does not fit the state, because of a bug in the code that emitted
// it. The event has not changed the state.
type BrokenError struct {
	Event event.Event
	Why   string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("event %s does not follow from the state: %s", event.Describe(e.Event), e.Why)
}

func broken(e event.Event, format string, args ...any) error {
	return &BrokenError{Event: e, Why: fmt.Sprintf(format, args...)}
}

// Apply applies one event. If the event does not fit the state, Apply returns a BrokenError and
// leaves the state unchanged.
func (s *State) Apply(e event.Event) error {
	s.changes, s.LabelUses.changed = s.changes[:0], 0
	if l, ok := e.(event.Later); ok && s.Meta.Level < l.Since() {
		return broken(e, "the feature level is %d", s.Meta.Level)
	}
	if err := s.apply(e); err != nil {
		return err
	}
	s.fold(uint64(e.Kind()))
	return nil
}

// appliers has the function that applies the events of each kind.
var appliers [event.KindsEnd]func(*State, event.Event) error

// applies makes f the function that applies the events of its type. It is called beside each f.
func applies[T any, P interface {
	*T
	event.Event
}](f func(*State, P) error) struct{} {
	k := P(new(T)).Kind()
	if appliers[k] != nil {
		panic(fmt.Sprintf("state: two functions apply %s", k))
	}
	appliers[k] = func(s *State, e event.Event) error {
		if p, ok := e.(P); ok {
			return f(s, p)
		}
		return unknown(e)
	}
	return struct{}{}
}

// apply calls the function that applies the event.
func (s *State) apply(e event.Event) error {
	if k := e.Kind(); k < event.KindsEnd && appliers[k] != nil {
		return appliers[k](s, e)
	}
	return unknown(e)
}

func unknown(e event.Event) error { return broken(e, "this build does not know the event") }
