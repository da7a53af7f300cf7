package api

// Labels lists the node labels of the cluster. The first one has an empty name and stands for the
// nodes without a label.
type Labels struct {
	Enabled bool    `json:"enabled"`          // yarn.node-labels.enabled
	Source  string  `json:"source,omitempty"` // centralized, delegated-centralized or distributed
	Labels  []Label `json:"labels"`
}

// Label is a node label with the resources of its nodes.
type Label struct {
	Name        string `json:"name"`
	Exclusive   bool   `json:"exclusive"`
	Removed     bool   `json:"removed,omitempty"` // removed, but applications still ask for it
	Nodes       int    `json:"nodes"`             // registered nodes
	UsableNodes int    `json:"usable_nodes"`
	Figures
	Queues      int `json:"queues"` // leaf queues that may use the label
	WaitingApps int `json:"waiting_apps"`
	Room
}

// LabelDetails has a label, the queues that may use it or do use it, and the applications that wait
// for it. The applications are sorted by the length of their wait, longest first; at most 100 are
// listed.
type LabelDetails struct {
	Label
	Shares []LabelShare `json:"queue_shares"`
	Apps   []LabelApp   `json:"apps"`
}

// LabelShare is a queue's share of a label. Percentages are of the parent queue; absolute ones are
// of the nodes with the label.
type LabelShare struct {
	Queue      string `json:"queue"`
	Label      string `json:"label"`
	Accessible bool   `json:"accessible"` // the queue may use the label
	Default    bool   `json:"default,omitempty"`
	QueueShare
	Users []LabelUser `json:"users,omitempty"` // for a leaf: its users that use the label
}

// LabelUser is the share of a label that one user of a leaf queue has.
type LabelUser struct {
	Name   string   `json:"name"`
	Used   Resource `json:"used"`
	AMUsed Resource `json:"am_used"`
	Limit  Resource `json:"limit"`
}

// LabelApp is an application that waits for containers on nodes with a label.
type LabelApp struct {
	ID            string   `json:"id"`
	Queue         string   `json:"queue"`
	User          string   `json:"user"`
	Outstanding   int64    `json:"outstanding"` // containers with this label that it asks for and does not have
	Pending       Resource `json:"pending"`
	AM            bool     `json:"am,omitempty"` // it waits for its ApplicationMaster
	WaitingMillis int64    `json:"waiting_ms,omitempty"`
}

// AddLabels adds labels. An existing label keeps its exclusivity unless Change is set.
type AddLabels struct {
	Labels []NewLabel `json:"labels"`
	Change bool       `json:"change,omitempty"`
	DryRun bool       `json:"dry_run,omitempty"`
}

// NewLabel is a label to add. Exclusive is true by default.
type NewLabel struct {
	Name      string `json:"name"`
	Exclusive *bool  `json:"exclusive,omitempty"`
}

// RemoveLabels removes labels. Nodes with a removed label then have none.
type RemoveLabels struct {
	Names  []string `json:"names"`
	DryRun bool     `json:"dry_run,omitempty"`
}

// LabelMap is one page of the map from hosts and NodeManagers to labels, sorted by host and port.
type LabelMap struct {
	Nodes []MappedNode `json:"nodes"`
	Next  string       `json:"next,omitempty"`
}

// MappedNode is a host with all its NodeManagers, or one NodeManager (host:port) whose label
// differs from its host's.
type MappedNode struct {
	Node       string `json:"node"`
	Label      string `json:"label"`      // empty for none
	Registered int    `json:"registered"` // registered NodeManagers whose label comes from this entry
}

// MapLabels gives labels to hosts or NodeManagers, to all of them or to none.
type MapLabels struct {
	Nodes     []NodeLabel `json:"nodes"`
	KnownOnly bool        `json:"known_only,omitempty"` // refuse hosts that never registered
	DryRun    bool        `json:"dry_run,omitempty"`
}

// NodeLabel gives a label to a host with all its NodeManagers, or to one NodeManager (host:port).
// An empty label means none.
type NodeLabel struct {
	Node  string `json:"node"`
	Label string `json:"label"`
}

// LabelChange says what a change of labels did, or with DryRun what it would do.
type LabelChange struct {
	Index  uint64 `json:"index,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
	// Unregistered lists hosts and NodeManagers of the request that have not registered, at most
	// 100.
	Unregistered []string `json:"unregistered,omitempty"`

	// Relabelled and the following fields are set only for a dry run. Relabelled counts registered
	// nodes that would get another label. Their containers would continue to run.
	Relabelled   int           `json:"relabelled,omitempty"`
	Containers   int64         `json:"containers,omitempty"` // live ones on these nodes
	Reservations int           `json:"reservations,omitempty"`
	Nodes        []NodeRelabel `json:"nodes,omitempty"` // at most 100 of these nodes
}

// NodeRelabel is a registered node that would get another label.
type NodeRelabel struct {
	Node       string   `json:"node"`
	From       string   `json:"from"`
	To         string   `json:"to"`
	Containers int32    `json:"containers"`
	Used       Resource `json:"used"`
}
