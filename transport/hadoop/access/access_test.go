package access

import (
	"net/netip"
	"strings"
	"testing"

	"rmd/internal/hadoopconf"
)

func conf(t testing.TB, pairs ...string) *hadoopconf.Config {
	t.Helper()
	var b strings.Builder
	b.WriteString("<configuration>")
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString("<property><name>" + pairs[i] + "</name><value>" + pairs[i+1] + "</value></property>")
	}
	b.WriteString("</configuration>")
	c, err := hadoopconf.Parse(strings.NewReader(b.String()), "core-site.xml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACL(t *testing.T) {
	for _, c := range []struct {
		acl, user string
		groups    []string
		want      bool
	}{
		{"*", "eve", nil, true},
		{" * ", "eve", nil, true},
		{" ", "eve", []string{"wheel"}, false},
		{"", "eve", nil, false},
		{"ann,eve", "eve", nil, true},
		{"ann, eve", "eve", nil, false}, // after the blank come groups
		{"ann wheel,ops", "eve", []string{"ops"}, true},
		{" wheel", "eve", []string{"wheel"}, true},
		{"ann wheel", "wheel", nil, false},
	} {
		if got := ParseACL(c.acl).Allows(c.user, c.groups); got != c.want {
			t.Errorf("%q lets %s of %v in: %v", c.acl, c.user, c.groups, got)
		}
	}
}

func TestAdmins(t *testing.T) {
	g := NewGroups()
	a := New(conf(t, "yarn.admin.acl", "root wheel", "hadoop.user.group.static.mapping.overrides", "eve=wheel;bob=users"), g, "rmd")
	for user, want := range map[string]bool{"root": true, "rmd": true, "eve": true, "bob": false, "no-such-user": false} {
		if a.Admin(user) != want {
			t.Errorf("%s is an administrator: %v", user, !want)
		}
	}
	if a.Enabled() {
		t.Error("ACLs are on without yarn.acl.enable")
	}
	a.Load(conf(t, "yarn.acl.enable", "true", "yarn.admin.acl", " "), "")
	if a.Admin("root") || a.Admin("eve") || !a.Enabled() {
		t.Error("the second reading is not in force")
	}
}

func TestImpersonation(t *testing.T) {
	a := New(conf(t,
		"hadoop.proxyuser.oozie.hosts", "10.0.0.1,10.1.0.0/16", "hadoop.proxyuser.oozie.groups", "users",
		"hadoop.proxyuser.knox.hosts", "*", "hadoop.proxyuser.knox.users", "ann",
		"hadoop.proxyuser.half.users", "*",
		"hadoop.user.group.static.mapping.overrides", "bob=users;eve="), NewGroups(), "")
	for _, c := range []struct {
		superuser, user, from, says string
	}{
		{"oozie", "bob", "10.0.0.1", ""},
		{"oozie", "bob", "::ffff:10.1.2.3", ""},
		{"oozie", "bob", "10.2.0.1", "Unauthorized connection for super-user: oozie from IP 10.2.0.1"},
		{"oozie", "eve", "10.0.0.1", "User: oozie is not allowed to impersonate eve"},
		{"knox", "ann", "1.2.3.4", ""},
		{"knox", "bob", "1.2.3.4", "not allowed"},
		{"half", "bob", "1.2.3.4", "Unauthorized connection"},
		{"ann", "bob", "1.2.3.4", "not allowed"},
	} {
		err := a.MayImpersonate(c.superuser, c.user, netip.MustParseAddr(c.from))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s for %s from %s: %v", c.superuser, c.user, c.from, err)
		}
	}
}

func TestGroupsAreAskedOnce(t *testing.T) {
	asked := 0
	g := &Groups{known: map[string]answer{}, lookup: func(string) []string { asked++; return []string{"a"} }}
	g.Of("x")
	if got := g.Of("x"); asked != 1 || len(got) != 1 {
		t.Errorf("asked %d times, %v", asked, got)
	}
	g.Load(conf(t))
	if g.Of("x"); asked != 2 {
		t.Error("a new configuration keeps old answers")
	}
}
