// Package script is a simulated run written out: the cluster, its load and every
// fault with its time.
//
// A seed is short but means something only to one build. A script says what is done,
// so it survives changes of the code, can be made smaller (package exact) and can be
// kept: jepsen-lite/corpus holds those that once found something, and the tests of
// package sim play them all.
//
//	seed ─▶ sim draws ─▶ Script ─▶ sim plays ─▶ Outcome
//	                       ▲                       │
//	                       └── exact makes less ◀──┘
//
// What a fault does in detail (who is hit, how hard) is drawn from its own number, so
// that taking one fault away does not change what the others are.
//
// The package holds types and their text alone: package sim, which runs under wasm,
// and its host both read them.
package script
