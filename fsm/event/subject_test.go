package event

import (
	"reflect"
	"testing"

	"rmd/yarn"
)

// TestSubjects checks that the fields of all events that name an object are known by their names and
// have the type of these.
func TestSubjects(t *testing.T) {
	ref, node := ContainerRef{App: 1, Attempt: 2, Number: 3}, yarn.NodeID{Host: "h", Port: 4}
	for _, k := range Kinds() {
		e := New(k)
		v := reflect.ValueOf(e).Elem()
		want := Subject{}
		for _, f := range reflect.VisibleFields(v.Type()) {
			switch x := v.FieldByIndex(f.Index); x.Interface().(type) {
			case ContainerRef:
				x.Set(reflect.ValueOf(ref))
				want.Container, want.App = ref, ref.App
			case yarn.NodeID:
				x.Set(reflect.ValueOf(node))
				want.NodeID = node
			case uint32:
				switch f.Name {
				case "App":
					x.SetUint(5)
					want.App = 5
				case "Node":
					x.SetUint(6)
					want.Node = 6
				}
			case uint64:
				switch f.Name {
				case "Number":
					x.SetUint(7)
					want.Container = ContainerRef{App: 5, Number: 7}
				case "Reservation":
					x.SetUint(8)
					want.Reservation = 8
				}
			case string:
				if f.Name == "Queue" || f.Name == "Path" {
					x.SetString("root.a")
					want.Queue = "root.a"
				}
			}
		}
		if got := SubjectOf(e); got != want {
			t.Errorf("%s names %+v, want %+v", k, got, want)
		}
	}
}

// TestReservationEvents checks which events open and close reservations.
func TestReservationEvents(t *testing.T) {
	for _, k := range Kinds() {
		e := New(k)
		closes, _ := Closes(e)
		if Opens(e) != (k == KindReservationMade || k == KindGangReserved || k == KindResizeReserved) ||
			closes != (k == KindReservationFulfilled || k == KindReservationCancelled) {
			t.Errorf("%s opens a reservation: %v, closes one: %v", k, Opens(e), closes)
		}
	}
	if _, cause := Closes(&ReservationCancelled{Cause: yarn.CancelExchanged}); cause != yarn.CancelExchanged {
		t.Errorf("a cancelled reservation has cause %v", cause)
	}
}
