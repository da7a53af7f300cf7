package fsm

import (
	"fmt"
	"sync"

	"rmd/fsm/event"
)

// Each entry is decoded twice: when it arrives, so that Verify can reject it before Raft stores it,
// and when it is applied. Both calls get the same slice of bytes, so the result of the first is
// kept for the second.

const (
	decodedSlots = 256
	decodedBytes = 64 << 10 // larger entries are decoded twice
)

// decodedRing keeps decoded entries. The checksum of an entry chooses its slot.
type decodedRing struct {
	mu    sync.Mutex
	slots [decodedSlots]struct {
		data  []byte
		batch *event.Batch
	}
}

// slot returns the slot of an entry. The last byte of an entry is part of its checksum.
func slot(data []byte) int { return int(data[len(data)-1]) % decodedSlots }

// keep stores a decoded entry, unless the entry is large.
func (r *decodedRing) keep(data []byte, b *event.Batch) {
	if len(data) > decodedBytes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.slots[slot(data)]
	s.data, s.batch = data, b
}

// take returns the decoded entry if keep stored it for this very slice, and removes it. Otherwise
// it returns nil.
func (r *decodedRing) take(data []byte) *event.Batch {
	if len(data) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.slots[slot(data)]
	if len(s.data) != len(data) || &s.data[0] != &data[0] {
		return nil
	}
	b := s.batch
	s.data, s.batch = nil, nil
	return b
}

// Verify returns an error if this replica cannot apply an entry.
func (m *Machine) Verify(data []byte) error {
	b, err := m.decode(data)
	if err == nil {
		m.decoded.keep(data, b)
	}
	return err
}

// decode decodes an entry and checks its feature level.
func (m *Machine) decode(data []byte) (*event.Batch, error) {
	if b := m.decoded.take(data); b != nil {
		return b, nil
	}
	b, err := event.Decode(data)
	if err == nil && b.Level > m.cfg.Level {
		err = fmt.Errorf("feature level %d, this build knows %d", b.Level, m.cfg.Level)
	}
	return b, err
}
