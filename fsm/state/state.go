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

	Names            Table[Name]
	Queues           Table[Queue]
	Users            Table[User]
	Apps             Table[App]
	Asks             Table[Ask]
	Locations        Table[Location]
	Containers       Table[Container]
	Diagnostics      Table[Diagnostics]
	Nodes            Table[Node]
	Reservations     Table[Reservation]
	ReservationBans  Table[ReservationBan]
	Requests         Table[Request]
	Attempts         Table[Attempt] // ended attempts
	NodeApplications Table[NodeApplication]
	Delegations      Table[DelegationToken]
	Resizes          Table[Resize]
	Removable        Table[Removals]
	Audit            Table[AuditEntry]
	Labels           Table[Label] // including removed labels
	LabelledHosts    Table[LabelledHost]
	LargeContainers  Table[LargeContainer] // by label; the slot is the label plus 1
	LabelUses        Table[LabelUse]
	AskedLabels      Table[LabelID]    // by slot of a Container: the label of its ask
	Preemptions      Table[Preemption] // by slot of a Container
	Preempted        Table[Preempted]  // by slot of an App: what it has lost by preemption
	PreemptionTotals PreemptionTotals
	FormerQueues     Table[FormerQueue]  // by slot of an App that ended in a queue that was removed
	Debts            Table[Debts]        // by slot of a Queue that waits for its guarantee
	Placements       Table[Placement]    // by slot of an App: the rule that placed it
	Lengths          Table[Lengths]      // see lengths.go
	DynamicQueues    Table[DynamicQueue] // by slot of a Queue
	Gangs            Table[Gang]         // by slot of an App that has not ended; see gang.go
	Leases           Table[Lease]        // by slot of a Container that runs in the room of a reservation

	Avoided    []Avoided      // oldest first; replaced whole; see avoid.go
	JoinTokens []JoinToken    // replaced whole
	Versions   []QueueVersion // ascending; replaced whole
	Hosts      HostLists      // replaced whole
	Access     []AccessToken  // by name; replaced whole
	Autopilot  Autopilot

	// Each index finds the records of one table by their key. The methods that add and remove
	// records update it.
	byName            index // Names, by text
	byPath            index // Queues, by path
	byUser            index // Users, by leaf and user
	bySeq             index // Apps, by sequence number
	byContainer       index // Containers, by application, attempt and number
	byNode            index // Nodes, by node id
	byReservation     index // Reservations, by number
	byRequest         index // Requests, by idempotency key
	byNodeApplication index // NodeApplications, by application and node
	byDelegation      index // Delegations, by sequence number
	byLabel           index // Labels, by name
	byLabelledHost    index // LabelledHosts, by host
	byLabelUse        index // LabelUses, by label and queue or user
	byLocation        index // Locations of asks with many locations, by ask and name

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
		byName: newIndex(), byPath: newIndex(), byUser: newIndex(), bySeq: newIndex(),
		byContainer: newIndex(), byNode: newIndex(), byReservation: newIndex(), byRequest: newIndex(),
		byNodeApplication: newIndex(), byDelegation: newIndex(),
		byLabel: newIndex(), byLabelledHost: newIndex(), byLabelUse: newIndex(), byLocation: newIndex(),
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
