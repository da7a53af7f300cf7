package main

import "time"

// engine runs actions in virtual time. Actions at the same time run in the order in which they were
// planned.
type engine struct {
	now     time.Duration
	planned uint64
	heap    []due
}

type due struct {
	at    time.Duration
	order uint64
	do    func()
}

func (d due) before(o due) bool { return d.at < o.at || d.at == o.at && d.order < o.order }

// after runs do after d has passed.
func (e *engine) after(d time.Duration, do func()) {
	e.planned++
	e.heap = append(e.heap, due{e.now + d, e.planned, do})
	for i := len(e.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !e.heap[i].before(e.heap[up]) {
			break
		}
		e.heap[i], e.heap[up] = e.heap[up], e.heap[i]
		i = up
	}
}

// until advances the time to end.
func (e *engine) until(end time.Duration) {
	for len(e.heap) > 0 && e.heap[0].at <= end {
		first := e.heap[0]
		e.pop()
		e.now = first.at
		first.do()
	}
	e.now = end
}

func (e *engine) pop() {
	n := len(e.heap) - 1
	e.heap[0], e.heap[n] = e.heap[n], due{}
	e.heap = e.heap[:n]
	for i := 0; ; {
		least := i
		for _, down := range []int{2*i + 1, 2*i + 2} {
			if down < n && e.heap[down].before(e.heap[least]) {
				least = down
			}
		}
		if least == i {
			return
		}
		e.heap[i], e.heap[least] = e.heap[least], e.heap[i]
		i = least
	}
}

// job is work that takes some time, and then calls then. more returns the next job of the same
// goroutine; it may be nil.
type job struct {
	cost time.Duration
	then func()
	more func() (job, bool)
}

// station serves jobs in the order in which they arrive, as many concurrently as it has servers. It
// represents the cores of a machine, a disk or a link.
type station struct {
	*engine
	servers, busy int
	waiting       []job
	work          time.Duration // cost of all jobs that it has started
}

func (s *station) serve(cost time.Duration, then func()) { s.add(job{cost: cost, then: then}) }

func (s *station) add(j job) {
	if s.busy == s.servers {
		s.waiting = append(s.waiting, j)
		return
	}
	s.busy++
	s.start(j)
}

func (s *station) start(j job) {
	s.work += j.cost
	s.after(j.cost, func() {
		j.then()
		if j.more != nil {
			if next, ok := j.more(); ok {
				s.start(next)
				return
			}
		}
		if len(s.waiting) == 0 {
			s.busy--
			return
		}
		next := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.start(next)
	})
}

// goroutine runs one job after the other. It keeps its core until it has no more jobs.
type goroutine struct {
	cores   *station
	running bool
	waiting []job
	work    time.Duration
}

func (g *goroutine) run(cost time.Duration, then func()) {
	g.work += cost
	g.waiting = append(g.waiting, job{cost, then, g.next})
	if !g.running {
		j, _ := g.next()
		g.cores.add(j)
	}
}

func (g *goroutine) next() (j job, more bool) {
	if g.running = len(g.waiting) > 0; g.running {
		j, g.waiting = g.waiting[0], g.waiting[1:]
	}
	return j, g.running
}
