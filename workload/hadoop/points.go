package hadoop

import "time"

// pointEvery is the length of one point of the measurement.
const pointEvery = time.Second

// Point is one part of the measurement. At is its beginning.
type Point struct {
	At     time.Duration `json:"atNanos"`
	Length time.Duration `json:"lengthNanos"`
	// Done is the number of heartbeats, or of containers whose life is complete.
	Done   int64 `json:"done"`
	Errors int64 `json:"errors"`
	// P50, P99 and Max are the latencies in this part: of heartbeats, or from the ask to the
	// allocation.
	P50 time.Duration `json:"p50Nanos"`
	P99 time.Duration `json:"p99Nanos"`
	Max time.Duration `json:"maxNanos"`
}

// frozen is a copy of a histogram at one time.
type frozen [octaves * subBuckets]int64

func (h *histogram) freeze() *frozen {
	out := new(frozen)
	for i := range h.counts {
		out[i] = h.counts[i].Load()
	}
	return out
}

// quantile returns the value below which the share q of the values lies that were added between
// since and f.
func (f *frozen) quantile(since *frozen, q float64) time.Duration {
	var n int64
	for i := range f {
		n += f[i] - since[i]
	}
	if n == 0 {
		return 0
	}
	rank, seen := int64(q*float64(n-1)), int64(0)
	for i := range f {
		if seen += f[i] - since[i]; seen > rank {
			return time.Duration(valueOf(i))
		}
	}
	return 0
}

// watch divides the measurement into points until stop is closed. Then it sends them on the channel
// that it returns.
func (r *run) watch(stop <-chan struct{}) <-chan []Point {
	out := make(chan []Point, 1)
	timed := &r.grant
	if r.cfg.Kind == Heartbeats {
		timed = &r.beat
	}
	go func() { // ends when stop is closed
		var points []Point
		begin := time.Now()
		a, h := r.sample(), timed.freeze()
		t := time.NewTicker(pointEvery)
		defer t.Stop()
		for over := false; !over; {
			select {
			case <-t.C:
			case <-stop:
				over = true
			}
			b, now := r.sample(), timed.freeze()
			if length := b.at.Sub(a.at); length > pointEvery/2 {
				points = append(points, r.point(a, b, begin, h, now))
				a, h = b, now
			}
		}
		out <- points
	}()
	return out
}

func (r *run) point(a, b sample, begin time.Time, h, now *frozen) Point {
	p := Point{At: a.at.Sub(begin), Length: b.at.Sub(a.at), P50: now.quantile(h, 0.5), P99: now.quantile(h, 0.99),
		Max: now.quantile(h, 1)}
	if r.cfg.Kind == Heartbeats {
		p.Done, p.Errors = b.beats-a.beats, b.beatErrors-a.beatErrors
		return p
	}
	p.Done, p.Errors = b.done-a.done, b.allocateErrors-a.allocateErrors+b.beatErrors-a.beatErrors
	return p
}
