package forecast

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"rmd/internal/boolint"
	"rmd/internal/quantile"
)

// Record compares the forecasts of a cluster with what happened. The interval of a forecast comes
// from the record (conformal prediction): it is the shortest with nine in ten of the factors by
// which recent forecasts were off. If more or fewer than nine in ten intervals hold, the next ones
// become narrower or wider (adaptive conformal inference, Gibbs and Candès 2021).
type Record struct {
	recorded
	open map[Ask]Promise
}

// recorded has the fields of a Record other than the open promises, as saved.
type recorded struct {
	Cluster     string    `json:"cluster"`
	Index       uint64    `json:"index"`    // of the last log entry that was followed
	SinceMillis int64     `json:"since_ms"` // time of the first promise
	Due         int       `json:"due"`      // promises that came due
	Held        int       `json:"held"`     // promises whose interval held
	Gone        int       `json:"gone"`     // promises for asks that stopped waiting without a start
	None        int       `json:"none"`     // asks that had no promise since no start was foreseen
	Newest      []Outcome `json:"newest"`   // the newest kept outcomes, newest last
	// Outside is the share of the factors that the interval leaves out.
	Outside float64 `json:"outside"`
}

// Promise is a forecast of a start with its interval. Delays are in milliseconds after AtMillis.
type Promise struct {
	AtMillis int64 `json:"at_ms"`
	Forecast int64 `json:"forecast_ms"` // the median delay of the runs
	From     int64 `json:"from_ms"`
	Median   int64 `json:"median_ms"`
	To       int64 `json:"to_ms"`
	// Number is the last container number that the application had been given at AtMillis.
	Number uint64 `json:"number"`
}

// Outcome is a promise that has come due, with the actual delay.
type Outcome struct {
	Promise
	Delay int64 `json:"delay_ms"`
}

// Held reports whether the start was in the interval.
func (o *Outcome) Held() bool { return o.From <= o.Delay && o.Delay <= o.To }

func (o *Outcome) off() int64 { return max(o.Delay-o.Median, o.Median-o.Delay) }

const (
	kept      = 1000 // outcomes that the record keeps
	enough    = 20   // outcomes needed to compute an interval
	near      = 80   // outcomes of similar forecasts from which an interval is computed
	nearMax   = 300  // the largest sample, including open promises
	offFactor = 5    // with fewer than enough outcomes, the interval ends after this factor
	miss      = 0.08 // share of starts that may be outside the interval; bursts add some to it
	adapt     = 0.01 // how fast the interval adapts to misses
	// mostOutside and leastOutside bound Record.Outside, because the many forecasts of a burst miss
	// together. Below 0, the interval is wider than all factors.
	mostOutside, leastOutside = 0.3, -0.05
	maxOpen                   = 10_000
	// heartbeatMillis is the usual interval of a node's heartbeats, on which containers are
	// allocated. No start can be forecast more exactly. So intervals consist of whole heartbeats,
	// and no short delay is off by a large factor.
	heartbeatMillis = 1000
)

// NewRecord returns an empty record of a cluster.
func NewRecord(cluster string) *Record {
	return &Record{recorded: recorded{Cluster: cluster, Outside: miss}, open: map[Ask]Promise{}}
}

// Open returns the promise for an ask that has not started.
func (r *Record) Open(k Ask) (Promise, bool) { p, ok := r.open[k]; return p, ok }

// Waiting returns the number of promises that are not due yet.
func (r *Record) Waiting() int { return len(r.open) }

// Enough reports whether the record has enough outcomes to compute intervals. Otherwise intervals
// are guesses.
func (r *Record) Enough() bool { return len(r.Newest) >= enough }

// Promise computes the interval of a forecast delay and stores the promise until the ask starts.
func (r *Record) Promise(now int64, k Ask, number uint64, delay int64) Promise {
	return r.promise(r.factorsAt(now), now, k, number, delay)
}

func (r *Record) promise(f *factors, now int64, k Ask, number uint64, delay int64) Promise {
	p := Promise{AtMillis: now, Forecast: delay, Number: number}
	p.From, p.Median, p.To = f.interval(delay)
	if r.SinceMillis == 0 {
		r.SinceMillis = now
	}
	r.open[k] = p
	return p
}

// Started records that an ask has started, and returns the outcome of its promise. ok is false if
// there is none.
func (r *Record) Started(now int64, k Ask) (Outcome, bool) {
	p, ok := r.open[k]
	if !ok {
		return Outcome{}, false
	}
	delete(r.open, k)
	o := Outcome{p, now - p.AtMillis}
	r.Due++
	if o.Held() {
		r.Held++
	}
	r.Outside = clamp(r.Outside+adapt*(miss-boolint.Of[float64](!o.Held())), leastOutside, mostOutside)
	if r.Newest = append(r.Newest, o); len(r.Newest) > kept {
		r.Newest = r.Newest[1:]
	}
	return o, true
}

// drop drops the promises for which keep returns false.
func (r *Record) drop(keep func(Ask, Promise) bool) {
	for k, p := range r.open { // order is harmless: each is judged separately
		if !keep(k, p) {
			delete(r.open, k)
			r.Gone++
		}
	}
}

// sample is the factor by which a start was later than forecast. If the ask still waits, it is the
// least possible factor.
type sample struct {
	forecast int64 // milliseconds
	factor   float64
	open     bool
}

func (p *Promise) sample(delay int64, open bool) sample {
	return sample{p.Forecast, ratio(delay, p.Forecast), open}
}

func ratio(a, b int64) float64 { return float64(a+heartbeatMillis) / float64(b+heartbeatMillis) }

// factors has the samples at a given time, and caches the interval for each class of forecast
// delays.
type factors struct {
	record  *Record
	samples []sample // by forecast; outcomes with equal forecasts from old to new
	classes map[int]interval
}

type interval struct{ low, median, high float64 }

// classesPerDouble is the number of classes of forecast delays from a delay to twice the delay.
const classesPerDouble = 16

// factorsAt returns the factors of the newest outcomes and of all open promises.
func (r *Record) factorsAt(now int64) *factors {
	samples := make([]sample, 0, len(r.open)+len(r.Newest))
	for _, p := range r.open { // order is harmless: sorted below
		samples = append(samples, p.sample(now-p.AtMillis, true))
	}
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.factor, b.factor) })
	for i := range r.Newest {
		samples = append(samples, r.Newest[i].sample(r.Newest[i].Delay, false))
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return cmp.Compare(a.forecast, b.forecast) })
	return &factors{r, samples, map[int]interval{}}
}

// nearest returns the samples whose forecasts are most similar to a delay: at most near outcomes,
// and the open promises between them, sorted by factor.
func nearest(samples []sample, delay int64) []sample {
	high := sort.Search(len(samples), func(i int) bool { return samples[i].forecast > delay })
	low := high
	for outcomes := 0; outcomes < near && high-low < min(nearMax, len(samples)); {
		next := low - 1
		if low == 0 || high < len(samples) && ratio(samples[high].forecast, delay) < ratio(delay, samples[low-1].forecast) {
			next = high
			high++
		} else {
			low--
		}
		if !samples[next].open {
			outcomes++
		}
	}
	list := slices.Clone(samples[low:high])
	slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(a.factor, b.factor) })
	return list
}

// point is a factor, and the share of the starts whose factor is at most this one.
type point struct{ factor, share float64 }

// distribution returns the distribution of the factors in a list that is sorted. An open promise
// may still come due at any later factor (Kaplan-Meier estimator), so the shares may end below 1.
func distribution(list []sample) []point {
	var out []point
	later := 1.0
	for i, s := range list {
		if !s.open {
			later *= 1 - 1/float64(len(list)-i)
			out = append(out, point{s.factor, 1 - later})
		}
	}
	return out
}

// median returns the factor below which half of the starts are.
func median(points []point, last float64) float64 {
	for _, p := range points {
		if p.share > 0.5 {
			return p.factor
		}
	}
	return last
}

// shortest returns the shortest interval with the given share of the starts, which has at least one
// point. If there is none, it ends at last.
func shortest(points []point, share, last float64) (low, high float64) {
	low, high = points[0].factor, math.Inf(1)
	before, end := 0.0, 0
	for _, p := range points {
		for end < len(points) && points[end].share-before < share-1e-9 {
			end++
		}
		if end == len(points) {
			break
		}
		if points[end].factor-p.factor < high-low {
			low, high = p.factor, points[end].factor
		}
		before = p.share
	}
	return low, min(high, max(last, low))
}

// Interval returns the interval that contains nine in ten starts with such a forecast delay, and
// their median.
func (r *Record) Interval(now, delay int64) (from, median, to int64) {
	return r.factorsAt(now).interval(delay)
}

func (f *factors) interval(delay int64) (from, median, to int64) {
	class := int(math.Round(math.Log2(float64(delay+heartbeatMillis)) * classesPerDouble))
	i, ok := f.classes[class]
	if !ok {
		i = f.compute(int64(math.Exp2(float64(class)/classesPerDouble)) - heartbeatMillis)
		f.classes[class] = i
	}
	from, to = off(delay, i.low), off(delay, i.high)
	return from - from%heartbeatMillis, off(delay, i.median), to + (heartbeatMillis-to%heartbeatMillis)%heartbeatMillis
}

func (f *factors) compute(delay int64) interval {
	if !f.record.Enough() {
		return interval{0, 1, offFactor}
	}
	list := nearest(f.samples, delay)
	last, points := list[len(list)-1].factor, distribution(list)
	if len(points) == 0 { // all that were forecast alike still wait
		return interval{0, max(last, 1), offFactor * max(last, 1)}
	}
	outside := f.record.Outside
	low, high := shortest(points, 1-max(outside, 0), last)
	return interval{low, median(points, last), high * math.Exp(-20*min(outside, 0))}
}

func clamp(v, low, high float64) float64 { return max(low, min(v, high)) }

// off returns a delay times a factor, at most longest.
func off(delay int64, factor float64) int64 {
	return int64(clamp(float64(delay+heartbeatMillis)*factor-heartbeatMillis, 0, longest))
}

// longest is far beyond every horizon: a hundred years, in milliseconds.
const longest = 100 * 365 * 24 * 3600 * 1000

// Summary summarizes the newest outcomes.
type Summary struct {
	Outcomes, Held                  int
	ErrorP50, ErrorP95, Wait, Width int64   // milliseconds; Wait and Width are medians
	WidthOfWait                     float64 // median of width ÷ wait, of waits of a second at least
}

// Summary returns a summary of the newest outcomes.
func (r *Record) Summary() Summary {
	s := Summary{Outcomes: len(r.Newest)}
	var errors, waits, widths, ofWait []int64
	for i := range r.Newest {
		o := &r.Newest[i]
		s.Held += boolint.Of[int](o.Held())
		errors, waits, widths = append(errors, o.off()), append(waits, o.Delay), append(widths, o.To-o.From)
		ofWait = append(ofWait, (o.To-o.From)*1000/max(o.Delay, heartbeatMillis))
	}
	for _, list := range [][]int64{errors, waits, widths, ofWait} {
		slices.Sort(list)
	}
	s.ErrorP50, s.ErrorP95 = quantile.Of(errors, 0.5), quantile.Of(errors, 0.95)
	s.Wait, s.Width = quantile.Of(waits, 0.5), quantile.Of(widths, 0.5)
	s.WidthOfWait = float64(quantile.Of(ofWait, 0.5)) / 1000
	return s
}

// saved is the saved form of a Record.
type saved struct {
	recorded
	Open []openPromise `json:"open"`
}

type openPromise struct {
	Ask
	Promise
}

// MarshalJSON implements json.Marshaler.
func (r *Record) MarshalJSON() ([]byte, error) {
	s := saved{recorded: r.recorded, Open: []openPromise{}}
	for k, p := range r.open { // order is harmless: sorted below
		s.Open = append(s.Open, openPromise{k, p})
	}
	slices.SortFunc(s.Open, func(a, b openPromise) int { return a.Ask.compare(b.Ask) })
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler. It rejects values that no Record writes.
func (r *Record) UnmarshalJSON(data []byte) error {
	s := saved{recorded: recorded{Outside: miss}}
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if len(s.Newest) > kept || len(s.Open) > maxOpen || s.Held < 0 || s.Due < s.Held || s.Gone < 0 || s.None < 0 ||
		s.Outside < leastOutside || s.Outside > mostOutside {
		return errors.New("forecast: a number of the record is out of range")
	}
	promises := make([]Promise, 0, len(s.Newest)+len(s.Open))
	*r = Record{recorded: s.recorded, open: map[Ask]Promise{}}
	for _, o := range s.Newest {
		promises = append(promises, o.Promise)
	}
	for _, o := range s.Open {
		promises = append(promises, o.Promise)
		r.open[o.Ask] = o.Promise
	}
	for _, p := range promises {
		if p.Forecast < 0 || p.From < 0 || p.To < p.From || p.To > longest {
			return fmt.Errorf("forecast: a promise of the record is out of range: %+v", p)
		}
	}
	return nil
}
