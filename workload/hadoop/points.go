package hadoop

import "time"

// pointEvery is the length of a point of the measured span.
const pointEvery = time.Second

// Point is a part of the measured span, named by its begin.
type Point struct {
	At     time.Duration `json:"atNanos"`
	Length time.Duration `json:"lengthNanos"`
	// Done are heartbeats, or containers through their whole life.
	Done   int64 `json:"done"`
	Errors int64 `json:"errors"`
	// P50, P99 and Max are of what was timed in it: heartbeats, or asks until they
	// were granted.
	P50 time.Duration `json:"p50Nanos"`
	P99 time.Duration `json:"p99Nanos"`
	Max time.Duration `json:"maxNanos"`
}

// frozen is a histogram at one moment.
type frozen [octaves * subBuckets]int64

func (h *histogram) freeze() *frozen {
	out := new(frozen)
	for i := range h.counts {
		out[i] = h.counts[i].Load()
	}
	return out
}

// quantile is the value below which a share of q lies of what came between two
// moments.
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

// watch cuts the measured span into points until stop is closed; what it returns
// is closed with them in it.
func (r *run) watch(stop <-chan struct{}) <-chan []Point {
	out := make(chan []Point, 1)
	timed := &r.grant
	if r.cfg.Kind == Heartbeats {
		timed = &r.beat
	}
	go func() { // ends with stop
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
	p := Point{At: a.at.Sub(begin), Length: b.at.Sub(a.at), P50: now.quantile(h, 0.5), P99: now.quantile(h, 0.99), Max: now.quantile(h, 1)}
	if r.cfg.Kind == Heartbeats {
		p.Done, p.Errors = b.beats-a.beats, b.beatErrors-a.beatErrors
		return p
	}
	p.Done, p.Errors = b.done-a.done, b.allocateErrors-a.allocateErrors+b.beatErrors-a.beatErrors
	return p
}
