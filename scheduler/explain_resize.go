package scheduler

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
)

// growing finds the container of an event, and the ask for what it is to grow by.
func (p *Planner) growing(ref event.ContainerRef) (*state.Container, *state.Ask) {
	slot := p.st.Container(ref)
	if slot == 0 {
		return nil, nil
	}
	c := p.st.Containers.Get(slot)
	ask := p.st.AskFor(p.st.Apps.Get(c.App), c.Key, slot)
	if ask == 0 {
		return nil, nil
	}
	return c, p.st.Asks.Get(ask)
}

func (p *Planner) becauseIncreased(e *event.ContainerIncreased) Because {
	c, k := p.growing(e.Container)
	if c == nil {
		return Because{}
	}
	n := p.st.Nodes.Get(c.Node)
	ground, line := p.line(c.App, c.Node)
	return Because{ground.String(), fmt.Sprintf("%s; it asks to grow from %s by %s, %s had %s free", line, p.cfg.Kinds.Format(c.Size), p.cfg.Kinds.Format(k.Size),
		n.ID, p.cfg.Kinds.Format(n.Unallocated()))}
}

func (p *Planner) becauseResizeReserved(e *event.ResizeReserved) Because {
	c, k := p.growing(e.Container)
	if c == nil {
		return Because{}
	}
	n := p.st.Nodes.Get(c.Node)
	return Because{TooLittleFree.String(), fmt.Sprintf("it asks to grow from %s by %s, %s had %s free of %s", p.cfg.Kinds.Format(c.Size), p.cfg.Kinds.Format(k.Size),
		n.ID, p.cfg.Kinds.Format(n.Unallocated()), p.cfg.Kinds.Format(n.Total))}
}
