// Package preempt computes what queues must give to others that are below their guarantee.
//
// A [Partition] is the queue tree as it stands for the nodes of one label. [Partition.Entitlements]
// says what each queue may keep and how much must be taken from it. It names no container: who
// chooses the containers starts from these amounts.
//
// The amounts are those of Hadoop 3.4.2, to the unit: classes PreemptableResourceCalculator,
// AbstractPreemptableResourceCalculator and TempQueuePerPartition. YARN computes them with binary
// floating point, so that they depend on its roundings; this package does the same roundings with
// integers. docs/design/differences-from-yarn.md lists where it differs on purpose.
package preempt
