package sim

import (
	"crypto/sha256"
	"sync"

	"rmd/fsm/state"
	"rmd/internal/codec"
)

// sumChunk is how much of a state is encoded before it is hashed.
const sumChunk = 32 << 10

// coders are encoders whose buffers have grown to what a chunk needs: a state is summed up whenever a snapshot is
// made, in some runs each second on each replica.
var coders = sync.Pool{New: func() any { return codec.NewEncoder(make([]byte, 0, 2*sumChunk)) }}

// contents is the digest of all that a state holds, as snapshot.Sum is, and as total: the sections' ids and sizes, and
// every record.
func contents(st *state.State) [sha256.Size]byte {
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
