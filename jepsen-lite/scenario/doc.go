// Package scenario runs a cluster of real processes under load and faults, and
// says what came of it: the second tier of the tests.
//
//	Probe ─▶ Bootstrap ─▶ load ─▶ fault, fault, fault … ─▶ recovery ─▶ settled ─▶ final ─▶ judge ─▶ report
//	                       └────────── history.jsonl ───────────────────────────┘
//
// A Scenario is a name, how long it lasts, and the faults that it draws from. What
// the machine does not offer is skipped by name and told; a profile that requires
// it does not pass. The seed decides which fault comes when and who is hit; real
// processes do not run alike twice all the same.
package scenario
