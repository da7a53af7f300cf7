package preempt

import "rmd/yarn"

// Settings is how a cluster preempts, as configured.
type Settings struct {
	Enabled     bool // else nothing below counts
	ObserveOnly bool // decide and tell, but take nothing

	IntervalMillis int64 // between two rounds
	MaxWaitMillis  int64 // from the warning to the kill

	TotalPerRound          yarn.Fraction // of the cluster
	MaxIgnoredOverCapacity yarn.Fraction // above its guarantee, that a queue may keep
	NaturalTermination     yarn.Fraction // of what must be taken: the rest ends by itself
	ConservativeDRF        bool          // take a container only if each of its kinds must be taken

	SelectReserved bool // free nodes for the reservations on them, before all else
	CountReserved  bool // what a queue has reserved remains wanted: it is not taken off its pending

	Balance              bool // also between queues that are all above their guarantee
	BalanceMaxWaitMillis int64

	QueuePriority QueuePriority
	Intra         Intra

	Selector Selector
	// ReservationWaitMillis is how long a reservation waits before it may ask for preemption; −1: it
	// never does.
	ReservationWaitMillis int64
	// MaxLostMillis is for how long the container that gains must run to do the work that may be lost
	// for it at first; −1: however much is lost. Its wait raises the limit.
	MaxLostMillis int64
}

// QueuePriority is how queues with a higher priority get what lower ones use on the nodes that they
// have reserved.
type QueuePriority struct {
	Enabled             bool
	ReservedDelayMillis int64 // age at which a reservation counts
	MoveReservation     bool  // to a node where it can be fulfilled
}

// Intra is how applications of one leaf preempt each other.
type Intra struct {
	Enabled         bool
	MinThreshold    yarn.Fraction // used share of its capacity from which a leaf counts
	MaxAllowable    yarn.Fraction // of a leaf's guarantee, taken in one round
	ConservativeDRF bool
	Order           IntraOrder
}

// IntraOrder is what comes first inside a leaf.
type IntraOrder uint8

// Orders inside a leaf; append only.
const (
	UserLimitFirst IntraOrder = 1 + iota
	PriorityFirst
)

// Selector is who chooses the containers.
type Selector uint8

// Selectors; append only.
const (
	Planned Selector = 1 + iota // try each choice on a fork of the state
	YARN                        // as the selectors of YARN's ProportionalCapacityPreemptionPolicy
)
