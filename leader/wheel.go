package leader

// slotMillis is the width of one slot of a wheel.
const slotMillis = 1000

// wheel is a lazy timing wheel: a touch writes one number, and an entry is
// looked at once an interval, when its slot comes round. An entry heard of
// meanwhile goes to the slot of its new deadline. Each entry is in exactly one
// slot.
type wheel struct {
	heard map[uint64]int64   // key to the time it was last heard of
	slots map[int64][]uint64 // slot number to keys
	done  int64              // every slot up to this one was looked at
}

func newWheel(now int64) wheel {
	return wheel{heard: map[uint64]int64{}, slots: map[int64][]uint64{}, done: now/slotMillis - 1}
}

// add starts an entry, or notes that it was heard of.
func (w *wheel) add(key uint64, now, interval int64) {
	if _, ok := w.heard[key]; !ok {
		w.put(key, now+interval)
	}
	w.heard[key] = now
}

// touch notes that an entry was heard of; nothing if there is none.
func (w *wheel) touch(key uint64, now int64) {
	if _, ok := w.heard[key]; ok {
		w.heard[key] = now
	}
}

// silent says whether an entry was not heard of for an interval.
func (w *wheel) silent(key uint64, now, interval int64) bool {
	at, ok := w.heard[key]
	return ok && now-at >= interval
}

// put files an entry under the first slot at or after its deadline.
func (w *wheel) put(key uint64, deadline int64) {
	slot := max((deadline+slotMillis-1)/slotMillis, w.done+1)
	w.slots[slot] = append(w.slots[slot], key)
}

// collect looks at the slots that have come round: entries that are not wanted
// any more are dropped, those heard of are filed again, the others are reported
// too, in the order they were filed.
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
