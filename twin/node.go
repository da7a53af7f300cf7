package twin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// health lets a node report that it is unhealthy, or healthy again.
func (p *Planner) health(s Step) {
	from, to := p.racks, p.sick
	if s[0] == "well" {
		from, to = to, from
	}
	if name := word(s, 1); from[name] != "" && !p.draining(name) {
		to[name] = from[name]
		delete(from, name)
		p.must(&input.NodeHeartbeat{ID: nodeID(name), Unhealthy: s[0] == "sick"})
	}
}

// draining reports whether there is a node with a name, and it drains.
func (p *Planner) draining(name string) bool {
	return p.racks[name] != "" && p.st.Nodes.Get(p.st.Nodes.Find(nodeID(name))).State == yarn.NodeDecommissioning
}

// takeBack lets a draining node stay, which then registers again with all that runs there.
func (p *Planner) takeBack(name string) {
	if !p.draining(name) {
		return
	}
	node := p.st.Nodes.Get(p.st.Nodes.Find(nodeID(name)))
	in := &input.RegisterNode{ID: node.ID, Rack: node.Rack, Total: p.totals[name]}
	for _, c := range p.st.Containers.On(node) {
		if yarnState(c) != yarn.ContainerRunning {
			return
		}
		in.Containers = append(in.Containers, input.ContainerStatus{Container: p.st.Apps.ContainerID(c),
			State: yarn.ContainerRunning})
	}
	p.must(&input.DrainNode{ID: node.ID, Back: true})
	p.must(in)
}

// endDrain gives the drain of a node a deadline that passes at once.
func (p *Planner) endDrain(name string) {
	if !p.draining(name) {
		return
	}
	p.must(&input.DrainNodes{IDs: []yarn.NodeID{nodeID(name)}, DeadlineMillis: p.now + planMillis + 1})
	p.must(&input.Tick{})
	p.drainEnds(name)
}

func (p *Planner) beat(s Step) {
	host := word(s, 1)
	if p.racks[host] == "" {
		return
	}
	node := p.st.Nodes.Find(nodeID(host))
	p.must(&input.NodeHeartbeat{ID: nodeID(host), Statuses: p.statuses(node, s[2:])})
	p.drainEnds(host)
}

// statuses returns the changes on a node that the words of a step name.
func (p *Planner) statuses(node state.NodeSlot, words []string) (list []input.ContainerStatus) {
	for _, w := range words {
		kind, names, _ := strings.Cut(w, "=")
		for _, name := range strings.Split(names, ",") {
			c := p.container(name)
			switch {
			case c == nil || c.Node != node || !c.OnNode:
			case kind == "run" && yarnState(c) == yarn.ContainerAcquired && !c.Launched:
				list = append(list, input.ContainerStatus{Container: p.st.Apps.ContainerID(c),
					State: yarn.ContainerRunning})
			case kind == "done" && c.Launched && !(c.AM && c.State.Live()):
				list = append(list, input.ContainerStatus{Container: p.st.Apps.ContainerID(c),
					State: yarn.ContainerCompleted})
			}
		}
	}
	// YARN processes started containers before ended ones.
	slices.SortStableFunc(list, func(a, b input.ContainerStatus) int { return cmp.Compare(a.State, b.State) })
	return list
}

// restart lets a node register again, with the containers that it runs or without them. It is as
// healthy as before.
func (p *Planner) restart(s Step) {
	host := word(s, 1)
	rack := p.racks[host] + p.sick[host] // it is in one of them at most
	if rack == "" {
		return
	}
	p.totals[host] = size(word(s, 2))
	node := p.st.Nodes.Find(nodeID(host))
	in := &input.RegisterNode{ID: nodeID(host), Rack: rack, Total: p.totals[host], Unhealthy: p.sick[host] != ""}
	if !slices.Contains(s, "lost") {
		in.Containers = p.statuses(node, s[3:])
		for _, c := range p.st.Containers.On(p.st.Nodes.Get(node)) {
			id := p.st.Apps.ContainerID(c)
			if c.Launched && !slices.ContainsFunc(in.Containers,
				func(s input.ContainerStatus) bool { return s.Container == id }) {
				in.Containers = append(in.Containers, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
			}
		}
	}
	p.must(in)
	p.drainEnds(host)
}

// drainEnds forgets a node whose drain has ended.
func (p *Planner) drainEnds(host string) {
	if p.st.Nodes.Get(p.st.Nodes.Find(nodeID(host))).State == yarn.NodeDecommissioned {
		delete(p.racks, host)
	}
}

// nodeID returns the id of a node that is named by its host, or by its host and port.
func nodeID(name string) yarn.NodeID {
	host, port, ok := strings.Cut(name, ":")
	if !ok {
		return yarn.NodeID{Host: host, Port: 1}
	}
	return yarn.NodeID{Host: host, Port: uint16(number(port))}
}

func nodeName(id yarn.NodeID) string {
	if id.Port == 1 {
		return id.Host
	}
	return fmt.Sprintf("%s:%d", id.Host, id.Port)
}
