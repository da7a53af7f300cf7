package yarn

// PreemptionCause is the reason why a container is preempted. The numbers are in the log.
type PreemptionCause uint8

// The values of PreemptionCause. Append only, and also to preemptionCauses.
const (
	PreemptGuarantee     PreemptionCause = 1 // a queue is below its entitlement
	PreemptReservation   PreemptionCause = 2 // a reservation waits
	PreemptQueuePriority PreemptionCause = 3 // a reservation of a queue of higher priority waits
	PreemptBalance       PreemptionCause = 4 // queues above their guarantee share evenly
	PreemptUserLimit     PreemptionCause = 5 // another user of the queue is below the user limit
	PreemptPriority      PreemptionCause = 6 // an application of the queue has a higher priority
	PreemptLease         PreemptionCause = 7 // the reservation needs the room that it has lent
)

var preemptionCauses = [...]string{
	PreemptGuarantee:     "GUARANTEE",
	PreemptReservation:   "RESERVATION",
	PreemptQueuePriority: "QUEUE_PRIORITY",
	PreemptBalance:       "BALANCE",
	PreemptUserLimit:     "USER_LIMIT",
	PreemptPriority:      "PRIORITY",
	PreemptLease:         "LEASE",
}

// InsideQueue reports whether applications of one queue take from each other.
func (c PreemptionCause) InsideQueue() bool { return c == PreemptUserLimit || c == PreemptPriority }

// Known reports whether c is one of the causes.
func (c PreemptionCause) Known() bool { return c > 0 && int(c) < len(preemptionCauses) }

func (c PreemptionCause) String() string { return name(uint8(c), preemptionCauses[:]...) }

// MarshalText returns the cause's name.
func (c PreemptionCause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// WithdrawalCause is the reason why the warning of a container was withdrawn. The numbers are in
// the log.
type WithdrawalCause uint8

// The values of WithdrawalCause. Append only, and also to withdrawalCauses.
const (
	WithdrawFulfilled   WithdrawalCause = 1 // the reservation was fulfilled before the container ended
	WithdrawCancelled   WithdrawalCause = 2 // the reservation was cancelled
	WithdrawNotEntitled WithdrawalCause = 3 // its queue need not give, or the other queue is entitled to nothing
	WithdrawNotChosen   WithdrawalCause = 4 // the selectors choose other containers
	WithdrawNoRoom      WithdrawalCause = 5 // its end would no longer free enough room
	WithdrawMoved       WithdrawalCause = 6 // its application or the beneficiary moved to another queue
	WithdrawDisabled    WithdrawalCause = 7 // preemption was switched off
)

var withdrawalCauses = [...]string{
	WithdrawFulfilled:   "FULFILLED",
	WithdrawCancelled:   "CANCELLED",
	WithdrawNotEntitled: "NOT_ENTITLED",
	WithdrawNotChosen:   "NOT_CHOSEN",
	WithdrawNoRoom:      "NO_ROOM",
	WithdrawMoved:       "MOVED",
	WithdrawDisabled:    "DISABLED",
}

// Known reports whether c is one of the causes.
func (c WithdrawalCause) Known() bool { return c > 0 && int(c) < len(withdrawalCauses) }

func (c WithdrawalCause) String() string { return name(uint8(c), withdrawalCauses[:]...) }

// MarshalText returns the cause's name.
func (c WithdrawalCause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Debt says whether a queue waits for containers within its guarantee. The numbers are in the log.
type Debt uint8

// The values of Debt. Append only, and also to debts.
const (
	DebtEnded   Debt = 1 // nothing within the guarantee waits
	DebtOwed    Debt = 2 // something waits
	DebtOverdue Debt = 3 // and has waited for so long that preemption takes what it needs
)

var debts = [...]string{DebtEnded: "ENDED", DebtOwed: "OWED", DebtOverdue: "OVERDUE"}

// Known reports whether d is one of the values.
func (d Debt) Known() bool { return d > 0 && int(d) < len(debts) }

func (d Debt) String() string { return name(uint8(d), debts[:]...) }

// MarshalText returns the value's name.
func (d Debt) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
