package ui

import (
	"sync"
	"time"

	"rmd/api"
)

// rendered is the main part of a page, rendered at an index.
type rendered struct {
	index uint64
	stand stand
	at    time.Time
	cost  time.Duration // time to render it
	html  []byte
	title string
	tag   string
	// refresh is the address to which a browser without JavaScript continues by itself. It is
	// usually empty.
	refresh string
	lacks   bool          // some data was not known in time
	waited  time.Duration // time spent waiting for others
}

// stand is what a page shows besides the state: the leader and the last rerun. Neither changes the
// index.
type stand struct {
	role, leader string
	term         uint64
	rerun        *api.Rerun
}

func (u *UI) stand() stand {
	s := u.cfg.Status()
	return stand{s.Role, s.Leader, s.Term, u.rerun.Load()}
}

// serves reports whether a page is current.
func (p *rendered) serves(now time.Time, tick time.Duration, stand stand) bool {
	return p != nil && now.Sub(p.at) >= 0 && now.Sub(p.at) < tick && p.stand == stand
}

// A page that costs more than cheap is rendered again in the background, and its viewers get the
// old page at once. A page that a viewer opens must not be older than stale, or than staleCosts
// times its cost if that is more. A page that is already open must not be older than staleOpen. An
// open page that is overdue is rendered again even if the budget is spent.
const (
	cheap      = 3 * time.Millisecond
	stale      = 2 * time.Second
	staleCosts = 100

	overdueAfter = 3 * time.Second
	staleOpen    = 30 * time.Second
)

// lasts reports whether an old page may be served while a new one is rendered.
func (p *rendered) lasts(now time.Time, live bool) bool {
	most := staleOpen
	if !live {
		most = min(max(stale, staleCosts*p.cost), staleOpen)
	}
	age := now.Sub(p.at)
	return age >= 0 && age < most
}

// overdue reports whether an open page must be rendered again even if the budget is spent: after
// overdueAfter, or after staleCosts times its cost if that is more.
func (p *rendered) overdue(now time.Time) bool {
	return now.Sub(p.at) >= max(overdueAfter, staleCosts*p.cost)
}

// budget limits the share of the time in which pages are rendered again.
type budget struct {
	mu    sync.Mutex
	share int
	free  time.Time // time from which the next page may be rendered
}

// An unused budget can be saved up, and debts have a limit. Debts come from pages that had to be
// rendered because there was no old one.
const (
	budgetSaved = 250 * time.Millisecond // of rendering
	budgetDebt  = 10 * time.Second
)

// allows reports whether a page may be rendered again now.
func (b *budget) allows(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !now.Before(b.free)
}

// charge charges the budget with the cost of rendering a page.
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

// shared keeps the main parts of pages by address, so that all viewers of a page share one
// rendering per tick. If two viewers ask at the same time, only one renders.
type shared struct {
	mu     sync.Mutex
	most   int
	slots  map[string]*slot
	order  []string // oldest first
	budget budget
}

// slot is the page of one address. making is locked while the page is rendered.
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

// want is what a viewer wants.
type want struct {
	now   func() time.Time
	live  bool
	fresh bool                      // the viewer's own action must show
	good  func(have *rendered) bool // reports whether a page is current
	stand stand
	// render renders the page. behind says that no viewer waits for it.
	render func(behind bool) (*rendered, error)
}

// get returns a suitable page, and lets it be rendered again as the budget allows.
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
		case w.live: // another viewer's rendering comes with the next tick
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

// renew renders a page for which no request waits. The caller has locked making. renew drops an
// error: the next request renders the page again and reports it.
func (s *shared) renew(k *slot, w want) {
	defer k.making.Unlock()
	defer func() { _ = recover() }() // as net/http does for a page with a waiting request
	_, _ = s.make(k, w, true)
}

// make renders the page of a slot, unless another viewer has just done so.
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
