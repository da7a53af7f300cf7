package event

import (
	"testing"

	"rmd/yarn"
)

// TestTexts checks sentences, including those with reasons, which may have several lines.
func TestTexts(t *testing.T) {
	for _, c := range []struct {
		event Told
		want  string
	}{
		{&ApplicationEnded{State: yarn.AppFinished, Final: yarn.FinalSucceeded}, "ended: finished"},
		{&ApplicationEnded{State: yarn.AppFinished, Final: yarn.FinalFailed, Diagnostics: "no input.\nat Main"}, "ended: finished, failed: no input"},
		{&ApplicationEnded{State: yarn.AppKilled, Final: yarn.FinalKilled, Diagnostics: "killed by alice"}, "ended: killed: killed by alice"},
		{&ApplicationSubmitted{User: "ann", Name: "sort"}, "submitted by ann, as “sort”"},
		{&AttemptEnded{Final: yarn.FinalFailed, Diagnostics: "its ApplicationMaster was silent"}, "attempt ended, failed: its ApplicationMaster was silent"},
		{&ContainerCompleted{ExitStatus: 137, Diagnostics: "over its memory."}, "container ended with status 137: over its memory"},
		{&ContainerCompleted{}, "container ended"},
		{&ContainerAllocated{Locality: yarn.NodeLocal}, "container granted, on a node it asked for"},
		{&ContainerAllocated{Locality: yarn.OffSwitch}, "container granted"},
		{&LabelsSet{Labels: []Label{{Name: "spot"}, {Name: "gpu", Exclusive: true}}}, "labels of the cluster: gpu, spot (not exclusive)"},
		{&LabelsRemoved{Names: []string{"gpu", "spot"}}, "labels removed: gpu spot"},
		{&NodesLabelled{Nodes: make([]LabelledNode, 40)}, "labels of 40 hosts changed"},
		{&PreemptionAsked{Queue: "root.a"}, "container warned: it is to end for root.a"},
		{&PreemptionAsked{}, "container warned: it is to end"},
		{&PreemptionWithdrawn{Cause: yarn.WithdrawCancelled}, "warning withdrawn: the container goes on"},
		{&ReservationCancelled{Cause: yarn.CancelOperator}, "reservation cancelled: an operator cancelled it"},
		{&ReservationCancelled{Cause: 250}, "reservation cancelled: unknown 250"},
		{&QueuesConfigured{Version: 3, Author: "ann"}, "configuration version 3 in force, by ann"},
		{&NodeSilenceChanged{}, "node is heard again"},
		{&Audited{Action: "drain", Target: "n1", Who: "ann", Result: "done"}, "administrator: drain, n1, by ann, done"},
	} {
		if got := c.event.Text(); got != c.want {
			t.Errorf("%s: %q, want %q", Describe(c.event), got, c.want)
		}
	}
}
