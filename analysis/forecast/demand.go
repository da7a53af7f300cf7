package forecast

import (
	"math/rand/v2"

	"rmd/fsm/state"
	"rmd/fsm/state/length"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// demand is what the AM of an application asked for.
type demand struct {
	count int64
	size  yarn.Resource // of each container
}

// demands has what applications that have ended asked for, by those that were alike and by queue.
// It says for what an AM will ask that has not asked yet.
type demands struct {
	alike map[uint64][]demand
	queue map[state.QueueSlot][]demand
}

// maxDemands bounds the applications that newDemands looks at.
const maxDemands = 10_000

func newDemands(st *state.State) *demands {
	d := &demands{alike: map[uint64][]demand{}, queue: map[state.QueueSlot][]demand{}}
	left := maxDemands
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if e, ok := demandOf(st, a); ok {
			d.alike[st.Alike(a)] = append(d.alike[st.Alike(a)], e)
			d.queue[a.Queue] = append(d.queue[a.Queue], e)
			left--
		}
		return left > 0
	})
	return d
}

// demandOf returns what an application that has ended asked for. The state has the number of its
// containers, and what they used in all; the size of each follows from the lengths of containers
// like them.
func demandOf(st *state.State, a *state.App) (demand, bool) {
	count := int64(yarn.ContainerSequence(a.NextNumber))
	if !a.Unmanaged {
		count--
	}
	if !a.State.Ended() || a.Attempt != 1 || a.Queue == 0 || count < 1 || a.StartedMillis == 0 {
		return demand{}, false
	}
	// The end of a container cannot be after that of its AM.
	ran := max(a.EndedMillis-a.StartedMillis, 1000)
	seconds := count * (min(max(meanLength(st.LengthsOf(a)), 1000), ran) / 1000)
	d := demand{count: count}
	for kind, used := range a.ResourceSeconds {
		if !a.Unmanaged {
			used -= a.AM[kind] * (ran / 1000)
		}
		d.size[kind] = (max(used, 0) + seconds - 1) / seconds
	}
	return d, d.size[yarn.Memory] > 0
}

// meanLength returns the mean of a history in milliseconds.
func meanLength(l *state.Lengths) int64 {
	if l == nil || l.Total() == 0 {
		return unknownLength
	}
	sum := int64(0)
	for i, n := range l.Counts {
		from, to := length.Bounds(i)
		sum += int64(n) * (from + to) / 2
	}
	return sum / int64(l.Total())
}

// enoughAlike is the number of applications alike from which draw needs no others of the queue.
const enoughAlike = 3

// draw draws the ask that the AM of an application will send. ok is false if nothing is known.
func (d *demands) draw(random *rand.Rand, st *state.State, a *state.App) (_ input.Ask, ok bool) {
	list := d.alike[st.Alike(a)]
	if len(list) < enoughAlike {
		list = d.queue[a.Queue]
	}
	if len(list) == 0 {
		return input.Ask{}, false
	}
	e := list[random.IntN(len(list))]
	return input.Ask{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: e.count, Size: e.size, Relax: true}, true
}
