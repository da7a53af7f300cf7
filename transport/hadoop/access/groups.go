package access

import (
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"rmd/internal/hadoopconf"
)

// Groups finds the groups of users: those that
// hadoop.user.group.static.mapping.overrides names, else those of the operating
// system (Hadoop's default). Answers are kept for groupsTime.
type Groups struct {
	lookup func(name string) []string

	mu     sync.Mutex
	static map[string][]string
	known  map[string]answer
}

type answer struct {
	groups []string
	until  time.Time
}

const (
	groupsTime  = 5 * time.Minute // hadoop.security.groups.cache.secs' default
	groupsKnown = 10_000
)

// NewGroups asks the operating system.
func NewGroups() *Groups { return &Groups{lookup: system, known: map[string]answer{}} }

// Load takes the static mapping of a configuration and forgets what is known.
func (g *Groups) Load(conf *hadoopconf.Config) {
	static := map[string][]string{}
	for _, entry := range strings.Split(conf.Value("hadoop.user.group.static.mapping.overrides", "dr.who=;"), ";") {
		if name, groups, ok := strings.Cut(strings.TrimSpace(entry), "="); ok && name != "" {
			static[name] = list(groups)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.static = static
	clear(g.known)
}

// Of returns a user's groups, the primary one first; none for a user that is
// not known here.
func (g *Groups) Of(name string) []string {
	now := time.Now()
	g.mu.Lock()
	groups, ok := g.static[name]
	a, asked := g.known[name]
	g.mu.Unlock()
	if ok {
		return groups
	}
	if asked && now.Before(a.until) {
		return a.groups
	}
	groups = g.lookup(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= groupsKnown {
		clear(g.known)
	}
	g.known[name] = answer{groups, now.Add(groupsTime)}
	return groups
}

// system asks the operating system.
func system(name string) []string {
	if strings.ContainsRune(name, 0) {
		return nil // the system would look for what is before it
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil
	}
	ids, err := u.GroupIds()
	if err != nil {
		ids = []string{u.Gid}
	}
	var out []string
	for _, id := range ids {
		g, err := user.LookupGroupId(id)
		if err != nil || slices.Contains(out, g.Name) {
			continue
		}
		if id == u.Gid {
			out = append([]string{g.Name}, out...)
		} else {
			out = append(out, g.Name)
		}
	}
	return out
}
