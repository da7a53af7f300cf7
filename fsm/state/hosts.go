package state

import (
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

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

// ExcludedUnknown returns a node for each excluded host that has no known node, ordered by name. As
// in YARN, these nodes are DECOMMISSIONED and have no port.
func (s *State) ExcludedUnknown() (nodes []*Node) {
	if len(s.Hosts.Exclude) == 0 {
		return nil
	}
	known := make(map[string]bool, s.Nodes.Len()) // looked up by key only
	s.Nodes.Each(func(_ NodeSlot, n *Node) bool { known[strings.ToLower(n.ID.Host)] = true; return true })
	for _, host := range s.Hosts.Exclude {
		if !known[host] {
			nodes = append(nodes, &Node{ID: yarn.NodeID{Host: host}, State: yarn.NodeDecommissioned})
		}
	}
	return nodes
}

// NeverRegistered reports whether the node is one that ExcludedUnknown returns.
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

var _ = applies((*State).nodeListsSet)

func (s *State) nodeListsSet(e *event.NodeListsSet) error {
	for _, list := range [][]string{e.Include, e.Exclude} {
		if host, found := misplaced(list); found {
			return broken(e, "%q is out of order, or not in lower case", host)
		}
	}
	s.Hosts = HostLists{Include: e.Include, Exclude: e.Exclude}
	s.fold(uint64(len(e.Include))<<32 | uint64(len(e.Exclude)))
	for _, list := range [][]string{e.Include, e.Exclude} {
		for _, host := range list {
			s.fold(hashString(host))
		}
	}
	return nil
}

func (s *State) checkHosts() error {
	for _, list := range [][]string{s.Hosts.Include, s.Hosts.Exclude} {
		if host, found := misplaced(list); found {
			return fmt.Errorf("host %q is out of order in its list, or not in lower case", host)
		}
	}
	return nil
}
