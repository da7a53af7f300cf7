package yarn

// MaxCauses is the number of causes of one kind for which the state has a counter, with 0, which is
// no cause. A table with a higher number does not compile: more causes need a new format of
// snapshots.
const MaxCauses = 32

// causes has the row of each cause of one kind, by number: its stable name, and what it means in a
// sentence that follows what it is the cause of.
type causes [MaxCauses]struct{ name, text string }

func (t *causes) known(n uint8) bool { return int(n) < len(t) && t[n].name != "" }

func (t *causes) name(n uint8) string {
	if t.known(n) {
		return t[n].name
	}
	return name(n)
}

func (t *causes) text(n uint8) string {
	if t.known(n) {
		return t[n].text
	}
	return ""
}

// Cause is a kind of causes.
type Cause interface {
	~uint8
	Known() bool
	String() string
	Text() string
}

// Causes returns all causes of a kind, in the order of their numbers.
func Causes[C Cause]() []C {
	var out []C
	for n := C(0); n < MaxCauses; n++ {
		if n.Known() {
			out = append(out, n)
		}
	}
	return out
}

// CauseNamed returns the cause with a name, or 0.
func CauseNamed[C Cause](name string) C {
	for _, c := range Causes[C]() {
		if c.String() == name {
			return c
		}
	}
	return 0
}

// CauseCounts counts by cause.
type CauseCounts[C Cause] [MaxCauses]uint64

// Named returns the counts that are not 0, by the names of the causes.
func (n *CauseCounts[C]) Named() map[string]uint64 {
	out := map[string]uint64{}
	for _, c := range Causes[C]() {
		if n[c] > 0 {
			out[c.String()] = n[c]
		}
	}
	return out
}

// CancelCause is the reason why a reservation was cancelled. The numbers are in the log.
type CancelCause uint8

// The values of CancelCause. Append only, and also to cancelCauses.
const (
	CancelAskGone        CancelCause = 1
	CancelExchanged      CancelCause = 2
	CancelAttemptEnded   CancelCause = 3
	CancelNodeNotRunning CancelCause = 4
	CancelNodeRelabelled CancelCause = 5
	CancelPreempted      CancelCause = 6
	CancelResizeEnded    CancelCause = 7
	CancelLargerThanNode CancelCause = 8
	CancelBlacklisted    CancelCause = 9
	CancelSizeChanged    CancelCause = 10
	CancelOperator       CancelCause = 11
	CancelGangStarted    CancelCause = 12
	CancelGangBroken     CancelCause = 13
	CancelGangLate       CancelCause = 14
	CancelNodeSilent     CancelCause = 15
)

var cancelCauses = causes{
	CancelAskGone:        {"ASK_GONE", "the application does not ask for it any more"},
	CancelExchanged:      {"EXCHANGED", "given up for another node"},
	CancelAttemptEnded:   {"ATTEMPT_ENDED", "the application's attempt ended"},
	CancelNodeNotRunning: {"NODE_NOT_RUNNING", "the node does not run any more"},
	CancelNodeRelabelled: {"NODE_RELABELLED", "the node's label changed"},
	CancelPreempted:      {"PREEMPTED", "another queue needs its share"},
	CancelResizeEnded:    {"RESIZE_ENDED", "the change of the container's size ended"},
	CancelLargerThanNode: {"LARGER_THAN_NODE", "the container is larger than the node is now"},
	CancelBlacklisted:    {"BLACKLISTED", "the application does not want the node any more"},
	CancelSizeChanged:    {"SIZE_CHANGED", "the application asks for another size"},
	CancelOperator:       {"OPERATOR", "an operator cancelled it"},
	CancelGangStarted:    {"GANG_STARTED", "its gang has started"},
	CancelGangBroken:     {"GANG_BROKEN", "its gang has lost another node, or is over"},
	CancelGangLate:       {"GANG_LATE", "its gang looks for other nodes"},
	CancelNodeSilent:     {"NODE_SILENT", "the node has missed heartbeats"},
}

// Known reports whether c is one of the causes.
func (c CancelCause) Known() bool { return cancelCauses.known(uint8(c)) }

func (c CancelCause) String() string { return cancelCauses.name(uint8(c)) }

// Text returns the cause in words, or "" for an unknown one.
func (c CancelCause) Text() string { return cancelCauses.text(uint8(c)) }

// MarshalText returns the cause's name.
func (c CancelCause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
