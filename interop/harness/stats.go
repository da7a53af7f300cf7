package harness

import (
	"fmt"
	"slices"
	"time"
)

// Spread is a set of measured durations.
type Spread []time.Duration

// At returns the smallest duration that percent of the durations do not exceed.
func (s Spread) At(percent int) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	i := (len(sorted)*percent + 99) / 100 // the smallest rank that covers the percentage
	return sorted[max(0, i-1)]
}

func (s Spread) String() string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
	return fmt.Sprintf("n %d  min %s  median %s  p99 %s  max %s ms", len(s), ms(s.At(0)), ms(s.At(50)), ms(s.At(99)),
		ms(s.At(100)))
}
