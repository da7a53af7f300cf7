// Package boolint makes a number of a bool.
package boolint

// Of returns 1 for true and 0 for false.
func Of[N ~int | ~int32 | ~int64 | ~uint8 | ~uint32 | ~uint64 | ~float64](b bool) N {
	if b {
		return 1
	}
	return 0
}
