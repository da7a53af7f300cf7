package forecast

import (
	"math/rand/v2"

	"rmd/fsm/state"
	"rmd/fsm/state/length"
)

// unknownLength is the assumed mean length, in milliseconds, of containers of which nothing is
// known.
const unknownLength = 60_000

// Draw draws a length from those lengths of a history that are longer than age, in milliseconds.
func Draw(random *rand.Rand, l *state.Lengths, age int64) int64 {
	var weights [length.Buckets]int64
	var sum int64
	if l != nil {
		for i, n := range l.Counts {
			from, to := length.Bounds(i)
			if to > age {
				// Only the part of the bucket beyond age is possible.
				weights[i] = max(int64(n)*1024*(to-max(from, age))/(to-from), 0)
				sum += weights[i]
			}
		}
	}
	if sum == 0 { // no length in the history is longer: assume a random moment of its life
		return max(age, unknownLength/2) + random.Int64N(max(age, unknownLength))
	}
	at := random.Int64N(sum)
	for i, w := range weights {
		if at -= w; at < 0 {
			from, to := length.Bounds(i)
			from = max(from, age)
			return from + random.Int64N(to-from)
		}
	}
	panic("forecast: weights do not add up")
}
