package record

import (
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// HostLists are the hosts that may register (Include; empty: all) and that may not (Exclude).
type HostLists struct{ Include, Exclude []string }

// Code encodes the record, or decodes into it.
func (h *HostLists) Code(c *codec.Coder) {
	CodeStrings(c, &h.Include)
	CodeStrings(c, &h.Exclude)
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

// Set applies new lists.
func (h *HostLists) Set(m *Meta, e *event.NodeListsSet) error {
	for _, list := range [][]string{e.Include, e.Exclude} {
		if host, found := misplaced(list); found {
			return Broken(e, "%q is out of order, or not in lower case", host)
		}
	}
	*h = HostLists{Include: e.Include, Exclude: e.Exclude}
	m.Fold(uint64(len(e.Include))<<32 | uint64(len(e.Exclude)))
	for _, list := range [][]string{e.Include, e.Exclude} {
		for _, host := range list {
			m.Fold(table.Hash(host))
		}
	}
	return nil
}

// Check checks the order of the lists.
func (h *HostLists) Check() error {
	for _, list := range [][]string{h.Include, h.Exclude} {
		if host, found := misplaced(list); found {
			return fmt.Errorf("host %q is out of order in its list, or not in lower case", host)
		}
	}
	return nil
}
