package yarn

import (
	"math"
	"math/bits"
)

// Seconds returns the resource-seconds of holding r for the given time. As YARN does for each
// container, it rounds down each kind. A negative time counts as 0. The result saturates instead of
// overflowing.
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
