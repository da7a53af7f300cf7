package api

// Figures says how the resources of a set of nodes are divided. They mean the same for the cluster and
// for a label, in REST, on the pages and on the command line. Only nodes that count as usable have a
// part in them.
//
//	used + free = total
//	held free + usable ≤ free
//
// The rest of the free resources is on nodes that take no containers now, or is blocked by
// reservations on other nodes. While a node has more in use than it has, after its resources were
// reduced, used may exceed total; free is then 0.
type Figures struct {
	Total    Resource `json:"total"`
	Used     Resource `json:"used"`      // by containers
	Free     Resource `json:"free"`      // not used
	HeldFree Resource `json:"held_free"` // the free part of reserved nodes, which is kept for the reservations
	Usable   Resource `json:"usable"`    // the free part that new containers may take now
	Reserved Resource `json:"reserved"`  // what the reservations need, used or not; no part of Total
	Pending  Resource `json:"pending"`   // what applications ask for and do not have
}
