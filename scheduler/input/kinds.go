package input

import (
	"rmd/yarn"
)

// Kinds of inputs; append only.
const (
	KindInitCluster Kind = 1 + iota
	KindTick
	KindSetQueues
	KindSetQueueState
	KindRegisterNode
	KindNodeHeartbeat
	KindExpireNode
	KindDrainNode
	KindSetNodeResource
	KindUnregisterNode
	KindSubmitApplication
	KindKillApplication
	KindMoveApplication
	KindSetPriority
	KindRegisterAttempt
	KindAllocate
	KindFinishAttempt
	KindExpireAttempt
	KindCancelReservation
	KindCreateJoinToken
	KindUseJoinToken
	KindRaiseLevel
	KindRaiseEpoch
	KindAudit
	KindRollbackQueues
	KindNewApplication
	KindSetLifetime
	KindFailAttempt
	KindSignalContainer
	KindAttemptLaunched
	KindAttemptLaunchFailed
	KindNodesHeard
	KindExpireContainers
	KindIssueDelegationToken
	KindRenewDelegationToken
	KindCancelDelegationToken
	KindSetHosts
	KindSetAccessToken
	KindRevokeAccessToken
	KindSetAutopilot
	KindForgetNode
	KindSetLabels
	KindRemoveLabels
	KindLabelNodes
	KindDrainNodes
	KindPreemptionRound
	KindRemoveIdleQueues
	KindSetGang
	KindAdoptQueue
	KindManageQueues
	KindNodeSilence
	KindTokenRenewed
	KindTokenCallFailed
	KindTokenCancelled
	KindTokensFetched
	KindTokenFetchFailed

	// KindsEnd is one more than the highest kind of this build.
	KindsEnd
)

// row is what this build knows of one kind of input. The limits of its fields are in limits.
type row struct {
	make func() Input
	// audit is the operator's change that the audit records; see Operation.
	audit string
	// sign returns whom the input shows to be alive; nil: nobody.
	sign func(Input) Sign
	// internal inputs come only from replicas, never from the body of a request.
	internal bool
}

// Sign is a sign of life: of a node by its id, of nodes by their slots, or of an attempt.
type Sign struct {
	Node    yarn.NodeID
	Slots   []yarn.NodeSlot
	Attempt yarn.AttemptID
}

func of[T any, P interface {
	*T
	Input
}](audit string) row {
	return row{make: func() Input { return P(new(T)) }, audit: audit}
}

// alive is the row of an input that is a sign of life.
func alive[T any, P interface {
	*T
	Input
}](sign func(P) Sign) row {
	r := of[T, P]("")
	r.sign = func(in Input) Sign { return sign(in.(P)) }
	return r
}

var rows = [KindsEnd]row{
	KindInitCluster:           of[InitCluster](""),
	KindTick:                  of[Tick](""),
	KindSetQueues:             of[SetQueues]("conf set"),
	KindSetQueueState:         of[SetQueueState](""),
	KindRegisterNode:          alive(func(in *RegisterNode) Sign { return Sign{Node: in.ID} }),
	KindNodeHeartbeat:         alive(func(in *NodeHeartbeat) Sign { return Sign{Node: in.ID} }),
	KindExpireNode:            of[ExpireNode](""),
	KindDrainNode:             of[DrainNode]("node drain"),
	KindSetNodeResource:       of[SetNodeResource]("node resource"),
	KindUnregisterNode:        of[UnregisterNode](""),
	KindSubmitApplication:     of[SubmitApplication](""),
	KindKillApplication:       of[KillApplication]("app kill"),
	KindMoveApplication:       of[MoveApplication]("app move"),
	KindSetPriority:           of[SetPriority]("app priority"),
	KindRegisterAttempt:       alive(func(in *RegisterAttempt) Sign { return Sign{Attempt: in.Attempt} }),
	KindAllocate:              alive(func(in *Allocate) Sign { return Sign{Attempt: in.Attempt} }),
	KindFinishAttempt:         alive(func(in *FinishAttempt) Sign { return Sign{Attempt: in.Attempt} }),
	KindExpireAttempt:         of[ExpireAttempt](""),
	KindCancelReservation:     of[CancelReservation]("reservation cancel"),
	KindCreateJoinToken:       of[CreateJoinToken]("cluster token create"),
	KindUseJoinToken:          of[UseJoinToken](""),
	KindRaiseLevel:            of[RaiseLevel]("upgrade finalize"),
	KindRaiseEpoch:            of[RaiseEpoch](""),
	KindAudit:                 row{make: of[Audit]("").make, internal: true},
	KindRollbackQueues:        of[RollbackQueues]("conf rollback"),
	KindNewApplication:        of[NewApplication](""),
	KindSetLifetime:           of[SetLifetime]("app lifetime"),
	KindFailAttempt:           of[FailAttempt]("attempt fail"),
	KindSignalContainer:       of[SignalContainer]("container signal"),
	KindAttemptLaunched:       of[AttemptLaunched](""),
	KindAttemptLaunchFailed:   of[AttemptLaunchFailed](""),
	KindNodesHeard:            alive(func(in *NodesHeard) Sign { return Sign{Slots: in.Nodes} }),
	KindExpireContainers:      of[ExpireContainers](""),
	KindIssueDelegationToken:  of[IssueDelegationToken](""),
	KindRenewDelegationToken:  of[RenewDelegationToken](""),
	KindCancelDelegationToken: of[CancelDelegationToken](""),
	KindSetHosts:              of[SetHosts]("node lists"),
	KindSetAccessToken:        of[SetAccessToken]("access token create"),
	KindRevokeAccessToken:     of[RevokeAccessToken]("access token revoke"),
	KindSetAutopilot:          of[SetAutopilot]("autopilot set"),
	KindForgetNode:            of[ForgetNode]("node forget"),
	KindSetLabels:             of[SetLabels]("label add"),
	KindRemoveLabels:          of[RemoveLabels]("label remove"),
	KindLabelNodes:            of[LabelNodes]("label map"),
	KindDrainNodes:            of[DrainNodes]("node drain"),
	KindPreemptionRound:       of[PreemptionRound](""),
	KindRemoveIdleQueues:      of[RemoveIdleQueues](""),
	KindSetGang:               of[SetGang]("app gang"),
	KindAdoptQueue:            of[AdoptQueue]("queue adopt"),
	KindManageQueues:          of[ManageQueues](""),
	KindNodeSilence:           of[NodeSilence](""),
	KindTokenRenewed:          row{make: of[TokenRenewed]("").make, internal: true},
	KindTokenCallFailed:       row{make: of[TokenCallFailed]("").make, internal: true},
	KindTokenCancelled:        row{make: of[TokenCancelled]("").make, internal: true},
	KindTokensFetched:         row{make: of[TokensFetched]("").make, internal: true},
	KindTokenFetchFailed:      row{make: of[TokenFetchFailed]("").make, internal: true},
}

func rowOf(k Kind) row {
	if k < KindsEnd {
		return rows[k]
	}
	return row{}
}

// New returns an empty input of a kind, or nil if this build does not know the kind.
func New(k Kind) Input {
	if mk := rowOf(k).make; mk != nil {
		return mk()
	}
	return nil
}

// Internal reports whether only replicas make an input, so that no caller may send one.
func Internal(in Input) bool { return rowOf(in.Kind()).internal }

// SignOf returns whom an input shows to be alive. It is empty for most inputs.
func SignOf(in Input) Sign {
	if f := rowOf(in.Kind()).sign; f != nil {
		return f(in)
	}
	return Sign{}
}
