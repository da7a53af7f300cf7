package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"rmd/internal/clip"
	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/preprocess"
	"rmd/scheduler/capacity/unhonored"
	"rmd/scheduler/entitlement"
	"rmd/scheduler/placement"
	"rmd/yarn"
)

// Errors of Lookup.
var (
	ErrNoSuchQueue    = errors.New("no such queue")
	ErrAmbiguousQueue = errors.New("queue name is ambiguous")
)

// Unlimited means "no limit" in counts that may be unlimited.
const Unlimited = int64(-1)

// Keys of the limits on reservations.
const (
	KeyReservationsPerKey     = Prefix + "reservation.maximum-per-key"
	KeyReservationsPerQueue   = Prefix + "reservation.maximum-per-queue"
	KeyReservationsPerCluster = Prefix + "reservation.maximum-per-cluster"
)

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
	Preprocessor          preprocess.Rules
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
	Preemption                      entitlement.Settings
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

func pick(i int, names ...string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return "unknown"
}

// ReservedNode says which node a reservation uses.
type ReservedNode uint8

// The values; append only.
const (
	ReserveByMode   ReservedNode = iota // ReserveEarliest in eager mode, otherwise ReserveFirst
	ReserveFirst                        // the node of the pass, as in YARN
	ReserveEarliest                     // the node that is expected to have room first
)

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

// HasPath reports whether there is a queue with a full path.
func (c *Config) HasPath(path string) bool {
	_, ok := c.byPath[path]
	return ok
}

// QueueOfKey returns the path of the queue that a key belongs to, or "".
func (c *Config) QueueOfKey(name string) string {
	rest, ok := strings.CutPrefix(name, Prefix)
	if !ok || !strings.HasPrefix(rest, "root.") {
		return ""
	}
	return longestQueue(c, rest)
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

// readGlobal reads the keys that do not belong to one queue.
func (r *reader) readGlobal(c *Config) {
	r.readKinds(c)
	r.readCalculator(c)
	r.readAllocation(c)
	r.readScheduling(c)
	r.readUserParallel(c)

	tenth := yarn.NewFraction(1, 10)
	c.MaximumApplications = r.int(Prefix+"maximum-applications", 10_000, 0, math.MaxInt32)
	c.GlobalQueueMaxApplications = max(r.bound(Prefix+"global-queue-max-application", 0), 0)
	c.MaxAMPercent = r.amPercent(Prefix+"maximum-am-resource-percent", tenth)
	c.LegacyQueueMode = r.bool(Prefix+"legacy-queue-mode.enabled", true)
	c.MaxPriority = int32(r.int("yarn.cluster.max-application-priority", 0, 0, math.MaxInt32))
	c.ACLEnabled = r.bool("yarn.acl.enable", false)
	c.AdminACL = yarn.ACL{All: true}
	if v, ok := r.raw("yarn.admin.acl"); ok {
		c.AdminACL = yarn.ParseACL(v)
	}
	r.readMutationPolicy(c)
	c.AMMaxAttempts = r.int("yarn.resourcemanager.am.max-attempts", 2, 1, math.MaxInt32)
	c.AMGlobalMaxAttempts = r.int("yarn.resourcemanager.am.global.max-attempts", c.AMMaxAttempts, 1, math.MaxInt32)
	c.MaxCompletedApps = r.int("yarn.resourcemanager.max-completed-applications", 1000, 0, 1_000_000)
	c.NodeExpiryMillis, c.AMExpiryMillis = r.readExpiries()
	c.ContainerAllocationExpiryMillis = r.millis("yarn.resourcemanager.rm.container-allocation.expiry-interval-ms",
		600_000)
	c.NodeReplacedMillis = r.millis(Prefix+"replaced-node.keep-ms", 3_600_000)
	c.NodeUntrackedMillis = r.millis("yarn.resourcemanager.node-removal-untracked.timeout-ms", 60_000)
	c.QueueExpirationMillis = 1000 * r.int(ExpirationKey, 300, 1, 365*86_400)
	c.ManageMillis = r.millis(manageInterval, 1500)
	c.UntrackedStates = r.names("yarn.resourcemanager.node-removal-untracked.node-selective-states-to-remove")
	c.TrackUnregistered = r.bool("yarn.resourcemanager.enable-tracking-for-unregistered-nodes", false)
	c.UntrackWithoutInclude = r.bool("yarn.resourcemanager.enable-node-untracked-without-include-path", false)
	c.NodeHeartbeatMillis = r.millis("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", 1000)
	c.SkipNodeMultiplier = r.int("yarn.scheduler.skip.node.multiplier", 2, 1, 1_000_000)
	c.Tokens = r.readTokens()
	r.readLabelSettings(c)
	r.readPreemption(c)
	r.readMultiNode(c)
}

// readMutationPolicy reads who may change the configuration in addition to operators.
func (r *reader) readMutationPolicy(c *Config) {
	class, _ := r.get(MutationPolicyKey)
	switch class[strings.LastIndexByte(class, '.')+1:] {
	case "", "DefaultConfigurationMutationACLPolicy":
	case "QueueAdminConfigurationMutationACLPolicy":
		if c.QueueAdminsChange = c.ACLEnabled; !c.ACLEnabled {
			r.warn(MutationPolicyKey, "has no effect, since yarn.acl.enable is not true", "set it to true, or remove the policy")
		}
	default:
		r.ignore(MutationPolicyKey,
			"DefaultConfigurationMutationACLPolicy and QueueAdminConfigurationMutationACLPolicy are the only policies",
			unhonored.Visible)
	}
}

// readScheduling reads the settings of scheduling passes.
func (r *reader) readScheduling(c *Config) {
	c.ContinueLooking = r.bool(Prefix+"reservations-continue-look-all-nodes", true)
	c.NodeLocalityDelay = r.bound(Prefix+"node-locality-delay", 40)
	c.RackLocalityAdditionalDelay = r.bound(Prefix+"rack-locality-additional-delay", Unlimited)
	c.RackLocalityFullReset = r.bool(Prefix+"rack-locality-full-reset", true)
	c.MultipleAssignments = r.bool(Prefix+"per-node-heartbeat.multiple-assignments-enabled", true)
	c.MaxAssignments = r.bound(Prefix+"per-node-heartbeat.maximum-container-assignments", 100)
	c.MaxOffSwitch = r.int(Prefix+"per-node-heartbeat.maximum-offswitch-assignments", 1, 1, math.MaxInt32)
	c.EagerCancel = r.bool(Prefix+"reservation.eager-cancel", true)
	c.MaxReservationsPerKey = r.bound(KeyReservationsPerKey, Unlimited)
	c.MaxReservationsPerQueue = r.bound(KeyReservationsPerQueue, Unlimited)
	c.MaxReservationsPerCluster = r.bound(KeyReservationsPerCluster, Unlimited)
	c.ReserveNode = r.reservedNode(Prefix + "reservation.node")
}

// reservedNode reads which node a reservation uses.
func (r *reader) reservedNode(name string) ReservedNode {
	switch v, ok := r.get(name); {
	case !ok:
	case v == "first":
		return ReserveFirst
	case v == "earliest":
		return ReserveEarliest
	default:
		r.fault(name, "is not a way to choose the node of a reservation", "write first or earliest")
	}
	return ReserveByMode
}

// readKinds reads the kinds of resources. memory-mb and vcores are always the first two.
func (r *reader) readKinds(c *Config) {
	c.Kinds = yarn.DefaultKinds()
	c.Units = []string{"Mi", ""}
	for _, n := range r.names(resourceTypes) {
		switch {
		case n == yarn.MemoryName || n == yarn.VCoresName:
		case n == "memory" || strings.ContainsAny(n, " \t\r\n=,[]"):
			r.fault(resourceTypes, fmt.Sprintf("%q is not a resource kind's name", clip.Text(n)),
				"use letters, digits, dots, dashes and one slash, as in yarn.io/gpu")
		case slices.Contains(c.Kinds, n):
			r.fault(resourceTypes, fmt.Sprintf("names %q twice", clip.Text(n)), "name each kind once")
		case len(c.Kinds) == yarn.MaxKinds:
			r.fault(resourceTypes, fmt.Sprintf("makes more than %d kinds with memory and vcores", yarn.MaxKinds), "remove kinds")
			return
		default:
			c.Kinds = append(c.Kinds, n)
			unit, _ := r.get(resourceTypes + "." + n + ".units")
			c.Units = append(c.Units, unit)
			if t, ok := r.get(resourceTypes + "." + n + ".type"); ok && !strings.EqualFold(t, "COUNTABLE") {
				r.fault(resourceTypes+"."+n+".type", "is not COUNTABLE", "remove the key; only countable kinds exist")
			}
		}
	}
}

func (r *reader) readCalculator(c *Config) {
	name := Prefix + "resource-calculator"
	c.Calculator = yarn.Calculator{Kinds: len(c.Kinds)}
	v, ok := r.get(name)
	class := v[strings.LastIndexByte(v, '.')+1:]
	switch {
	case !ok || class == "DefaultResourceCalculator":
	case class == "DominantResourceCalculator":
		c.Calculator.Dominant = true
	default:
		r.fault(name, "is not a known calculator", "use DefaultResourceCalculator or DominantResourceCalculator")
		return
	}
	if !c.Calculator.Dominant && len(c.Kinds) > 2 {
		r.fault(name, fmt.Sprintf("the default calculator looks at memory only, and %d kinds are known", len(c.Kinds)),
			"set org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
}

// readAllocation reads the sizes of the smallest and the largest container.
func (r *reader) readAllocation(c *Config) {
	for k, kind := range c.Kinds {
		least, most, suffix := int64(0), amount.MaxUnits, ""
		switch k {
		case yarn.Memory:
			least, most, suffix = 1024, 8192, "mb"
		case yarn.VCores:
			least, most, suffix = 1, 4, "vcores"
		}
		lowKey := resourceTypes + "." + kind + ".minimum-allocation"
		highKey := resourceTypes + "." + kind + ".maximum-allocation"
		c.MinAlloc[k] = r.units(lowKey, least, k)
		c.MaxAlloc[k] = r.units(highKey, most, k)
		if suffix != "" && !r.set(lowKey) {
			lowKey = "yarn.scheduler.minimum-allocation-" + suffix
			c.MinAlloc[k] = r.units(lowKey, least, k)
		}
		if suffix != "" && !r.set(highKey) {
			highKey = "yarn.scheduler.maximum-allocation-" + suffix
			c.MaxAlloc[k] = r.units(highKey, most, k)
		}
		if k == yarn.Memory && c.MinAlloc[k] <= 0 {
			r.fault(lowKey, "is not above 0", "write the smallest container's memory in MiB")
		}
		if c.MinAlloc[k] > c.MaxAlloc[k] {
			r.fault(lowKey, fmt.Sprintf("the smallest container (%d) is larger than the largest (%d)", c.MinAlloc[k],
				c.MaxAlloc[k]),
				"lower it, or raise "+highKey)
		}
	}
}

// units reads a number of units of kind k; def if the key is not set.
func (r *values) units(name string, def int64, k int) int64 {
	v, ok := r.get(name)
	if !ok {
		return def
	}
	n, err := amount.ParseUnits(v, k == yarn.Memory)
	if err != nil {
		r.fault(name, err.Error(), "write a whole number")
		return def
	}
	return n
}

// amPercent reads an AM share. YARN accepts more than 1, which means that there is no limit, so it
// only leads to a warning.
func (r *values) amPercent(name string, def yarn.Fraction) yarn.Fraction {
	f := r.fraction(name, def, 1000)
	if r.set(name) && f.Cmp(yarn.One) > 0 {
		r.warn(name, "is more than the whole queue", "write a share from 0 to 1, such as 0.1")
	}
	return f
}

func (r *reader) readUserParallel(c *Config) {
	const before, after = Prefix + "user.", ".max-parallel-apps"
	c.UserMaxParallelApps = r.bound(Prefix+"user.max-parallel-apps", Unlimited)
	for _, p := range c.properties {
		user, ok := strings.CutPrefix(p.Name, before)
		if user, ok = cutSuffix(user, after, ok); ok {
			c.UserMaxParallelAppsOf = append(c.UserMaxParallelAppsOf, UserCount{user, r.bound(p.Name, Unlimited)})
		}
	}
	slices.SortFunc(c.UserMaxParallelAppsOf, func(a, b UserCount) int { return strings.Compare(a.User, b.User) })
}

// cutSuffix cuts a suffix off s. The result is false if ok is false, s does not have the suffix, or
// nothing remains.
func cutSuffix(s, suffix string, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, suffix)
	return s, ok && s != ""
}
