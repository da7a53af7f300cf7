package progress

import (
	"testing"
	"time"
)

// TestStalls checks that the age of a stall grows while its kind makes no progress, and that the kind
// that causes others is named.
func TestStalls(t *testing.T) {
	var s Stalls
	look := func(applied uint64, apply, work string) {
		s.Observe([StallKinds]uint64{StallApply: applied}, [StallKinds]string{StallApply: apply, StallWork: work}, time.Second)
	}
	look(7, "", "w")
	for range 3 {
		look(7, "a", "w")
	}
	if age, why := s.Worst(); age != 4*time.Second || why != "w" {
		t.Errorf("%s %q", age, why)
	}
	if kind, why := s.Beyond(4 * time.Second); kind != StallApply || why != "a" {
		t.Errorf("kind %d, %q", kind, why)
	}
	if kind, _ := s.Beyond(5 * time.Second); kind != StallKinds {
		t.Errorf("kind %d has waited for 5 s", kind)
	}
	look(8, "a", "")
	if age, _ := s.Worst(); age != 0 {
		t.Errorf("%s after progress", age)
	}
}
