// Package entitlement computes how much queues must give to queues below their guarantee, and how much
// applications of one leaf must give to each other.
//
// A [Partition] is the queue tree with the current use of the nodes of one label.
// [Partition.Entitlements] computes for each queue how much it may keep and how much must be taken
// from it. [Leaf.AppShares] does the same for the applications of a leaf. Both compute only
// amounts; package scheduler chooses the containers.
//
// The amounts are exactly those of Hadoop 3.4.2 (classes PreemptableResourceCalculator,
// AbstractPreemptableResourceCalculator, TempQueuePerPartition and FifoIntraQueuePreemptionPlugin).
// YARN computes with binary floating point, so its amounts depend on rounding. This package rounds
// in the same places, with integers. docs/design/differences-from-yarn.md lists the intended
// differences.
//
// Begin with queue.go (arguments and results) and ideal.go (the calculation). leaf.go has the
// calculation inside a leaf, binary.go the arithmetic, and settings.go the configuration.
package entitlement
