package input

import (
	"errors"
	"fmt"

	"rmd/internal/codec"
)

// Version is the version of the codec between replicas.
const Version = 1

// Errors of decoding.
var (
	ErrVersion = errors.New("input codec version not known")
	ErrKind    = errors.New("input kind not known")
)

// Kind is the number of an input type in the codec. Numbers are append-only.
type Kind uint8

// Input is a request to the planner.
type Input interface {
	Kind() Kind
	Code(c *codec.Coder)
	// NewReply returns an empty reply of the type that answers this input.
	NewReply() Reply
}

// Reply answers an input.
type Reply interface {
	// Code encodes or decodes the reply.
	Code(c *codec.Coder)
	// Refused returns the fault if the input was refused, or nil.
	Refused() *Fault
	setFault(f *Fault)
}

// Done is the part that all replies have. Fault says why the input was refused; it is nil if the
// input was not refused.
type Done struct{ Fault *Fault }

// Refused implements Reply.
func (d *Done) Refused() *Fault   { return d.Fault }
func (d *Done) setFault(f *Fault) { d.Fault = f }

func (d *Done) code(c *codec.Coder) {
	has := d.Fault != nil
	c.Bool(&has)
	if !has {
		return
	}
	if c.Decoding() {
		d.Fault = new(Fault)
	}
	d.Fault.Code(c)
}

// Code implements Reply for replies without fields of their own.
func (d *Done) Code(c *codec.Coder) { d.code(c) }

// Refuse returns a reply to in that carries the fault.
func Refuse(in Input, f *Fault) Reply {
	r := in.NewReply()
	r.setFault(f)
	return r
}

// Request is an input as the sequencer receives it. BodyHash is a hash of the caller's request; it
// tells a repeated call from another one with the same key. Without a Caller the audit does not
// record the operation.
type Request struct {
	// Key is the idempotency key CLIENT/SEQUENCE, joined with its owner by OwnedKey. It is empty if
	// a repetition does no harm.
	Key      string
	BodyHash uint64
	Caller   Caller
	Input    Input
}

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
)

// KindsEnd is one more than the highest kind of this build.
const KindsEnd = KindNodeSilence + 1

// New returns an empty input of a kind, or nil if this build does not know the kind.
func New(k Kind) Input {
	if mk := makers[k]; mk != nil {
		return mk()
	}
	return nil
}

var makers = map[Kind]func() Input{
	KindInitCluster:           func() Input { return new(InitCluster) },
	KindTick:                  func() Input { return new(Tick) },
	KindForgetNode:            func() Input { return new(ForgetNode) },
	KindSetQueues:             func() Input { return new(SetQueues) },
	KindSetQueueState:         func() Input { return new(SetQueueState) },
	KindRegisterNode:          func() Input { return new(RegisterNode) },
	KindNodeHeartbeat:         func() Input { return new(NodeHeartbeat) },
	KindExpireNode:            func() Input { return new(ExpireNode) },
	KindDrainNode:             func() Input { return new(DrainNode) },
	KindDrainNodes:            func() Input { return new(DrainNodes) },
	KindSetNodeResource:       func() Input { return new(SetNodeResource) },
	KindUnregisterNode:        func() Input { return new(UnregisterNode) },
	KindSubmitApplication:     func() Input { return new(SubmitApplication) },
	KindKillApplication:       func() Input { return new(KillApplication) },
	KindMoveApplication:       func() Input { return new(MoveApplication) },
	KindSetPriority:           func() Input { return new(SetPriority) },
	KindRegisterAttempt:       func() Input { return new(RegisterAttempt) },
	KindAllocate:              func() Input { return new(Allocate) },
	KindFinishAttempt:         func() Input { return new(FinishAttempt) },
	KindExpireAttempt:         func() Input { return new(ExpireAttempt) },
	KindCancelReservation:     func() Input { return new(CancelReservation) },
	KindCreateJoinToken:       func() Input { return new(CreateJoinToken) },
	KindUseJoinToken:          func() Input { return new(UseJoinToken) },
	KindRaiseLevel:            func() Input { return new(RaiseLevel) },
	KindRaiseEpoch:            func() Input { return new(RaiseEpoch) },
	KindAudit:                 func() Input { return new(Audit) },
	KindRollbackQueues:        func() Input { return new(RollbackQueues) },
	KindNewApplication:        func() Input { return new(NewApplication) },
	KindSetGang:               func() Input { return new(SetGang) },
	KindSetLifetime:           func() Input { return new(SetLifetime) },
	KindFailAttempt:           func() Input { return new(FailAttempt) },
	KindSignalContainer:       func() Input { return new(SignalContainer) },
	KindAttemptLaunched:       func() Input { return new(AttemptLaunched) },
	KindAttemptLaunchFailed:   func() Input { return new(AttemptLaunchFailed) },
	KindNodesHeard:            func() Input { return new(NodesHeard) },
	KindExpireContainers:      func() Input { return new(ExpireContainers) },
	KindIssueDelegationToken:  func() Input { return new(IssueDelegationToken) },
	KindRenewDelegationToken:  func() Input { return new(RenewDelegationToken) },
	KindCancelDelegationToken: func() Input { return new(CancelDelegationToken) },
	KindSetHosts:              func() Input { return new(SetHosts) },
	KindSetAccessToken:        func() Input { return new(SetAccessToken) },
	KindRevokeAccessToken:     func() Input { return new(RevokeAccessToken) },
	KindSetAutopilot:          func() Input { return new(SetAutopilot) },
	KindSetLabels:             func() Input { return new(SetLabels) },
	KindRemoveLabels:          func() Input { return new(RemoveLabels) },
	KindLabelNodes:            func() Input { return new(LabelNodes) },
	KindPreemptionRound:       func() Input { return new(PreemptionRound) },
	KindRemoveIdleQueues:      func() Input { return new(RemoveIdleQueues) },
	KindAdoptQueue:            func() Input { return new(AdoptQueue) },
	KindManageQueues:          func() Input { return new(ManageQueues) },
	KindNodeSilence:           func() Input { return new(NodeSilence) },
}

// EncodeRequest appends the request's bytes to buf.
func EncodeRequest(buf []byte, r Request) []byte {
	c := codec.NewEncoder(buf)
	v, k := uint8(Version), uint8(r.Input.Kind())
	c.U8(&v)
	c.U8(&k)
	r.code(c)
	r.Input.Code(c)
	return c.Bytes()
}

// code encodes or decodes the fields before the input.
func (r *Request) code(c *codec.Coder) {
	c.String(&r.Key)
	c.U64(&r.BodyHash)
	c.String(&r.Caller.Who)
	c.String(&r.Caller.From)
}

// DecodeRequest decodes one request, which must take up all of data. The error wraps ErrVersion,
// ErrKind or an error of the codec.
func DecodeRequest(data []byte) (Request, error) {
	c := codec.NewDecoder(data)
	var r Request
	var v, k uint8
	c.U8(&v)
	if c.Err() == nil && v != Version {
		return r, fmt.Errorf("%w: %d, this replica speaks %d", ErrVersion, v, Version)
	}
	c.U8(&k)
	r.code(c)
	if err := c.Err(); err != nil {
		return r, fmt.Errorf("input: %w", err)
	}
	mk := makers[Kind(k)]
	if mk == nil {
		return r, fmt.Errorf("%w: %d", ErrKind, k)
	}
	r.Input = mk()
	r.Input.Code(c)
	if err := c.Finish(); err != nil {
		return r, fmt.Errorf("input %d: %w", k, err)
	}
	return r, nil
}

// EncodeReply appends the reply's bytes to buf.
func EncodeReply(buf []byte, r Reply) []byte {
	c := codec.NewEncoder(buf)
	r.Code(c)
	return c.Bytes()
}

// DecodeReply decodes the reply to in, which must take up all of data.
func DecodeReply(in Input, data []byte) (Reply, error) {
	r := in.NewReply()
	c := codec.NewDecoder(data)
	r.Code(c)
	if err := c.Finish(); err != nil {
		return nil, fmt.Errorf("reply to input %d: %w", in.Kind(), err)
	}
	return r, nil
}
