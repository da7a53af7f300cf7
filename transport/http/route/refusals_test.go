package route

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"rmd/api"
)

// TestRepeatedRefusalsAreCounted checks that the first of a caller's equal refusals is recorded at
// once and the others are counted, at growing intervals. It also checks that another caller's
// refusal is recorded in between.
func TestRepeatedRefusalsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newRefusals()
		flood := refusedCall{who: "10.0.0.9", action: "POST /v1/inputs", code: api.CodeUnauthenticated}
		told, counted := 0, 0
		for range 24 * 3600 { // one refusal each second, for a day
			if missed, ok := f.take(flood); ok {
				told, counted = told+1, counted+missed+1
			}
			time.Sleep(time.Second)
		}
		if told < 10 || told > 40 || counted < 20*3600 {
			t.Errorf("%d records tell of %d refusals", told, counted)
		}
		if _, ok := f.take(refusedCall{who: "token ci", action: "node drain", code: api.CodeNotAllowed}); !ok {
			t.Error("another caller's refusal is left out")
		}
		told = 0
		for i := range 20_000 { // each from a new address
			if _, ok := f.take(refusedCall{who: fmt.Sprint(i), action: "node drain", code: api.CodeNotAllowed}); ok {
				told++
			}
		}
		if told > refusedBurst || len(f.of) > refusedMax+1 {
			t.Errorf("%d records at once, %d callers are told apart", told, len(f.of))
		}
	})
}
