package state

import (
	"fmt"
	"math/bits"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Limits of remembered requests and queue configurations. Age is measured on the log's clock, so
// that every replica forgets the same requests.
const (
	MaxRequests       = 100_000
	RequestKeepMillis = 24 * 60 * 60 * 1000
	maxQueueVersions  = 100
)

// State is the whole replicated state. Its tables, slices and Meta are in snapshots. Reindex
// computes the indexes and the other unexported fields from them.
type State struct {
	Meta Meta

	Names            Table[NameSlot, Name]
	Queues           Table[QueueSlot, Queue]
	Users            Table[UserSlot, User]
	Apps             Table[AppSlot, App]
	Asks             Table[AskSlot, Ask]
	Locations        Table[LocationSlot, Location]
	Containers       Table[ContainerSlot, Container]
	Diagnostics      Table[DiagnosticsSlot, Diagnostics]
	Nodes            Table[NodeSlot, Node]
	Reservations     Table[ReservationSlot, Reservation]
	ReservationBans  Table[ReservationBanSlot, ReservationBan]
	Requests         Table[RequestSlot, Request]
	Attempts         Table[AttemptSlot, Attempt] // ended attempts
	NodeApplications Table[NodeApplicationSlot, NodeApplication]
	Delegations      Table[DelegationSlot, DelegationToken]
	Resizes          Table[ResizeSlot, Resize]
	Removable        Table[RemovalsSlot, Removals]
	Audit            Table[AuditSlot, AuditEntry]
	Labels           Table[LabelSlot, Label] // including removed labels
	LabelledHosts    Table[LabelledHostSlot, LabelledHost]
	LargeContainers  Table[LargeSlot, LargeContainer] // by label; the slot is the label plus 1
	LabelUses        Table[LabelUseSlot, LabelUse]
	AskedLabels      Table[ContainerSlot, LabelSlot]  // by slot of a Container: the label of its ask
	Preemptions      Table[ContainerSlot, Preemption] // by slot of a Container
	Preempted        Table[AppSlot, Preempted]        // by slot of an App: what it has lost by preemption
	PreemptionTotals PreemptionTotals
	FormerQueues     Table[AppSlot, FormerQueue]    // by slot of an App that ended in a queue that was removed
	Debts            Table[QueueSlot, Debts]        // by slot of a Queue that waits for its guarantee
	Placements       Table[AppSlot, Placement]      // by slot of an App: the rule that placed it
	Lengths          Table[LengthsSlot, Lengths]    // see lengths.go
	DynamicQueues    Table[QueueSlot, DynamicQueue] // by slot of a Queue
	Gangs            Table[AppSlot, Gang]           // by slot of an App that has not ended; see gang.go
	Leases           Table[ContainerSlot, Lease]    // by slot of a Container that runs in the room of a reservation

	Avoided    []Avoided      // oldest first; replaced whole; see avoid.go
	JoinTokens []JoinToken    // replaced whole
	Versions   []QueueVersion // ascending; replaced whole
	Hosts      HostLists      // replaced whole
	Access     []AccessToken  // by name; replaced whole
	Autopilot  Autopilot

	// Each index finds the records of one table by their key. The methods that add and remove
	// records update it.
	byName            index[NameSlot]            // Names, by text
	byPath            index[QueueSlot]           // Queues, by path
	byUser            index[UserSlot]            // Users, by leaf and user
	bySeq             index[AppSlot]             // Apps, by sequence number
	byContainer       index[ContainerSlot]       // Containers, by application, attempt and number
	byNode            index[NodeSlot]            // Nodes, by node id
	byReservation     index[ReservationSlot]     // Reservations, by number
	byRequest         index[RequestSlot]         // Requests, by idempotency key
	byNodeApplication index[NodeApplicationSlot] // NodeApplications, by application and node
	byDelegation      index[DelegationSlot]      // Delegations, by sequence number
	byLabel           index[LabelSlot]           // Labels, by name
	byLabelledHost    index[LabelledHostSlot]    // LabelledHosts, by host
	byLabelUse        index[LabelUseSlot]        // LabelUses, by label and queue or user
	byLocation        index[LocationSlot]        // Locations of asks with many locations, by ask and name

	auditNewest                 uint64 // number of the newest entry
	auditChanges, auditRefusals auditList

	newestDynamic uint64 // the highest DynamicQueue.Number
	dynamicSet    uint64 // see DynamicQueueSet

	changes     []Change // what the last event did
	changedUses uint64   // see ChangedUses
	writer      *writer
}

// New returns the empty state of a cluster that is not initialized yet.
func New() *State {
	s := &State{
		writer: new(writer),
		byName: newIndex[NameSlot](), byPath: newIndex[QueueSlot](), byUser: newIndex[UserSlot](), bySeq: newIndex[AppSlot](),
		byContainer: newIndex[ContainerSlot](), byNode: newIndex[NodeSlot](), byReservation: newIndex[ReservationSlot](), byRequest: newIndex[RequestSlot](),
		byNodeApplication: newIndex[NodeApplicationSlot](), byDelegation: newIndex[DelegationSlot](),
		byLabel: newIndex[LabelSlot](), byLabelledHost: newIndex[LabelledHostSlot](), byLabelUse: newIndex[LabelUseSlot](), byLocation: newIndex[LocationSlot](),
	}
	s.auditChanges, s.auditRefusals = newAuditLists()
	return s
}

// Fork returns an independent copy of the state. It copies only the page tables. Afterwards
// different goroutines may use the two states. During Fork no other goroutine may use s.
func (s *State) Fork() *State {
	f := &State{
		Meta:  s.Meta,
		Names: s.Names.fork(), Queues: s.Queues.fork(), Users: s.Users.fork(),
		Apps: s.Apps.fork(), Asks: s.Asks.fork(), Locations: s.Locations.fork(),
		Containers: s.Containers.fork(), Diagnostics: s.Diagnostics.fork(), Nodes: s.Nodes.fork(),
		Reservations: s.Reservations.fork(), ReservationBans: s.ReservationBans.fork(), Requests: s.Requests.fork(),
		Attempts: s.Attempts.fork(), NodeApplications: s.NodeApplications.fork(), Delegations: s.Delegations.fork(),
		Resizes: s.Resizes.fork(), Removable: s.Removable.fork(), Audit: s.Audit.fork(),
		Labels: s.Labels.fork(), LabelledHosts: s.LabelledHosts.fork(), LargeContainers: s.LargeContainers.fork(), LabelUses: s.LabelUses.fork(), AskedLabels: s.AskedLabels.fork(),
		Preemptions: s.Preemptions.fork(), Preempted: s.Preempted.fork(), PreemptionTotals: s.PreemptionTotals,
		Lengths: s.Lengths.fork(), Placements: s.Placements.fork(), FormerQueues: s.FormerQueues.fork(), Gangs: s.Gangs.fork(), Leases: s.Leases.fork(), Debts: s.Debts.fork(),
		DynamicQueues: s.DynamicQueues.fork(), newestDynamic: s.newestDynamic, dynamicSet: s.dynamicSet,
		Avoided: s.Avoided, JoinTokens: s.JoinTokens, Versions: s.Versions, Hosts: s.Hosts, Access: s.Access, Autopilot: s.Autopilot,
		byName: s.byName.fork(), byPath: s.byPath.fork(), byUser: s.byUser.fork(), bySeq: s.bySeq.fork(),
		byContainer: s.byContainer.fork(), byNode: s.byNode.fork(),
		byReservation: s.byReservation.fork(), byRequest: s.byRequest.fork(),
		byNodeApplication: s.byNodeApplication.fork(), byDelegation: s.byDelegation.fork(),
		byLabel: s.byLabel.fork(), byLabelledHost: s.byLabelledHost.fork(), byLabelUse: s.byLabelUse.fork(),
		byLocation:  s.byLocation.fork(),
		auditNewest: s.auditNewest, auditChanges: s.auditChanges, auditRefusals: s.auditRefusals,
		writer: new(writer),
	}
	return f
}

// Digest returns the rolling digest. Every event folds its number and its effects into the digest,
// so equal digests at one index mean equal histories and equal effects.
func (s *State) Digest() uint64 { return s.Meta.Digest }

func (s *State) fold(v uint64) {
	hi, lo := bits.Mul64(s.Meta.Digest^v, 0x9e3779b97f4a7c15)
	s.Meta.Digest = bits.RotateLeft64(hi^lo, 23) + 0xd1b54a32d192ed03
}

func (s *State) foldResource(r yarn.Resource) {
	h := uint64(0)
	for _, v := range r {
		h = h*0x9e3779b97f4a7c15 + uint64(v)
	}
	s.fold(h)
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
	s.changes, s.changedUses = s.changes[:0], 0
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
