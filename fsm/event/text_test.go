package event

import (
	"fmt"
	"strings"
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
		{&ApplicationEnded{State: yarn.AppFinished, Final: yarn.FinalFailed, Diagnostics: "no input.\nat Main"},
			"ended: finished, failed: no input"},
		{&ApplicationEnded{State: yarn.AppKilled, Final: yarn.FinalKilled, Diagnostics: "killed by alice"},
			"ended: killed: killed by alice"},
		{&ApplicationSubmitted{User: "ann", Name: "sort"}, "submitted by ann, as “sort”"},
		{&AttemptEnded{Final: yarn.FinalFailed, Diagnostics: "its ApplicationMaster was silent"},
			"attempt ended, failed: its ApplicationMaster was silent"},
		{&ContainerCompleted{ExitStatus: 137, Diagnostics: "over its memory."},
			"container ended with status 137: over its memory"},
		{&ContainerCompleted{}, "container ended"},
		{&ContainerAllocated{Locality: yarn.NodeLocal}, "container granted, on a node it asked for"},
		{&ContainerAllocated{Locality: yarn.OffSwitch}, "container granted"},
		{&LabelsSet{Labels: []Label{{Name: "spot"}, {Name: "gpu", Exclusive: true}}},
			"labels of the cluster: gpu, spot (not exclusive)"},
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

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		event Event
		want  string
	}{
		{&ApplicationForgotten{App: 7}, "ApplicationForgotten {App:7}"},
		{&MasterKeyCreated{Bytes: []byte("secret")}, ", Bytes of 6 bytes"},
		{&AttemptRegistered{Host: "h", ClientKey: []byte("secret")}, ", ClientKey of 6 bytes"},
		{&TokensAdded{App: 7, Tokens: []AppToken{{Kind: "k", Service: "nn", Password: []byte("secret")}}},
			"Tokens:[{k for nn}]"},
		{&TokensReplaced{Tokens: []AppToken{{Kind: "k", Service: "nn", Password: []byte("secret")}},
			Credentials: []byte("secret")}, ", Credentials of 6 bytes"},
		{&ApplicationSubmitted{Name: "a\x1b[2J\nb", Context: []byte("secret")}, "Name:a [2J b "},
		{&ApplicationSubmitted{Name: strings.Repeat("é", 1000), Context: []byte("secret")}, "é…, Context of 6 bytes"},
	} {
		got := Describe(c.event)
		if !strings.Contains(got, c.want) || strings.Contains(got, "115 101 99") || len(got) > mostDescribed+50 {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestStringHidesKeys checks the events with keys when they are printed by themselves.
func TestStringHidesKeys(t *testing.T) {
	for _, e := range []Event{&MasterKeyCreated{ID: 7, Bytes: []byte("secret")},
		&AttemptRegistered{App: 7, ClientKey: []byte("secret")}} {
		if got := fmt.Sprintf("%v %+v", e, e); strings.Contains(got, "115 101 99") || !strings.Contains(got, ":7 ") {
			t.Errorf("%T: %s", e, got)
		}
	}
}
