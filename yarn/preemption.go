package yarn

// PreemptionCause says why a container is to end for another's sake. The numbers are in the log.
type PreemptionCause uint8

// The causes; append only, and to preemptionCauses.
const (
	PreemptGuarantee     PreemptionCause = 1 // a queue is under its entitlement
	PreemptReservation   PreemptionCause = 2 // a reservation waits
	PreemptQueuePriority PreemptionCause = 3 // a reservation of a queue of higher priority waits
	PreemptBalance       PreemptionCause = 4 // queues over their guarantee share evenly
	PreemptUserLimit     PreemptionCause = 5 // another user of the queue is under its limit
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

// InsideQueue says whether applications of one queue take from each other.
func (c PreemptionCause) InsideQueue() bool { return c == PreemptUserLimit || c == PreemptPriority }

// Known says whether c is one of the causes.
func (c PreemptionCause) Known() bool { return c > 0 && int(c) < len(preemptionCauses) }

func (c PreemptionCause) String() string { return name(uint8(c), preemptionCauses[:]...) }

// MarshalText writes the cause's name.
func (c PreemptionCause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// WithdrawalCause says why a container that was to end for another's sake may go on. The numbers
// are in the log.
type WithdrawalCause uint8

// The causes; append only, and to withdrawalCauses.
const (
	WithdrawFulfilled   WithdrawalCause = 1 // the reservation was fulfilled without its end
	WithdrawCancelled   WithdrawalCause = 2 // the reservation was cancelled
	WithdrawNotEntitled WithdrawalCause = 3 // its queue has nothing to give, or the other is owed nothing
	WithdrawNotChosen   WithdrawalCause = 4 // the selectors choose other containers
	WithdrawNoRoom      WithdrawalCause = 5 // its end would not free enough any more
	WithdrawMoved       WithdrawalCause = 6 // its application, or the beneficiary, is in another queue now
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

// Known says whether c is one of the causes.
func (c WithdrawalCause) Known() bool { return c > 0 && int(c) < len(withdrawalCauses) }

func (c WithdrawalCause) String() string { return name(uint8(c), withdrawalCauses[:]...) }

// MarshalText writes the cause's name.
func (c WithdrawalCause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
