//as: scheduler/capacity/plan.go

package capacity

import (
	"maps"
	"math/rand" // want seed from an id
	"os"        // want let the edge read it
	"strconv"
	"sync" // want fork it
	clock "time"

	"rmd/yarn"
)

type table map[string]int

type book struct{ pages table }

func (b *book) all() map[string]int { return b.pages }

func decide(b *book, m map[int]bool, events chan int) int { // want no channels
	at := clock.Now()   // want reads no clock
	_ = clock.Since(at) // want reads no clock
	_ = clock.Second
	go rand.Int()                      // want no goroutine
	x := 1.5                           // want is a float
	_ = float64(3)                     // want rounds apart
	_, _ = strconv.ParseFloat("1", 64) // want yarn.ParseFraction
	events <- 1                        // want sends nothing
	<-events                           // want waits for nothing
	select {}                          // want waits for nothing
	for range m {                      // want differs from run to run
	}
	for range b.pages { // want differs from run to run
	}
	for range b.all() { // want differs from run to run
	}
	for range yarn.Names { // want differs from run to run
	}
	for range maps.Keys(m) { // want differs from run to run
	}
	for range m { // order is harmless: only counted
	}
	// order is harmless: the sum is the same
	for range m {
	}
	for range m { /* order is harmless: */ // want differs from run to run
	}
	for range m { // sorted below
	}
	for range []int{1} {
	}
	for range 3 {
	}
	_ = os.Args
	var mu sync.Mutex
	_ = mu
	_ = x
	var whole int64 = 1e3
	_ = whole
	return 0
}
