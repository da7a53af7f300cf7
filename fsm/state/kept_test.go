package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

func keeps(path, label string, memory int64) *event.GuaranteeKept {
	return &event.GuaranteeKept{Path: path, Label: label, Size: yarn.NewResource(memory, 1).Times(min(memory, 1)),
		ReachedMillis: 500, IdleLeft: uint64(memory) << 32}
}

// TestKept checks what is kept for the queues and labels of several events.
func TestKept(t *testing.T) {
	s := indebted(t)
	idle := keeps("root.b.x", "", 0)
	idle.IdleLeft = 1
	apply(t, s, keeps("root.a", "gpu", 2048), keeps("root.a", "", 1024), keeps("root.a", "", 4096), keeps("root.b.x", "", 512), idle)
	queue, gpu := s.Queues.Find("root.a"), s.Labels.Find("gpu")
	if k, ok := s.Kept.For(queue, 0); !ok || k != (Kept{Size: yarn.NewResource(4096, 1), ReachedMillis: 500, IdleLeft: 4096 << 32}) {
		t.Errorf("without a label %+v is kept", k)
	}
	if k, ok := s.Kept.For(queue, gpu); !ok || k != (Kept{Label: gpu, Size: yarn.NewResource(2048, 1), ReachedMillis: 500, IdleLeft: 2048 << 32}) {
		t.Errorf("of the label %+v is kept", k)
	}
	apply(t, s, keeps("root.a", "gpu", 0), keeps("root.a", "", 0))
	if k, ok := s.Kept.For(s.Queues.Find("root.b.x"), 0); !ok || k.IdleLeft != 1 || s.Kept.Len() != 1 {
		t.Errorf("something is kept for %d queues", s.Kept.Len())
	}
}
