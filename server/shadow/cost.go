package shadow

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// cost is what preemption has cost a queue.
type cost struct {
	warned, withdrawn int64
	killed, ams       int64         // containers that have ended with a preempted AM are among the killed
	lost              yarn.Resource // times seconds
	lostMillis        float64       // of the whole cluster, by the largest share
}

// warned is a container that is to end for another queue or application.
type warned struct {
	size yarn.Resource
	from int64
	am   bool
}

// warn notes a container that was warned.
func (m *meter) warn(st *state.State, ref event.ContainerRef) {
	if slot := st.Container(ref); slot != 0 {
		c := st.Containers.Get(slot)
		m.warned[ref] = warned{c.Size, c.AllocatedMillis, c.AM}
	}
}

// ended counts a container that preemption has ended: a warned one, or one whose AM was one.
func (m *meter) ended(now int64, st *state.State, ref event.ContainerRef, exit int32) {
	w, known := m.warned[ref]
	delete(m.warned, ref)
	switch at, am := m.masters[ref.App]; {
	case known && exit == yarn.ExitPreempted:
		if w.am {
			m.masters[ref.App] = now
		}
	case am && at == now:
		if slot := st.Container(ref); slot != 0 {
			c := st.Containers.Get(slot)
			w = warned{c.Size, c.AllocatedMillis, c.AM}
		}
	default:
		delete(m.masters, ref.App)
		return
	}
	q := &m.queueOf(st, ref.App).cost
	q.killed++
	if w.am {
		q.ams++
	}
	if w.from != 0 {
		q.lost = q.lost.Add(w.size.Times((now - w.from) / 1000))
		q.lostMillis += share(st, w.size) * float64(now-w.from)
	}
}

// await notes containers that an application waits for from now on: first those that its queue asks for
// within its guarantee, beside what it has and waits for already.
func (m *meter) await(now int64, st *state.State, a *state.App, k asker, size yarn.Resource, n int64) {
	w, owed := m.asks[k], m.owedOf(st, a, k, size, n)
	for _, s := range []since{{now, owed, true}, {now, n - owed, false}} {
		if s.n > 0 {
			w.since = append(w.since, s)
		}
	}
}

// owedOf says how many of the containers that an application asks for newly its queue asks for within its
// guarantee. They count as pending, or have started.
func (m *meter) owedOf(st *state.State, a *state.App, k asker, size yarn.Resource, n int64) int64 {
	if ask := st.Ask(a, k.key); ask != 0 {
		if size = st.Asks.Get(ask).Size; st.Asks.Get(ask).Label != 0 {
			return 0
		}
	}
	calc, leaf := m.sched.Config().Calculator, m.sched.LeafOf(a)
	q := m.sched.Queue(leaf)
	left := m.sched.Tree().Capacities[leaf].EffMin.Sub(q.Used.Sub(q.Reserved)).Sub(q.Pending).Add(size.Times(n))
	if size.IsZero() || !calc.FitsIn(size, left) {
		return 0
	}
	return min(n, calc.AvailableContainers(left, size))
}

// owedSoFar are the waits for what queues asked for within their guarantee, by path: those that are
// over, and those that are not, with what has been waited so far.
func (m *meter) owedSoFar(now int64) (all map[string]*delays, waiting map[string]int64) {
	all, waiting = map[string]*delays{}, map[string]int64{}
	for path, t := range m.queues { // order is harmless: each is copied
		d := t.owedWaits
		d.buckets = slices.Clone(d.buckets)
		all[path] = &d
	}
	st := m.sched.State()
	for k, w := range m.asks { // order is harmless: a sum
		slot := st.App(k.app)
		if slot == 0 || st.Apps.Get(slot).Queue == 0 {
			continue
		}
		path := st.Queues.Get(st.Apps.Get(slot).Queue).Path
		for _, s := range w.since {
			if d := all[path]; s.owed && d != nil {
				d.addSame(now-s.at, s.n)
				waiting[path] += s.n
			}
		}
	}
	return all, waiting
}
