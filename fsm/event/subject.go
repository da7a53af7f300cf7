package event

import (
	"reflect"

	"rmd/yarn"
)

// Subject has the objects that an event names. A zero field means that it names none.
type Subject struct {
	App         uint32
	Node        yarn.NodeSlot // the slot
	NodeID      yarn.NodeID   // of an event that names the node by its id, too
	Container   ContainerRef
	Reservation uint64
	Queue       string // path
}

// SubjectOf returns the objects that an event names. Container has no attempt if the event means
// the attempt of that time.
func SubjectOf(e Event) (s Subject) {
	v := reflect.ValueOf(e).Elem()
	for _, f := range e.Kind().row().subjects {
		f.read(&s, v.FieldByIndex(f.index))
	}
	return s
}

// subjects has the names of fields that say what an event is about, and reads such a field.
var subjects = map[string]func(s *Subject, f reflect.Value){
	"App":         func(s *Subject, f reflect.Value) { s.App = uint32(f.Uint()) },
	"Node":        func(s *Subject, f reflect.Value) { s.Node = yarn.NodeSlot(f.Uint()) },
	"ID":          func(s *Subject, f reflect.Value) { s.NodeID, _ = f.Interface().(yarn.NodeID) },
	"Queue":       func(s *Subject, f reflect.Value) { s.Queue = f.String() },
	"Path":        func(s *Subject, f reflect.Value) { s.Queue = f.String() },
	"Reservation": func(s *Subject, f reflect.Value) { s.Reservation = f.Uint() },
	"Container": func(s *Subject, f reflect.Value) {
		s.Container = f.Interface().(ContainerRef)
		s.App = s.Container.App
	},
	"Number": func(s *Subject, f reflect.Value) { s.Container.Number, s.Container.App = f.Uint(), s.App }, // after App
}

// subjectField is a field that says what an event is about.
type subjectField struct {
	index []int
	read  func(s *Subject, f reflect.Value)
}

// subjectFields returns these fields of an event's struct, in their order.
func subjectFields(of reflect.Type) (out []subjectField) {
	for _, f := range reflect.VisibleFields(of) {
		if read := subjects[f.Name]; read != nil {
			out = append(out, subjectField{f.Index, read})
		}
	}
	return out
}

// Opens reports whether an event reserves a node.
func Opens(e Event) bool {
	switch e.Kind() {
	case KindReservationMade, KindGangReserved, KindResizeReserved:
		return true
	}
	return false
}

// Closes reports whether an event ends a reservation. cancelled is 0 if it fulfils it.
func Closes(e Event) (ends bool, cancelled yarn.CancelCause) {
	if c, ok := e.(*ReservationCancelled); ok {
		return true, c.Cause
	}
	return e.Kind() == KindReservationFulfilled, 0
}
