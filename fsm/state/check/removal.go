package check

import (
	"fmt"

	"rmd/fsm/state/record"
)

// CheckRemovals checks that a node has at most one Removals record, and that it is empty for a node
// that takes no commands.
func (s *Tables) CheckRemovals() error {
	var err error
	s.Removable.Each(func(slot record.RemovalsSlot, r *record.Removals) bool {
		n := s.Nodes.Get(r.Node)
		switch {
		case n.Removals != slot:
			err = fmt.Errorf("node %s has two lists of containers to forget", n.ID)
		case r.First == 0 || len(r.Containers) > record.MaxRemovals:
			err = fmt.Errorf("node %s has to forget %d containers from number %d on", n.ID, len(r.Containers), r.First)
		case len(r.Containers) > 0 && !n.TakesCommands():
			err = fmt.Errorf("node %s is %s, NodeManager: %v, and has to forget %d containers", n.ID, n.State, n.NodeManager,
				len(r.Containers))
		}
		return err == nil
	})
	return err
}
