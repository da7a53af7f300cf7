package twin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

func (p *Planner) beat(s Step) {
	host := word(s, 1)
	if p.racks[host] == "" {
		return
	}
	node, in := p.st.Nodes.Find(nodeID(host)), &input.NodeHeartbeat{ID: nodeID(host)}
	for _, w := range s[2:] {
		kind, list, _ := strings.Cut(w, "=")
		for _, name := range strings.Split(list, ",") {
			c := p.container(name)
			switch {
			case c == nil || c.Node != node || !c.OnNode:
			case kind == "run" && yarnState(c) == yarn.ContainerAcquired && !c.Launched:
				in.Statuses = append(in.Statuses, input.ContainerStatus{Container: p.st.Apps.ContainerID(c),
					State: yarn.ContainerRunning})
			case kind == "done" && c.Launched && !(c.AM && c.State.Live()):
				in.Statuses = append(in.Statuses, input.ContainerStatus{Container: p.st.Apps.ContainerID(c),
					State: yarn.ContainerCompleted})
			}
		}
	}
	// YARN processes started containers before ended ones.
	slices.SortStableFunc(in.Statuses, func(a, b input.ContainerStatus) int { return cmp.Compare(a.State, b.State) })
	p.must(in)
	if p.st.Nodes.Get(node).State == yarn.NodeDecommissioned { // its drain has ended
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
