package property

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"capacity", "maximum-capacity", "ordering-policy", "priority", "queues", "state"}
	for _, tc := range []struct{ key, want string }{
		{"capacitty", "capacity"}, {"stat", "state"}, {"maximum-capacty", "maximum-capacity"}, {"zzzzzz", ""}, {"x", ""},
	} {
		if got := Nearest(tc.key, names); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.key, got, tc.want)
		}
	}
}
