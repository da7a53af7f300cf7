package logsim

import "hash/crc32"

// fakeLog implements the contract of Raft's log: one order of entries, and outcomes that the
// proposing leadership may not learn.
type fakeLog struct {
	entries []entry // committed; entries[i] has index base+i+1
	base    uint64  // entries up to here are compacted away
	term    uint64
	late    []lateEntry // proposed in a term that has ended, and not appended yet
}

// entry is one committed command.
type entry struct {
	term uint64
	data []byte
}

// lateEntry is a batch that reaches the log after its leadership has ended.
type lateEntry struct {
	data []byte
	at   uint64 // the first round in which it may be appended
}

// last returns the highest committed index.
func (l *fakeLog) last() uint64 { return l.base + uint64(len(l.entries)) }

// at returns the entry at an index above base.
func (l *fakeLog) at(index uint64) entry { return l.entries[index-l.base-1] }

// append commits an entry and returns its index.
func (l *fakeLog) append(term uint64, data []byte) uint64 {
	l.entries = append(l.entries, entry{term, data})
	return l.last()
}

// compact removes the entries up to an index.
func (l *fakeLog) compact(to uint64) {
	if to <= l.base {
		return
	}
	l.entries = append([]entry(nil), l.entries[to-l.base:]...)
	l.base = to
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mix is the hash of a run. It is updated with numbers and bytes.
type mix uint64

func (m *mix) number(v uint64) {
	*m = mix((uint64(*m) ^ v) * 0x9e3779b97f4a7c15)
	*m ^= *m >> 29
}

func (m *mix) bytes(b []byte) { m.number(uint64(crc32.Checksum(b, castagnoli))<<32 | uint64(len(b))) }
