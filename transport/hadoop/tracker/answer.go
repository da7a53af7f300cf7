package tracker

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	gproto "google.golang.org/protobuf/proto"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// orders are the commands in an answer.
type orders struct {
	kill    []yarn.ContainerID
	cleanUp []yarn.ApplicationID
	remove  []yarn.ContainerID
	signals []input.Signal
	resize  []*proto.ContainerProto
	total   *yarn.Resource
	labels  *labelAnswer
}

func (o *orders) none() bool {
	return len(o.kill) == 0 && len(o.cleanUp) == 0 && len(o.remove) == 0 && len(o.signals) == 0 && len(o.resize) == 0 &&
		o.total == nil && o.labels == nil
}

// plain encodes the answer without commands. tokens is the number of the replaced tokens.
func (s *Service) plain(response int32, tokens int64) []byte {
	b := make([]byte, 0, 24)
	b = protowire.AppendTag(b, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(response))
	b = protowire.AppendTag(b, 4, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(proto.NodeActionProto_NODE_ACTION_NORMAL))
	b = protowire.AppendTag(b, 7, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(s.cfg.HeartbeatInterval.Milliseconds()))
	b = protowire.AppendTag(b, 19, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(tokens))
}

// repeat returns the last answer again. The caller holds the session's lock.
func (s *Service) repeat(ss *session) []byte {
	if ss.answer == nil {
		return s.plain(ss.last, tokenSequence(s.fresh(s.now()).st))
	}
	return bytes.Clone(ss.answer)
}

// answer encodes an answer. keep is the copy for a repetition; it is nil if there are no commands.
func (s *Service) answer(v *view, r *report, response int32, o *orders) (out, keep []byte) {
	ring := token.NewRing(v.st)
	containerKey, nmKey := ring.ToHand(yarn.KeyContainer, r.containerKey), ring.ToHand(yarn.KeyNM, r.nmKey)
	lacks := v.tokens != 0 && r.tokens != v.tokens
	if o.none() && containerKey == nil && nmKey == nil && !lacks {
		return s.plain(response, tokenSequence(v.st)), nil
	}
	p := &proto.NodeHeartbeatResponseProto{
		ResponseId:                  new(response),
		NodeAction:                  proto.NodeActionProto_NODE_ACTION_NORMAL.Enum(),
		NextHeartBeatInterval:       new(s.cfg.HeartbeatInterval.Milliseconds()),
		TokenSequenceNo:             new(tokenSequence(v.st)),
		ContainerTokenMasterKey:     containerKey,
		NmTokenMasterKey:            nmKey,
		ContainersToCleanup:         wire.ContainerIDProtos(o.kill),
		ApplicationsToCleanup:       wire.ApplicationIDProtos(o.cleanUp),
		ContainersToBeRemovedFromNm: wire.ContainerIDProtos(o.remove),
	}
	for _, g := range o.signals {
		p.ContainersToSignal = append(p.ContainersToSignal, &proto.SignalContainerRequestProto{
			ContainerId: wire.ContainerIDProto(g.Container),
			Command:     proto.SignalContainerCommandProto(g.Command).Enum(),
		})
	}
	// YARN lists a decrease in both fields, because older nodes read only the second.
	p.ContainersToUpdate, p.ContainersToDecrease = o.resize, o.resize
	if o.total != nil {
		p.Resource = wire.ResourceProto(*o.total, v.st.Versions.Kinds())
	}
	if o.labels != nil {
		p.AreNodeLabelsAcceptedByRM, p.DiagnosticsMessage = &o.labels.accepted, wire.Optional(o.labels.diagnostics)
	}
	if lacks {
		p.SystemCredentialsForApps = systemCredentials(v.st)
	}
	out = encode(p)
	return out, bytes.Clone(out)
}

// resync encodes the answer that makes a node register again.
func (s *Service) resync(format string, args ...any) []byte {
	return encode(&proto.NodeHeartbeatResponseProto{
		NodeAction:            proto.NodeActionProto_NODE_ACTION_RESYNC.Enum(),
		DiagnosticsMessage:    new(fmt.Sprintf(format, args...)),
		NextHeartBeatInterval: new(s.cfg.HeartbeatInterval.Milliseconds()),
	})
}

// shutdown encodes the answer that makes a NodeManager exit.
func (s *Service) shutdown(format string, args ...any) []byte {
	return encode(&proto.NodeHeartbeatResponseProto{
		NodeAction:         proto.NodeActionProto_NODE_ACTION_SHUTDOWN.Enum(),
		DiagnosticsMessage: new(fmt.Sprintf(format, args...)),
	})
}

// encode encodes an answer. All required fields must be set.
func encode(p gproto.Message) []byte {
	b, err := gproto.MarshalOptions{AllowPartial: true}.Marshal(p)
	if err != nil {
		return nil
	}
	return b
}
