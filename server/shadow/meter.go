package shadow

import (
	"math"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/yarn"
)

// meter measures one side, the cluster or the shadow, from its events and its state.
type meter struct {
	sched     *scheduler.Scheduler
	asks      map[asker]*waits
	submitted map[uint32]int64 // when applications without a running AM were submitted
	held      map[uint64]held
	preempted map[event.ContainerRef]bool // containers that were preempted and not yet reported as ended
	warned    map[event.ContainerRef]warned
	masters   map[uint32]int64   // when the AM of an application was preempted
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
	waits, masters   delays
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
	m := &meter{sched: sched, asks: map[asker]*waits{}, submitted: map[uint32]int64{}, held: map[uint64]held{}, preempted: map[event.ContainerRef]bool{}, queues: map[string]*totals{},
		warned: map[event.ContainerRef]warned{}, masters: map[uint32]int64{}}
	st := sched.State()
	m.at = st.Meta.NowMillis
	st.Apps.Each(func(_ uint32, a *state.App) bool {
		for _, k := range st.AsksOf(a) {
			if !k.AM && k.IncreaseOf == 0 && k.Count > 0 { // the wait begins now
				m.asks[asker{a.ID.Seq, k.Key}] = &waits{left: k.Count}
				m.await(m.at, st, a, asker{a.ID.Seq, k.Key}, k.Size, k.Count)
			}
		}
		return true
	})
	st.Reservations.Each(func(_ uint32, v *state.Reservation) bool {
		m.held[v.Number] = held{ref: event.ContainerRef{App: st.Apps.Get(v.App).ID.Seq}, key: v.Key, am: v.AM}
		return true
	})
	st.Preemptions.Each(func(slot uint32, p *state.Preemption) bool {
		if p.Cause != yarn.PreemptLease {
			m.warn(st, st.Ref(st.Containers.Get(slot)))
		}
		return true
	})
	m.sample(m.at)
	return m
}

// queueOf returns the measurements of an application's queue.
func (m *meter) queueOf(st *state.State, app uint32) *totals {
	slot := st.App(app)
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

// add records an event that the state has applied.
func (m *meter) add(st *state.State, e event.Event) {
	now := st.Meta.NowMillis
	switch e := e.(type) {
	case *event.ApplicationSubmitted:
		if !e.Unmanaged {
			m.submitted[e.App] = now
		}
	case *event.AskChanged:
		m.asked(now, st, e)
	case *event.ContainerAllocated:
		m.started(now, st, held{ref: event.ContainerRef{App: e.App}, key: e.Key, am: e.AM})
	case *event.ContainerLent:
		m.started(now, st, held{ref: event.ContainerRef{App: e.App}, key: e.Key, am: e.AM})
	case *event.ReservationMade:
		m.held[e.Reservation] = held{ref: event.ContainerRef{App: e.App}, key: e.Key, am: e.AM}
	case *event.ReservationCancelled:
		delete(m.held, e.Reservation)
	case *event.ReservationFulfilled:
		if h, ok := m.held[e.Reservation]; ok {
			delete(m.held, e.Reservation)
			m.started(now, st, h)
		}
	case *event.PreemptionAsked:
		if e.Cause != yarn.PreemptLease {
			m.queueOf(st, e.Container.App).cost.warned++
			m.warn(st, e.Container)
		}
	case *event.PreemptionWithdrawn:
		if _, ok := m.warned[e.Container]; ok {
			m.queueOf(st, e.Container.App).cost.withdrawn++
			delete(m.warned, e.Container)
		}
	case *event.ContainerReleased:
		m.ended(now, st, e.Container, e.ExitStatus)
		if e.ExitStatus == yarn.ExitPreempted {
			m.queueOf(st, e.Container.App).preempted++
			m.preempted[e.Container] = true
		}
	case *event.ContainerCompleted:
		m.ended(now, st, e.Container, e.ExitStatus)
		if e.ExitStatus == yarn.ExitPreempted && !m.preempted[e.Container] {
			m.queueOf(st, e.Container.App).preempted++
		}
		delete(m.preempted, e.Container)
	case *event.AttemptEnded:
		m.drop(e.App)
	case *event.ApplicationEnded:
		delete(m.submitted, e.App)
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

func (m *meter) asked(now int64, st *state.State, e *event.AskChanged) {
	slot := st.App(e.App)
	if e.Name != yarn.Any || slot == 0 || st.Apps.Get(slot).AttemptState != state.AttemptRegistered {
		return // an entry for a host or rack, or the ask for the AM
	}
	k := asker{e.App, e.Key}
	w := m.asks[k]
	if w == nil {
		if e.Count == 0 {
			return
		}
		w = &waits{}
		m.asks[k] = w
	}
	if n := e.Count - w.left; n > 0 {
		m.await(now, st, st.Apps.Get(slot), k, e.Size, n)
	} else {
		w.cut(-n)
	}
	if w.left = e.Count; w.left == 0 {
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

func (m *meter) started(now int64, st *state.State, h held) {
	q := m.queueOf(st, h.ref.App)
	if h.am {
		if at, ok := m.submitted[h.ref.App]; ok {
			q.masters.add(now - at)
			delete(m.submitted, h.ref.App)
		}
		return
	}
	k := asker{h.ref.App, h.key}
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
	cfg, st := m.sched.Config(), m.sched.State()
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
		t.nowUsed, t.nowWant, t.nowGuaranteed = share(st, q.Used.Sub(q.Reserved)), share(st, q.Pending), share(st, tree.Capacities[i].EffMin)
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
