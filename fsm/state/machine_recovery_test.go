package state

import (
	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for applications that another ResourceManager started.

func (m *machine) RecoverAttempt(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps,
		func(a *App) bool { return a.Open() && a.MasterNumber == 0 && a.NextNumber == 0 })
	m.apply(t, &event.AttemptRecovered{App: a.ID.Seq, Master: rapid.Uint64Range(1, 3).Draw(t, "master"),
		ResourceSeconds: gb(1)})
}

func (m *machine) RecoverContainer(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return a.Charged() })
	node,
		_ := pick(t, "node", &m.s.Nodes, func(n *Node) bool { return n.State.Usable() && m.within(gb(1), n.Unallocated()) })
	r := event.ContainerRef{App: a.ID.Seq, Attempt: rapid.Uint32Range(1, a.Attempt).Draw(t, "attempt"),
		Number: rapid.Uint64Range(1, 6).Draw(t, "number")}
	if !m.s.Recoverable(r) {
		t.Skip("it cannot be recovered")
	}
	m.apply(t, &event.ContainerRecovered{Container: r, Node: node, Size: gb(1), Key: yarn.SchedulerKey{Priority: 3},
		StartedMillis: m.s.Meta.NowMillis - 1})
	c := m.s.Containers.Get(m.s.Container(r))
	if c.State != yarn.ContainerRunning || !c.OnNode || c.Undelivered || (m.s.Master(a) == m.s.Container(r)) != c.AM {
		t.Fatalf("recovered as %+v", c)
	}
}

func (m *machine) RecoverNodeApplication(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps, func(a *App) bool { return !a.State.Ended() })
	node, _ := pick(t, "node", &m.s.Nodes, func(n *Node) bool { return n.NodeManager })
	if m.s.NodeApplications.Find(a.ID, node) != 0 {
		t.Skip("it is known")
	}
	m.apply(t, &event.NodeApplicationRecovered{App: a.ID.Seq, Node: node})
}
