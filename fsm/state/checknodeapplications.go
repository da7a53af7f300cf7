package state

import "fmt"

// checkPresences makes sure that the presences are those that the containers
// call for, and that a node which is not told of ends has none that are over.
func (s *State) checkPresences() error {
	var over scratch[int32]
	var err error
	s.NodeApplications.Each(func(slot uint32, p *NodeApplication) bool {
		switch {
		case p.Slot == 0:
			*over.at(p.Node)++
			if p.nextApp != 0 {
				err = fmt.Errorf("the presence of %s, which is over, is in an application's list", p.App)
			}
		case s.Apps.Get(p.Slot).ID != p.App || s.Apps.Get(p.Slot).State.Ended():
			err = fmt.Errorf("the presence at slot %d of %s is not of an application that lives", slot, p.App)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	s.Nodes.Each(func(slot uint32, n *Node) bool {
		switch o := *over.at(slot); {
		case o != n.CleanUps:
			err = fmt.Errorf("node %s says %d applications to be cleared away and has %d", n.ID, n.CleanUps, o)
		case o > 0 && !n.told():
			err = fmt.Errorf("node %s is %s, dialed: %v, and is to be told of %d ends", n.ID, n.State, n.NodeManager, o)
		case n.TotalSet && n.SetTotal.Negative():
			err = fmt.Errorf("node %s was set to %s", n.ID, n.SetTotal)
		}
		return err == nil
	})
	s.Containers.Each(func(_ uint32, c *Container) bool {
		a := s.Apps.Get(c.App)
		if err == nil && c.OnNode && !a.State.Ended() && s.Nodes.Get(c.Node).NodeManager && s.NodeApplication(a.ID, c.Node) == 0 {
			err = fmt.Errorf("a container of %s is on %s, which has no presence of it", a.ID, s.Nodes.Get(c.Node).ID)
		}
		if err == nil && c.Signal != 0 && (!c.OnNode || !c.State.Live()) {
			err = fmt.Errorf("a container of %s is %s and waits for signal %d", a.ID, c.State, c.Signal)
		}
		return err == nil
	})
	return err
}
