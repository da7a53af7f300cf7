package yarn

import (
	"math"
	"math/bits"
)

// Seconds is what r amounts to when it is held for a time: resource-seconds, kind
// by kind, rounded down as YARN does for each container. A time below zero counts
// as none, and what no int64 can hold as the greatest.
func (r Resource) Seconds(millis int64) Resource {
	if millis <= 0 {
		return Resource{}
	}
	for i, v := range r {
		r[i] = 0
		if v <= 0 {
			continue
		}
		hi, lo := bits.Mul64(uint64(v), uint64(millis))
		if hi >= 1000 {
			r[i] = math.MaxInt64
			continue
		}
		q, _ := bits.Div64(hi, lo, 1000)
		r[i] = int64(min(q, math.MaxInt64))
	}
	return r
}
