package fsm

import (
	"fmt"
	"sync"

	"rmd/fsm/event"
)

// Each entry is decoded when it comes in, so that one that cannot be applied is refused before it is stored (Verify),
// and again when it is applied. Both are given the same bytes, so what was decoded is kept for the moment between.

const (
	decodedSlots = 256
	decodedBytes = 64 << 10 // larger entries are decoded twice
)

// decodedRing keeps decoded entries, each at a place given by its bytes' checksum.
type decodedRing struct {
	mu    sync.Mutex
	slots [decodedSlots]struct {
		data  []byte
		batch *event.Batch
	}
}

// slot is the place of an entry: its checksum ends it.
func slot(data []byte) int { return int(data[len(data)-1]) % decodedSlots }

// keep keeps a decoded entry.
func (r *decodedRing) keep(data []byte, b *event.Batch) {
	if len(data) > decodedBytes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.slots[slot(data)]
	s.data, s.batch = data, b
}

// take returns what was decoded from these very bytes, once.
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

// Verify says whether this build can apply an entry.
func (m *Machine) Verify(data []byte) error {
	b, err := m.decode(data)
	if err == nil {
		m.decoded.keep(data, b)
	}
	return err
}

// decode reads an entry.
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
