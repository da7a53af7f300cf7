package scheduler

import (
	"slices"
	"testing"

	"rmd/fsm/state"
	"rmd/internal/growth"
	"rmd/yarn"
)

// TestRacksInOrder checks that a gang with one rack uses the first rack with room for all members.
// Racks are in the order of their first nodes.
func TestRacksInOrder(t *testing.T) {
	rooms := []gangMembers{{node: 1, rack: 7, count: 1}, {node: 2, rack: 5, count: 2}, {node: 3, rack: 7, count: 1},
		{node: 4, rack: 5, count: 1}, {node: 5, rack: 7, count: 1}}
	for count, want := range map[int64][]state.NodeSlot{3: {1, 3, 5}, 2: {1, 3}, 4: nil} {
		var nodes []state.NodeSlot
		for _, m := range chooseMembers(&yarn.Gang{OneRack: true, Count: count}, rooms, nil) {
			nodes = append(nodes, m.node)
		}
		if !slices.Equal(nodes, want) {
			t.Errorf("%d members are on %v, not %v", count, nodes, want)
		}
	}
}

// TestManyRacks checks that the time for a gang with one rack does not grow with the square of the racks.
// A pass in a large cluster examines all nodes for such a gang.
func TestManyRacks(t *testing.T) {
	rooms := make([]gangMembers, 1_000_000)
	for i := range rooms {
		rooms[i] = gangMembers{node: state.NodeSlot(i + 1), rack: state.NameSlot(i + 1), count: 1}
	}
	growth.InTime(t, "a million racks", func() {
		if chooseMembers(&yarn.Gang{OneRack: true, Count: 2}, rooms, nil) != nil {
			t.Error("two members are on one node")
		}
	})
}
