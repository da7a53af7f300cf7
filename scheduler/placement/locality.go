package placement

import "rmd/yarn"

// Delay is what decides when a request may leave its node or rack.
type Delay struct {
	Opportunities int64 // offers seen, the present one included
	Outstanding   int64 // containers still asked under the key
	Entries       int64 // resource names asked, "*" among them
	Nodes         int64 // in the cluster
	NodeDelay     int64 // node-locality-delay; −1: none
	RackDelay     int64 // rack-locality-additional-delay; −1: scaled by size
}

// MayGo says whether a request may be served at a locality level. A
// fulfilment may always go off-switch.
//
// Source: Hadoop 3.4.2, RegularContainerAllocator.canAssign.
func MayGo(l yarn.Locality, d Delay, fulfilment bool) bool {
	switch l {
	case yarn.NodeLocal:
		return true
	case yarn.RackLocal:
		return d.NodeDelay < 0 || d.Opportunities > min(d.Nodes, d.NodeDelay)
	}
	switch {
	case fulfilment || d.Entries <= 1:
		return true
	case d.RackDelay >= 0:
		return d.Opportunities > min(d.Nodes, d.NodeDelay+d.RackDelay)
	}
	// opp > min(nodes, outstanding · min((entries − 1)/nodes, 1)), without dividing.
	if d.Opportunities > d.Nodes {
		return true
	}
	names := min(d.Entries-1, d.Nodes)
	return yarn.CompareProducts(d.Opportunities, max(d.Nodes, 1), d.Outstanding, names) > 0
}
