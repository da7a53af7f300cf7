package event

import "fmt"

// maker makes the empty events of a batch that is decoded. Events of frequent kinds come from
// arrays, so that one allocation serves many. The arrays live as long as their batch.
type maker struct {
	left   int    // events of the batch that are not made yet
	kind   uint16 // of the event read last
	stocks [stocksEnd]stock
}

// makeAtOnce bounds the length of an array, because most batches have few events of a kind.
const makeAtOnce = 32

// stocksEnd is above the number of frequent types.
const stocksEnd = 12

// stocks is the number of frequent types.
var stocks int

// frequent is define for a type of which the scheduler emits thousands.
func frequent[T any, P pointer[T]](k Kind, class ...Class) Kind {
	define[T, P](k, class...)
	if stocks == stocksEnd {
		panic(fmt.Sprintf("event: raise stocksEnd for %s", k))
	}
	rows[k].place, rows[k].stock = stocks, newStock[T, P]
	stocks++
	return k
}

// make is New for the next event of the batch.
func (m *maker) make(k Kind) Event {
	n := min(m.left, makeAtOnce)
	m.left--
	r := k.row()
	if r.stock == nil || n < 2 {
		return New(k)
	}
	s := m.stocks[r.place]
	if s == nil {
		s = r.stock(n)
		m.stocks[r.place] = s
	}
	return s.next(n)
}

// stock has empty events of one frequent type.
type stock interface {
	// next returns the next of them. If there are none, it makes n.
	next(n int) Event
}

type stockOf[T any, P pointer[T]] struct{ rest []T }

// newStock returns a stock of many events, or of a few if the batch has fewer than many. The stock
// and its events are one allocation.
func newStock[T any, P pointer[T]](n int) stock {
	if n < makeAtOnce {
		s := new(struct {
			stockOf[T, P]
			few [2]T
		})
		s.rest = s.few[:]
		return &s.stockOf
	}
	s := new(struct {
		stockOf[T, P]
		many [makeAtOnce]T
	})
	s.rest = s.many[:]
	return &s.stockOf
}

func (s *stockOf[T, P]) next(n int) Event {
	if len(s.rest) == 0 {
		s.rest = make([]T, n)
	}
	e := &s.rest[0]
	s.rest = s.rest[1:]
	return P(e)
}
