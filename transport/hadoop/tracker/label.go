package tracker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/yarn"
)

// labelAnswer is the answer to the labels that a NodeManager has reported.
type labelAnswer struct {
	accepted    bool
	diagnostics string
}

// labelNode sets the labels that a node reports, if the cluster's configuration type is
// distributed. Otherwise, or if the node reports none, it returns nil, as YARN does. A node with
// refused labels continues.
func (s *Service) labelNode(ctx context.Context, id yarn.NodeID, labels *proto.NodeLabelsProto) (*labelAnswer, error) {
	if labels == nil {
		return nil, nil
	}
	if conf := s.queues.Of(s.cfg.Reader.Fork()); conf == nil || !conf.LabelSettings.Distributed() {
		return nil, nil
	}
	if n := len(labels.GetNodeLabels()); n > labelsMax {
		return &labelAnswer{diagnostics: fmt.Sprintf("%d labels of node %s, at most %d are read", n, id, labelsMax)}, nil
	}
	var names []string
	for _, l := range labels.GetNodeLabels() {
		names = append(names, l.GetName())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	reply, err := s.do(ctx, &input.LabelNodes{FromNode: true, Nodes: []input.LabelledNode{{ID: id, Labels: names}}})
	if err != nil {
		return nil, err
	}
	switch f := reply.Refused(); {
	case f == nil:
		return &labelAnswer{accepted: true}, nil
	case f.Reason == input.NotInitialized:
		return nil, ipc.Standby(f.Error())
	default:
		text := s.text(
			fmt.Sprintf("Node Labels {%s} reported from NM with ID %s was rejected from RM with exception message as : %s",
				strings.Join(names, ","), id, f.What))
		s.cfg.Logger.Warn("labels of a node refused", "node", id, "reason", f.What)
		return &labelAnswer{diagnostics: text}, nil
	}
}

// labelsMax limits the labels that a node reports. A node may have one.
const labelsMax = 100
