package check

import (
	"fmt"

	"rmd/fsm/state/record"
	"rmd/fsm/state/table"
)

// CheckNodeApplications checks that there is a NodeApplication for every application with
// containers on a NodeManager, and that a node that takes no commands has no pending cleanups.
func (s *Tables) CheckNodeApplications() error {
	var over table.Scratch[record.NodeSlot, int32]
	var err error
	s.NodeApplications.Each(func(slot record.NodeApplicationSlot, p *record.NodeApplication) bool {
		switch {
		case p.Slot == 0:
			*over.At(p.Node)++
			if p.NextApp != 0 {
				err = fmt.Errorf("the node application of %s, which has ended, is in an application's list", p.App)
			}
		case s.Apps.Get(p.Slot).ID != p.App || s.Apps.Get(p.Slot).State.Ended():
			err = fmt.Errorf("the node application at slot %d of %s is not of a running application", slot, p.App)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	s.Nodes.Each(func(slot record.NodeSlot, n *record.Node) bool {
		switch o := *over.At(slot); {
		case o != n.PendingCleanups:
			err = fmt.Errorf("node %s counts %d pending cleanups and has %d", n.ID, n.PendingCleanups, o)
		case o > 0 && !n.TakesCommands():
			err = fmt.Errorf("node %s is %s, NodeManager: %v, and has %d pending cleanups", n.ID, n.State, n.NodeManager, o)
		case n.TotalSet && n.SetTotal.Negative():
			err = fmt.Errorf("node %s was set to %s", n.ID, n.SetTotal)
		}
		return err == nil
	})
	s.Containers.Each(func(_ record.ContainerSlot, c *record.Container) bool {
		a := s.Apps.Get(c.App)
		if err == nil && c.OnNode && !a.State.Ended() && s.Nodes.Get(c.Node).NodeManager &&
			s.NodeApplications.Find(a.ID, c.Node) == 0 {
			err = fmt.Errorf("a container of %s is on %s, which has no node application for it", a.ID, s.Nodes.Get(c.Node).ID)
		}
		if err == nil && c.Signal != 0 && (!c.OnNode || !c.State.Live()) {
			err = fmt.Errorf("a container of %s is %s and waits for signal %d", a.ID, c.State, c.Signal)
		}
		return err == nil
	})
	return err
}
