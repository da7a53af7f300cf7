package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

func keeps(path, label string, memory int64) *event.GuaranteeKept {
	return &event.GuaranteeKept{Path: path, Label: label, Size: yarn.NewResource(memory, 1).Times(min(memory, 1))}
}

// TestKept checks what is kept for the queues and labels of several events, and when it was recorded.
func TestKept(t *testing.T) {
	s := indebted(t)
	apply(t, s, keeps("root.a", "gpu", 2048), keeps("root.a", "", 1024), &event.TimeAdvanced{NowMillis: s.Meta.NowMillis + 500},
		keeps("root.a", "", 4096), keeps("root.b.x", "", 512))
	queue, gpu := s.Queues.Find("root.a"), s.Labels.Find("gpu")
	if k, ok := s.Kept.For(queue, 0); !ok || k.Size != yarn.NewResource(4096, 1) || k.ReachedMillis != s.Meta.NowMillis {
		t.Errorf("without a label %+v is kept at %d", k, s.Meta.NowMillis)
	}
	if k, ok := s.Kept.For(queue, gpu); !ok || k.Size != yarn.NewResource(2048, 1) || k.ReachedMillis != s.Meta.NowMillis-500 {
		t.Errorf("of the label %+v is kept at %d", k, s.Meta.NowMillis)
	}
	apply(t, s, keeps("root.a", "gpu", 0), keeps("root.a", "", 0))
	if _, ok := s.Kept.For(s.Queues.Find("root.b.x"), 0); !ok || s.Kept.Len() != 1 {
		t.Errorf("something is kept for %d queues", s.Kept.Len())
	}
}
