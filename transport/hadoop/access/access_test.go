package access

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop/ipc"
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

func load(t testing.TB, owner string, pairs ...string) *Access {
	t.Helper()
	a, err := New(conf(t, pairs...), NewGroups(hclog.NewNullLogger(), nil), owner)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAdmins(t *testing.T) {
	a := load(t, "rmd", "yarn.admin.acl", "root wheel", "hadoop.user.group.static.mapping.overrides",
		"eve=wheel;bob=users")
	for user, want := range map[string]bool{"root": true, "rmd": true, "eve": true, "bob": false, "no-such-user": false} {
		if a.Admin(user) != want {
			t.Errorf("%s is an administrator: %v", user, !want)
		}
	}
	if a.Enabled() {
		t.Error("ACLs are on without yarn.acl.enable")
	}
	if err := a.Load(conf(t, "yarn.acl.enable", "true", "yarn.admin.acl", " "), ""); err != nil {
		t.Fatal(err)
	}
	if a.Admin("root") || a.Admin("eve") || !a.Enabled() {
		t.Error("the second reading is not in force")
	}
}

func TestImpersonation(t *testing.T) {
	a := load(t, "",
		"hadoop.proxyuser.oozie.hosts", "10.0.0.1,10.1.0.0/16", "hadoop.proxyuser.oozie.groups", "users",
		"hadoop.proxyuser.knox.hosts", "*", "hadoop.proxyuser.knox.users", "ann",
		"hadoop.proxyuser.half.users", "*",
		"hadoop.proxyuser.hue.hosts", "localhost,nowhere.invalid", "hadoop.proxyuser.hue.groups", "*",
		"hadoop.proxyuser.hue.users", "ann",
		"hadoop.proxyuser.a.b.hosts", "*", "hadoop.proxyuser.a.b.users", "bob", "hadoop.proxyuser.odd.color", "red",
		"yarn.resourcemanager.proxyuser.livy.hosts", "*", "yarn.resourcemanager.proxyuser.livy.users", "ann",
		"hadoop.proxyuser.livy.users", "bob", "hadoop.proxyuser.mixed.hosts", "*",
		"yarn.resourcemanager.proxyuser.mixed.groups", "users",
		"hadoop.user.group.static.mapping.overrides", "bob=users;eve=")
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
		{"hue", "eve", "127.0.0.1", ""}, // "*" in the groups allows every user, although users names only ann
		{"hue", "eve", "10.0.0.1", "Unauthorized connection for super-user: hue from IP 10.0.0.1"},
		{"a.b", "bob", "10.0.0.1", ""},
		{"odd", "bob", "10.0.0.1", "not allowed"},
		{"livy", "ann", "10.0.0.1", ""}, // the ResourceManager's own key counts
		{"livy", "bob", "10.0.0.1", "not allowed"},
		{"mixed", "bob", "10.0.0.1", ""},
		{"mixed", "eve", "10.0.0.1", "not allowed"},
	} {
		err := a.MayImpersonate(c.superuser, c.user, netip.MustParseAddr(c.from))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s for %s from %s: %v", c.superuser, c.user, c.from, err)
		}
	}
}

func TestAdmit(t *testing.T) {
	a := load(t, "rmd", "yarn.admin.acl", "root")
	if err := a.Admit(&ipc.Caller{User: "root"}, "refreshQueues"); err != nil {
		t.Error(err)
	}
	var e *ipc.Error
	err := a.Admit(&ipc.Caller{User: "eve"}, "refreshQueues")
	want := "org.apache.hadoop.security.AccessControlException: User eve doesn't have permission to call 'refreshQueues'"
	if !errors.As(err, &e) || e.Class != ipc.ClassYarn || e.Message != want {
		t.Errorf("refused with %v", err)
	}
}

// TestShortName checks that a principal gets its name by the rules of the files, and that rules that
// cannot be read stop a replica only if callers have principals.
func TestShortName(t *testing.T) {
	a := load(t, "", "hadoop.security.auth_to_local", "RULE:[2:$1](nm)s/.*/yarn/ RULE:[1:$1]")
	if short, rule, err := a.ShortName("nm/h@X"); short != "yarn" || rule.Number != 1 || err != nil {
		t.Errorf("nm/h@X is %q by rule %d, %v", short, rule.Number, err)
	}
	broken := []string{"hadoop.security.auth_to_local", "RULE:[1:$1] RULE:[1:$1](a(?!b)"}
	const want = "core-site.xml:1 hadoop.security.auth_to_local: rule 2: the regular expression"
	if _, _, err := load(t, "", broken...).ShortName("ann@X"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with a broken rule: %v", err)
	}
	krb5 := filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(krb5, []byte("[libdefaults]\ndefault_realm = X\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", krb5)
	_, err := New(conf(t, append(broken, "hadoop.security.authentication", "kerberos")...),
		NewGroups(hclog.NewNullLogger(), nil), "")
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with a broken rule and Kerberos: %v", err)
	}
}
