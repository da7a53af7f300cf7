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

// Sentinels of Lookup.
var (
	ErrNoSuchQueue    = errors.New("no such queue")
	ErrAmbiguousQueue = errors.New("queue name is ambiguous")
)

// Unlimited stands for "no bound" in counts that may be unbounded.
const Unlimited = int64(-1)

// Config is a parsed and checked queue configuration. It is immutable.
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
	RackLocalityAdditionalDelay int64 // −1: the size-scaled off-switch rule
	RackLocalityFullReset       bool
	MultipleAssignments         bool
	MaxAssignments              int64 // per heartbeat; −1: no bound
	MaxOffSwitch                int64 // off-switch grants per heartbeat

	EagerCancel               bool  // cancel a needless reservation at once, not at its node's next heartbeat
	MaxReservationsPerKey     int64 // −1: unlimited, as YARN
	MaxReservationsPerQueue   int64
	MaxReservationsPerCluster int64
	ReserveEarliest           bool // the node where the container is expected to start first, not the first one found

	UserMaxParallelApps   int64       // −1: unlimited; for users not listed below
	UserMaxParallelAppsOf []UserCount // sorted by user
	Placement             placement.Rules
	TagPlacement          TagPlacement
	Workflows             WorkflowPriorities
	Preprocessor          Preprocessor
	ACLEnabled            bool  // yarn.acl.enable
	AdminACL              ACL   // yarn.admin.acl
	QueueAdminsChange     bool  // administrators of a queue may change its keys
	AMMaxAttempts         int64 // of an application that names no number
	AMGlobalMaxAttempts   int64 // of any application
	MaxCompletedApps      int64

	NodeExpiryMillis                int64
	AMExpiryMillis                  int64
	ContainerAllocationExpiryMillis int64
	NodeHeartbeatMillis             int64
	NodeUntrackedMillis             int64    // until an inactive node that no list names is forgotten
	UntrackedStates                 []string // the states in which it is forgotten; empty: all
	UntrackWithoutInclude           bool     // also where no list says which hosts may register
	QueueExpirationMillis           int64    // until a dynamic queue that nobody uses is removed
	ManageMillis                    int64    // between two looks at the leaves of managed parents; 0: there are none
	Tokens                          TokenTimes
	LabelSettings                   LabelSettings
	Preemption                      preempt.Settings
	Monitors                        bool // of YARN are on, whichever they are

	Queues   []Queue // depth first, root first
	Warnings []Fault // unknown keys and clamped values; the configuration is usable
	Ignored  []Fault // keys of Hadoop that are known and not honored yet

	properties []Property
	values     map[string]Property // properties with their origins, by name
	templates  bool                // there is a template of dynamic queues
	byPath     map[string]int
	byName     map[string][]int
	shares     []queueShares // what does not depend on the cluster, parallel to Queues
	stale      bool          // shares are older than Queues
	label      string        // that the capacities are of; see Partition
}

// UserCount is a number that belongs to a user.
type UserCount struct {
	User  string
	Count int64
}

// UserWeight is the weight of a user in a queue.
type UserWeight struct {
	User   string
	Weight yarn.Fraction
}

// LeafPolicy is the order of applications in a leaf.
type LeafPolicy uint8

// Leaf policies; append only.
const (
	FIFO LeafPolicy = 1 + iota
	Fair
)

func (p LeafPolicy) String() string { return pick(int(p), "", "fifo", "fair") }

// ParentPolicy is the order of a parent's children.
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

// Queue is one queue as configured, inheritance resolved.
type Queue struct {
	Path, Name string
	Parent     int   // index in Config.Queues; −1 for root
	Children   []int // in the order of the configuration
	Depth      int   // root 0
	Leaf       bool

	Capacity    Amount // what the queue is guaranteed
	MaxCapacity Amount // its ceiling; UnitNone: the parent's

	Accessible   []string        // labels that it may use, sorted; AnyLabel stands alone
	DefaultLabel string          // of asks that name none
	Labels       []LabelCapacity // sorted by label

	MinUserLimitPercent yarn.Fraction // 0 … 100
	UserLimitFactor     yarn.Fraction // meaningless when UserLimitOff
	UserLimitOff        bool          // user-limit-factor −1
	UserWeights         []UserWeight  // sorted by user; others weigh 1

	MaximumApplications int64 // −1: derived, see Config.MaxApplications
	MaxAMPercent        yarn.Fraction
	MaxParallelApps     int64         // −1: unlimited
	MaxAlloc            yarn.Resource // largest container here
	MaxLifetime         int64         // seconds; −1: none
	DefaultLifetime     int64         // seconds; −1: none

	State              yarn.QueueState // RUNNING or STOPPED, as configured
	LeafOrder          LeafPolicy      // leaves only
	SizeBasedWeight    bool            // with Fair
	ChildOrder         ParentPolicy    // parents only
	Priority           int32
	DefaultAppPriority int32
	PriorityACLs       []PriorityACL // leaves only; by falling maximum; none: every user may have every priority

	SubmitACL, AdministerACL ACL
	DisablePreemption        bool // inherited: nothing is taken from it for other queues
	DisableIntraPreemption   bool // inherited: nor for its own applications
	AllowZeroCapacitySum     bool

	Creation   Creation
	AutoCreate *AutoCreate // of a parent that may create queues, or has templates; nil for others
	Active     bool        // of a leaf below a managed parent: it has the capacity of the template
	Template   Amount      // of one that is not active: that capacity
	AutoRemove bool        // of a dynamic queue: it is removed when nobody has used it for a while
	Backfill   Backfill    // inherited: which of its containers may borrow room of reserved nodes
}

// Backfill says which containers of a queue may run in the idle room of reserved nodes.
type Backfill uint8

// The values; append only.
const (
	BackfillOff         Backfill = iota // none, as in YARN
	BackfillDeclared                    // those that end in time, by the lifetime that they declare
	BackfillPreemptable                 // all; those that may not end in time are ended when the room is needed
)

func (b Backfill) String() string { return pick(int(b), "off", "declared", "preemptable") }

// Weight returns a user's weight in the queue, 1 unless configured.
func (q *Queue) Weight(user string) yarn.Fraction {
	i, ok := slices.BinarySearchFunc(q.UserWeights, user, func(w UserWeight, u string) int {
		return strings.Compare(w.User, u)
	})
	if !ok {
		return yarn.One
	}
	return q.UserWeights[i].Weight
}

// Lookup finds a queue by its full path or by a short name that only one queue
// has. It returns ErrNoSuchQueue or ErrAmbiguousQueue, wrapped.
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

// MaxParallelAppsOf returns how many applications of a user may run at once;
// −1 when there is no bound.
func (c *Config) MaxParallelAppsOf(user string) int64 {
	i, ok := slices.BinarySearchFunc(c.UserMaxParallelAppsOf, user, func(w UserCount, u string) int {
		return strings.Compare(w.User, u)
	})
	if !ok {
		return c.UserMaxParallelApps
	}
	return c.UserMaxParallelAppsOf[i].Count
}

// Properties returns the properties the configuration was parsed from, sorted
// by name, without those that mean nothing to the planner.
func (c *Config) Properties() []Property { return slices.Clone(c.properties) }

// Leaves returns the indexes of all leaves, in order.
func (c *Config) Leaves() []int {
	var out []int
	for i := range c.Queues {
		if c.Queues[i].Leaf {
			out = append(out, i)
		}
	}
	return out
}
