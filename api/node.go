package api

import (
	"fmt"
	"strings"
	"time"

	"rmd/scheduler/explain"
)

// Nodes is one page of nodes, sorted by host and port.
type Nodes struct {
	Nodes []Node `json:"nodes"`
	Next  string `json:"next,omitempty"`
}

// Node is the machine of a NodeManager.
type Node struct {
	ID          string `json:"id"`
	Host        string `json:"host"`
	Port        uint16 `json:"port"`
	HTTPAddress string `json:"http_address"`
	Rack        string `json:"rack"`
	Label       string `json:"label,omitempty"`
	State       string `json:"state"`
	// SilentSinceMillis is when the last heartbeat came, if the node has missed heartbeats since. It
	// gets no containers until it is heard again.
	SilentSinceMillis int64      `json:"silent_since_ms,omitempty"`
	LastHeardMillis   int64      `json:"last_heard_ms,omitempty"` // when the last heartbeat came; only in the state LOST
	Version           string     `json:"version,omitempty"`
	Total             Resource   `json:"total"` // zero if unknown, as of a node that must register again
	Used              Resource   `json:"used"`
	Free              Resource   `json:"free"`
	Containers        int32      `json:"containers"`
	Reservation       string     `json:"reservation,omitempty"` // id of the reservation
	Reserved          Resource   `json:"reserved,omitempty"`
	RegisteredMillis  int64      `json:"registered_ms"`
	DeadlineMillis    int64      `json:"deadline_ms,omitempty"` // deadline of the drain
	Report            string     `json:"report,omitempty"`
	Orders            int32      `json:"orders,omitempty"` // launches and kills that the NodeManager has not confirmed
	Drain             *NodeDrain `json:"drain,omitempty"`  // only in the state DECOMMISSIONING
}

// Condition returns the state, and for how long the node is silent.
func (n *Node) Condition(now time.Time) string {
	if n.SilentSinceMillis == 0 {
		return n.State
	}
	return fmt.Sprintf("%s, silent for %d s", n.State, max(now.UnixMilli()-n.SilentSinceMillis, 0)/1000)
}

// NodeDrain is the progress of a node's drain.
type NodeDrain struct {
	Status string `json:"status"` // WAIT_CONTAINER, WAIT_APP, READY or TIMEOUT
	// Containers and Applications count what the drain waits for. The applications are those that
	// ran on the node and whose data may still be fetched from it.
	Containers   int32 `json:"containers"`
	Applications int   `json:"applications"`
	// Apps lists these applications, at most 100.
	Apps []string `json:"apps,omitempty"`
	// ExpectedMillis is when the last of these applications will end if all continue at their
	// present rate. It is absent if one of them reports no progress.
	ExpectedMillis int64 `json:"expected_ms,omitempty"`
}

// String returns the status and what the drain waits for.
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

// Placement has the containers and the reservation of a node.
type Placement struct {
	Node        Node         `json:"node"`
	Containers  []Container  `json:"containers"` // largest first
	Reservation *Reservation `json:"reservation,omitempty"`
}

// Drain starts a graceful decommission. It ends at a deadline or after a timeout. Without either it
// waits forever.
type Drain struct {
	DeadlineMillis int64    `json:"deadline_ms,omitempty"`
	Timeout        Duration `json:"timeout,omitempty"`
}

// DrainNodes starts a graceful decommission of several nodes, of all or of none. A node that is
// already draining gets the new deadline.
type DrainNodes struct {
	Nodes []string `json:"nodes"`
	Drain
}

// DrainChoices lists the nodes whose loss costs least, cheapest first.
type DrainChoices struct {
	Nodes []DrainChoice `json:"nodes"`
}

// DrainChoice is a node, and what is lost if it is removed before its drain ends.
type DrainChoice = explain.DrainChoice

// NodeResource sets the total resource of a node.
type NodeResource struct {
	Total Resource `json:"total"`
}
