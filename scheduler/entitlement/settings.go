package entitlement

import "rmd/yarn"

// Settings is the configuration of preemption.
type Settings struct {
	Enabled     bool // run preemption rounds
	ObserveOnly bool // take nothing; preemption.Rounds.Observe shows what rounds would do

	IntervalMillis int64 // between two rounds
	MaxWaitMillis  int64 // from the warning to the kill

	TotalPerRound          yarn.Fraction // fraction of the cluster
	MaxIgnoredOverCapacity yarn.Fraction // fraction of its guarantee that a queue may use beyond it
	NaturalTermination     yarn.Fraction // fraction of the excess that a round takes
	ConservativeDRF        bool          // take a container only if all its kinds must be taken

	SelectReserved bool // first free nodes for the reservations on them
	CountReserved  bool // do not subtract reservations from what a queue wants

	Balance              bool // also between queues that all have their guarantee
	BalanceMaxWaitMillis int64

	QueuePriority QueuePriority
	Intra         Intra

	Selector Selector
	// ReservationWaitMillis is the age from which a reservation may lead to preemption; −1 means
	// never.
	ReservationWaitMillis int64
	// MaxLostMillis limits the work that may be lost for a container, as the time in which that
	// container does as much work. The limit grows with the time that the container has waited. −1
	// means no limit.
	MaxLostMillis int64
	// GuaranteeWaitMillis is the time after which a leaf that waits for its guarantee has it back,
	// if enough containers may end; −1 means never.
	GuaranteeWaitMillis int64
	// KeepMillis is for how long others may not borrow what a leaf has used of its guarantee since
	// containers ended for it; 0 means not at all.
	KeepMillis int64
}

// OverdueMillis returns how long after a leaf began to wait for its guarantee the rounds take what
// it needs whatever work is lost, so that it has its guarantee within GuaranteeWaitMillis: a node may
// first make room for another reservation, the containers then get their warnings, and the limit of a
// round may spread them over several rounds.
func (s *Settings) OverdueMillis() int64 {
	rounds := int64(1)
	if p := s.TotalPerRound; p.Num > 0 {
		rounds = (int64(p.Den) + int64(p.Num) - 1) / int64(p.Num)
	}
	return max(s.GuaranteeWaitMillis-2*s.MaxWaitMillis-rounds*s.IntervalMillis, 0)
}

// OverdueAt returns OverdueMillis after a leaf began to wait, in Unix milliseconds.
func (s *Settings) OverdueAt(sinceMillis int64) int64 { return sinceMillis + s.OverdueMillis() }

// Overdue returns the settings that say what queues must give while a leaf is overdue: all that they
// use above their ideal part. Only the budget of each round limits how much of it the round takes.
func (s *Settings) Overdue() *Settings {
	out := *s
	out.TotalPerRound = yarn.One
	return &out
}

// QueuePriority says how a queue with a higher priority gets, for its reservations, what queues
// with a lower priority use on the reserved nodes.
type QueuePriority struct {
	Enabled             bool
	ReservedDelayMillis int64 // age from which a reservation counts
	MoveReservation     bool  // a reservation may move to a node where it can be fulfilled
}

// Intra says how applications of one leaf preempt each other.
type Intra struct {
	Enabled         bool
	MinThreshold    yarn.Fraction // fraction of its capacity that a leaf must use before it counts
	MaxAllowable    yarn.Fraction // fraction of a leaf's guarantee that may be taken in one round
	ConservativeDRF bool
	Order           IntraOrder
}

// IntraOrder says whether user limits or priorities come first inside a leaf.
type IntraOrder uint8

// Orders inside a leaf; append only.
const (
	UserLimitFirst IntraOrder = 1 + iota
	PriorityFirst
)

// Selector is the way in which rounds choose containers.
type Selector uint8

// Selectors; append only.
const (
	Planned Selector = 1 + iota // try each choice on a fork of the state
	YARN                        // as the selectors of YARN's ProportionalCapacityPreemptionPolicy
)
