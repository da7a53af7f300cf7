package event

// maker makes the empty events of a batch. Those that a scheduler writes by the
// thousand come from arrays: they live and die with their batch, one allocation
// for many.
type maker struct {
	left int    // events of the batch not made yet
	kind uint16 // of the one read last

	allocated []ContainerAllocated
	completed []ContainerCompleted
	launched  []ContainerLaunched
	answered  []ResponseRecorded
	asked     []AskChanged
	counted   []AskCountersUpdated
	missed    []AskMissesUpdated
	heard     []NodeHeard
}

// makeAtOnce bounds one array: a batch has few events of most kinds.
const makeAtOnce = 32

// make is New for the next event of the batch.
func (m *maker) make(k Kind) Event {
	n := min(m.left, makeAtOnce)
	m.left--
	switch k {
	case KindContainerAllocated:
		return next(&m.allocated, n)
	case KindContainerCompleted:
		return next(&m.completed, n)
	case KindContainerLaunched:
		return next(&m.launched, n)
	case KindResponseRecorded:
		return next(&m.answered, n)
	case KindAskChanged:
		return next(&m.asked, n)
	case KindAskCountersUpdated:
		return next(&m.counted, n)
	case KindAskMissesUpdated:
		return next(&m.missed, n)
	case KindNodeHeard:
		return next(&m.heard, n)
	}
	return New(k)
}

// next takes an element of an array, of a new one of n when none is left.
func next[T any](array *[]T, n int) *T {
	if len(*array) == 0 {
		*array = make([]T, n)
	}
	e := &(*array)[0]
	*array = (*array)[1:]
	return e
}
