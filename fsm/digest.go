package fsm

import "slices"

// Entry is the result of applying the command at an index.
type Entry struct {
	Index   uint64
	Digest  uint64 // of the state after the command
	Skipped bool   // the batch was stale and did not change the state
}

// digestRing keeps the most recent entries, ascending by index.
type digestRing struct {
	limit   int
	entries []Entry
	head    int // position of the oldest entry when the ring is full
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

// at returns the newest entry whose index is not above the given one.
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

// Entry returns the result of the command at exactly this index. ok is false if it is not kept.
func (m *Machine) Entry(index uint64) (Entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.digests.at(index)
	return e, ok && e.Index == index
}

// Digest returns the digest of the state at an index. If the entry at the index is not a command,
// it is the digest after the last command before it. ok is false if the index is not applied yet or
// too old.
func (m *Machine) Digest(index uint64) (uint64, bool) {
	_, d, ok := m.DigestAt(index)
	return d, ok && index != 0
}

// DigestAt is like Digest and also returns the index of the command. Index 0 means the latest
// command.
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

// Digests returns the results of the last n commands, ascending, for a report of divergence.
func (m *Machine) Digests(n int) []Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Concat(m.digests.entries[m.digests.head:], m.digests.entries[:m.digests.head])
	return all[max(0, len(all)-n):]
}
