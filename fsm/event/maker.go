package event

// maker makes the empty events of a batch that is decoded. Events of frequent kinds come from
// arrays, so that one allocation serves many. The arrays live as long as their batch.
type maker struct {
	left int    // events of the batch that are not made yet
	kind uint16 // of the event read last

	allocated []ContainerAllocated
	completed []ContainerCompleted
	launched  []ContainerLaunched
	answered  []ResponseRecorded
	asked     []AskChanged
	counted   []AskCountersUpdated
	missed    []AskMissesUpdated
	heard     []NodeHeard
}

// makeAtOnce bounds the length of an array, because most batches have few events of a kind.
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

// next returns the next element of the array. If the array is used up, next replaces it by a new
// one of length n.
func next[T any](array *[]T, n int) *T {
	if len(*array) == 0 {
		*array = make([]T, n)
	}
	e := &(*array)[0]
	*array = (*array)[1:]
	return e
}
