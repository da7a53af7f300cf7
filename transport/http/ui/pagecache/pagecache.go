// Package pagecache keeps rendered pages, so that all viewers of a page share one rendering. It limits
// the share of the time in which pages are rendered again.
package pagecache

import (
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"rmd/api"
)

// Page is the main part of a page, rendered at an index.
type Page struct {
	Index    uint64
	Standing Standing
	At       time.Time
	cost     time.Duration // time to render it
	HTML     []byte
	Title    string
	Tag      string
	// refresh is the address to which a browser without JavaScript continues by itself. It is
	// usually empty.
	Refresh string
	Lacks   bool          // some data was not known in time
	Waited  time.Duration // time spent waiting for others
}

// Standing is what a page must not show as it was before: the leader, the last rerun and the
// configuration. The first two do not change the index. The forms of an open page are not renewed, so
// it must be opened with the settings in force.
type Standing struct {
	Role, Leader string
	Term         uint64
	Rerun        *api.Rerun
	Version      uint64 // of the configuration
}

// TagOf returns the entity tag of the HTML of a page.
func TagOf(html []byte) string {
	h := fnv.New64a()
	_, _ = h.Write(html)
	return `"` + strconv.FormatUint(h.Sum64(), 16) + `"`
}

// Serves reports whether a page is current.
func (p *Page) Serves(now time.Time, tick time.Duration, stand Standing) bool {
	return p != nil && now.Sub(p.At) >= 0 && now.Sub(p.At) < tick && p.Standing == stand
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
func (p *Page) lasts(now time.Time, live bool) bool {
	most := staleOpen
	if !live {
		most = min(max(stale, staleCosts*p.cost), staleOpen)
	}
	age := now.Sub(p.At)
	return age >= 0 && age < most
}

// overdue reports whether an open page must be rendered again even if the budget is spent: after
// overdueAfter, or after staleCosts times its cost if that is more.
func (p *Page) overdue(now time.Time) bool {
	return now.Sub(p.At) >= max(overdueAfter, staleCosts*p.cost)
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

// Cache keeps the main parts of pages by address, so that all viewers of a page share one
// rendering per tick. If two viewers ask at the same time, only one renders.
type Cache struct {
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
	page   *Page
}

// New returns an empty cache for at most most pages. 1/share of the time may be used to render
// pages again.
func New(most, share int) *Cache {
	return &Cache{most: most, slots: map[string]*slot{}, budget: budget{share: share}}
}

func (s *Cache) slot(key string) *slot {
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

func (k *slot) have() *Page {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.page
}

// Want is what a viewer wants.
type Want struct {
	Now      func() time.Time
	Live     bool
	Fresh    bool                  // the viewer's own action must show
	Good     func(have *Page) bool // reports whether a page is current
	Standing Standing
	// render renders the page. behind says that no viewer waits for it.
	Render func(behind bool) (*Page, error)
}

// Get returns a suitable page, and lets it be rendered again as the budget allows.
func (s *Cache) Get(key string, w Want) (*Page, error) {
	k := s.slot(key)
	if p := k.have(); p != nil && !w.Fresh && p.Standing == w.Standing && p.lasts(w.Now(), w.Live) {
		switch afford := s.budget.allows(time.Now()); {
		case w.Good(p):
			return p, nil
		case !afford && !p.overdue(w.Now()):
			return p, nil
		case p.cost > cheap:
			if k.making.TryLock() {
				go s.renew(k, w)
			}
			return p, nil
		case w.Live: // another viewer's rendering comes with the next tick
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
func (s *Cache) renew(k *slot, w Want) {
	defer k.making.Unlock()
	defer func() { _ = recover() }() // as net/http does for a page with a waiting request
	_, _ = s.make(k, w, true)
}

// make renders the page of a slot, unless another viewer has just done so.
func (s *Cache) make(k *slot, w Want, behind bool) (*Page, error) {
	if p := k.have(); p != nil && w.Good(p) {
		return p, nil
	}
	began := time.Now()
	p, err := w.Render(behind)
	cost := time.Since(began)
	if p != nil {
		cost -= p.Waited
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
