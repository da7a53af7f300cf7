// Package report computes the results of a replay that a user compares: the waits of large and
// small containers, the utilization of the cluster, the share of it that was reserved and idle, and
// what happened to the reservations.
//
// One goroutine gives a [Collector] events with virtual times in milliseconds. [Collector.Summary]
// computes the results. [WriteText] prints one run or two side by side, [WriteJSON] writes the same
// as JSON, and [WriteHTML] draws it as a web page. A [Bench] is any other measurement over time:
// [WriteBenchHTML] draws its throughput and latency with the elections. Package plot does the
// drawing.
//
// Definitions:
//   - The wait of a container is the time from its request to its allocation. A container that
//     still waits at the end counts with its wait so far, because omitting it would make a run look
//     better that starves it. It also counts as unserved.
//   - A container is large if its dominant share of a node is at least one half.
//   - A percentile is the nearest rank: the smallest wait that this percentage of all waits does
//     not exceed.
//   - A sample is valid until the next one, and the last one until the end, so that averages are
//     weighted by time.
//   - The dominant share of reserved and idle resources is computed for each sample, then averaged.
//
// Floats are allowed here, because no decision depends on the results. Apart from the standard
// library, the package imports only the helpers plot and quantile.
package report
