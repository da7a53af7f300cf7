// Package report tells what a run did to a cluster and what it never did: a few
// lines of text for a terminal, and one page with a timeline for a failure.
//
//	Summary.Add(history, verdict) ─▶ WriteText      one run or many seeds
//	history + verdict ─────────────▶ WritePage      index.html, one file, no network
//
// The text stays within 80 columns where its facts do. The page has a lane for
// each replica, agent and client; bars for faults and leaderships; ticks for
// operations, told apart by shape and color; the violated invariant at the top
// with the chain of events that led to it; digests side by side at the first index
// where they differ, and the two states field by field where the history has them.
//
// A summary passes only if nothing failed, nothing is undecided, and nothing was
// skipped that the profile requires.
package report
