package state

import (
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state/part"
	"rmd/internal/codec"
	"rmd/yarn"
)

// ListedUnknown returns a node for each listed host that has no known node, ordered by name. As in
// YARN, these nodes have no port. The excluded hosts are DECOMMISSIONED. With lost, the others of the
// include list are LOST; without it, they are left out.
func (s *Cluster) ListedUnknown(lost bool) (nodes []*Node) {
	if len(s.Hosts.Exclude) == 0 && !(lost && len(s.Hosts.Include) > 0) {
		return nil
	}
	known := make(map[string]bool, s.Nodes.Len()) // looked up by key only
	s.Nodes.Each(func(_ NodeSlot, n *Node) bool { known[strings.ToLower(n.ID.Host)] = true; return true })
	add := func(list []string, as yarn.NodeState) {
		for _, host := range list {
			if !known[host] {
				known[host] = true
				nodes = append(nodes, &Node{ID: yarn.NodeID{Host: host}, State: as})
			}
		}
	}
	add(s.Hosts.Exclude, yarn.NodeDecommissioned)
	if lost {
		add(s.Hosts.Include, yarn.NodeLost)
		slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(a.ID.Host, b.ID.Host) })
	}
	return nodes
}

var _ = applies(func(s *State, e *event.NodeListsSet) error { return s.Hosts.Set(&s.Meta, e) })

var _ = stored(1, part.Derived[State]{Part: part.Single(19, "hosts",
	func(s *State, c *codec.Coder) { s.Hosts.Code(c) }),
	Agrees: func(s *State) error { return s.Hosts.Check() }})
