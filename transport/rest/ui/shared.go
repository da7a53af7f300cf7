package ui

import (
	"sync"
	"time"
)

// rendered is the main part of a page as it was at an index.
type rendered struct {
	index uint64
	stand stand
	at    time.Time
	html  []byte
	title string
	tag   string
}

// stand is what a page shows besides the state: who leads. An election moves it
// and not the index.
type stand struct {
	role, leader string
	term         uint64
}

func standOf(s Status) stand { return stand{s.Role, s.Leader, s.Term} }

// serves says whether a page that is kept may be handed out again.
func (p *rendered) serves(now time.Time, tick time.Duration, stand stand) bool {
	return p != nil && now.Sub(p.at) >= 0 && now.Sub(p.at) < tick && p.stand == stand
}

// shared keeps the main parts of pages by their address, so that all viewers of
// one page share the work of a tick. Of two that ask at once, one renders.
type shared struct {
	mu    sync.Mutex
	most  int
	slots map[string]*slot
	order []string // oldest first
}

// slot is one address; its lock is held while the page is rendered.
type slot struct {
	mu   sync.Mutex
	page *rendered
}

func (s *shared) init(most int) { s.most, s.slots = most, map[string]*slot{} }

func (s *shared) slot(key string) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.slots[key]; k != nil {
		return k
	}
	if len(s.order) >= s.most {
		delete(s.slots, s.order[0])
		s.order = s.order[1:]
	}
	k := &slot{}
	s.slots[key] = k
	s.order = append(s.order, key)
	return k
}

// get calls render with what is kept, and keeps what it returns.
func (s *shared) get(key string, render func(have *rendered) (*rendered, error)) (*rendered, error) {
	k := s.slot(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	p, err := render(k.page)
	if err != nil {
		return nil, err
	}
	k.page = p
	return p, nil
}
