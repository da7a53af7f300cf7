package fsm

import "slices"

// Entry is what applying the command at an index led to.
type Entry struct {
	Index   uint64
	Digest  uint64 // of the state after it
	Skipped bool   // a stale batch: the state is as before
}

// digestRing keeps the last entries, ascending by index.
type digestRing struct {
	limit   int
	entries []Entry
	head    int // the oldest, when full
}

func (r *digestRing) add(e Entry) {
	if len(r.entries) < r.limit {
		r.entries = append(r.entries, e)
		return
	}
	r.entries[r.head] = e
	r.head = (r.head + 1) % r.limit
}

func (r *digestRing) reset() { r.entries, r.head = r.entries[:0], 0 }

// at returns the newest entry at or below an index.
func (r *digestRing) at(index uint64) (Entry, bool) {
	n := len(r.entries)
	get := func(i int) Entry { return r.entries[(r.head+i)%n] }
	lo, hi := 0, n
	for lo < hi {
		mid := (lo + hi) / 2
		if get(mid).Index <= index {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return Entry{}, false
	}
	return get(lo - 1), true
}

// Entry returns what the command at exactly this index led to, while it is
// remembered.
func (m *Machine) Entry(index uint64) (Entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.digests.at(index)
	return e, ok && e.Index == index
}

// Digest returns the digest after the entry at an index; for one that was no
// command, that of the last command before it. It is not known for an index
// not applied yet or long past.
func (m *Machine) Digest(index uint64) (uint64, bool) {
	_, d, ok := m.DigestAt(index)
	return d, ok && index != 0
}

// DigestAt is Digest with the index of the command that it is of; index 0 asks
// for the latest.
func (m *Machine) DigestAt(index uint64) (at, digest uint64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case index > m.index:
		return 0, 0, false
	case index == 0 || index >= m.command:
		return m.command, m.st.Digest(), m.failed == nil
	}
	e, ok := m.digests.at(index)
	return e.Index, e.Digest, ok
}

// Digests returns what is remembered of the last n commands, ascending; for a
// report of divergence.
func (m *Machine) Digests(n int) []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Concat(m.digests.entries[m.digests.head:], m.digests.entries[:m.digests.head])
	return all[max(0, len(all)-n):]
}
