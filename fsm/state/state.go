package state

import (
	"fmt"

	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/index"
	"rmd/fsm/state/record"
	"rmd/fsm/state/table"
	"rmd/yarn"
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

	JoinTokens JoinTokens          // replaced whole
	Access     record.AccessTokens // by name; replaced whole
	Autopilot  Autopilot
	AppTokens  apptoken.Ledger
}

// Running is what runs on nodes and is reserved there, and what is remembered of it.
type Running struct {
	Cluster

	Diagnostics      table.Table[DiagnosticsSlot, Diagnostics]
	Reservations     Reservations
	AskedLabels      AskedLabels   // by slot of a Container: the label of its ask
	Preemptions      Preemptions   // by slot of a Container
	Preempted        record.Losses // by slot of an App: what it has lost by preemption
	PreemptionTotals PreemptionTotals
	Lengths          record.Histories    // see lengths.go
	Leases           Leases              // by slot of a Container that runs in the room of a reservation
	Avoided          record.AvoidedNodes // oldest first; replaced whole; see avoid.go
}

// Cluster is the nodes, and what they must still learn.
type Cluster struct {
	Demand

	Nodes            Nodes
	ReservationBans  ReservationBans
	NodeApplications NodeApplications
	Removable        table.Table[RemovalsSlot, Removals]
	LabelledHosts    LabelledHosts
	Hosts            record.HostLists // replaced whole

	writer *Writer
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

	changes change.List // what the last event did
}

// Accounts are the queues and users, and the sums to which what they use is charged.
type Accounts struct {
	Meta Meta

	Names           Names
	Versions        QueueVersions // ascending; replaced whole
	Queues          Queues
	DynamicQueues   DynamicQueues     // by slot of a Queue
	Debts           record.QueueDebts // by slot of a Queue that waits for its guarantee
	Kept            record.QueueKeeps // by slot of a Queue that had to wait for its guarantee
	Users           Users
	Labels          Labels // including removed labels
	LabelUses       LabelUses
	LargeContainers LargeContainers // by label; the slot is the label plus 1
}

// New returns the empty state of a cluster that is not initialized yet.
func New() *State {
	s := &State{Audit: record.NewAudit()}
	s.writer = new(Writer)
	s.Locations.Index = index.New()
	for _, p := range parts {
		p.Init(s)
	}
	return s
}

// Fork returns an independent copy of the state. It copies only the page tables. Afterwards
// different goroutines may use the two states. During Fork no other goroutine may use s.
func (s *State) Fork() *State {
	f := new(State)
	*f = *s
	f.writer, f.changes, f.LabelUses.Touched = new(Writer), nil, 0
	f.Locations.Index = s.Locations.Index.Fork()
	for _, p := range parts {
		p.Fork(s, f)
	}
	return f
}

// Digest returns the rolling digest. Every event folds its number and its effects into the digest,
// so equal digests at one index mean equal histories and equal effects.
func (s *State) Digest() uint64 { return s.Meta.Digest }

func (s *Accounts) fold(v uint64)                { s.Meta.Fold(v) }
func (s *Accounts) foldResource(r yarn.Resource) { s.Meta.FoldResource(r) }

func broken(e event.Event, format string, args ...any) error {
	return record.Broken(e, format, args...)
}

// Apply applies one event. If the event does not fit the state, Apply returns a BrokenError and
// leaves the state unchanged.
func (s *State) Apply(e event.Event) error {
	s.changes, s.LabelUses.Touched = s.changes[:0], 0
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
