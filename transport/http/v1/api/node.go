package api

import "strings"

// Nodes is one page of nodes, by id (host, then port).
type Nodes struct {
	Nodes []Node `json:"nodes"`
	Next  string `json:"next,omitempty"`
}

// Node is one NodeManager's machine.
type Node struct {
	ID               string     `json:"id"`
	Host             string     `json:"host"`
	Port             uint16     `json:"port"`
	HTTPAddress      string     `json:"http_address"`
	Rack             string     `json:"rack"`
	State            string     `json:"state"`
	Version          string     `json:"version,omitempty"`
	Total            Resource   `json:"total"`
	Used             Resource   `json:"used"`
	Free             Resource   `json:"free"`
	Containers       int32      `json:"containers"`
	Reservation      string     `json:"reservation,omitempty"` // its id
	Reserved         Resource   `json:"reserved,omitempty"`
	RegisteredMillis int64      `json:"registered_ms"`
	DeadlineMillis   int64      `json:"deadline_ms,omitempty"` // of a drain
	Report           string     `json:"report,omitempty"`
	Orders           int32      `json:"orders,omitempty"` // launches and kills not confirmed yet
	Drain            *NodeDrain `json:"drain,omitempty"`  // of a node that is DECOMMISSIONING
}

// NodeDrain is how far the drain of a node is.
type NodeDrain struct {
	Status string `json:"status"` // WAIT_CONTAINER, WAIT_APP, READY or TIMEOUT
	// Apps are the applications that ran there and must end, or be cleaned up, first: at most 100.
	Apps []string `json:"apps,omitempty"`
}

// String shows the status and the applications.
func (d *NodeDrain) String() string {
	if len(d.Apps) == 0 {
		return d.Status
	}
	return d.Status + ", applications: " + strings.Join(d.Apps, " ")
}

// Placement is what is on one node, as the pages draw it.
type Placement struct {
	Node        Node         `json:"node"`
	Containers  []Container  `json:"containers"` // largest first
	Reservation *Reservation `json:"reservation,omitempty"`
}

// Drain starts a graceful decommission: until a time, or for a span from now;
// with neither it waits for ever.
type Drain struct {
	DeadlineMillis int64    `json:"deadline_ms,omitempty"`
	Timeout        Duration `json:"timeout,omitempty"`
}

// NodeResource sets a node's total.
type NodeResource struct {
	Total Resource `json:"total"`
}
