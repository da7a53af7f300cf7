// Package scenario runs a cluster of real processes under load and faults, and reports the result:
// the second tier of the tests.
//
//	Probe ─▶ Bootstrap ─▶ load ─▶ fault, fault, fault … ─▶ recovery ─▶ drained ─▶ final ─▶ judge ─▶ report
//	                       └────────── history.jsonl ───────────────────────────┘
//
// A Scenario is a name, a duration, and the faults that it draws from. A fault that the machine
// does not support is skipped and reported by name. A profile that requires it does not pass. The
// seed decides the order of the faults and their targets. Real processes still do not behave the
// same in two runs.
//
// Begin with scenario.go (the scenarios) and run.go.
package scenario
