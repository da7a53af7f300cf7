package workload

import (
	"fmt"
	"time"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// open requests the containers of groups that wait for no other group, or for a completed one.
func (a *app) open() {
	for i := range a.groups {
		g := &a.groups[i]
		if g.open {
			continue
		}
		if after := g.spec.After; after >= 0 && after < len(a.groups) && after != i && a.groups[after].left > 0 {
			continue
		}
		g.open = true
		if g.left == 0 {
			continue
		}
		if delay := a.delay(i); delay > 0 {
			a.w.loop.after(delay, func() {
				if a.phase != phaseEnded {
					a.ask(i)
					a.wake()
				}
			})
			continue
		}
		a.ask(i)
	}
}

// delay returns how long the application waits before it asks for the containers of a group.
func (a *app) delay(group int) time.Duration {
	delay := time.Duration(a.w.scaled(a.groups[group].spec.Delay))
	if f := a.w.cfg.AskAfter; f != nil {
		delay += f(a.ordinal, group, time.Duration(a.w.loop.now)+delay)
	}
	return delay
}

// reopen marks all waiting containers to be requested again, because the cluster does not keep the
// asks of an earlier attempt.
func (a *app) reopen() {
	for i := range a.groups {
		a.groups[i].dirty = len(a.groups[i].waiting) > 0
	}
}

// ask adds all containers of a group to the waiting ones.
func (a *app) ask(group int) {
	g := &a.groups[group]
	g.dirty = true
	g.waiting = make([]slot, 0, g.left)
	for n := range g.left {
		a.wait(group, slot{n: int32(n)})
	}
}

// wait adds one slot to the waiting ones.
func (a *app) wait(group int, s slot) {
	g := &a.groups[group]
	s.measured = a.w.meter.asked(a.shown(group, s), a.job.Queue, g.shown, a.w.millis())
	g.waiting = append(g.waiting, s)
	a.w.counts.waiting++
}

// wake lets the application call because something has changed.
func (a *app) wake() {
	if a.phase == phaseRunning {
		a.step()
	}
	a.account()
}

// allocate makes an allocate call. If the previous call got no answer, it repeats exactly that
// call, because the cluster may have executed it.
func (a *app) allocate() {
	in := a.repeat
	if in == nil {
		in = &input.Allocate{Attempt: a.attempt, Response: a.response, Releases: a.releases, FromAM: true}
		for i := range a.groups {
			if a.groups[i].dirty {
				in.Asks = append(in.Asks, a.groups[i].asks(a.w.racks)...)
			}
		}
		a.releases = nil
	}
	life := a.life
	a.calls = true
	call(a.w, in, func(r *input.AllocateReply, err error) {
		a.calls = false
		switch {
		case life != a.life || a.phase != phaseRunning:
		case err != nil:
			a.repeat = in
		case r.Refusal != nil:
			a.repeat = nil
			a.refused(r.Refusal)
		default:
			a.repeat, a.response = nil, r.Response
			for i := range r.Granted {
				a.granted(&r.Granted[i])
			}
			for i := range r.Completed {
				a.completed(&r.Completed[i])
			}
			if len(in.Releases)+len(r.Granted)+len(r.Completed) > 0 {
				a.w.pace.happened(len(in.Releases) > 0)
			}
		}
		a.answered()
	})
}

// refused handles a refused allocate call: register again, wait for the next attempt, or give up.
func (a *app) refused(f *input.Refusal) {
	switch {
	case f.Reason == input.NotRegistered || f.Reason == input.WrongResponse:
		a.phase, a.again = phaseRegistering, true
	case attemptEnded(f):
		a.notCurrent()
	default:
		a.w.refused(fmt.Errorf("allocate of %s: %w", a.attempt, f))
		a.final, a.why = yarn.FinalFailed, f.Error()
		a.phase, a.again = phaseFinishing, true
	}
}

// granted starts an allocated container on its node. It releases a container that no slot waits
// for.
func (a *app) granted(g *input.Granted) {
	if a.held[g.Container] != nil {
		a.w.counts.repeated++
		return
	}
	a.w.delivered++
	i := int(g.Key.AllocationID) - 1
	if i < 0 || i >= len(a.groups) {
		a.release(g.Container)
		return
	}
	s, ok := a.groups[i].take(g.Node.Host, g.Rack, a.w.racks)
	if !ok {
		a.release(g.Container)
		return
	}
	a.w.counts.waiting--
	a.w.counts.granted++
	h := &holding{group: i, slot: s, node: a.w.byID[g.Node]}
	a.held[g.Container] = h
	a.w.meter.use(a.size(h), 1)
	if s.measured {
		a.w.cannotBe(a.w.meter.c.Allocated(a.shown(i, s), a.w.millis()))
	}
	a.run(g.Container, h)
}

func (a *app) release(id yarn.ContainerID) {
	a.w.counts.surplus++
	a.releases = append(a.releases, id)
}

// run starts a container on its node for its duration, like a startContainers call. If the node is
// not simulated, the application only holds the container for its duration and then releases it.
func (a *app) run(id yarn.ContainerID, h *holding) {
	d := time.Duration(a.w.scaled(a.groups[h.group].duration(h.slot)))
	if h.node == nil {
		a.w.loop.after(d, func() {
			if a.phase == phaseEnded || a.held[id] != h || h.counted {
				return
			}
			h.own = true
			a.releases = append(a.releases, id)
			a.taskEnded(id)
			a.wake()
		})
		return
	}
	if !h.node.run(id, a.size(h), false) {
		return // the cluster has ended it and will report that
	}
	n := h.node
	p, _ := n.manager.Process(id)
	p.end = a.w.loop.after(d, func() { n.exit(id, yarn.ExitSuccess, "") })
}

// taskEnded records that a container no longer runs. The container counts as completed only after
// the cluster reports its end.
func (a *app) taskEnded(id yarn.ContainerID) {
	if h := a.held[id]; h != nil && !h.ended {
		h.ended, h.endedAt = true, a.w.millis()
		a.w.meter.use(a.size(h), -1)
	}
}

// completed counts a container whose end the cluster reports.
func (a *app) completed(s *input.ContainerStatus) {
	h := a.held[s.Container]
	if h == nil || h.counted {
		return // a surplus container, or a repeated report
	}
	if s.ExitStatus != yarn.ExitSuccess && !h.own {
		a.w.counts.lost++
		if h.node != nil {
			h.node.drop(s.Container)
		}
		a.lost(s.Container)
		return
	}
	a.closeHolding(s.Container)
	a.w.counts.completed++
	g := &a.groups[h.group]
	g.left--
	a.left--
	if g.left == 0 {
		a.open()
	}
}

// lost adds a container's slot to the waiting ones again.
func (a *app) lost(id yarn.ContainerID) {
	h := a.held[id]
	if h.counted {
		return
	}
	a.closeHolding(id)
	s := h.slot
	s.tries++
	a.wait(h.group, s)
	a.groups[h.group].dirty = true
}

// closeHolding records the end of a container for the report. Only the first call has an effect.
func (a *app) closeHolding(id yarn.ContainerID) {
	h := a.held[id]
	if h.counted {
		return
	}
	a.taskEnded(id)
	h.counted = true
	if h.slot.measured {
		a.w.cannotBe(a.w.meter.c.Finished(a.shown(h.group, h.slot), h.endedAt))
	}
}
