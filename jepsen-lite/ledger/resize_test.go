package ledger

import (
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

func grow(number uint64, size yarn.Resource) *event.ContainerResizeAsked {
	return &event.ContainerResizeAsked{Container: ref(1, number), Size: size}
}

func increased(number uint64) *event.ContainerIncreased {
	return &event.ContainerIncreased{Container: ref(1, number)}
}

func decreased(number uint64, size yarn.Resource) *event.ContainerDecreased {
	return &event.ContainerDecreased{Container: ref(1, number), Size: size}
}

func holdToGrow(reservation, number uint64) *event.ResizeReserved {
	return &event.ResizeReserved{Reservation: reservation, Container: ref(1, number)}
}

// TestContainersGrowAndShrink checks that legal changes of size cause no violation and keep the
// sums right.
func TestContainersGrowAndShrink(t *testing.T) {
	l := begin(t)
	l.entry(give(1, 1, 1), give(1, 2, 1), grow(1, yarn.NewResource(2048, 1)), increased(1))
	l.entry(decreased(1, small), &event.ResizeAcked{Container: ref(1, 1), Version: 2})
	l.entry(grow(2, yarn.NewResource(8192, 1)), holdToGrow(1, 2), &event.ContainerCompleted{Container: ref(1, 1)},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.NodeLocal})
	l.legal()
	if f, _ := l.m.Container("container_1780000000000_0001_01_000001"); f.Size != small {
		t.Errorf("it has %s", f.Size)
	}
}

// TestIllegalChangesOfSize checks that each kind of illegal change of size is found.
func TestIllegalChangesOfSize(t *testing.T) {
	whole := yarn.NewResource(5120, 1)
	for _, c := range []struct {
		name, id, text string
		events         []event.Event
	}{
		{"more than there is", "S7", "grows by", []event.Event{grow(1, yarn.NewResource(8192, 1)), increased(1)}},
		{"on a held node", "S8", "which r1 holds",
			[]event.Event{want(1, yarn.NewResource(4096, 1), 1), hold(1, 1, 3, 1), grow(1, yarn.NewResource(2048, 1)),
				increased(1)}},
		{"held after its end", "S8", "goes on holding",
			[]event.Event{grow(1, whole), holdToGrow(1, 1), &event.ContainerCompleted{Container: ref(1, 1)}}},
		{"held by two", "S8", "is held by r1 and by r2",
			[]event.Event{grow(1, whole), holdToGrow(1, 1), grow(2, whole), holdToGrow(2, 2)}},
		{"held and unwanted", "S8", "nothing is asked for it",
			[]event.Event{grow(1, whole), holdToGrow(1, 1), grow(1, small)}},
		{"smaller to more", Audit, "is decreased to", []event.Event{decreased(1, large)}},
		{"after its end", "S10", "decreased after its end",
			[]event.Event{&event.ContainerReleased{Container: ref(1, 1)}, decreased(1, small)}},
		{"unasked", Audit, "nothing is asked for it", []event.Event{increased(1)}},
		{"an old order", Audit, "was told version 0",
			[]event.Event{decreased(1, small), &event.ResizeAcked{Container: ref(1, 1)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := begin(t)
			l.app(2, "root.b")
			l.entry(want(2, yarn.NewResource(4096, 1), 1), give(2, 1, 1), give(1, 1, 1), give(1, 2, 1))
			l.legal()
			l.entry(c.events...)
			all := l.m.Violations()
			if len(all) == 0 || all[0].ID != c.id || !strings.Contains(all[0].Text, c.text) {
				t.Fatalf("found %v, want %s with %q", all, c.id, c.text)
			}
		})
	}
}
