package leader

// slotMillis is the width of one slot of a wheel.
const slotMillis = 1000

// wheel is a lazy timing wheel. A touch writes one number. An entry is checked once per interval,
// when the time of its slot comes. An entry that was touched since then moves to the slot of its
// new deadline. Each entry is in exactly one slot.
type wheel struct {
	heard map[uint64]int64   // key to the time of its last touch
	slots map[int64][]uint64 // slot number to keys
	done  int64              // the last slot that was checked
}

func newWheel(now int64) wheel {
	return wheel{heard: map[uint64]int64{}, slots: map[int64][]uint64{}, done: now/slotMillis - 1}
}

// add adds an entry, or touches it if there is one.
func (w *wheel) add(key uint64, now, interval int64) {
	if _, ok := w.heard[key]; !ok {
		w.put(key, now+interval)
	}
	w.heard[key] = now
}

// ensure adds an entry if there is none.
func (w *wheel) ensure(key uint64, now, interval int64) {
	if _, ok := w.heard[key]; !ok {
		w.add(key, now, interval)
	}
}

// touch records that an entry is alive. It does nothing if there is no such entry.
func (w *wheel) touch(key uint64, now int64) {
	if _, ok := w.heard[key]; ok {
		w.heard[key] = now
	}
}

// silent reports whether an entry was not touched for an interval.
func (w *wheel) silent(key uint64, now, interval int64) bool {
	at, ok := w.heard[key]
	return ok && now-at >= interval
}

// put adds an entry to the first slot at or after its deadline.
func (w *wheel) put(key uint64, deadline int64) {
	slot := max((deadline+slotMillis-1)/slotMillis, w.done+1)
	w.slots[slot] = append(w.slots[slot], key)
}

// collect checks the slots whose time has come. It drops entries that are not wanted, moves those
// that were touched, and reports the others to expired in the order in which they were added.
// Reported entries get another interval.
func (w *wheel) collect(now, interval int64, wanted func(key uint64) bool, expired func(key uint64)) {
	for w.done < now/slotMillis {
		w.done++
		keys := w.slots[w.done]
		delete(w.slots, w.done)
		for _, key := range keys {
			if !wanted(key) {
				delete(w.heard, key)
				continue
			}
			if deadline := w.heard[key] + interval; deadline > now {
				w.put(key, deadline)
				continue
			}
			w.put(key, now+interval)
			expired(key)
		}
	}
}
