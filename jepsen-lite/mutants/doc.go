// Command mutants proves that the tests can see: it plants bugs in copies of the
// tree and runs what must catch them.
//
//	go run ./jepsen-lite/mutants [-only 7,12] [-control] [-list] [-limit 30m] [-workers 2]
//	go run ./jepsen-lite/mutants -general 60 [-seed 1]             general mutation
//
// A planted bug is a file NN-name.patch beside this one: lines "# key: value", then
// a unified diff against the tree.
//
//	# bug:      what is planted, and how it was adapted where its premise has changed
//	# expected: the invariants that must fire, by their names
//	# run:      a command that must fail (several lines: in this order, until one fails)
//	# says:     a pattern that the failure must match; without it, an expected invariant's name
//	# budget:   the longest a command may take (default 6m)
//	# slow:     why it takes long; it begins before the others, so that no core waits for it at the end
//
// For each the runner copies the tree, applies the patch with git apply, builds what
// changed, and runs the commands. A command that fails without naming an expected
// invariant does not count as having caught the bug. A patch that does not apply any
// more, or does not compile, fails the run: it must be adapted, not skipped. The exit
// code is 1 when a bug lives.
//
// General mutation negates conditions, drops statements and moves numbers and bounds
// by one in fsm/ and scheduler/, a sample drawn from a seed, and judges each by the
// log-contract simulation and the package's own tests.
package main
