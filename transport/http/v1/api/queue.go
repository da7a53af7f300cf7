package api

// Queues is the queue tree. Root is null before the cluster has queues.
type Queues struct {
	Version uint64 `json:"version"` // of the configuration
	Root    *Queue `json:"root"`
}

// Queue is one queue with its numbers and its subtree. What it has
// of labels is in Labels.
type Queue struct {
	Path   string `json:"path"`
	Name   string `json:"name"`
	Parent string `json:"parent,omitempty"`
	Leaf   bool   `json:"leaf"`
	State  string `json:"state"`
	Order  string `json:"order"` // fifo, fair; of a parent utilization, …
	// Creation is static for a queue of the configuration, else how a submission created it:
	// dynamicFlexible or dynamicLegacy.
	Creation string `json:"creation"`
	// AutoCreate says how submissions create queues below it: off, flexible or legacy.
	AutoCreate string `json:"auto_create"`

	QueueShare // of the nodes without a label

	Containers      int64 `json:"containers"` // live and reserved
	Apps            int32 `json:"apps"`
	ActiveApps      int32 `json:"active_apps"`
	PendingApps     int32 `json:"pending_apps"`
	NonRunnableApps int32 `json:"non_runnable_apps"`
	// WaitingApps counts those, in the whole subtree, that wait for an AM or for containers.
	WaitingApps int32 `json:"waiting_apps"`
	MaxApps     int64 `json:"max_apps,omitempty"`
	MaxAppsUser int64 `json:"max_apps_per_user,omitempty"`

	AccessibleLabels []string     `json:"accessible_labels,omitempty"` // "*": all
	DefaultLabel     string       `json:"default_label,omitempty"`     // of asks that name none
	Labels           []LabelShare `json:"labels,omitempty"`            // those that it may use, or uses

	ActiveUsers     int32   `json:"active_users"`
	UserLimit       string  `json:"user_limit_percent,omitempty"`
	UserLimitFactor string  `json:"user_limit_factor,omitempty"`
	Users           []User  `json:"users,omitempty"`
	Children        []Queue `json:"children,omitempty"`
	// MoreDynamic counts further dynamic children, with no more applications than those that are listed.
	MoreDynamic int `json:"more_dynamic,omitempty"`
}

// Dynamic says whether a submission created the queue, so that no configuration lists it.
func (q Queue) Dynamic() bool {
	return q.Creation == "dynamicFlexible" || q.Creation == "dynamicLegacy"
}

// QueueShare is what a queue has of the nodes of one label, or of those without one. Percentages are
// of the parent, absolute ones (abs_…) of all those nodes.
type QueueShare struct {
	Configured    string  `json:"configured"` // as written: 30%, 3w, [memory=…]
	ConfiguredMax string  `json:"configured_max,omitempty"`
	Capacity      float64 `json:"capacity"`
	MaxCapacity   float64 `json:"max_capacity"`
	AbsCapacity   float64 `json:"abs_capacity"`
	AbsMax        float64 `json:"abs_max_capacity"`
	UsedPercent   float64 `json:"used_percent"` // of the guarantee; can exceed 100
	AbsUsed       float64 `json:"abs_used"`

	Guaranteed Resource `json:"guaranteed"`
	Max        Resource `json:"max"`
	Used       Resource `json:"used"` // containers and reservations
	Reserved   Resource `json:"reserved"`
	Pending    Resource `json:"pending"`
	AMUsed     Resource `json:"am_used"`
	AMLimit    Resource `json:"am_limit,omitempty"`
}

// User is one user's share of a leaf.
type User struct {
	Name        string   `json:"name"`
	Used        Resource `json:"used"`
	AMUsed      Resource `json:"am_used"`
	Limit       Resource `json:"limit"`
	Apps        int32    `json:"apps"`
	ActiveApps  int32    `json:"active_apps"`
	PendingApps int32    `json:"pending_apps"`
	Active      bool     `json:"active"` // counts in the user limit now
}

// PlaceInQueue asks where a submission would go: in the configuration in force, or in the one that
// Properties are.
type PlaceInQueue struct {
	User       string            `json:"user"`
	Groups     []string          `json:"groups,omitempty"` // the primary one first
	Name       string            `json:"name,omitempty"`   // of the application
	Queue      string            `json:"queue,omitempty"`  // as the client names it
	Tags       []string          `json:"tags,omitempty"`
	TagGroups  []string          `json:"tag_groups,omitempty"` // of the user that a tag userid=NAME names
	Properties map[string]string `json:"properties,omitempty"`
}

// QueuePlacement says where a submission goes, and what each rule that matched did.
type QueuePlacement struct {
	Queue    string               `json:"queue,omitempty"`    // the leaf; empty if it is refused
	Create   bool                 `json:"create,omitempty"`   // it does not exist yet: the submission creates it
	Refused  string               `json:"refused,omitempty"`  // why it is
	Rule     int                  `json:"rule,omitempty"`     // the rule that decided, from 1; 0: the queue that the client named
	Text     string               `json:"text,omitempty"`     // that rule
	TagUser  string               `json:"tag_user,omitempty"` // the user of the tag, for whom it is placed
	NotAsked bool                 `json:"not_asked"`          // the client named a queue, and rules do not override that
	Rules    int                  `json:"rules"`              // how many there are
	Steps    []QueuePlacementStep `json:"steps"`              // the rules that matched, in their order
}

// QueuePlacementStep is a rule that matched. Result is placed, default (placed by its fallback), rejected,
// skipped, or set (it set %default).
type QueuePlacementStep struct {
	Rule   int    `json:"rule"`
	Text   string `json:"text"`
	Result string `json:"result"`
	Queue  string `json:"queue,omitempty"`  // what its path meant
	Create bool   `json:"create,omitempty"` // which does not exist yet
	Why    string `json:"why,omitempty"`    // why its queue could not be used
}
