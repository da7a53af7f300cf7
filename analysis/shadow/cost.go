package shadow

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// cost measures what preemption has taken from a queue.
type cost struct {
	warned, withdrawn int64
	killed, ams       int64         // killed includes containers that ended because their AM was preempted
	lost              yarn.Resource // work of the killed containers, in resource-seconds
	lostMillis        float64       // the same in milliseconds of the whole cluster, by dominant share
}

// warned is a container that has been warned of its preemption.
type warned struct {
	size yarn.Resource
	from int64
	am   bool
}

// warn records a warning.
func (m *meter) warn(st *state.State, ref event.ContainerRef) {
	if slot := st.Container(ref); slot != 0 {
		c := st.Containers.Get(slot)
		m.warned[ref] = warned{c.Size, c.AllocatedMillis, c.AM}
	}
}

// ended counts a container that preemption has ended: one that was warned, or one whose AM was
// preempted at the same time.
func (m *meter) ended(now int64, st *state.State, ref event.ContainerRef, exit int32) {
	w, known := m.warned[ref]
	delete(m.warned, ref)
	switch at, am := m.lostAMs[ref.App]; {
	case known && exit == yarn.ExitPreempted:
		if w.am {
			m.lostAMs[ref.App] = now
		}
	case am && at == now:
		if slot := st.Container(ref); slot != 0 {
			c := st.Containers.Get(slot)
			w = warned{c.Size, c.AllocatedMillis, c.AM}
		}
	default:
		delete(m.lostAMs, ref.App)
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

// await records n containers for which an application waits from now on. Those that the queue wants
// within its guarantee come first.
func (m *meter) await(now int64, st *state.State, a *state.App, k asker, size yarn.Resource, n int64) {
	w, owed := m.asks[k], m.owedOf(st, a, k, size, n)
	for _, s := range []since{{now, owed, true}, {now, n - owed, false}} {
		if s.n > 0 {
			w.since = append(w.since, s)
		}
	}
}

// owedOf returns how many of n newly asked containers the queue wants within its guarantee. The
// state already counts these containers as pending, or they have started.
func (m *meter) owedOf(st *state.State, a *state.App, k asker, size yarn.Resource, n int64) int64 {
	if ask := st.Asks.Find(a, k.key); ask != 0 {
		if size = st.Asks.Get(ask).Size; st.Asks.Get(ask).Label != 0 {
			return 0
		}
	}
	calc, leaf := m.sched.Config.Calculator, m.sched.LeafOf(a)
	q := m.sched.Queue(leaf)
	left := m.sched.Tree().Capacities[leaf].EffMin.Sub(q.Used.Sub(q.Reserved)).Sub(q.Pending).Add(size.Times(n))
	if size.IsZero() || !calc.FitsIn(size, left) {
		return 0
	}
	return min(n, calc.AvailableContainers(left, size))
}

// owedSoFar returns, by queue path, the waits for containers within the guarantee. all includes the
// waits that have ended and, up to now, those that continue. waiting counts the latter.
func (m *meter) owedSoFar(now int64) (all map[string]*delays, waiting map[string]int64) {
	all, waiting = map[string]*delays{}, map[string]int64{}
	for path, t := range m.queues { // the order does not matter: each is copied
		d := t.owedWaits
		d.buckets = slices.Clone(d.buckets)
		all[path] = &d
	}
	st := m.sched.State
	for k, w := range m.asks { // the order does not matter: they are summed
		slot := st.Apps.Find(k.app)
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
