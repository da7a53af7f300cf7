package shadow

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler"
	"rmd/yarn"
)

// meter measures one side, the cluster or the shadow, from its state and its changes.
type meter struct {
	sched     *scheduler.Scheduler
	asks      map[asker]*waits
	submitted map[uint32]int64 // when applications without a running AM were submitted
	warned    map[event.ContainerRef]warned
	lostAMs   map[uint32]int64   // when the AM of an application was preempted
	queues    map[string]*totals // by the path of the leaf queue
	leaves    int                // number of leaves at the last sample
	at        int64              // time of the last sample
}

// asker is an application and one key of it.
type asker struct {
	app uint32
	key yarn.SchedulerKey
}

// waits has the containers for which an asker waits, oldest first.
type waits struct {
	left  int64
	since []since
}

type since struct {
	at, n int64
	owed  bool // the queue wants them within its guarantee
}

// totals has the measurements of a leaf queue. Shares are shares of the cluster.
type totals struct {
	waits, ams       delays
	owedWaits        delays // the subset of waits that is within the guarantee
	preempted        int64
	cost             cost
	used, wanted     float64 // share × milliseconds
	guaranteed       float64 // share × milliseconds
	owed             float64 // missing share of the guarantee × milliseconds
	owedMillis       int64
	nowUsed, nowWant float64 // at the last sample
	nowGuaranteed    float64
	seen             int64 // time of the last sample at which the configuration had the leaf
}

// delays are times from an ask or a submission until the start.
type delays struct {
	count, sum, max int64   // in milliseconds
	buckets         []int64 // nil before the first delay, to save memory with many queues
}

// Delays are counted in buckets. The bounds of the buckets grow by a factor of delayGrowth.
const (
	delayBuckets = 180
	delayGrowth  = 1.1
	delayFirst   = 100 // milliseconds
)

func (w *delays) add(millis int64) { w.addSame(millis, 1) }

// addSame adds n equal delays.
func (w *delays) addSame(millis, n int64) {
	millis = max(millis, 0)
	w.count += n
	w.sum += n * millis
	w.max = max(w.max, millis)
	if w.buckets == nil {
		w.buckets = make([]int64, delayBuckets)
	}
	w.buckets[min(int(math.Log1p(float64(millis)/delayFirst)/math.Log(delayGrowth)), delayBuckets-1)] += n
}

// quantile returns the delay that a fraction q of the delays, 0 to 1, does not exceed. Its error is
// about a tenth.
func (w *delays) quantile(q float64) int64 {
	rank := int64(math.Ceil(q * float64(w.count)))
	for i, n := range w.buckets {
		if rank -= n; rank <= 0 && i == 0 {
			return 0
		} else if rank <= 0 {
			return min(int64(delayFirst*(math.Pow(delayGrowth, float64(i)+0.5)-1)), w.max)
		}
	}
	return w.max
}

func newMeter(sched *scheduler.Scheduler) *meter {
	m := &meter{sched: sched, asks: map[asker]*waits{}, submitted: map[uint32]int64{}, queues: map[string]*totals{},
		warned: map[event.ContainerRef]warned{}, lostAMs: map[uint32]int64{}}
	st := sched.State
	m.at = st.Meta.NowMillis
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		for _, k := range st.Asks.Of(a) {
			if !k.AM && k.IncreaseOf == 0 && k.Count > 0 { // the wait begins now
				m.asks[asker{a.ID.Seq, k.Key}] = &waits{left: k.Count}
				m.await(m.at, st, a, asker{a.ID.Seq, k.Key}, k.Size, k.Count)
			}
		}
		return true
	})
	st.Preemptions.Each(func(slot state.ContainerSlot, p *state.Preemption) bool {
		if p.Cause != yarn.PreemptLease {
			m.warn(st, st.Apps.Ref(st.Containers.Get(slot)))
		}
		return true
	})
	m.sample(m.at)
	return m
}

// queueOf returns the measurements of an application's queue.
func (m *meter) queueOf(st *state.State, app uint32) *totals {
	slot := st.Apps.Find(app)
	if slot == 0 || st.Apps.Get(slot).Queue == 0 {
		return &totals{}
	}
	return m.queue(st.Queues.Get(st.Apps.Get(slot).Queue).Path)
}

func (m *meter) queue(path string) *totals {
	q := m.queues[path]
	if q == nil {
		q = &totals{}
		m.queues[path] = q
	}
	return q
}

// add records what the state has changed.
func (m *meter) add(st *state.State, changes []change.Change) {
	for i := range changes {
		m.record(st, &changes[i])
	}
}

func (m *meter) record(st *state.State, c *change.Change) {
	now, app := st.Meta.NowMillis, c.Ref.App
	switch c.Kind {
	case change.AppPhase:
		m.follow(now, st, c)
	case change.AskChanged:
		m.asked(now, st, c)
	case change.ContainerStarted:
		m.started(now, st, c)
	case change.WarningBegun:
		if c.Warned != yarn.PreemptLease {
			m.queueOf(st, app).cost.warned++
			m.warn(st, c.Ref)
		}
	case change.WarningEnded:
		if _, ok := m.warned[c.Ref]; ok && c.Withdrawn != 0 {
			m.queueOf(st, app).cost.withdrawn++
			delete(m.warned, c.Ref)
		}
	case change.ContainerEnded:
		m.ended(now, st, c.Ref, c.Exit)
		if c.Exit == yarn.ExitPreempted {
			m.queueOf(st, app).preempted++
		}
	case change.AttemptPhase:
		if c.Attempt == state.AttemptEnded {
			m.drop(app)
		}
	}
}

// follow follows the submission or the end of an application.
func (m *meter) follow(now int64, st *state.State, c *change.Change) {
	if c.AppState.Ended() {
		delete(m.submitted, c.Ref.App)
		delete(m.lostAMs, c.Ref.App)
	} else if slot := st.Apps.Find(c.Ref.App); slot != 0 && !st.Apps.Get(slot).Unmanaged {
		m.submitted[c.Ref.App] = now
	}
}

// drop removes the asks of an attempt.
func (m *meter) drop(app uint32) {
	for k := range m.asks { // the order does not matter: each is deleted
		if k.app == app {
			delete(m.asks, k)
		}
	}
}

func (m *meter) asked(now int64, st *state.State, c *change.Change) {
	slot := st.Apps.Find(c.Ref.App)
	if !c.Any || slot == 0 || st.Apps.Get(slot).AttemptState != state.AttemptRegistered {
		return // an entry for a host or rack, or the ask for the AM
	}
	k := asker{c.Ref.App, c.Key}
	w := m.asks[k]
	if w == nil {
		if c.Count == 0 {
			return
		}
		w = &waits{}
		m.asks[k] = w
	}
	if n := c.Count - w.left; n > 0 {
		m.await(now, st, st.Apps.Get(slot), k, c.Size, n)
	} else {
		w.cut(-n)
	}
	if w.left = c.Count; w.left == 0 {
		delete(m.asks, k)
	}
}

// cut removes the newest n containers.
func (w *waits) cut(n int64) {
	for n > 0 && len(w.since) > 0 {
		last := &w.since[len(w.since)-1]
		cut := min(n, last.n)
		n -= cut
		if last.n -= cut; last.n == 0 {
			w.since = w.since[:len(w.since)-1]
		}
	}
}

func (m *meter) started(now int64, st *state.State, c *change.Change) {
	app := c.Ref.App
	q := m.queueOf(st, app)
	if c.AM {
		if at, ok := m.submitted[app]; ok {
			q.ams.add(now - at)
			delete(m.submitted, app)
		}
		return
	}
	k := asker{app, c.Key}
	w := m.asks[k]
	if w == nil || len(w.since) == 0 {
		return
	}
	q.waits.add(now - w.since[0].at)
	if w.since[0].owed {
		q.owedWaits.add(now - w.since[0].at)
	}
	w.left--
	if w.since[0].n--; w.since[0].n == 0 {
		w.since = w.since[1:]
	}
	if w.left <= 0 {
		delete(m.asks, k)
	}
}

// sampleMillis is the shortest time between two samples, in milliseconds.
const sampleMillis = 1000

// sample adds the usage since the last sample, and records the current usage.
func (m *meter) sample(now int64) {
	cfg, st := m.sched.Config, m.sched.State
	past := now - m.at
	if past != 0 && past < sampleMillis || cfg == nil {
		return
	}
	before := m.at
	m.at, m.leaves = now, 0
	tree := m.sched.Tree()
	for i := range cfg.Queues {
		if !cfg.Queues[i].Leaf {
			continue
		}
		q, t := m.sched.Queue(int32(i)), m.queue(cfg.Queues[i].Path)
		if t.seen != before { // the queue is new or was absent
			t.nowUsed, t.nowWant, t.nowGuaranteed = 0, 0, 0
		}
		t.seen = now
		m.leaves++
		t.used += t.nowUsed * float64(past)
		t.wanted += t.nowWant * float64(past)
		t.guaranteed += t.nowGuaranteed * float64(past)
		if owed := min(t.nowGuaranteed-t.nowUsed, t.nowWant); owed > 0.001 {
			t.owed += owed * float64(past)
			t.owedMillis += past
		}
		t.nowUsed, t.nowWant, t.nowGuaranteed = share(st, q.Used.Sub(q.Reserved)), share(st, q.Pending),
			share(st, tree.Capacities[i].EffMin)
	}
}

// share returns the dominant share of an amount in the cluster.
func share(st *state.State, r yarn.Resource) (most float64) {
	for i, n := range r {
		if total := st.Meta.Cluster[i]; total > 0 {
			most = max(most, float64(n)/float64(total))
		}
	}
	return most
}
