// Command mutants shows that the tests find bugs: it plants bugs in copies of the source tree and
// runs the tests that must find them.
//
//	go run ./jepsen-lite/mutants [-only 7,12] [-control] [-list] [-limit 30m] [-workers 2]
//	go run ./jepsen-lite/mutants -general 60 [-seed 1]             general mutation
//
// A planted bug is a file NN-name.patch in this folder: lines "# key: value", then a unified diff
// of the tree.
//
//	# bug:      the bug, and how it was adapted if the code has changed
//	# expected: the invariants that must be violated, by their names
//	# run:      a command that must fail (several lines: in this order, until one fails)
//	# says:     a pattern that the failure must match; without it, the name of an expected invariant
//	# budget:   how long a command may take (default 6m)
//	# slow:     why it takes long; it starts before the others, so that it does not end last
//
// For each planted bug, the command applies the patch to a copy of the tree with git apply, builds
// what has changed, and runs the commands. A command that fails without naming an expected
// invariant has not caught the bug. If a patch does not apply or compile any more, the run fails:
// adapt the patch, do not remove it. The exit code is 1 if a bug is not caught.
//
// General mutation negates conditions, drops statements and changes numbers and bounds by one in
// fsm/ and scheduler/. It draws a sample from a seed, and judges each change by the log-contract
// simulation and the package's own tests.
package main
