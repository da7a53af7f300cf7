package api

// Queues is the queue tree. Root is null before the cluster has a queue configuration.
type Queues struct {
	Version uint64 `json:"version"` // of the configuration
	Root    *Queue `json:"root"`
}

// Queue is a queue with its figures and its subtree. QueueShare is for nodes without a label,
// Labels for those with one.
type Queue struct {
	Path   string `json:"path"`
	Name   string `json:"name"`
	Parent string `json:"parent,omitempty"`
	Leaf   bool   `json:"leaf"`
	State  string `json:"state"`
	Order  string `json:"order"` // leaf queues: fifo or fair; parents: utilization, …
	// Creation is static for a queue of the configuration. Otherwise it says how a submission
	// created the queue: dynamicFlexible or dynamicLegacy.
	Creation string `json:"creation"`
	// AutoCreate says how submissions create queues below this one: off, flexible or legacy.
	AutoCreate string `json:"auto_create"`

	QueueShare

	Containers      int64 `json:"containers"` // live and reserved
	Apps            int32 `json:"apps"`
	ActiveApps      int32 `json:"active_apps"`
	PendingApps     int32 `json:"pending_apps"`
	NonRunnableApps int32 `json:"non_runnable_apps"`
	// WaitingApps counts the applications in the subtree that wait for an ApplicationMaster or for
	// containers.
	WaitingApps int32 `json:"waiting_apps"`
	MaxApps     int64 `json:"max_apps,omitempty"`
	MaxAppsUser int64 `json:"max_apps_per_user,omitempty"`

	AccessibleLabels []string     `json:"accessible_labels,omitempty"` // "*" means all
	DefaultLabel     string       `json:"default_label,omitempty"`     // of asks that name no label
	Labels           []LabelShare `json:"labels,omitempty"`            // labels that the queue may use or uses

	ActiveUsers     int32   `json:"active_users"`
	UserLimit       string  `json:"user_limit_percent,omitempty"`
	UserLimitFactor string  `json:"user_limit_factor,omitempty"`
	Users           []User  `json:"users,omitempty"`
	Children        []Queue `json:"children,omitempty"`
	// MoreDynamic counts dynamic children that are not listed. They have no more applications than
	// the listed ones.
	MoreDynamic int `json:"more_dynamic,omitempty"`
}

// Dynamic reports whether a submission created the queue. The configuration does not list such a
// queue.
func (q Queue) Dynamic() bool {
	return q.Creation == "dynamicFlexible" || q.Creation == "dynamicLegacy"
}

// QueueShare is a queue's share of the nodes with one label, or of those without a label.
// Percentages are of the parent queue; absolute ones (abs_…) are of all these nodes.
type QueueShare struct {
	Configured    string  `json:"configured"` // as configured: 30%, 3w, [memory=…]
	ConfiguredMax string  `json:"configured_max,omitempty"`
	Capacity      float64 `json:"capacity"`
	MaxCapacity   float64 `json:"max_capacity"`
	AbsCapacity   float64 `json:"abs_capacity"`
	AbsMax        float64 `json:"abs_max_capacity"`
	UsedPercent   float64 `json:"used_percent"` // of the guarantee; can exceed 100
	AbsUsed       float64 `json:"abs_used"`

	Guaranteed Resource `json:"guaranteed"`
	Max        Resource `json:"max"`
	Used       Resource `json:"used"` // by containers and reservations
	Reserved   Resource `json:"reserved"`
	Pending    Resource `json:"pending"`
	AMUsed     Resource `json:"am_used"`
	AMLimit    Resource `json:"am_limit,omitempty"`

	NodeOrder string `json:"node_order"` // which node gets a container in eager passes: auto, spread, pack or lifetime
}

// User is the share of one user of a leaf queue.
type User struct {
	Name        string   `json:"name"`
	Used        Resource `json:"used"`
	AMUsed      Resource `json:"am_used"`
	Limit       Resource `json:"limit"`
	Apps        int32    `json:"apps"`
	ActiveApps  int32    `json:"active_apps"`
	PendingApps int32    `json:"pending_apps"`
	Active      bool     `json:"active"` // counts as active in the computation of user limits
}

// PlaceInQueue asks where a submission would go, under the configuration in force or under the one
// in Properties.
type PlaceInQueue struct {
	User       string            `json:"user"`
	Groups     []string          `json:"groups,omitempty"` // primary group first
	Name       string            `json:"name,omitempty"`   // name of the application
	Queue      string            `json:"queue,omitempty"`  // the queue that the client names
	Tags       []string          `json:"tags,omitempty"`
	TagGroups  []string          `json:"tag_groups,omitempty"` // groups of the user NAME in a tag userid=NAME
	Properties map[string]string `json:"properties,omitempty"`
}

// QueuePlacement says where a submission goes, and what each matching rule did.
type QueuePlacement struct {
	Queue   string `json:"queue,omitempty"`   // the leaf queue; empty if the submission is refused
	Create  bool   `json:"create,omitempty"`  // the queue does not exist; the submission creates it
	Refused string `json:"refused,omitempty"` // why the submission is refused
	// number of the rule that decided, from 1; 0 if the queue is the one that the client named
	Rule int    `json:"rule,omitempty"`
	Text string `json:"text,omitempty"` // text of that rule
	// the user in a tag userid=NAME, for whom the application is placed
	TagUser  string               `json:"tag_user,omitempty"`
	NotAsked bool                 `json:"not_asked"` // the client named a queue, and the rules do not override it
	Rules    int                  `json:"rules"`     // number of all rules
	Steps    []QueuePlacementStep `json:"steps"`     // the rules that matched, in order
}

// QueuePlacementStep is a rule that matched. Result is placed, default (placed by its fallback),
// rejected, skipped, or set (the rule set %default).
type QueuePlacementStep struct {
	Rule   int    `json:"rule"`
	Text   string `json:"text"`
	Result string `json:"result"`
	Queue  string `json:"queue,omitempty"`  // the queue that the rule names
	Create bool   `json:"create,omitempty"` // the queue does not exist
	Why    string `json:"why,omitempty"`    // why the queue could not be used
}
