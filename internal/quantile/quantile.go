// Package quantile computes quantiles of measurements.
package quantile

import "math"

// Of returns the q-quantile (0 to 1) of values in ascending order, by the nearest rank: the
// smallest value that at least this share of the values does not exceed. Without values it returns
// the zero value.
func Of[T any](sorted []T, q float64) T {
	if len(sorted) == 0 {
		var none T
		return none
	}
	rank := int(math.Ceil(q*float64(len(sorted)) - 1e-9)) // 0.07 × 100 is slightly more than 7
	return sorted[min(max(rank, 1), len(sorted))-1]
}
