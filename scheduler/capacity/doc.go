// Package capacity is the queue configuration and the capacity mathematics of
// the reservation-aware Capacity Scheduler: the typed configuration, the
// effective resources of every queue, and the limits that scheduling decides by.
//
//	properties ─▶ Parse ─▶ Config ─▶ Compute(cluster) ─▶ Tree ─▶ AMLimit, UserLimit, QueueLimit, CompareQueues …
//
// Everything here is pure. Parse takes properties, not files (those are
// internal/hadoopconf's business) and reports all faults at once; a Config is
// never changed after Parse returned it, so it may be shared between forks of
// the state. A Tree depends on its Config and on the cluster's resource only.
//
// Invariants: queues lie in depth-first order, root first, so a parent's index
// is below its children's; shares are exact rationals, rounded to whole units at
// the places where YARN rounds; Σ children's EffMin ≤ the parent's EffMin, and
// EffMin ≤ EffMax ≤ the parent's EffMax in every kind. (Percentages may sum to
// 100.05 %, as in YARN; then the first of these holds within that tolerance.)
//
// The planner calls it for each decision, the REST pages for reports, and the
// program for `rmd conf validate`. It must not know of applications, nodes or
// the state: where a rule needs their sums, the sums are arguments.
package capacity
