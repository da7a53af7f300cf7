package replay

import (
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/preemption"
	"rmd/yarn"
)

// asker identifies waiting containers: an ask of an application, or the application's AM.
type asker struct {
	app uint32
	am  bool
	key yarn.SchedulerKey
}

// waits are the waiting containers of an asker, the oldest first.
type waits struct {
	total int64
	list  []equalWaits
}

type equalWaits struct {
	since, count int64
	owed         bool // the queue asked for them within its guarantee
}

// add adds count containers. At most owed of them are owed.
func (w *waits) add(now, count, owed int64) {
	w.total += count
	for _, e := range []equalWaits{{now, min(owed, count), true}, {now, count - min(owed, count), false}} {
		if e.count > 0 {
			w.list = append(w.list, e)
		}
	}
}

// drop removes the newest containers.
func (w *waits) drop(count int64) {
	w.total -= count
	for count > 0 {
		last := &w.list[len(w.list)-1]
		n := min(count, last.count)
		last.count -= n
		count -= n
		if last.count == 0 {
			w.list = w.list[:len(w.list)-1]
		}
	}
}

// pop removes the oldest container. It returns false if there is none.
func (w *waits) pop() (equalWaits, bool) {
	if w.total == 0 {
		return equalWaits{}, false
	}
	w.total--
	first := w.list[0]
	if w.list[0].count--; w.list[0].count == 0 {
		w.list = w.list[1:]
	}
	return first, true
}

// soFar appends the waits of owed containers to millis.
func (w *waits) soFar(millis []int64, now int64) []int64 {
	for _, e := range w.list {
		for i := int64(0); e.owed && i < e.count; i++ {
			millis = append(millis, now-e.since)
		}
	}
	return millis
}

// submitted records that an application waits for its AM.
func (t *tally) submitted(now int64, in *input.SubmitApplication, id yarn.ApplicationID) {
	if in.Unmanaged {
		return
	}
	a := t.State().Apps.Get(t.State().Apps.ByID(id))
	t.waitsOf(asker{app: id.Seq, am: true}).add(now, 1, t.owedTo(a, in.AM))
}

// asked updates the waiting containers to the counts in the asks of an AM.
func (t *tally) asked(now int64, in *input.Allocate) {
	st := t.State()
	slot := st.Apps.ByID(in.Attempt.App)
	if slot == 0 {
		return
	}
	for i := range in.Asks {
		ask := &in.Asks[i]
		if ask.Name != yarn.Any {
			continue
		}
		w := t.waitsOf(asker{app: in.Attempt.App.Seq, key: ask.Key})
		if more := ask.Count - w.total; more > 0 {
			w.add(now, more, t.owedTo(st.Apps.Get(slot), ask.Size))
		} else {
			w.drop(-more)
		}
	}
}

// served ends the wait of an asker's oldest container.
func (t *tally) served(now int64, k asker) {
	if k.am {
		k.key = yarn.SchedulerKey{}
	}
	if e, ok := t.waitsOf(k).pop(); ok && e.owed {
		t.waited = append(t.waited, now-e.since)
	}
}

func (t *tally) waitsOf(k asker) *waits {
	w := t.waiting[k]
	if w == nil {
		w = &waits{}
		t.waiting[k] = w
	}
	return w
}

// owedTo returns how many more containers of a size the application's queue may ask for within its
// guarantee, in addition to those that it has and waits for.
func (t *tally) owedTo(a *state.App, size yarn.Resource) int64 {
	s := t.Scheduler()
	leaf := s.LeafOf(a)
	q := s.Queue(leaf)
	left := preemption.PartitionOf(s.Views, 0).Queues[leaf].Guaranteed.Sub(q.Used.Sub(q.Reserved)).Sub(q.Pending)
	if !t.Config().Calculator.FitsIn(size, left) {
		return 0
	}
	return t.Config().Calculator.AvailableContainers(left, size)
}
