package main

import "time"

// capacity is what a cluster carries, and how it is below that.
type capacity struct {
	most       float64 // in a second
	half, high figures // at 50 % and 90 % of it
	full       figures // at so much more that the planner never waits for inputs
}

const (
	warmup = time.Second
	span   = 1500 * time.Millisecond
)

// search finds by bisection the rate from which on calls pile up.
func search(from float64, at func(rate float64) figures) (out capacity) {
	low, high := 0.0, from
	for !at(high).grows {
		low, high = high, 2*high
	}
	for high-low > 0.02*high {
		if mid := (low + high) / 2; at(mid).grows {
			high = mid
		} else {
			low = mid
		}
	}
	out.most = low
	out.half, out.high, out.full = at(low/2), at(0.9*low), at(1.2*low)
	return out
}

// containers is how many containers a machine starts and ends per second.
func containers(c costs, m machine, l load) capacity {
	return search(20_000, func(rate float64) figures {
		l.containers = rate
		return run(c, m, l)
	})
}

// heartbeats is how many idle heartbeats it answers per second.
func heartbeats(c costs, m machine) capacity {
	return search(100_000, func(rate float64) figures { return run(c, m, load{nodes: int(rate)}) })
}

func run(c costs, m machine, l load) figures {
	t := newTraffic(newCluster(c, m), 1)
	t.play(l)
	return t.watch(warmup, span)
}
