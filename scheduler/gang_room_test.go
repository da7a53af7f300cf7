package scheduler

import (
	"slices"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/yarn"
)

// TestRacksInOrder checks that a gang with one rack uses the first rack with room for all members.
// Racks are in the order of their first nodes.
func TestRacksInOrder(t *testing.T) {
	rooms := []gangMembers{{node: 1, rack: 7, count: 1}, {node: 2, rack: 5, count: 2}, {node: 3, rack: 7, count: 1}, {node: 4, rack: 5, count: 1}, {node: 5, rack: 7, count: 1}}
	for count, want := range map[int64][]uint32{3: {1, 3, 5}, 2: {1, 3}, 4: nil} {
		var nodes []uint32
		for _, m := range chooseMembers(&yarn.Gang{OneRack: true, Count: count}, rooms, nil) {
			nodes = append(nodes, m.node)
		}
		if !slices.Equal(nodes, want) {
			t.Errorf("%d members are on %v, not %v", count, nodes, want)
		}
	}
}

// TestManyRacks checks that eight times as many racks take about eight times as long, not 64 times.
// A pass in a large cluster examines all nodes for a gang with one rack.
func TestManyRacks(t *testing.T) {
	took := func(nodes int) time.Duration {
		rooms := make([]gangMembers, nodes)
		for i := range rooms {
			rooms[i] = gangMembers{node: uint32(i + 1), rack: state.NameID(i + 1), count: 1}
		}
		best := time.Hour
		for range 3 {
			began := time.Now()
			if chooseMembers(&yarn.Gang{OneRack: true, Count: 2}, rooms, nil) != nil {
				t.Fatal("two members are on one node")
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	if few, many := took(1500), took(12_000); many > 30*few {
		t.Errorf("1,500 racks take %v, 12,000 %v", few, many)
	}
}
