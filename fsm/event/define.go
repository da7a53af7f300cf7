package event

import (
	"fmt"
	"reflect"

	"rmd/internal/codec"
)

// Kind is the number of an event type in the log. Numbers are append-only and never reused: the
// golden files keep the number of every event that a release had.
type Kind uint16

// KindsEnd is above all numbers.
const KindsEnd Kind = 256

// Event is one decision or fact in the log. An event that people read about is a Told as well.
type Event interface {
	Kind() Kind
	// Code encodes or decodes the fields. Each type lists them by hand: their order in the log is
	// not that of the struct, which may change, and a list that is made from the struct takes four
	// times as long.
	Code(c *codec.Coder)
}

// Later is an event that replicas know only from a feature level on, Since. Events without this
// method belong to the first level.
type Later interface {
	Event
	Since() uint32
}

// Class says what an event is for those who wait for the log and those who read it.
type Class uint8

const (
	// Fact is a decision or a report.
	Fact Class = iota
	// Clock only advances the time.
	Clock
	// Counter only counts. Nothing that leaves the cluster depends on it, so nobody needs to wait for
	// it.
	Counter
	// Receipt keeps a reply for a call that may be repeated.
	Receipt
)

// row is what the program knows of an event type.
type row struct {
	name  string
	class Class
	make  func() Event
	told  bool

	subjects []subjectField

	// Of a frequent type: its place in maker.stocks, and what makes that stock.
	place int
	stock func(n int) stock
}

// rows has all event types, by number.
var rows [KindsEnd]row

// pointer is the type of an event: a pointer to its struct.
type pointer[T any] interface {
	*T
	Event
}

// define adds an event type with its number. Its name is that of its struct, and its class is Fact
// unless another one is given.
func define[T any, P pointer[T]](k Kind, class ...Class) Kind {
	name := reflect.TypeFor[T]().Name()
	if k == 0 || k >= KindsEnd || rows[k].make != nil {
		panic(fmt.Sprintf("event: %s cannot have number %d: it is taken by %s, or is out of range", name, k, k))
	}
	_, told := any(P(nil)).(Told)
	rows[k] = row{name: name, make: func() Event { return P(new(T)) }, told: told,
		subjects: subjectFields(reflect.TypeFor[T]())}
	for _, c := range class {
		rows[k].class = c
	}
	return k
}

// row returns the row of a kind, which is empty if the kind is unknown.
func (k Kind) row() *row {
	if k >= KindsEnd {
		k = 0
	}
	return &rows[k]
}

// String returns the name of the event type.
func (k Kind) String() string {
	if name := k.row().name; name != "" {
		return name
	}
	return fmt.Sprintf("Event(%d)", uint16(k))
}

// Class returns the class of the kind's events.
func (k Kind) Class() Class { return k.row().class }

// Told reports whether the kind's events are Told.
func (k Kind) Told() bool { return k.row().told }

// New returns an empty event of a kind, or nil if the kind is unknown.
func New(k Kind) Event {
	if f := k.row().make; f != nil {
		return f()
	}
	return nil
}

// KindNamed returns the kind with a name, or 0.
func KindNamed(name string) Kind {
	for k := range rows {
		if rows[k].name == name && name != "" {
			return Kind(k)
		}
	}
	return 0
}

// Kinds returns all known kinds in ascending order.
func Kinds() []Kind {
	var out []Kind
	for k, r := range rows {
		if r.make != nil {
			out = append(out, Kind(k))
		}
	}
	return out
}
