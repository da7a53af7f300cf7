package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"rmd/api"
	"rmd/yarn"
)

// TestRateLimit checks in virtual time that a caller may send a burst and then requests at the
// configured rate, and that callers do not affect each other.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRates(10, 20)
		one, two := Principal{Name: "a", By: ByToken, Role: yarn.RoleRead},
			Principal{Name: "b", By: ByToken, Role: yarn.RoleRead}
		far, here := request(), request()
		far.RemoteAddr = "10.0.0.9:1"
		count := func(p Principal, r *http.Request, n int) (ok int) {
			for range n {
				if l.take(p, r) == nil {
					ok++
				}
			}
			return ok
		}
		if n := count(one, far, 100); n != 20 {
			t.Errorf("a burst of %d", n)
		}
		if n := count(one, here, 1); n != 0 {
			t.Error("a token has one budget wherever it is used")
		}
		if n := count(two, far, 5); n != 5 {
			t.Errorf("another one gets %d of 5", n)
		}
		time.Sleep(500 * time.Millisecond)
		if n := count(one, far, 100); n != 5 {
			t.Errorf("after half a second %d", n)
		}
		err, ok := l.take(one, far).(*api.Error)
		if !ok || err.Code != api.CodeTooManyRequests || err.Status != 429 || err.RetryAfterMillis != 100 {
			t.Errorf("take over the rate = %+v, want %s with status 429 and a retry after 100 ms",
				err, api.CodeTooManyRequests)
		}
		time.Sleep(time.Hour)
		if n := count(one, far, 100); n != 20 {
			t.Errorf("after an hour %d", n)
		}
		if n := count(Principal{from: "127.0.0.1"}, here, 1000); n != 1000 {
			t.Errorf("a program of this machine gets %d of 1000", n)
		}
		if n := count(Principal{from: "10.0.0.9"}, far, 1000); n != 20 {
			t.Errorf("an address without a role gets %d", n)
		}
		bulk := httptest.NewRequest("POST", inputsPath, nil)
		bulk.RemoteAddr = "10.0.0.8:1"
		if n := count(one, bulk, 1000); n != 1000 {
			t.Errorf("inputs in bulk: %d of 1000", n)
		}
		if n := count(Principal{from: "10.0.0.8"}, bulk, 1000); n != 20 {
			t.Errorf("an address without a role sends %d times inputs in bulk", n)
		}
		wide := func(i int) Principal { return Principal{from: fmt.Sprintf("2001:db8::%x", i)} }
		for i := range 100 {
			if got := l.take(wide(i), far); (got == nil) != (i < 20) {
				t.Fatalf("request %d of a host with many addresses: %v", i, got)
			}
		}
		if n := count(Principal{from: "2001:db8:0:1::1"}, far, 1); n != 1 {
			t.Error("another host's address has no budget of its own")
		}
		for i := range 2 * principalsMax {
			l.take(Principal{from: fmt.Sprint(i)}, far)
		}
		if len(l.of) > principalsMax {
			t.Errorf("%d budgets are remembered", len(l.of))
		}
		time.Sleep(time.Minute)
		if l.take(Principal{from: "x"}, far); len(l.of) > 1 {
			t.Errorf("%d budgets are remembered after a minute", len(l.of))
		}
	})
}

// request returns a request from this machine.
func request() *http.Request {
	r := httptest.NewRequest("GET", "/v1/apps", nil)
	r.RemoteAddr = "127.0.0.1:40000"
	return r
}
