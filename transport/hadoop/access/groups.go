package access

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/hadoopconf"
	"rmd/internal/job"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/groups"
	"rmd/yarn"
)

// Groups finds the groups of users. It uses hadoop.user.group.static.mapping.overrides first, then
// the provider that hadoop.security.group.mapping names. It caches answers as Hadoop does. A caller
// waits at most groupsWait. If the provider takes longer, the caller continues with an old answer
// or without groups.
type Groups struct {
	log  hclog.Logger
	job  *job.Job
	open func(*hadoopconf.Config, hclog.Logger) (groups.Provider, error)
	wait time.Duration

	mu      sync.Mutex
	set     *groupSettings // in force; Load replaces it and drops the lookups of the old one
	known   map[string]answer
	lookups map[string]*lookup
}

// groupSettings are the settings from one reading of the files.
type groupSettings struct {
	static        map[string][]string
	provider      groups.Provider
	keep          time.Duration // hadoop.security.groups.cache.secs
	keepNone      time.Duration // hadoop.security.groups.negative-cache.secs
	slow          time.Duration // hadoop.security.groups.cache.warn.after.ms
	background    bool          // callers use an old answer while it is renewed
	slots, renews chan struct{} // semaphores for lookups with a waiting caller, and for renewals in the background
}

// answer is the result of a lookup. It is valid until `until`. After that it is used while a new
// lookup runs or the provider fails, for at most ten times the cache time.
type answer struct {
	groups    []string
	at, until time.Time
}

func (a answer) counts(set *groupSettings, now time.Time) bool {
	return len(a.groups) > 0 && now.Sub(a.at) < 10*set.keep
}

// lookup is a lookup in progress.
type lookup struct {
	began  time.Time
	done   chan struct{}
	groups []string // the answer, once done
}

const (
	groupsKeys  = "hadoop.security.groups."
	groupsKnown = 10_000
	groupsWait  = 10 * time.Second
	groupsTime  = 10 * time.Minute // limit of one lookup
	groupsSlots = 16
	maxGroups   = 10_000 // of one user; the limit of an input
)

// NewGroups returns a Groups without settings. Load sets them. Each lookup is a run of j.
func NewGroups(log hclog.Logger, j *job.Job) *Groups {
	return &Groups{log: log, job: j, open: groups.Open, wait: groupsWait, set: &groupSettings{},
		known: map[string]answer{}, lookups: map[string]*lookup{}}
}

// Load replaces the provider, the times and the static mapping, and clears the cache. On an error,
// the old settings stay in force.
func (g *Groups) Load(conf *hadoopconf.Config) error {
	set := &groupSettings{static: map[string][]string{},
		background: strings.EqualFold(conf.Value(groupsKeys+"cache.background.reload", ""), "true"),
		slots:      make(chan struct{}, groupsSlots)}
	const overrides = "hadoop.user.group.static.mapping.overrides"
	for _, entry := range strings.Split(conf.Value(overrides, "dr.who=;"), ";") {
		if name, groups, ok := strings.Cut(strings.TrimSpace(entry), "="); ok && name != "" {
			set.static[name] = hadoopconf.List(groups)
		}
	}
	seconds, err1 := number(conf, groupsKeys+"cache.secs", 300, 1)
	none, err2 := number(conf, groupsKeys+"negative-cache.secs", 30, 0)
	slow, err3 := number(conf, groupsKeys+"cache.warn.after.ms", 5000, 0)
	threads, err4 := number(conf, groupsKeys+"cache.background.reload.threads", 3, 1)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return err
		}
	}
	set.keep, set.keepNone, set.slow = time.Duration(seconds)*time.Second, time.Duration(none)*time.Second,
		time.Duration(slow)*time.Millisecond
	set.renews = make(chan struct{}, min(threads, groupsSlots))
	var err error
	if set.provider, err = g.open(conf, g.log); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set = set
	clear(g.known)
	clear(g.lookups)
	return nil
}

func number(conf *hadoopconf.Config, name string, def, least int) (int, error) {
	p, ok := conf.Get(name)
	text := strings.TrimSpace(p.Value)
	if !ok || text == "" {
		return def, nil
	}
	const most = 10_000_000
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s: %s: %q is not a number from %d to %d", p.Origin(), name, text, least, most)
	}
	return n, nil
}

// Of returns the groups of a user, the primary group first. It returns none for an unknown user.
func (g *Groups) Of(name string) []string {
	if yarn.CheckUser(name) != nil {
		return nil // nobody asks a directory for it
	}
	now := time.Now()
	g.mu.Lock()
	set := g.set
	if groups, ok := set.static[name]; ok {
		g.mu.Unlock()
		return groups
	}
	a := g.known[name]
	if now.Before(a.until) || set.provider == nil {
		g.mu.Unlock()
		return a.groups
	}
	old := a.counts(set, now)
	if !old {
		a.groups = nil
	}
	l, running := g.lookups[name]
	if !running {
		l = &lookup{began: now, done: make(chan struct{})}
		g.lookups[name] = l
		go g.fetch(set, l, name, old && set.background)
	}
	g.mu.Unlock()
	if old && (running || set.background) {
		return a.groups
	}
	select {
	case <-l.done:
		return l.groups
	case <-time.After(time.Until(l.began.Add(g.wait))):
		return a.groups
	}
}

// fetch asks the provider and stores the answer.
func (g *Groups) fetch(set *groupSettings, l *lookup, name string, renewal bool) {
	defer close(l.done)
	slots := set.slots
	if renewal {
		slots = set.renews
	}
	slots <- struct{}{}
	defer func() { <-slots }()
	ctx, cancel := context.WithTimeout(context.Background(), groupsTime)
	defer cancel()
	found, err := set.provider.Groups(ctx, name)
	took := time.Since(l.began)
	if g.job.Done(err) != nil {
		g.log.Error("the groups of a user cannot be found", "user", name, "error", err)
	} else if took > set.slow {
		g.log.Warn("groups were found slowly", "user", name, "took", took.Round(time.Millisecond))
	}
	l.groups = validNames(found)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lookups[name] != l {
		return // Load has replaced the settings; who waits began with those of before
	}
	delete(g.lookups, name)
	now := time.Now()
	a := answer{groups: l.groups, at: now, until: now.Add(set.keep)}
	if before := g.known[name]; err != nil && before.counts(set, now) {
		a = before
		l.groups = a.groups
	}
	if err != nil || len(a.groups) == 0 {
		a.until = now.Add(set.keepNone)
	}
	if len(g.known) >= groupsKnown {
		clear(g.known)
	}
	g.known[name] = a
}

// validNames leaves out names that an input may not have.
func validNames(found []string) (out []string) {
	for _, name := range found {
		if name != "" && len(name) <= input.MaxName && yarn.CheckName(name) == nil && len(out) < maxGroups {
			out = append(out, name)
		}
	}
	return out
}
