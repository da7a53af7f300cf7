package state

import (
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// HostLists are the hosts that may register (Include; empty: all) and that may not (Exclude).
type HostLists struct{ Include, Exclude []string }

func (h *HostLists) code(c *codec.Coder) {
	codeStrings(c, &h.Include)
	codeStrings(c, &h.Exclude)
}

// Allowed reports whether a host may register. It compares names and addresses literally, but
// ignores case.
func (h *HostLists) Allowed(host string) bool {
	if h.Excluded(host) {
		return false
	}
	_, listed := slices.BinarySearch(h.Include, strings.ToLower(host))
	return listed || len(h.Include) == 0
}

// Excluded reports whether a host is in the exclude list.
func (h *HostLists) Excluded(host string) bool {
	_, found := slices.BinarySearch(h.Exclude, strings.ToLower(host))
	return found
}

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

// NeverRegistered reports whether the node is one that ListedUnknown returns.
func (n *Node) NeverRegistered() bool { return n.Registered == 0 && n.ID.Port == 0 }

// misplaced returns the first host that breaks the order of a list. Lists are in lower case, sorted
// and without duplicates.
func misplaced(list []string) (host string, found bool) {
	for i, host := range list {
		if host != strings.ToLower(host) || (i > 0 && list[i-1] >= host) {
			return host, true
		}
	}
	return "", false
}

var _ = applies(func(s *State, e *event.NodeListsSet) error { return s.Hosts.set(&s.Meta, e) })

func (h *HostLists) set(m *Meta, e *event.NodeListsSet) error {
	for _, list := range [][]string{e.Include, e.Exclude} {
		if host, found := misplaced(list); found {
			return broken(e, "%q is out of order, or not in lower case", host)
		}
	}
	*h = HostLists{Include: e.Include, Exclude: e.Exclude}
	m.fold(uint64(len(e.Include))<<32 | uint64(len(e.Exclude)))
	for _, list := range [][]string{e.Include, e.Exclude} {
		for _, host := range list {
			m.fold(table.Hash(host))
		}
	}
	return nil
}

func (h *HostLists) check() error {
	for _, list := range [][]string{h.Include, h.Exclude} {
		if host, found := misplaced(list); found {
			return fmt.Errorf("host %q is out of order in its list, or not in lower case", host)
		}
	}
	return nil
}

var hostsPart = derived{part: single(19, "hosts", func(s *State, c *codec.Coder) { s.Hosts.code(c) }),
	agrees: func(s *State) error { return s.Hosts.check() }}
