package event

import (
	"fmt"

	"rmd/internal/codec"
)

// Kind is the number of an event type in the log.
type Kind uint16

// Event is one decision or fact in the log.
type Event interface {
	Kind() Kind
	// Code encodes or decodes the fields. Their order never changes.
	Code(c *codec.Coder)
}

// Later is an event that replicas know only from a feature level on, Since. Events without this
// method belong to the first level.
type Later interface {
	Event
	Since() uint32
}

// Event numbers: append only, never reused.
const (
	KindTimeAdvanced           Kind = 1
	KindClusterInitialized     Kind = 2
	KindLevelRaised            Kind = 3
	KindEpochRaised            Kind = 4
	KindAudited                Kind = 5
	KindRequestRecorded        Kind = 6
	KindRequestsForgotten      Kind = 7
	KindJoinTokenCreated       Kind = 8
	KindJoinTokenUsed          Kind = 9
	KindJoinTokensExpired      Kind = 10
	KindMasterKeyCreated       Kind = 11
	KindKeyActivated           Kind = 12
	KindDelegationTokenIssued  Kind = 13
	KindDelegationTokenRenewed Kind = 14
	KindDelegationTokenEnded   Kind = 15
	KindNodeListsSet           Kind = 16
	KindAccessTokenSet         Kind = 17
	KindAccessTokenRevoked     Kind = 18
	KindAutopilotSet           Kind = 19

	KindQueuesConfigured  Kind = 20
	KindQueueStateChanged Kind = 21
	KindQueueCreated      Kind = 22
	KindQueuesRemoved     Kind = 23
	KindQueuesActivated   Kind = 24

	KindNodeRegistered      Kind = 30
	KindNodeStateChanged    Kind = 31
	KindNodeResourceChanged Kind = 32
	KindCleanupsAcked       Kind = 33
	KindNodeHeard           Kind = 34
	KindRemovalsAcked       Kind = 35
	KindNodeForgotten       Kind = 36
	KindNodeSilenceChanged  Kind = 37

	KindApplicationSubmitted       Kind = 40
	KindApplicationEnded           Kind = 41
	KindApplicationMoved           Kind = 42
	KindApplicationReprioritized   Kind = 43
	KindApplicationForgotten       Kind = 44
	KindAttemptStarted             Kind = 45
	KindAttemptActivated           Kind = 46
	KindAttemptRegistered          Kind = 47
	KindAttemptEnded               Kind = 48
	KindResponseRecorded           Kind = 49
	KindApplicationLifetimeChanged Kind = 51
	KindAttemptLaunched            Kind = 52
	KindAttemptUnregistered        Kind = 53
	KindAttemptResynced            Kind = 54
	KindAttemptReported            Kind = 55
	KindApplicationIDsReserved     Kind = 56
	KindApplicationPlaced          Kind = 57

	KindAskChanged         Kind = 60
	KindBlacklistChanged   Kind = 61
	KindAskCountersUpdated Kind = 62

	KindContainerAllocated Kind = 70
	KindContainerLaunched  Kind = 71
	KindContainerReleased  Kind = 72
	KindContainerCompleted Kind = 73
	KindContainerSignalled Kind = 74

	KindContainerResizeAsked  Kind = 75
	KindContainerIncreased    Kind = 76
	KindContainerDecreased    Kind = 77
	KindContainerSizeReported Kind = 78
	KindResizeAcked           Kind = 79

	KindReservationMade      Kind = 80
	KindReservationFulfilled Kind = 81
	KindReservationCancelled Kind = 82
	KindResizeReserved       Kind = 83

	KindPreemptionAsked     Kind = 84
	KindPreemptionWithdrawn Kind = 85
	KindGuaranteeOwed       Kind = 87

	KindContainerLent Kind = 86

	KindLabelsSet           Kind = 90
	KindLabelsRemoved       Kind = 91
	KindNodesLabelled       Kind = 92
	KindAskLabelled         Kind = 93
	KindApplicationLabelled Kind = 94
	KindAskMissesUpdated    Kind = 95

	KindAttemptRecovered         Kind = 100
	KindContainerRecovered       Kind = 101
	KindNodeApplicationRecovered Kind = 102

	KindGangDeclared Kind = 110
	KindGangReserved Kind = 111
	KindGangStarted  Kind = 112
	KindGangEnded    Kind = 113
)

// spec has the name of an event type and a function that makes an empty event.
type spec struct {
	name string
	make func() Event
}

func of[T any, P interface {
	*T
	Event
}](name string) spec {
	return spec{name, func() Event { return P(new(T)) }}
}

// specs has all event types.
var specs = map[Kind]spec{
	KindTimeAdvanced:               of[TimeAdvanced]("TimeAdvanced"),
	KindClusterInitialized:         of[ClusterInitialized]("ClusterInitialized"),
	KindLevelRaised:                of[LevelRaised]("LevelRaised"),
	KindEpochRaised:                of[EpochRaised]("EpochRaised"),
	KindAudited:                    of[Audited]("Audited"),
	KindRequestRecorded:            of[RequestRecorded]("RequestRecorded"),
	KindRequestsForgotten:          of[RequestsForgotten]("RequestsForgotten"),
	KindJoinTokenCreated:           of[JoinTokenCreated]("JoinTokenCreated"),
	KindJoinTokenUsed:              of[JoinTokenUsed]("JoinTokenUsed"),
	KindJoinTokensExpired:          of[JoinTokensExpired]("JoinTokensExpired"),
	KindMasterKeyCreated:           of[MasterKeyCreated]("MasterKeyCreated"),
	KindKeyActivated:               of[KeyActivated]("KeyActivated"),
	KindDelegationTokenIssued:      of[DelegationTokenIssued]("DelegationTokenIssued"),
	KindDelegationTokenRenewed:     of[DelegationTokenRenewed]("DelegationTokenRenewed"),
	KindDelegationTokenEnded:       of[DelegationTokenEnded]("DelegationTokenEnded"),
	KindNodeListsSet:               of[NodeListsSet]("NodeListsSet"),
	KindAccessTokenSet:             of[AccessTokenSet]("AccessTokenSet"),
	KindAccessTokenRevoked:         of[AccessTokenRevoked]("AccessTokenRevoked"),
	KindAutopilotSet:               of[AutopilotSet]("AutopilotSet"),
	KindQueuesConfigured:           of[QueuesConfigured]("QueuesConfigured"),
	KindQueueCreated:               of[QueueCreated]("QueueCreated"),
	KindQueuesRemoved:              of[QueuesRemoved]("QueuesRemoved"),
	KindQueuesActivated:            of[QueuesActivated]("QueuesActivated"),
	KindQueueStateChanged:          of[QueueStateChanged]("QueueStateChanged"),
	KindNodeRegistered:             of[NodeRegistered]("NodeRegistered"),
	KindNodeStateChanged:           of[NodeStateChanged]("NodeStateChanged"),
	KindNodeResourceChanged:        of[NodeResourceChanged]("NodeResourceChanged"),
	KindCleanupsAcked:              of[CleanupsAcked]("CleanupsAcked"),
	KindNodeHeard:                  of[NodeHeard]("NodeHeard"),
	KindRemovalsAcked:              of[RemovalsAcked]("RemovalsAcked"),
	KindNodeForgotten:              of[NodeForgotten]("NodeForgotten"),
	KindNodeSilenceChanged:         of[NodeSilenceChanged]("NodeSilenceChanged"),
	KindApplicationSubmitted:       of[ApplicationSubmitted]("ApplicationSubmitted"),
	KindApplicationEnded:           of[ApplicationEnded]("ApplicationEnded"),
	KindApplicationMoved:           of[ApplicationMoved]("ApplicationMoved"),
	KindApplicationReprioritized:   of[ApplicationReprioritized]("ApplicationReprioritized"),
	KindApplicationForgotten:       of[ApplicationForgotten]("ApplicationForgotten"),
	KindAttemptStarted:             of[AttemptStarted]("AttemptStarted"),
	KindAttemptActivated:           of[AttemptActivated]("AttemptActivated"),
	KindAttemptRegistered:          of[AttemptRegistered]("AttemptRegistered"),
	KindAttemptEnded:               of[AttemptEnded]("AttemptEnded"),
	KindResponseRecorded:           of[ResponseRecorded]("ResponseRecorded"),
	KindApplicationLifetimeChanged: of[ApplicationLifetimeChanged]("ApplicationLifetimeChanged"),
	KindAttemptLaunched:            of[AttemptLaunched]("AttemptLaunched"),
	KindAttemptUnregistered:        of[AttemptUnregistered]("AttemptUnregistered"),
	KindAttemptResynced:            of[AttemptResynced]("AttemptResynced"),
	KindAttemptReported:            of[AttemptReported]("AttemptReported"),
	KindApplicationIDsReserved:     of[ApplicationIDsReserved]("ApplicationIDsReserved"),
	KindApplicationPlaced:          of[ApplicationPlaced]("ApplicationPlaced"),
	KindAskChanged:                 of[AskChanged]("AskChanged"),
	KindBlacklistChanged:           of[BlacklistChanged]("BlacklistChanged"),
	KindAskCountersUpdated:         of[AskCountersUpdated]("AskCountersUpdated"),
	KindContainerAllocated:         of[ContainerAllocated]("ContainerAllocated"),
	KindContainerLent:              of[ContainerLent]("ContainerLent"),
	KindContainerLaunched:          of[ContainerLaunched]("ContainerLaunched"),
	KindContainerReleased:          of[ContainerReleased]("ContainerReleased"),
	KindContainerCompleted:         of[ContainerCompleted]("ContainerCompleted"),
	KindContainerSignalled:         of[ContainerSignalled]("ContainerSignalled"),
	KindContainerResizeAsked:       of[ContainerResizeAsked]("ContainerResizeAsked"),
	KindContainerIncreased:         of[ContainerIncreased]("ContainerIncreased"),
	KindContainerDecreased:         of[ContainerDecreased]("ContainerDecreased"),
	KindContainerSizeReported:      of[ContainerSizeReported]("ContainerSizeReported"),
	KindResizeAcked:                of[ResizeAcked]("ResizeAcked"),
	KindReservationMade:            of[ReservationMade]("ReservationMade"),
	KindReservationFulfilled:       of[ReservationFulfilled]("ReservationFulfilled"),
	KindReservationCancelled:       of[ReservationCancelled]("ReservationCancelled"),
	KindResizeReserved:             of[ResizeReserved]("ResizeReserved"),
	KindPreemptionAsked:            of[PreemptionAsked]("PreemptionAsked"),
	KindPreemptionWithdrawn:        of[PreemptionWithdrawn]("PreemptionWithdrawn"),
	KindGuaranteeOwed:              of[GuaranteeOwed]("GuaranteeOwed"),
	KindLabelsSet:                  of[LabelsSet]("LabelsSet"),
	KindLabelsRemoved:              of[LabelsRemoved]("LabelsRemoved"),
	KindNodesLabelled:              of[NodesLabelled]("NodesLabelled"),
	KindAskLabelled:                of[AskLabelled]("AskLabelled"),
	KindApplicationLabelled:        of[ApplicationLabelled]("ApplicationLabelled"),
	KindAskMissesUpdated:           of[AskMissesUpdated]("AskMissesUpdated"),
	KindAttemptRecovered:           of[AttemptRecovered]("AttemptRecovered"),
	KindContainerRecovered:         of[ContainerRecovered]("ContainerRecovered"),
	KindNodeApplicationRecovered:   of[NodeApplicationRecovered]("NodeApplicationRecovered"),
	KindGangDeclared:               of[GangDeclared]("GangDeclared"),
	KindGangReserved:               of[GangReserved]("GangReserved"),
	KindGangStarted:                of[GangStarted]("GangStarted"),
	KindGangEnded:                  of[GangEnded]("GangEnded"),
}

// String returns the name of the event type.
func (k Kind) String() string {
	if s, ok := specs[k]; ok {
		return s.name
	}
	return fmt.Sprintf("Event(%d)", uint16(k))
}

// New returns an empty event of a kind, or nil if the kind is unknown.
func New(k Kind) Event {
	if s, ok := specs[k]; ok {
		return s.make()
	}
	return nil
}

// Kinds returns all known kinds in ascending order.
func Kinds() []Kind {
	var out []Kind
	for k := Kind(0); k < 256; k++ {
		if _, ok := specs[k]; ok {
			out = append(out, k)
		}
	}
	return out
}
