package access

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop/groups"
)

// provider is a function that implements groups.Provider.
type provider func(ctx context.Context, user string) ([]string, error)

func (p provider) Groups(ctx context.Context, user string) ([]string, error) { return p(ctx, user) }

func groupsBy(t *testing.T, p provider, pairs ...string) *Groups {
	t.Helper()
	g := NewGroups(hclog.NewNullLogger(), nil)
	g.open = func(*hadoopconf.Config, hclog.Logger) (groups.Provider, error) { return p, nil }
	if err := g.Load(conf(t, pairs...)); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGroupCacheDuration checks how long an answer is cached, while the provider gives other
// answers, errors and no groups.
func TestGroupCacheDuration(t *testing.T) {
	for _, background := range []string{"false", "true"} {
		synctest.Test(t, func(t *testing.T) {
			asked, say := 0, func() ([]string, error) { return []string{"a"}, nil }
			g := groupsBy(t, func(context.Context, string) ([]string, error) { asked++; return say() },
				groupsKeys+"cache.secs", "100", groupsKeys+"negative-cache.secs", "10",
				groupsKeys+"cache.background.reload", background)
			step := func(after time.Duration, want string, times int) {
				t.Helper()
				time.Sleep(after)
				got := strings.Join(g.Of("ann"), ",")
				synctest.Wait()
				if got != want || asked != times {
					t.Errorf("background %s: %q after %d lookups, want %q after %d", background, got, asked, want, times)
				}
			}
			step(0, "a", 1)
			step(99*time.Second, "a", 1)
			say = func() ([]string, error) { return []string{"b"}, nil }
			if background == "true" { // the old answer is used while the new one is looked up
				step(2*time.Second, "a", 2)
				step(0, "b", 2)
			} else {
				step(2*time.Second, "b", 2)
			}
			say = func() ([]string, error) { return nil, errors.New("no server") }
			step(101*time.Second, "b", 3)
			step(9*time.Second, "b", 3)
			step(2*time.Second, "b", 4)
			step(900*time.Second, "", 5) // too old
			step(9*time.Second, "", 5)
			say = func() ([]string, error) { return nil, nil }
			step(2*time.Second, "", 6)
			step(9*time.Second, "", 6)
			say = func() ([]string, error) { return []string{"", strings.Repeat("x", 300), "c"}, nil }
			step(2*time.Second, "c", 7)
			if err := g.Load(conf(t)); err != nil {
				t.Fatal(err)
			}
			step(0, "c", 8)
		})
	}
}

// TestHangingProvider checks that callers wait for a hanging provider at most groupsWait, and do
// not wait for an answer that is already cached or in the static mapping.
func TestHangingProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, stopped atomic.Int32
		g := groupsBy(t, func(ctx context.Context, user string) ([]string, error) {
			asked.Add(1)
			if user == "ann" {
				return []string{"a"}, nil
			}
			<-ctx.Done()
			stopped.Add(1)
			return nil, ctx.Err()
		}, "hadoop.user.group.static.mapping.overrides", "eve=wheel")
		began := time.Now()
		took := func(user, want string, most time.Duration) {
			t.Helper()
			from := time.Now()
			if got := strings.Join(g.Of(user), ","); got != want || time.Since(from) > most {
				t.Errorf("%s has the groups %q after %s", user, got, time.Since(from))
			}
		}
		for range 3 * groupsSlots {
			go g.Of("bob")
		}
		synctest.Wait()
		took("eve", "wheel", 0)
		took("ann", "a", 0)
		took("bob", "", groupsWait)
		took("bob", "", 0) // this lookup began more than groupsWait ago
		took("ann", "a", 0)
		if asked.Load() != 2 {
			t.Errorf("%d lookups, want one of each", asked.Load())
		}
		for _, user := range strings.Split("bcdefghijklmnopqrstuvw", "") {
			go g.Of(user)
		}
		synctest.Wait()
		if n := asked.Load(); n != 1+groupsSlots {
			t.Errorf("%d lookups at once", n-1)
		}
		took("zoe", "", groupsWait) // no slot is free
		took("ann", "a", 0)
		for range 3 {
			time.Sleep(groupsTime)
		}
		synctest.Wait()
		if n := stopped.Load(); n != asked.Load()-1 {
			t.Errorf("%d of %d lookups have stopped after %s", n, asked.Load()-1, time.Since(began))
		}
	})
}

// TestLoadDuringLookup checks that who waits for a lookup gets its answer when the settings are replaced
// meanwhile, and that the answer is not kept.
func TestLoadDuringLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, hold, got := 0, make(chan struct{}), make(chan []string)
		g := groupsBy(t, func(context.Context, string) ([]string, error) {
			asked++
			<-hold
			return []string{"a"}, nil
		})
		go func() { got <- g.Of("ann") }()
		synctest.Wait()
		if err := g.Load(conf(t)); err != nil {
			t.Fatal(err)
		}
		close(hold)
		if groups := <-got; strings.Join(groups, ",") != "a" {
			t.Errorf("ann has the groups %q, want a", groups)
		}
		g.Of("ann")
		if asked != 2 {
			t.Errorf("%d lookups, want one with the old settings and one with the new", asked)
		}
	})
}

func TestGroupFaults(t *testing.T) {
	a := load(t, "", "hadoop.user.group.static.mapping.overrides", "eve=wheel", "yarn.admin.acl", " wheel")
	for _, tc := range []struct{ name, value, want string }{
		{groupsKeys + "cache.secs", "0", `core-site.xml:1: hadoop.security.groups.cache.secs: "0" is not a number from 1 to`},
		{groupsKeys + "negative-cache.secs", "some", `"some" is not a number from 0`},
		{groups.Key, "org.apache.hadoop.security.LdapGroupsMapping", "hadoop.security.group.mapping.ldap.url: is missing"},
	} {
		err := a.Load(conf(t, tc.name, tc.value), "")
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s=%s: %v, want %s", tc.name, tc.value, err, tc.want)
		}
		if !a.Admin("eve") || a.Admin("bob") {
			t.Errorf("%s=%s: what was in force is not", tc.name, tc.value)
		}
	}
}

// TestSystemGroups checks the groups of users of this machine. A name with a NUL byte must not
// match the name before the byte.
func TestSystemGroups(t *testing.T) {
	g := NewGroups(hclog.NewNullLogger(), nil)
	if err := g.Load(conf(t)); err != nil {
		t.Fatal(err)
	}
	if got := g.Of("root"); len(got) == 0 || got[0] != "root" {
		t.Errorf("root's groups are %v", got)
	}
	for _, name := range []string{"root\x00x", "no-such-user", "", "dr.who"} {
		if got := g.Of(name); len(got) != 0 {
			t.Errorf("%q has the groups %v", name, got)
		}
	}
}
