package planner

import (
	"fmt"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// gang draws the description of a gang.
func (m *machine) gang(t *rapid.T) string {
	return fmt.Sprintf("priority=%d,count=%d%s%s", rapid.IntRange(1, 3).Draw(t, "gang of"),
		rapid.SampledFrom([]int{1, 2, 2, 4}).Draw(t, "members"),
		rapid.SampledFrom([]string{"", "", ",per-node=1", ",rack=one"}).Draw(t, "shape"),
		rapid.SampledFrom([]string{"", ",timeout=2", ",timeout=2,then=ordinary"}).Draw(t, "timeout"))
}

func (m *machine) declareGang(t *rapid.T) {
	if len(m.apps) == 0 {
		return
	}
	in := &input.SetGang{ID: rapid.SampledFrom(m.apps).Draw(t, "application")}
	if rapid.IntRange(0, 3).Draw(t, "withdraw") > 0 {
		in.Gang = m.gang(t)
	}
	m.plan(in)
}

// checkGangs checks gangs between two inputs: either all members were allocated or none, either all
// have reservations or none, and the nodes match the gang's constraints.
func (m *machine) checkGangs() (err error) {
	st := m.p.st
	st.Gangs.Each(func(app state.AppSlot, g *state.Gang) bool {
		nodes := map[state.NodeSlot]int64{}
		held := int64(0)
		for _, r := range st.GangReservations(app) {
			nodes[r.Node] += int64(r.Members)
			held += int64(r.Members)
		}
		switch id := st.Apps.Get(app).ID; {
		case g.Left != 0:
			err = fmt.Errorf("the gang of %s has %d members to start", id, g.Left)
		case held != 0 && (held != g.Spec.Count || g.State != state.GangWaiting):
			err = fmt.Errorf("the gang of %s holds nodes for %d members: %+v", id, held, g)
		default:
			err = m.gangShape(&g.Spec, nodes, false)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	return m.checkStarted()
}

// checkStarted checks the gangs that the last input started.
func (m *machine) checkStarted() error {
	for i, e := range m.events {
		started, ok := e.(*event.GangStarted)
		if !ok {
			continue
		}
		g := m.p.st.Gangs.Get(m.p.st.Apps.Find(started.App))
		nodes, left := map[state.NodeSlot]int64{}, g.Spec.Count
		for _, e := range m.events[i:] {
			if c, ok := e.(*event.ContainerAllocated); ok && c.App == started.App && c.Key == g.Key && left > 0 {
				nodes[c.Node]++
				left--
			}
		}
		if left != 0 {
			return fmt.Errorf("a gang starts without %d of its members", left)
		}
		if err := m.gangShape(&g.Spec, nodes, true); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) gangShape(g *yarn.Gang, nodes map[state.NodeSlot]int64, now bool) error {
	racks := map[state.NameSlot]bool{}
	for node, members := range nodes {
		racks[m.p.st.Nodes.Get(node).RackID] = true
		if g.PerNode != 0 && members != g.PerNode {
			return fmt.Errorf("a node has %d members of a gang of %d per node", members, g.PerNode)
		}
	}
	if now && g.OneRack && len(racks) != 1 {
		return fmt.Errorf("a gang of one rack is on %d", len(racks))
	}
	return nil
}
