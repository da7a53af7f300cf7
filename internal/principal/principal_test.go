package principal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rmd/internal/hadoopconf"
)

const localRealm = "EXAMPLE.COM"

// hadoopsRules are the rules of Hadoop's own TestKerberosName.
const hadoopsRules = `RULE:[1:$1@$0](.*@YAHOO\.COM)s/@.*//
RULE:[2:$1](johndoe)s/^.*$/guest/
RULE:[2:$1;$2](^.*;admin$)s/;admin$//
RULE:[2:$2](root)
DEFAULT`

const lowerRules = `RULE:[1:$1]/L
RULE:[2:$1;$2](^.*;admin$)s/;admin$///L
RULE:[2:$1;$2](^.*;guest$)s/;guest$//g/L
RULE:[2:$1]/L
DEFAULT`

func TestShort(t *testing.T) {
	for _, c := range []struct {
		rules, mechanism, principal, want string // want begins with "!" for an error
		rule                              int
	}{
		{hadoopsRules, Hadoop, "omalley@EXAMPLE.COM", "omalley", 5},
		{hadoopsRules, Hadoop, "hdfs/10.0.0.1@EXAMPLE.COM", "hdfs", 5},
		{hadoopsRules, Hadoop, "oom@YAHOO.COM", "oom", 1},
		{hadoopsRules, Hadoop, "johndoe/zoo@FOO.COM", "guest", 2},
		{hadoopsRules, Hadoop, "joe/admin@FOO.COM", "joe", 3},
		{hadoopsRules, Hadoop, "joe/root@FOO.COM", "root", 4},
		{hadoopsRules, Hadoop, "owen/owen/owen@FOO.COM", "!Malformed Kerberos name: owen/owen/owen@FOO.COM", 0},
		{hadoopsRules, Hadoop, "owen@foo/bar.com", "!Malformed Kerberos name: owen@foo/bar.com", 0},
		{hadoopsRules, Hadoop, "foo@ACME.COM", "!No rules applied to foo@ACME.COM", 0},
		{hadoopsRules, Hadoop, "root/joe@FOO.COM", "!No rules applied to root/joe@FOO.COM", 0},
		{hadoopsRules, MIT, "foo@ACME.COM", "foo@ACME.COM", 0},
		{hadoopsRules, "MIT", "root/joe@FOO.COM", "root/joe@FOO.COM", 0},
		{lowerRules, Hadoop, "Joe@FOO.COM", "joe", 1},
		{lowerRules, Hadoop, "Joe/root@FOO.COM", "joe", 4},
		{lowerRules, Hadoop, "Joe/admin@FOO.COM", "joe", 2},
		{lowerRules, Hadoop, "Joe/guest@FOO.COM", "joe", 3},
		{"RULE:[1:$1]/L", Hadoop, "ADM\u0130N@X", "admi\u0307n", 1},

		{"DEFAULT", Hadoop, "ann", "ann", 0},
		{"DEFAULT", Hadoop, "a/b/c", "a/b/c", 0},
		{"DEFAULT", Hadoop, "ann/host", "!No rules applied to ann/host", 0},
		{"RULE:[2:$0]", Hadoop, "ann/host", "null", 1},
		{"RULE:[1:$1@$0]", Hadoop, "ann@X", "!Non-simple name ann@X after auth_to_local rule RULE:[1:$1@$0]", 1},
		{"RULE:[1:$1@$0]", MIT, "ann@X", "ann@X", 1},
		{"RULE:[1:$1@$0](.*)s/X/Y/g/L DEFAULT", Hadoop, "ann@X",
			"!Non-simple name ann@Y after auth_to_local rule RULE:[1:$1@$0](.*)s/X/Y/g/L", 1},
		{"RULE:[1:$2]", Hadoop, "ann@X", "!index 2 from $2 is outside of the valid range 0 to 1", 1},
		{"RULE:[1:a$b]", Hadoop, "ann@X", "!bad format in username mapping in ", 1},
		{"RULE:[2:$2] RULE:[1:x]", Hadoop, "ann@X", "x", 2},
		{"RULE:[1:$1](a)DEFAULT", Hadoop, "ab@EXAMPLE.COM", "ab", 2}, // the whole name must match
		{"RULE:[1:$1](a|ab)", Hadoop, "ab@X", "ab", 1},
		{"RULE:[1:$1]s/a/b/", Hadoop, "aaa@X", "baa", 1},
		{"RULE:[1:$1]s/a/b/g", Hadoop, "aaa@X", "bbb", 1},
		{"RULE:[1:$1]s/^a/b/g", Hadoop, "aaa@X", "baa", 1},
		{"RULE:[1:$1]s/.*/x/g", Hadoop, "ann@X", "xx", 1},
		{"RULE:[1:$1]s/n*/-/g", Hadoop, "annab@X", "-a--a-b-", 1},
		{"RULE:[1:$1]s/(.)(.)?/$2$1\\$/g", Hadoop, "abc@X", "ba$c$", 1},
		{"RULE:[1:$1]s/(?<one>a)/${one}$10/", Hadoop, "ab@X", "aa0b", 1},
	} {
		r, err := Parse(c.rules, c.mechanism, localRealm)
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		short, rule, err := r.Short(c.principal)
		if err != nil {
			short = "!" + err.Error()
		}
		if short != c.want || rule.Number != c.rule {
			t.Errorf("%s (%s) makes %q of %s by rule %+v, want %q by rule %d", c.rules, c.mechanism, short, c.principal, rule,
				c.want, c.rule)
		}
	}
}

func TestRefusedRules(t *testing.T) {
	for _, c := range []struct{ rules, mechanism, want string }{
		{"DEFAULT", "krb", "Invalid rule mechanism: krb"},
		{"DEFAULT nonsense", Hadoop, "rule 2: Invalid rule:  nonsense"},
		{"RULE:[:$1]", Hadoop, `rule 1: Invalid rule: RULE:[:$1]: "" is not a number of components`},
		// as in Java, it ends at the first )
		{"RULE:[1:$1](.*@(A|B))s/a/b/", Hadoop, "rule 1: the regular expression \".*@(A|B\" is not supported"},
		{"DEFAULT\nRULE:[1:$1](a(?!b)", Hadoop, "rule 2: the regular expression \"a(?!b\" is not supported"},
		{"RULE:[1:$1]s/(?=a)b/c/", Hadoop, "rule 1: the regular expression \"(?=a)b\" is not supported"},
		{"RULE:[1:$1]s/a++/c/", Hadoop, "rule 1: the regular expression \"a++\" is not supported"},
		{`RULE:[1:$1]s/(a)\1/c/`, Hadoop,
			`rule 1: the regular expression "(a)\\1" has \1, which Java and this program read differently`},
		{"RULE:[1:$1]([a-z&&[^x]]*)", Hadoop, "has && within [...]"},
		{"RULE:[1:$1]([a[b]]*)", Hadoop, "has a [ within [...]"},
		{"RULE:[1:$1]s/(?U)a*/c/", Hadoop, "has flags that Java does not have"},
		{`RULE:[1:$1]s/\ba/c/g`, Hadoop, "depends on the text before a match; write it without, or drop the g"},
		{"RULE:[1:$1]s/a/$1/", Hadoop, `the replacement "$1" has a $ without a group of the regular expression`},
		{`RULE:[1:$1]s/a/b\/`, Hadoop, "ends with a backslash"},
	} {
		if _, err := Parse(c.rules, c.mechanism, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.rules, err, c.want)
		}
	}
	for _, fine := range []string{`RULE:[1:$1](\Q[&&[\E[]&a][^]&]\[)`, `RULE:[1:$1]s/(?i:a)(?i)b/c/`, ""} {
		if _, err := Parse(fine, Hadoop, ""); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
}

func TestDefaultRealm(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("more", "[libdefaults]\n  default_realm = INCLUDED\n")
	for text, want := range map[string]string{
		"[libdefaults]\n# default_realm = NO\n default_realm = A.B\n default_realm = C\n": "A.B",
		"[realms]\n default_realm = NO\n":                                                 "",
		"include " + dir + "/more\n[libdefaults]\n":                                       "INCLUDED",
		"includedir " + dir + "\n":                                                        "INCLUDED",
		"[libdefaults]\n default_realm = \"QUOTED\"\n":                                    "QUOTED",
	} {
		if got, err := DefaultRealm(write("krb5.conf", text)); err != nil || got != want {
			t.Errorf("%q: realm %q, %v; want %q", text, got, err, want)
		}
	}
	t.Setenv("KRB5_CONFIG", write("krb5.conf", "[libdefaults]\ndefault_realm=LOCAL\n"))
	for keys, want := range map[string]string{
		"any.other key": "ann", "hadoop.security.authentication kerberos": "!No rules applied to ann@X",
		"hadoop.security.auth_to_local RULE:[1:$1s]": "anns", "hadoop.security.auth_to_local.mechanism MIT": "ann",
	} {
		name, value, _ := strings.Cut(keys, " ")
		conf, err := hadoopconf.Parse(strings.NewReader("<configuration><property><name>"+name+"</name><value>"+value+
			"</value></property></configuration>"), "core-site.xml")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Load(conf)
		if err != nil {
			t.Fatal(err)
		}
		short, _, err := r.Short("ann@X")
		if err != nil {
			short = "!" + err.Error()
		}
		if short != want {
			t.Errorf("with %q: %q, want %q", keys, short, want)
		}
	}
	t.Setenv("KRB5_CONFIG", filepath.Join(dir, "missing"))
	conf,
		err := hadoopconf.Parse(
		strings.NewReader("<configuration><property><name>hadoop.security.authentication</name><value>kerberos</value></property></configuration>"), "core-site.xml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(conf); err == nil || !strings.HasPrefix(err.Error(), "Can't get Kerberos realm: ") {
		t.Errorf("Kerberos without a krb5.conf: %v", err)
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("more", "[capaths]\n C = {\n  S = HUB\n }\n")
	p, err := LoadPaths(write("krb5.conf", "include "+filepath.Join(dir, "more")+`
[libdefaults]
 default_realm = S
[realms]
 S = {
  kdc = one
  HUB = S
 }
[capaths]*
 # a comment = {
 A = {
  S = HUB1
  S = HUB2
  DIRECT = .
 }
 B={
  S = HUB1, HUB2	HUB3
 }
 OUTER = {
  INNER = {
   S = HUB
  }
  S = HUB
 }
 S = HUB
[appdefaults]
 X = {
  S = HUB
 }
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		client, service, want string
		found                 bool
	}{
		{"A", "S", "[HUB1 HUB2]", true},
		{"A", "DIRECT", "[]", true},
		{"B", "S", "[HUB1 HUB2 HUB3]", true},
		{"C", "S", "[HUB]", true},
		{"OUTER", "S", "[HUB]", true},
		{"INNER", "S", "[]", false},
		{"S", "A", "[]", false},
		{"S", "HUB", "[]", false},
		{"X", "S", "[]", false},
		{"", "S", "[]", false},
	} {
		if got, found := p.Between(c.client, c.service); fmt.Sprint(got) != c.want || found != c.found {
			t.Errorf("from %s to %s: %v, %v", c.client, c.service, got, found)
		}
	}
	if p, err := LoadPaths(filepath.Join(dir, "missing")); err != nil || len(p) != 0 {
		t.Errorf("without a file: %v, %v", p, err)
	}
	if _, err := LoadPaths(dir); err == nil {
		t.Error("a directory is read as a file")
	}
}
