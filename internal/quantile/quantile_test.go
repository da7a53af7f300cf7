package quantile

import "testing"

func TestOf(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct {
		sorted []int
		q      float64
		want   int
	}{
		{nil, 0.5, 0}, {[]int{7}, 0, 7}, {[]int{7}, 1, 7},
		{[]int{1, 2}, 0.5, 1}, {[]int{1, 2}, 0.51, 2}, {[]int{1, 2, 3}, 0.5, 2},
		{hundred, 0.99, 99}, {hundred, 0.07, 7}, {hundred[:20], 0.95, 19}, {hundred[:21], 0.95, 20}, {hundred[:19], 0.95, 19},
		{hundred, 0.991, 100}, {hundred, 1, 100}, {hundred, 0, 1},
	} {
		if got := Of(c.sorted, c.q); got != c.want {
			t.Errorf("the %g-quantile of %v is %d, not %d", c.q, c.sorted, got, c.want)
		}
	}
}
