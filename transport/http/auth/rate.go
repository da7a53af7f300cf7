package auth

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"rmd/transport/http/problem"
	"rmd/transport/http/v1/api"
)

// Bucket is a budget that fills up again with time.
type Bucket struct {
	mu          sync.Mutex
	rate, burst float64
	have        float64
	at          time.Time
}

// NewBucket makes a full one that fills at a rate a second up to burst.
func NewBucket(rate, burst int) *Bucket {
	return &Bucket{rate: float64(rate), burst: float64(burst), have: float64(burst)}
}

// Take spends one, or says how long it takes until there is one.
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

// Allow spends one when there is one.
func (b *Bucket) Allow() bool { return b.Take(time.Now()) == 0 }

// full says that nobody has spent from it for a while.
func (b *Bucket) full(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(now)
	return b.have >= b.burst
}

// principalsMax bounds the budgets that are remembered. What is full is
// forgotten; should all be in use, newcomers share one.
const principalsMax = 4096

// rates bounds the requests of each Principal, and of each Share without one.
type rates struct {
	rate, burst int
	mu          sync.Mutex
	of          map[string]*Bucket
	rest        *Bucket
}

func newRates(rate, burst int) *rates {
	return &rates{rate: rate, burst: burst, of: map[string]*Bucket{}, rest: NewBucket(rate, burst)}
}

// inputsPath takes nodes' and applications' calls in bulk, and has bounds of its own.
const inputsPath = "/v1/inputs"

// take spends one request of a principal.
func (l *rates) take(p Principal, r *http.Request) error {
	if r.URL.Path == inputsPath || !p.Known() && Loopback(r.RemoteAddr) {
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
	e := problem.New(api.CodeTooManyRequests, p.String()+" sends more than "+strconv.Itoa(l.rate)+" requests a second", "ask less often, or raise http.rate")
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
		for name, b := range l.of { // each for itself: order is harmless
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
