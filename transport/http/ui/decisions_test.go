package ui

import (
	"testing"

	"rmd/transport/http/v1/api"
)

// TestEventTextsWithReasons checks the words for events, including reasons that events contain and
// that may have several lines.
func TestEventTextsWithReasons(t *testing.T) {
	for _, c := range []struct {
		kind string
		data map[string]any
		want string
	}{
		{"ApplicationEnded", map[string]any{"state": "FINISHED", "final": "SUCCEEDED"}, "ended: finished"},
		{"ApplicationEnded", map[string]any{"state": "FINISHED", "final": "FAILED", "diagnostics": "no input.\nat Main"}, "ended: finished, failed: no input"},
		{"ApplicationEnded", map[string]any{"state": "KILLED", "final": "KILLED", "diagnostics": "killed by alice"}, "ended: killed: killed by alice"},
		{"AttemptEnded", map[string]any{"final": "FAILED", "diagnostics": "its ApplicationMaster was silent"}, "attempt ended, failed: its ApplicationMaster was silent"},
		{"ContainerCompleted", map[string]any{"exit_status": int32(137), "diagnostics": "over its memory."}, "container ended with status 137: over its memory"},
		{"ContainerCompleted", map[string]any{"exit_status": int32(0)}, "container ended"},
		{"ContainerAllocated", map[string]any{"locality": "NODE_LOCAL"}, "container granted, on a node it asked for"},
		{"ContainerAllocated", map[string]any{"locality": "OFF_SWITCH"}, "container granted"},
		{"LabelsSet", map[string]any{"exclusive": map[string]bool{"spot": false, "gpu": true}}, "labels of the cluster: gpu, spot (not exclusive)"},
		{"LabelsRemoved", map[string]any{"names": []string{"gpu", "spot"}}, "labels removed: gpu spot"},
		{"NodesLabelled", map[string]any{"nodes": 40}, "labels of 40 hosts changed"},
		{"PreemptionWithdrawn", map[string]any{"cause": "NO_ROOM"}, "warning withdrawn: the container goes on"},
		{"ReservationCancelled", map[string]any{"cause": "OPERATOR"}, "reservation cancelled: an operator cancelled it"},
		{"ReservationCancelled", map[string]any{"cause": "SOME_DAY"}, "reservation cancelled: some day"},
	} {
		if got := tell(&api.Event{Kind: c.kind, Data: c.data}); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.kind, c.data, got, c.want)
		}
	}
}
