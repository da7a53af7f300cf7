// Package report shows which faults a run injected and which guarantees held: a few lines of text
// for a terminal, and one page with a timeline for a failure.
//
//	Summary.Add(history, verdict) ─▶ WriteText      one run or many seeds
//	history + verdict ─────────────▶ WritePage      index.html, one file, no network
//
// The text has at most 80 columns where its facts allow it. The page has a lane for each replica,
// agent and client, bars for faults and leaderships, and ticks for operations, distinguished by
// shape and color. At the top is the violated invariant with the chain of events that led to it.
// The page shows digests side by side at the first index where they differ, and the two states
// field by field if the history has them.
//
// A summary passes only if nothing failed, nothing is undecided, and nothing was skipped that the
// profile requires.
package report
