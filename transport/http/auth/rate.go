package auth

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"rmd/api"
	"rmd/transport/http/problem"
)

// Bucket is a token bucket: a budget of requests that refills with time.
type Bucket struct {
	mu          sync.Mutex
	rate, burst float64
	have        float64
	at          time.Time
}

// NewBucket returns a full bucket of size burst that refills at a rate per second.
func NewBucket(rate, burst int) *Bucket {
	return &Bucket{rate: float64(rate), burst: float64(burst), have: float64(burst)}
}

// Take takes one request from the bucket and returns 0, or it returns the time until one is
// available.
func (b *Bucket) Take(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(now)
	if b.have >= 1 {
		b.have--
		return 0
	}
	return time.Duration(math.Ceil((1 - b.have) / b.rate * float64(time.Second)))
}

func (b *Bucket) fill(now time.Time) {
	if past := now.Sub(b.at); past > 0 {
		if !b.at.IsZero() {
			b.have = min(b.burst, b.have+past.Seconds()*b.rate)
		}
		b.at = now
	}
}

// Allow takes one request from the bucket if one is available.
func (b *Bucket) Allow() bool { return b.Take(time.Now()) == 0 }

// full reports whether the bucket is full.
func (b *Bucket) full(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(now)
	return b.have >= b.burst
}

// principalsMax is the largest number of buckets. Full buckets are forgotten. If all are in use,
// new principals share one.
const principalsMax = 4096

// rates limits the requests of each principal, and of each Share without one.
type rates struct {
	rate, burst int
	mu          sync.Mutex
	of          map[string]*Bucket
	rest        *Bucket
}

func newRates(rate, burst int) *rates {
	return &rates{rate: rate, burst: burst, of: map[string]*Bucket{}, rest: NewBucket(rate, burst)}
}

// inputsPath is the endpoint for inputs in bulk, which has its own limits for those who may use it.
const inputsPath = "/v1/inputs"

// take takes one request of a principal, or returns an error.
func (l *rates) take(p Principal, r *http.Request) error {
	if p.Known() && r.URL.Path == inputsPath || !p.Known() && Loopback(r.RemoteAddr) {
		return nil
	}
	now, key := time.Now(), p.String()
	if !p.Known() {
		key = Share(p.from)
	}
	wait := l.bucket(key, now).Take(now)
	if wait == 0 {
		return nil
	}
	e := problem.New(api.CodeTooManyRequests, p.String()+" sends more than "+strconv.Itoa(l.rate)+" requests a second",
		"ask less often, or raise http.rate")
	e.RetryAfterMillis = max(wait.Milliseconds(), 1)
	return e
}

func (l *rates) bucket(key string, now time.Time) *Bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, ok := l.of[key]; ok {
		return b
	}
	if len(l.of) >= principalsMax {
		for name, b := range l.of { // the order does not matter
			if b.full(now) {
				delete(l.of, name)
			}
		}
	}
	if len(l.of) >= principalsMax {
		return l.rest
	}
	b := NewBucket(l.rate, l.burst)
	l.of[key] = b
	return b
}
