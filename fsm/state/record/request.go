package record

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
)

// Request is the stored reply to a call with an idempotency key. BodyHash reveals a key that is
// used again with another body.
type Request struct {
	Key      string
	BodyHash uint64
	Reply    []byte
	AtMillis int64
	Next     RequestSlot
}

// Code encodes the record, or decodes into it.
func (r *Request) Code(c *codec.Coder) {
	c.String(&r.Key)
	c.U64(&r.BodyHash)
	c.Raw(&r.Reply)
	c.I64(&r.AtMillis)
	codec.Slot(c, &r.Next)
}

// Requests is the table of stored replies.
type Requests struct {
	table.Keyed[RequestSlot, Request, *Request]
}

// Find returns the remembered reply to an idempotency key.
func (t *Requests) Find(key string) (*Request, bool) {
	slot := t.Lookup(table.Hash(key), func(r *Request) bool { return r.Key == key })
	if slot == 0 {
		return nil, false
	}
	return t.Get(slot), true
}

// Stale returns how many of the oldest requests exceed MaxRequests or RequestKeepMillis.
func (t *Requests) Stale(m *Meta) uint32 {
	var n uint32
	over := t.Len() - MaxRequests
	for slot := m.OldestRequest; slot != 0; n++ {
		r := t.Get(slot)
		if int(n) >= over && m.NowMillis-r.AtMillis < RequestKeepMillis {
			break
		}
		slot = r.Next
	}
	return n
}

// Recorded adds a stored reply.
func (t *Requests) Recorded(m *Meta, e *event.RequestRecorded) error {
	if _, ok := t.Find(e.Key); ok {
		return Broken(e, "the key is taken")
	}
	slot, r := table.Alloc(&t.Keyed.Table)
	*r = Request{Key: e.Key, BodyHash: e.BodyHash, Reply: e.Reply, AtMillis: m.NowMillis}
	table.InsertKeyed(&t.Keyed, slot)
	if m.NewestRequest != 0 {
		t.Mut(m.NewestRequest).Next = slot
	} else {
		m.OldestRequest = slot
	}
	m.NewestRequest = slot
	m.Fold(e.BodyHash ^ table.Hash(e.Key))
	return nil
}

// Forgotten removes the oldest stored replies.
func (t *Requests) Forgotten(m *Meta, e *event.RequestsForgotten) error {
	if int(e.Count) > t.Len() {
		return Broken(e, "only %d are remembered", t.Len())
	}
	for range e.Count {
		slot := m.OldestRequest
		r := t.Get(slot)
		m.OldestRequest = r.Next
		table.ReleaseKeyed(&t.Keyed, slot)
	}
	if m.OldestRequest == 0 {
		m.NewestRequest = 0
	}
	m.Fold(uint64(m.OldestRequest))
	return nil
}

// Hash returns the hash of the key.
func (r *Request) Hash() uint64 { return table.Hash(r.Key) }

// Same reports whether the keys are equal.
func (r *Request) Same(other *Request) bool { return r.Key == other.Key }

// Limits of remembered requests and queue configurations. Age is measured on the log's clock, so
// that every replica forgets the same requests.
const (
	MaxRequests       = 100_000
	RequestKeepMillis = 24 * 60 * 60 * 1000
	MaxQueueVersions  = 100
)
