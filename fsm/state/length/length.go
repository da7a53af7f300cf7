// Package length counts how long containers ran, in histograms.
package length

import (
	"math/bits"

	"rmd/internal/codec"
)

// Lengths are counted in two buckets per doubling, up to 77 days. When a count would exceed Most, all
// counts of the histogram are halved, so that recent lengths weigh more.
const (
	Buckets = 54
	Most    = 100
	unit    = 50 // milliseconds; lengths below two units are in the first bucket
)

// Histogram counts the lengths of some containers.
type Histogram struct {
	Counts [Buckets]uint8
}

// Total returns the number of lengths in the histogram.
func (h *Histogram) Total() (n int) {
	for _, c := range h.Counts {
		n += int(c)
	}
	return n
}

// Add counts a length in a bucket.
func (h *Histogram) Add(bucket int) {
	if h.Counts[bucket] >= Most {
		for i := range h.Counts {
			h.Counts[i] /= 2
		}
	}
	h.Counts[bucket]++
}

// Code encodes or decodes the counts.
func (h *Histogram) Code(c *codec.Coder) {
	for i := range h.Counts {
		c.U8(&h.Counts[i])
	}
}

// Bucket returns the bucket of a length in milliseconds.
func Bucket(millis int64) int {
	v := uint64(max(millis, 0)) / unit
	if v < 2 {
		return 0
	}
	n := bits.Len64(v)
	return min(2*(n-2)+int(v>>(n-2)&1)+1, Buckets-1)
}

// Bounds returns the shortest length in a bucket and the shortest length of the next bucket, in
// milliseconds.
func Bounds(bucket int) (from, to int64) { return lower(bucket), lower(bucket + 1) }

func lower(bucket int) int64 {
	if bucket == 0 {
		return 0
	}
	return unit * int64(2+(bucket-1)%2) << ((bucket - 1) / 2)
}
