// Package capacity has the queue configuration and the arithmetic of the Capacity Scheduler: the
// typed configuration, the effective resources of each queue, and the limits that scheduling
// decisions use.
//
//	properties ─▶ Parse ─▶ Config ─▶ Compute(cluster) ─▶ Tree ─▶ limits.AMLimit, limits.UserLimit, …
//
// The package is deterministic. Parse takes properties, not files (package internal/hadoopconf
// reads files), and reports all faults at once. Forks of the state share a Config, so it must not
// change once it is shared. A Tree depends only on its Config and on a resource: that of the
// cluster, or of the nodes of a label.
//
// Invariants:
//   - Queues are in depth-first order, root first. Dynamic queues come after all others. In both
//     cases a parent has a lower index than its children.
//   - Shares are exact rational numbers. They are rounded to whole units where YARN rounds.
//   - Σ EffMin of the children ≤ EffMin of the parent, and EffMin ≤ EffMax ≤ EffMax of the parent,
//     for each kind of resource. (As in YARN, percentages may add up to 100.05 %. Then the first of
//     these holds within that tolerance.)
//
// The planner calls the package for each decision, REST calls it for reports, and `rmd conf
// validate` calls it to check files. It knows no applications, nodes or state: if a rule needs sums
// of these, they are arguments.
//
// Begin with tree.go (Parse, and which queues there are) and compute.go (Tree, Compute). config.go has
// the Config and reads the keys of the cluster, queue.go has the Queue and reads the keys of a queue.
// keys.go lists all keys, unread.go reports those that nothing reads, and check.go and refresh.go check
// the others. label.go, dynamic.go, managed.go, placement.go and preemption.go each have one feature.
// The folders below stand alone:
//
//	property    properties as they are written, and faults in them
//	share       exact shares of a parent queue or of the cluster
//	amount      capacities as they are written: percentages, weights, vectors of units
//	limits      the formulas for the limits of queues, users and AMs
//	order       the order in which a parent serves its children
//	preprocess  what the submission preprocessor changes
//	unhonored   Hadoop's keys without effect
//	diff        the differences of two configurations
//	preset      configurations for clusters that bring none
package capacity
