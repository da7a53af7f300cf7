package yarn

// PreemptionCause is the reason why a container is preempted. The numbers are in the log.
type PreemptionCause uint8

// The values of PreemptionCause. Append only, and also to preemptionCauses.
const (
	PreemptGuarantee     PreemptionCause = 1
	PreemptReservation   PreemptionCause = 2
	PreemptQueuePriority PreemptionCause = 3
	PreemptBalance       PreemptionCause = 4
	PreemptUserLimit     PreemptionCause = 5
	PreemptPriority      PreemptionCause = 6
	PreemptLease         PreemptionCause = 7
)

var preemptionCauses = causes{
	PreemptGuarantee:     {"GUARANTEE", "a queue has less than its entitlement"},
	PreemptReservation:   {"RESERVATION", "a reservation waits"},
	PreemptQueuePriority: {"QUEUE_PRIORITY", "a reservation of a queue of higher priority waits"},
	PreemptBalance:       {"BALANCE", "queues above their guarantee share evenly"},
	PreemptUserLimit:     {"USER_LIMIT", "another user of the queue is below the user limit"},
	PreemptPriority:      {"PRIORITY", "an application of the queue has a higher priority"},
	PreemptLease:         {"LEASE", "the reservation needs the room that it has lent"},
}

// InsideQueue reports whether applications of one queue take from each other.
func (c PreemptionCause) InsideQueue() bool { return c == PreemptUserLimit || c == PreemptPriority }

// Known reports whether c is one of the causes.
func (c PreemptionCause) Known() bool { return preemptionCauses.known(uint8(c)) }

func (c PreemptionCause) String() string { return preemptionCauses.name(uint8(c)) }

// Text returns the cause in words, or "" for an unknown one.
func (c PreemptionCause) Text() string { return preemptionCauses.text(uint8(c)) }

// MarshalText returns the cause's name.
func (c PreemptionCause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// WithdrawalCause is the reason why the warning of a container was withdrawn. The numbers are in
// the log.
type WithdrawalCause uint8

// The values of WithdrawalCause. Append only, and also to withdrawalCauses.
const (
	WithdrawFulfilled   WithdrawalCause = 1
	WithdrawCancelled   WithdrawalCause = 2
	WithdrawNotEntitled WithdrawalCause = 3
	WithdrawNotChosen   WithdrawalCause = 4
	WithdrawNoRoom      WithdrawalCause = 5
	WithdrawMoved       WithdrawalCause = 6
	WithdrawDisabled    WithdrawalCause = 7
)

var withdrawalCauses = causes{
	WithdrawFulfilled:   {"FULFILLED", "its room is not needed any more: other room came"},
	WithdrawCancelled:   {"CANCELLED", "the reservation that it was to make room for was cancelled"},
	WithdrawNotEntitled: {"NOT_ENTITLED", "its queue has nothing to give any more, or the other queue is owed nothing"},
	WithdrawNotChosen:   {"NOT_CHOSEN", "the others that are warned free enough"},
	WithdrawNoRoom:      {"NO_ROOM", "its end would not free enough any more"},
	WithdrawMoved:       {"MOVED", "its application, or the one that waits, is in another queue now"},
	WithdrawDisabled:    {"DISABLED", "preemption was switched off"},
}

// Known reports whether c is one of the causes.
func (c WithdrawalCause) Known() bool { return withdrawalCauses.known(uint8(c)) }

func (c WithdrawalCause) String() string { return withdrawalCauses.name(uint8(c)) }

// Text returns the cause in words, or "" for an unknown one.
func (c WithdrawalCause) Text() string { return withdrawalCauses.text(uint8(c)) }

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
