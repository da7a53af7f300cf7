// Package script describes a simulated run as a script: the cluster, its load and every fault with
// its time.
//
// A seed is short but valid for one build only. A script names the actions, so it remains valid
// when the code changes. It can be shrunk (package exact) and kept: jepsen-lite/corpus has the
// scripts that found a bug, and the tests of package sim play all of them.
//
//	seed ─▶ sim draws ─▶ Script ─▶ sim plays ─▶ Outcome
//	                       ▲                       │
//	                       └── exact shrinks  ◀────┘
//
// The details of a fault (its target, its strength) are drawn from the fault's own number. So the
// removal of one fault does not change the others.
//
// The package has only the types and their text form: package sim, which runs under wasm, and its
// host both read them.
package script
