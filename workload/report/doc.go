// Package report turns what a replay saw into the figures that a user compares: how long large and small containers
// waited, how full the cluster was, how much of it stood reserved and idle, and what became of the reservations.
//
// A [Collector] is fed by one goroutine with virtual times in milliseconds; [Collector.Summary] computes, [WriteText]
// prints one run or two side by side, [WriteJSON] writes the same for programs, [WriteHTML] draws it on a page of its
// own. A measurement over time of any other kind is a [Bench]: [WriteBenchHTML] draws throughput and latency with the
// elections that fell into it. The drawing itself is in package plot.
//
// How the figures are defined:
//   - The wait of a container is from its ask to its allocation. One that is still waiting at the end counts with the
//     time it has waited so far: leaving it out would flatter the run that starves it. It is also counted as unserved.
//   - A container is large when it needs at least half of a node by its dominant share.
//   - A percentile is the nearest rank: the smallest wait that so many per cent of all waits do not exceed.
//   - A sample holds until the next one, the last until the end, so that averages are weighted by time.
//   - The dominant share of what is reserved and idle is taken for each sample, then averaged.
//
// Floats are fine here: nothing is decided by these figures. The package imports the standard library and plot only.
package report
