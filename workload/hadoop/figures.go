package hadoop

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Resolution of a histogram: each power of two has 2^subBits buckets, so a value is at most 3 %
// wrong.
const (
	subBits    = 5
	subBuckets = 1 << subBits
	octaves    = 40 // in nanoseconds: 18 minutes
)

// histogram counts durations.
type histogram struct {
	n, sum, max atomic.Int64
	counts      [octaves * subBuckets]atomic.Int64
}

// bucketOf is monotonic. Each value below subBuckets has its own bucket.
func bucketOf(v int64) int {
	if v < subBuckets {
		return int(max(v, 0))
	}
	shift := bits.Len64(uint64(v)) - subBits - 1
	return min((shift+1)<<subBits+int(v>>shift)-subBuckets, octaves*subBuckets-1)
}

// valueOf returns the middle of a bucket.
func valueOf(bucket int) int64 {
	if bucket < subBuckets {
		return int64(bucket)
	}
	shift := bucket>>subBits - 1
	return int64(bucket&(subBuckets-1)+subBuckets)<<shift + int64(1)<<shift/2
}

func (h *histogram) add(d time.Duration) {
	h.n.Add(1)
	h.sum.Add(int64(d))
	h.counts[bucketOf(int64(d))].Add(1)
	for {
		old := h.max.Load()
		if int64(d) <= old || h.max.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// quantile returns the value below which the share q of the values lies.
func (h *histogram) quantile(q float64) time.Duration {
	n := h.n.Load()
	if n == 0 {
		return 0
	}
	rank, seen := int64(q*float64(n-1)), int64(0)
	for i := range h.counts {
		if seen += h.counts[i].Load(); seen > rank {
			return time.Duration(min(valueOf(i), h.max.Load()))
		}
	}
	return time.Duration(h.max.Load())
}

// times returns the statistics of a histogram.
func (h *histogram) times() Times {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	n := h.n.Load()
	return Times{Count: n, Mean: ms(time.Duration(h.sum.Load() / max(n, 1))), P50: ms(h.quantile(0.5)),
		P99: ms(h.quantile(0.99)), Max: ms(time.Duration(h.max.Load()))}
}

// counters are counted from the beginning of the run.
type counters struct {
	beats, beatErrors         atomic.Int64
	allocates, allocateErrors atomic.Int64
	resyncs, reregistered     atomic.Int64
	failovers, late           atomic.Int64

	asked, granted, started, completed, told, done atomic.Int64

	twice, toldTwice, unasked, strange, noToken, over, failed, missing atomic.Int64
}

// measured has the durations of calls. They are recorded while measuring is true.
type measured struct {
	measuring          atomic.Bool
	beat, report       histogram // report: the heartbeats that report completed containers
	allocate           histogram
	grant, life, tells histogram
}

// sample is a copy of the counters at one time.
type sample struct {
	at                                  time.Time
	beats, beatErrors, late             int64
	allocates, allocateErrors           int64
	asked, granted, told, done, started int64
}

func (c *counters) sample() sample {
	return sample{
		at: time.Now(), beats: c.beats.Load(), beatErrors: c.beatErrors.Load(), late: c.late.Load(),
		allocates: c.allocates.Load(), allocateErrors: c.allocateErrors.Load(),
		asked: c.asked.Load(), granted: c.granted.Load(), told: c.told.Load(), done: c.done.Load(), started: c.started.Load(),
	}
}
