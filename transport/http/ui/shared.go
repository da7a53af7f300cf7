package ui

import (
	"sync"
	"time"

	"rmd/transport/http/v1/api"
)

// rendered is the main part of a page as it was at an index.
type rendered struct {
	index uint64
	stand stand
	at    time.Time
	cost  time.Duration // of making it
	html  []byte
	title string
	tag   string
	// refresh is where a browser without scripts goes on by itself; mostly empty.
	refresh string
	lacks   bool          // something was not at hand when it was made
	waited  time.Duration // for what others make
}

// stand is what a page shows besides the state: who leads, and what was played
// again. Neither moves the index.
type stand struct {
	role, leader string
	term         uint64
	rerun        *api.Rerun
}

func (u *UI) stand() stand {
	s := u.cfg.Status()
	return stand{s.Role, s.Leader, s.Term, u.rerun.Load()}
}

// serves says whether a page that is kept may be handed out again.
func (p *rendered) serves(now time.Time, tick time.Duration, stand stand) bool {
	return p != nil && now.Sub(p.at) >= 0 && now.Sub(p.at) < tick && p.stand == stand
}

// A page that costs more than cheap is renewed behind its viewers' backs: they
// get the last one at once. One that somebody opens is not older than stale, or
// than staleCosts times what it costs; one that is open not older than staleOpen.
// Whatever the budget says, an open page is renewed once it is overdue.
const (
	cheap      = 3 * time.Millisecond
	stale      = 2 * time.Second
	staleCosts = 100

	overdueAfter = 3 * time.Second
	staleOpen    = 30 * time.Second
)

// lasts says whether a page does while, or until, another is made.
func (p *rendered) lasts(now time.Time, live bool) bool {
	most := staleOpen
	if !live {
		most = min(max(stale, staleCosts*p.cost), staleOpen)
	}
	age := now.Sub(p.at)
	return age >= 0 && age < most
}

// overdue says whether a page that is open must be renewed even when the budget
// is spent: after overdueAfter, or staleCosts times what it costs.
func (p *rendered) overdue(now time.Time) bool {
	return now.Sub(p.at) >= max(overdueAfter, staleCosts*p.cost)
}

// budget bounds the share of the time that goes into renewing pages.
type budget struct {
	mu    sync.Mutex
	share int
	free  time.Time // from when on the next page may be renewed
}

// What is not used of a budget can be saved up, and what was overdrawn, by pages
// that nobody had looked at before, is forgiven at some point.
const (
	budgetSaved = 250 * time.Millisecond // of rendering
	budgetDebt  = 10 * time.Second
)

// allows says whether a page may be renewed now.
func (b *budget) allows(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !now.Before(b.free)
}

// charge takes what was spent.
func (b *budget) charge(now time.Time, cost time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if saved := now.Add(-time.Duration(b.share) * budgetSaved); b.free.Before(saved) {
		b.free = saved
	}
	b.free = b.free.Add(time.Duration(b.share) * cost)
	if most := now.Add(budgetDebt); b.free.After(most) {
		b.free = most
	}
}

// shared keeps the main parts of pages by their address, so that all viewers of
// one page share the work of a tick. Of two that ask at once, one renders.
type shared struct {
	mu     sync.Mutex
	most   int
	slots  map[string]*slot
	order  []string // oldest first
	budget budget
}

// slot is one address; making is held while the page is rendered.
type slot struct {
	making sync.Mutex
	mu     sync.Mutex
	page   *rendered
}

func (s *shared) init(most, share int) {
	s.most, s.slots, s.budget.share = most, map[string]*slot{}, share
}

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

func (k *slot) have() *rendered {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.page
}

// want is what a viewer will take.
type want struct {
	now   func() time.Time
	live  bool
	fresh bool                      // what the viewer did must show
	good  func(have *rendered) bool // have is as new as a page must be
	stand stand
	// render makes the page; behind, nobody waits for it.
	render func(behind bool) (*rendered, error)
}

// get returns a page that suits, and has it renewed as the budget allows.
func (s *shared) get(key string, w want) (*rendered, error) {
	k := s.slot(key)
	if p := k.have(); p != nil && !w.fresh && p.stand == w.stand && p.lasts(w.now(), w.live) {
		switch afford := s.budget.allows(time.Now()); {
		case w.good(p):
			return p, nil
		case !afford && !p.overdue(w.now()):
			return p, nil
		case p.cost > cheap:
			if k.making.TryLock() {
				go s.renew(k, w)
			}
			return p, nil
		case w.live: // what another viewer has made comes with the next tick
			if !k.making.TryLock() {
				return p, nil
			}
			defer k.making.Unlock()
			return s.make(k, w, false)
		}
	}
	k.making.Lock()
	defer k.making.Unlock()
	return s.make(k, w, false)
}

// renew renders a page that no request waits for, with its slot held. It drops an error: the next
// request renders the page again and reports it.
func (s *shared) renew(k *slot, w want) {
	defer k.making.Unlock()
	defer func() { _ = recover() }() // as net/http does for a page that is waited for
	_, _ = s.make(k, w, true)
}

// make renders the page of a slot, unless somebody just has.
func (s *shared) make(k *slot, w want, behind bool) (*rendered, error) {
	if p := k.have(); p != nil && w.good(p) {
		return p, nil
	}
	began := time.Now()
	p, err := w.render(behind)
	cost := time.Since(began)
	if p != nil {
		cost -= p.waited
	}
	s.budget.charge(time.Now(), cost)
	if err != nil {
		return nil, err
	}
	p.cost = cost
	k.mu.Lock()
	defer k.mu.Unlock()
	k.page = p
	return p, nil
}
