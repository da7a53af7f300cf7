package sum

import "testing"

func TestFields(t *testing.T) {
	type inner struct{ A, B uint64 }
	type counts struct {
		A, B int
		In   inner
	}
	got := counts{A: 1, In: inner{B: 2}}
	Fields(&got, counts{A: 3, B: 4, In: inner{A: 5, B: 6}})
	if want := (counts{A: 4, B: 4, In: inner{A: 5, B: 8}}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
