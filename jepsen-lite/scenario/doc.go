// Package scenario runs a cluster of real processes under load and faults, and reports the result:
// the second tier of the tests.
//
//	Probe ─▶ Bootstrap ─▶ load ─▶ fault, fault, fault … ─▶ recovery ─▶ drained ─▶ final ─▶ judge ─▶ report
//	                       └────────── history.jsonl ───────────────────────────┘
//
// A Scenario has a name, a duration and a set of faults. A run skips faults that the machine does
// not support, and reports their names. A run does not pass if the scenario requires such a fault.
// The seed decides the order of the faults and their targets, but real processes do not behave the
// same in two runs.
//
// Begin with scenario.go (the scenarios) and run.go.
package scenario
