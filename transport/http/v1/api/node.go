package api

import (
	"fmt"
	"strings"

	"rmd/scheduler/explain"
)

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
	Label            string     `json:"label,omitempty"`
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
	// Containers and Applications are how many of them must end first; the applications ran
	// there, and their data may be fetched.
	Containers   int32 `json:"containers"`
	Applications int   `json:"applications"`
	// Apps are the applications: at most 100.
	Apps []string `json:"apps,omitempty"`
	// ExpectedMillis is when the last of the applications ends if all go on at their present
	// rate; absent if one of them reports no progress.
	ExpectedMillis int64 `json:"expected_ms,omitempty"`
}

// String shows the status and what must end first.
func (d *NodeDrain) String() string {
	text := d.Status
	if d.Containers > 0 {
		text += fmt.Sprintf(", containers: %d", d.Containers)
	}
	if len(d.Apps) > 0 {
		text += ", applications: " + strings.Join(d.Apps, " ")
	}
	if more := d.Applications - len(d.Apps); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
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

// DrainNodes starts a graceful decommission of several nodes: of all, or of none. One that drains
// already gets the deadline.
type DrainNodes struct {
	Nodes []string `json:"nodes"`
	Drain
}

// DrainChoices are the nodes whose loss costs least, the cheapest first.
type DrainChoices struct {
	Nodes []DrainChoice `json:"nodes"`
}

// DrainChoice is a node, and what is lost if it goes before its drain ends.
type DrainChoice = explain.DrainChoice

// NodeResource sets a node's total.
type NodeResource struct {
	Total Resource `json:"total"`
}
