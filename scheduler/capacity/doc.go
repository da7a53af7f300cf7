// Package capacity has the queue configuration and the arithmetic of the Capacity Scheduler: the
// typed configuration, the effective resources of every queue, and the limits of scheduling
// decisions.
//
//	properties ─▶ Parse ─▶ Config ─▶ Compute(cluster) ─▶ Tree ─▶ AMLimit, UserLimit, QueueLimit, …
//
// The package is deterministic. Parse takes properties, not files (package internal/hadoopconf
// reads files), and reports all faults at once. A Config does not change after Parse has returned
// it, so forks of the state share it. A Tree depends only on its Config and on the cluster's
// resource.
//
// Invariants:
//   - Queues are in depth-first order, root first, so a parent's index is below its children's.
//   - Shares are exact rationals. They are rounded to whole units where YARN rounds.
//   - Σ children's EffMin ≤ the parent's EffMin, and EffMin ≤ EffMax ≤ the parent's EffMax, for
//     every resource type. (Percentages may add up to 100.05 %, as in YARN. Then the first of these
//     holds within that tolerance.)
//
// The planner calls the package for each decision, REST pages call it for reports, and `rmd conf
// validate` calls it to check files. It knows no applications, nodes or state: where a rule needs
// sums of these, the sums are arguments.
package capacity
