package forecast

import (
	"math"
	"slices"
)

// Record remembers how the forecasts of a cluster compare with what happened then. From it comes the
// interval of a forecast (conformal prediction): nine in ten of the newest forecasts were off by a
// factor within it. When fewer or more of the intervals hold, the next ones are wider or narrower
// (adaptive conformal inference, Gibbs and Candès 2021).
type Record struct {
	open    map[Ask]Promise
	factors []float64 // actual over forecast delay, the newest last
	// below and above are the parts of the factors that the interval leaves out at either end.
	below, above float64

	Due, Held int // promises that came due, and those whose interval held
}

// Promise is a forecast start with its interval, in milliseconds after AtMillis.
type Promise struct {
	AtMillis int64
	Forecast int64 // the delay in the runs
	From     int64
	Median   int64
	To       int64
}

const (
	kept      = 300  // factors
	enough    = 20   // factors for an interval
	offFactor = 10   // with fewer, it is this wide on either side
	miss      = 0.05 // the part of the starts that may be before the interval, and after it
	adapt     = 0.01 // how fast the interval follows misses
	// addedMillis keeps short delays from being off by large factors.
	addedMillis = 1000
)

// NewRecord is the record of a cluster that has forecast nothing.
func NewRecord() *Record { return &Record{open: map[Ask]Promise{}, below: miss, above: miss} }

// Open is the promise for an ask that has not started.
func (r *Record) Open(k Ask) (Promise, bool) { p, ok := r.open[k]; return p, ok }

// Waiting is the number of promises that are not due.
func (r *Record) Waiting() int { return len(r.open) }

// Promise gives a forecast delay its interval and remembers it until the ask starts.
func (r *Record) Promise(now int64, k Ask, delay int64) Promise {
	p := Promise{AtMillis: now, Forecast: delay}
	p.From, p.Median, p.To = r.interval(now, delay)
	r.open[k] = p
	return p
}

// Started notes that an ask starts, and returns what was promised for it.
func (r *Record) Started(now int64, k Ask) (Promise, bool) {
	p, ok := r.open[k]
	if !ok {
		return p, false
	}
	delete(r.open, k)
	delay := now - p.AtMillis
	r.Due++
	if p.From <= delay && delay <= p.To {
		r.Held++
	}
	r.below += adapt * (miss - one(delay < p.From))
	r.above += adapt * (miss - one(delay > p.To))
	if r.factors = append(r.factors, factor(p, delay)); len(r.factors) > kept {
		r.factors = r.factors[1:]
	}
	return p, true
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func factor(p Promise, delay int64) float64 {
	return float64(delay+addedMillis) / float64(p.Forecast+addedMillis)
}

// interval is where nine in ten starts with such a forecast delay are, and their median.
func (r *Record) interval(now, delay int64) (from, median, to int64) {
	factors := slices.Clone(r.factors)
	for _, p := range r.open { // order is harmless: they are sorted
		if f := factor(p, now-p.AtMillis); f > 1 { // late: it will be off by this factor at least
			factors = append(factors, f)
		}
	}
	if len(factors) < enough {
		return off(delay, 1.0/offFactor), delay, off(delay, offFactor)
	}
	slices.Sort(factors)
	n := float64(len(factors))
	low := factors[int(clamp(n*r.below, 0, n-1))] * math.Exp(min(r.below, 0)*20)
	high := factors[int(clamp(math.Ceil(n*(1-r.above)), 0, n-1))] * math.Exp(max(-r.above, 0)*20)
	return off(delay, low), off(delay, factors[len(factors)/2]), off(delay, max(low, high))
}

func clamp(v, low, high float64) float64 { return max(low, min(v, high)) }

func off(delay int64, factor float64) int64 {
	return max(int64(float64(delay+addedMillis)*factor)-addedMillis, 0)
}
