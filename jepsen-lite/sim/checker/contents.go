package checker

import (
	"crypto/sha256"
	"sync"

	"rmd/fsm/state"
	"rmd/internal/codec"
)

// sumChunk is the number of encoded bytes after which they are hashed.
const sumChunk = 32 << 10

// coders are encoders with large buffers. Runs hash a state for each snapshot, some of them every
// second on each replica.
var coders = sync.Pool{New: func() any { return codec.NewEncoder(make([]byte, 0, 2*sumChunk)) }}

// Contents returns a digest of all contents of a state: the ids and sizes of its sections, and
// every record. It covers as much as snapshot.Sum.
func Contents(st *state.State) [sha256.Size]byte {
	c := coders.Get().(*codec.Coder)
	defer coders.Put(c)
	c.Reset(c.Bytes()[:0])
	hash := sha256.New()
	flush := func() {
		hash.Write(c.Bytes())
		c.Reset(c.Bytes()[:0])
	}
	for _, s := range state.Sections() {
		id, n := s.ID, uint64(s.Len(st))
		c.U8(&id)
		c.U64(&n)
		s.Each(st, func(slot uint32) bool {
			c.U32(&slot)
			s.Code(st, slot, c)
			if c.Len() >= sumChunk {
				flush()
			}
			return true
		})
	}
	flush()
	return [sha256.Size]byte(hash.Sum(nil))
}
