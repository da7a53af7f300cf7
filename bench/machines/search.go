package main

import "time"

// capacity is the load that a cluster can carry, with the figures at some loads.
type capacity struct {
	most       float64 // per second
	half, high figures // at 50 % and at 90 % of most
	full       figures // at 120 % of most, where the planner never waits for inputs
}

const (
	warmup = time.Second
	span   = 1500 * time.Millisecond
)

// search finds by bisection the highest rate at which calls do not pile up.
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

// containers returns how many containers per second a machine can start and end.
func containers(c costs, m machine, l load) capacity {
	return search(20_000, func(rate float64) figures {
		l.containers = rate
		return run(c, m, l)
	})
}

// heartbeats returns how many idle heartbeats per second a machine can answer.
func heartbeats(c costs, m machine) capacity {
	return search(100_000, func(rate float64) figures { return run(c, m, load{nodes: int(rate)}) })
}

func run(c costs, m machine, l load) figures {
	t := newTraffic(newCluster(c, m), 1)
	t.play(l)
	return t.watch(warmup, span)
}
