package capacity

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rmd/scheduler/placement"
	"rmd/scheduler/preempt"
	"rmd/yarn"
)

// Errors of Lookup.
var (
	ErrNoSuchQueue    = errors.New("no such queue")
	ErrAmbiguousQueue = errors.New("queue name is ambiguous")
)

// Unlimited means "no limit" in counts that may be unlimited.
const Unlimited = int64(-1)

// Config is a parsed and checked configuration: the queues, and the settings of the cluster that
// the planner needs. Parse returns it. It does not change, except by Add and AddFrom.
type Config struct {
	Kinds    yarn.Kinds
	Units    []string // unit of each kind, parallel to Kinds: "Mi" for memory, else as configured
	MinAlloc yarn.Resource
	MaxAlloc yarn.Resource

	Calculator                 yarn.Calculator
	MaximumApplications        int64
	GlobalQueueMaxApplications int64 // 0: unset
	MaxAMPercent               yarn.Fraction
	MaxPriority                int32 // yarn.cluster.max-application-priority
	LegacyQueueMode            bool

	ContinueLooking             bool
	NodeLocalityDelay           int64 // −1: no delay
	RackLocalityAdditionalDelay int64 // −1: the delay depends on nodes and asks, as in YARN
	RackLocalityFullReset       bool
	MultipleAssignments         bool
	MaxAssignments              int64 // per heartbeat; −1: no bound
	MaxOffSwitch                int64 // off-switch containers per heartbeat

	EagerCancel               bool  // cancel unneeded reservations at once, not at the next heartbeat
	MaxReservationsPerKey     int64 // −1: unlimited, as in YARN
	MaxReservationsPerQueue   int64
	MaxReservationsPerCluster int64
	ReserveNode               ReservedNode

	UserMaxParallelApps   int64       // −1: unlimited; for users not listed below
	UserMaxParallelAppsOf []UserCount // sorted by user
	Placement             placement.Rules
	TagPlacement          TagPlacement
	Workflows             WorkflowPriorities
	Preprocessor          Preprocessor
	ACLEnabled            bool     // yarn.acl.enable
	AdminACL              yarn.ACL // yarn.admin.acl
	QueueAdminsChange     bool     // administrators of a queue may change its keys
	AMMaxAttempts         int64    // of an application that does not set its own
	AMGlobalMaxAttempts   int64    // the most that an application may set
	MaxCompletedApps      int64

	NodeExpiryMillis                int64
	AMExpiryMillis                  int64
	ContainerAllocationExpiryMillis int64
	NodeHeartbeatMillis             int64
	SkipNodeMultiplier              int64    // a node that misses more heartbeats than this gets no containers
	NodeReplacedMillis              int64    // until an inactive node is forgotten whose host has another one
	NodeUntrackedMillis             int64    // until an inactive node in no list of hosts is forgotten
	UntrackedStates                 []string // the node states in which that happens; empty: all
	UntrackWithoutInclude           bool     // also if no list of hosts that may register exists
	TrackUnregistered               bool     // hosts that may register and never did are LOST in all lists
	QueueExpirationMillis           int64    // until an idle dynamic queue is removed
	ManageMillis                    int64    // between two input.ManageQueues; 0: no managed parents
	Tokens                          TokenSettings
	LabelSettings                   LabelSettings
	Preemption                      preempt.Settings
	Monitors                        bool // yarn.resourcemanager.scheduler.monitor.enable

	Queues   []Queue // depth first, root first
	Warnings []Fault // unknown keys and values with no or limited effect; the configuration is usable
	Ignored  []Fault // known keys of Hadoop that have no effect

	properties []Property
	values     map[string]Property // the properties with their origins, by name
	templates  bool                // there is a template for dynamic queues
	multiNode  bool                // YARN's policies that sort nodes count
	byPath     map[string]int
	byName     map[string][]int
	shares     []queueShares // see computeShares; parallel to Queues
	stale      bool          // Queues has changed since shares was computed
	label      string        // the label that the capacities are for; see Partition
}

// UserCount is a limit for a user.
type UserCount struct {
	User  string
	Count int64
}

// UserWeight is the weight of a user in a queue.
type UserWeight struct {
	User   string
	Weight yarn.Fraction
}

// LeafPolicy is the order in which a leaf serves its applications.
type LeafPolicy uint8

// Leaf policies; append only.
const (
	FIFO LeafPolicy = 1 + iota
	Fair
)

func (p LeafPolicy) String() string { return pick(int(p), "", "fifo", "fair") }

// ParentPolicy is the order in which a parent serves its children.
type ParentPolicy uint8

// Parent policies; append only.
const (
	Utilization ParentPolicy = 1 + iota
	PriorityUtilization
)

func (p ParentPolicy) String() string {
	return pick(int(p), "", "utilization", "priority-utilization")
}

func pick(i int, names ...string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return "unknown"
}

// Queue is one queue as configured, with the values that it inherits.
type Queue struct {
	Path, Name string
	Parent     int   // index in Config.Queues; −1 for root
	Children   []int // in the order of the configuration
	Depth      int   // 0 for root
	Leaf       bool

	Capacity    Amount // what the queue is guaranteed
	MaxCapacity Amount // UnitNone: that of the parent

	Accessible   []string        // the labels that it may use, sorted; only AnyLabel if it may use all
	DefaultLabel string          // of asks that name none
	Labels       []LabelCapacity // sorted by label

	MinUserLimitPercent yarn.Fraction // 0 … 100
	UserLimitFactor     yarn.Fraction // not used if UserLimitOff
	UserLimitOff        bool          // user-limit-factor −1
	UserWeights         []UserWeight  // sorted by user; other users have weight 1

	MaximumApplications int64 // −1: derived, see Config.MaxApplications
	MaxAMPercent        yarn.Fraction
	MaxParallelApps     int64         // −1: unlimited
	MaxAlloc            yarn.Resource // the largest container in this queue
	MaxLifetime         int64         // seconds; −1: none
	DefaultLifetime     int64         // seconds; −1: none

	State              yarn.QueueState // RUNNING or STOPPED, as configured
	LeafOrder          LeafPolicy      // leaves only
	SizeBasedWeight    bool            // with Fair
	ChildOrder         ParentPolicy    // parents only
	Priority           int32
	DefaultAppPriority int32
	PriorityACLs       []PriorityACL // leaves only; highest maximum first; empty: no restriction

	SubmitACL, AdministerACL yarn.ACL
	DisablePreemption        bool // inherited: no preemption for other queues
	DisableIntraPreemption   bool // inherited: no preemption for its own applications
	AllowZeroCapacitySum     bool

	Creation   Creation
	AutoCreate *AutoCreate // nil unless submissions create queues below it, or it has templates
	Active     bool        // for a leaf below a managed parent: it has the capacity of the template
	Template   Amount      // the capacity of the template, if such a leaf is not active
	AutoRemove bool        // for a dynamic queue: it is removed after it has been idle for a while
	Backfill   Backfill    // inherited
	NodeOrder  NodeOrder   // inherited

	labelOrders []labelOrder // for labels whose order differs from NodeOrder; inherited
}

// ReservedNode says which node a reservation uses.
type ReservedNode uint8

// The values; append only.
const (
	ReserveByMode   ReservedNode = iota // ReserveEarliest in eager mode, otherwise ReserveFirst
	ReserveFirst                        // the node of the pass, as in YARN
	ReserveEarliest                     // the node that is expected to have room first
)

// Backfill says which containers of a queue may use the idle room of reserved nodes.
type Backfill uint8

// The values; append only.
const (
	BackfillOff         Backfill = iota // none, as in YARN
	BackfillDeclared                    // those that end in time, by the lifetime that they declare
	BackfillPreemptable                 // all; those that may not end in time are ended when the room is needed
)

func (b Backfill) String() string { return pick(int(b), "off", "declared", "preemptable") }

// Weight returns the weight of a user in the queue, which is 1 if none is configured.
func (q *Queue) Weight(user string) yarn.Fraction {
	i, ok := slices.BinarySearchFunc(q.UserWeights, user, func(w UserWeight, u string) int {
		return strings.Compare(w.User, u)
	})
	if !ok {
		return yarn.One
	}
	return q.UserWeights[i].Weight
}

// Lookup returns the index of a queue, by its full path or by a short name that only one queue has.
// The error wraps ErrNoSuchQueue or ErrAmbiguousQueue.
func (c *Config) Lookup(pathOrName string) (int, error) {
	if i, ok := c.byPath[pathOrName]; ok {
		return i, nil
	}
	switch same := c.byName[pathOrName]; len(same) {
	case 0:
		return -1, fmt.Errorf("%w: %q", ErrNoSuchQueue, pathOrName)
	case 1:
		return same[0], nil
	default:
		return -1, fmt.Errorf("%w: %q is %s and %s; use the full path",
			ErrAmbiguousQueue, pathOrName, c.Queues[same[0]].Path, c.Queues[same[1]].Path)
	}
}

// MaxParallelAppsOf returns how many applications of a user may run at the same time; −1 if there
// is no limit.
func (c *Config) MaxParallelAppsOf(user string) int64 {
	i, ok := slices.BinarySearchFunc(c.UserMaxParallelAppsOf, user, func(w UserCount, u string) int {
		return strings.Compare(w.User, u)
	})
	if !ok {
		return c.UserMaxParallelApps
	}
	return c.UserMaxParallelAppsOf[i].Count
}

// Properties returns the properties from which the configuration was parsed, sorted by name. It
// leaves out those that are not Relevant.
func (c *Config) Properties() []Property { return slices.Clone(c.properties) }

// Leaves returns the indexes of all leaves in ascending order.
func (c *Config) Leaves() []int {
	var out []int
	for i := range c.Queues {
		if c.Queues[i].Leaf {
			out = append(out, i)
		}
	}
	return out
}
