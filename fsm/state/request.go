package state

import "rmd/fsm/event"

// Requests is the table of stored replies.
type Requests struct {
	Keyed[RequestSlot, Request, *Request]
}

// Request returns the remembered reply to an idempotency key.
func (s *State) Request(key string) (*Request, bool) {
	slot := s.Requests.find(hashString(key), func(r *Request) bool { return r.Key == key })
	if slot == 0 {
		return nil, false
	}
	return s.Requests.Get(slot), true
}

// StaleRequests returns how many of the oldest requests exceed MaxRequests or RequestKeepMillis.
func (s *State) StaleRequests() uint32 {
	var n uint32
	over := s.Requests.Len() - MaxRequests
	for slot := s.Meta.OldestRequest; slot != 0; n++ {
		r := s.Requests.Get(slot)
		if int(n) >= over && s.Meta.NowMillis-r.AtMillis < RequestKeepMillis {
			break
		}
		slot = r.Next
	}
	return n
}

var _ = applies((*State).requestRecorded)

func (s *State) requestRecorded(e *event.RequestRecorded) error {
	if _, ok := s.Request(e.Key); ok {
		return broken(e, "the key is taken")
	}
	slot, r := s.Requests.alloc()
	*r = Request{Key: e.Key, BodyHash: e.BodyHash, Reply: e.Reply, AtMillis: s.Meta.NowMillis}
	s.Requests.insert(slot)
	if s.Meta.NewestRequest != 0 {
		s.Requests.mut(s.Meta.NewestRequest).Next = slot
	} else {
		s.Meta.OldestRequest = slot
	}
	s.Meta.NewestRequest = slot
	s.fold(e.BodyHash ^ hashString(e.Key))
	return nil
}

var _ = applies((*State).requestsForgotten)

func (s *State) requestsForgotten(e *event.RequestsForgotten) error {
	if int(e.Count) > s.Requests.Len() {
		return broken(e, "only %d are remembered", s.Requests.Len())
	}
	for range e.Count {
		slot := s.Meta.OldestRequest
		r := s.Requests.Get(slot)
		s.Meta.OldestRequest = r.Next
		s.Requests.release(slot)
	}
	if s.Meta.OldestRequest == 0 {
		s.Meta.NewestRequest = 0
	}
	s.fold(uint64(s.Meta.OldestRequest))
	return nil
}

func (r *Request) hash() uint64             { return hashString(r.Key) }
func (r *Request) same(other *Request) bool { return r.Key == other.Key }
