// Package preempt computes how much queues must give to queues below their guarantee.
//
// A [Partition] is the queue tree with the current use of the nodes of one label.
// [Partition.Entitlements] says what each queue may keep and how much must be taken from it. It
// names no containers: package scheduler chooses them from these amounts.
//
// The amounts are exactly those of Hadoop 3.4.2 (classes PreemptableResourceCalculator,
// AbstractPreemptableResourceCalculator and TempQueuePerPartition). YARN computes with binary
// floating point, so its amounts depend on rounding. This package makes the same roundings with
// integers. docs/design/differences-from-yarn.md lists the intended differences.
//
// Begin with entitlement.go (arguments and results) and ideal.go (the calculation).
package preempt
