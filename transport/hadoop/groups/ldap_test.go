package groups

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
	"github.com/hashicorp/go-hclog"
)

// server is an LDAP server. It answers each search with the entries that a test has set for the
// filter.
type server struct {
	net.Listener
	entries map[string][]entry // by filter
	users   map[string]string  // passwords, by name
	upgrade *tls.Config        // for StartTLS
	silent  bool               // reads requests but never answers
	hang    string             // a search with this filter gets no answer

	mu   sync.Mutex
	seen []string
	open []net.Conn
}

type entry struct {
	dn         string
	attributes map[string][]string
}

func serve(t *testing.T, s *server, over *tls.Config) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = l
	if over != nil {
		s.Listener = tls.NewListener(l, over)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open = append(s.open, c)
			s.mu.Unlock()
			all.Go(func() { s.talk(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for _, c := range s.open {
			_ = c.Close()
		}
		s.mu.Unlock()
		all.Wait()
	})
	return s
}

func (s *server) url() string { return "ldap://" + s.Addr().String() }

func (s *server) saw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, "\n")
}

func (s *server) talk(c net.Conn) {
	defer func() { _ = c.Close() }()
	if s.silent {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	for {
		p, err := ber.ReadPacket(c)
		if err != nil || len(p.Children) < 2 {
			return
		}
		id, op := p.Children[0].Value.(int64), p.Children[1]
		answer := func(tag ber.Tag, code int64, parts ...*ber.Packet) {
			r := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
			r.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, id, ""))
			body := ber.Encode(ber.ClassApplication, ber.TypeConstructed, tag, nil, "")
			if code >= 0 {
				body.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, code, ""))
				body.AppendChild(text(""))
				body.AppendChild(text(""))
			}
			for _, part := range parts {
				body.AppendChild(part)
			}
			r.AppendChild(body)
			_, _ = c.Write(r.Bytes())
		}
		switch op.Tag {
		case ldap.ApplicationBindRequest:
			name, password := op.Children[1].Value.(string), op.Children[2].Data.String()
			s.note("bind " + name)
			code := int64(ldap.LDAPResultSuccess)
			if want, ok := s.users[name]; !ok || want != password {
				code = ldap.LDAPResultInvalidCredentials
			}
			answer(ldap.ApplicationBindResponse, code)
		case ldap.ApplicationExtendedRequest:
			s.note("StartTLS")
			answer(ldap.ApplicationExtendedResponse, ldap.LDAPResultSuccess)
			if s.upgrade != nil {
				c = tls.Server(c, s.upgrade)
			}
		case ldap.ApplicationSearchRequest:
			filter, _ := ldap.DecompileFilter(op.Children[6])
			s.note(op.Children[0].Value.(string) + " " + filter)
			if filter == s.hang {
				continue
			}
			for _, e := range s.entries[filter] {
				list := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
				for name, values := range e.attributes {
					set := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, "")
					for _, v := range values {
						set.AppendChild(text(v))
					}
					a := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSequence, nil, "")
					a.AppendChild(text(name))
					a.AppendChild(set)
					list.AppendChild(a)
				}
				answer(ldap.ApplicationSearchResultEntry, -1, text(e.dn), list)
			}
			answer(ldap.ApplicationSearchResultDone, ldap.LDAPResultSuccess)
		default:
			return
		}
	}
}

func text(s string) *ber.Packet {
	return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, s, "")
}

func (s *server) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, what)
}

// conf parses keys. Keys of LDAP are given without their prefix.
func conf(pairs ...string) keys {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i]
		if strings.HasPrefix(name, ".") {
			name = ldapPrefix + name
		}
		values[name] = pairs[i+1]
	}
	return func(name string) string { return values[name] }
}

func find(t *testing.T, user string, pairs ...string) (string, error) {
	t.Helper()
	p, err := open(conf(pairs...), hclog.NewNullLogger(), true)
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Groups(context.Background(), user)
	return strings.Join(out, ","), err
}

const ldapClass = "org.apache.hadoop.security.LdapGroupsMapping"

// forest returns a server with the user ann. She is a member of etl, which is a member of data,
// which is a member of etl.
func forest() *server {
	group := func(name string) entry {
		return entry{"cn=" + name + ",dc=x", map[string][]string{"cn": {name}}}
	}
	return &server{
		users: map[string]string{"cn=rmd": "pw"},
		entries: map[string][]entry{
			"(&(objectClass=user)(sAMAccountName=ann))": {{"uid=ann,dc=x", map[string][]string{
				"memberOf": {"CN=etl,dc=x", "cn=staff,dc=x"}, "uidNumber": {"7"}, "gidNumber": {"8"}, "mail": {"ann@x"}}}},
			"(&(objectClass=user)(sAMAccountName=bob))": {
				{"uid=bob,dc=x", map[string][]string{"memberOf": {"uid=odd,dc=x"}}}},
			"(&(objectClass=group)(member=uid=ann,dc=x))":                        {group("etl")},
			"(&(objectClass=group)(member=uid=bob,dc=x))":                        {group("staff")},
			"(&(objectClass=group)(|(member=cn=etl,dc=x)))":                      {group("data"), group("all")},
			"(&(objectClass=group)(|(member=cn=data,dc=x)(member=cn=all,dc=x)))": {group("etl"), group("root")},
			"(&(objectClass=posixAccount)(uid=ann))": {
				{"uid=ann,dc=x", map[string][]string{"uidNumber": {"7"}, "gidNumber": {"8"}}}},
			"(&(objectClass=posixAccount)(uid=bob))":                   {{"uid=bob,dc=x", nil}},
			"(&(objectClass=posixGroup)(|(gidNumber=8)(memberUid=7)))": {group("posix")},
			"(&(objectClass=group)(|(a=uid=ann,dc=x)(b=ann@x)))":       {group("custom")},
			// matches if the user's name is not escaped
			"(&(objectClass=user)(sAMAccountName=*)(uid=*))":   {{"uid=ann,dc=x", nil}},
			"(&(objectClass=group)(member=uid=nameless,dc=x))": {{"cn=nameless,dc=x", nil}},
			"(&(objectClass=user)(sAMAccountName=nameless))":   {{"uid=nameless,dc=x", nil}},
		},
	}
}

func TestLDAP(t *testing.T) {
	posix := []string{".search.filter.user", "(&(objectClass=posixAccount)(uid={0}))", ".search.filter.group",
		"(objectClass=posixGroup)", ".search.attr.member", "memberUid"}
	for _, tc := range []struct {
		user, want, fault string
		pairs             []string
	}{
		{"ann", "etl", "", nil},
		{"eve", "", "", nil},
		{"*)(uid=*", "", "", nil}, // a user's name must not become part of the filter
		{"ann", "etl,data,all", "", []string{".search.group.hierarchy.levels", "1"}},
		// etl occurs again, which ends the loop
		{"ann", "etl,data,all,root", "", []string{".search.group.hierarchy.levels", "9"}},
		{"ann", "etl,staff", "", []string{".search.attr.memberof", "memberOf"}},
		// memberOf has no group's name, so the groups are searched for
		{"bob", "staff", "", []string{".search.attr.memberof", "memberOf"}},
		{"ann", "etl,data,all", "", []string{".search.attr.memberof", "memberOf", ".search.group.hierarchy.levels", "1"}},
		{"ann", "posix", "", posix},
		{"bob", "", "has no attribute gidNumber or uidNumber", posix},
		{"ann", "custom", "", []string{".search.filter.group", "(&(objectClass=group)(|(a={0})(b={1})))",
			".group.search.filter.pattern", "userDN,mail"}},
		{"nameless", "", "has no attribute cn", nil},
		{"ann", "ETL", "", []string{Key, "org.apache.hadoop.security.RuleBasedLdapGroupsMapping",
			".conversion.rule", "to_upper"}},
		{"ann", "etl", "", []string{".bind.user", "cn=rmd", ".bind.password", "pw"}},
		{"ann", "", "Invalid Credentials", []string{".bind.user", "cn=rmd", ".bind.password", "no"}},
		{"ann", "etl", "", []string{".bind.users", "a,b", ".bind.users.a.bind.user", "cn=old",
			".bind.users.a.bind.password", "x",
			".bind.users.b.bind.user", "cn=rmd", ".bind.users.b.bind.password", "pw"}},
	} {
		s := serve(t, forest(), nil)
		got, err := find(t, tc.user, append([]string{Key, ldapClass, ".url", s.url(), ".base", "dc=x"}, tc.pairs...)...)
		if got != tc.want || (err == nil) != (tc.fault == "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%s with %v: %q, %v; the server saw\n%s", tc.user, tc.pairs, got, err, s.saw())
		}
	}
}

func TestLDAPBases(t *testing.T) {
	s := serve(t, forest(), nil)
	if got, err := find(t, "ann", Key, ldapClass, ".url", s.url(), ".base", "dc=x", ".groupbase", "ou=g"); got != "etl" ||
		err != nil {
		t.Errorf("groups of ann below ou=g = %q, %v, want etl", got, err)
	}
	if want := "dc=x (&(objectClass=user)(sAMAccountName=ann))\nou=g (&(objectClass=group)(member=uid=ann,dc=x))"; s.saw() != want {
		t.Errorf("the server saw\n%s\nwant\n%s", s.saw(), want)
	}
}

// TestLDAPFails checks that servers which are down, silent or slow are skipped, and the next one is
// asked.
func TestLDAPFails(t *testing.T) {
	away, silent, slow, good := serve(t, forest(), nil), serve(t, &server{silent: true}, nil), forest(),
		serve(t, forest(), nil)
	_ = away.Close()
	slow.hang = "(&(objectClass=group)(member=uid=ann,dc=x))"
	serve(t, slow, nil)
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()
	const most = 30 * time.Second // the usual timeout is a minute
	for name, tc := range map[string]struct {
		urls, want string
		pairs      []string
	}{
		"away":           {away.url() + "," + good.url(), "etl", nil},
		"silent":         {silent.url() + "," + good.url(), "etl", nil},
		"slow":           {slow.url() + "," + good.url(), "etl", nil},
		"all are silent": {silent.url() + "," + silent.url(), "", nil},
		"silent to TLS":  {strings.Replace(silent.url(), "ldap", "ldaps", 1), "", nil},
		"silent to bind": {silent.url(), "", []string{".bind.user", "cn=rmd", ".bind.password", "pw"}},
		"StartTLS":       {silent.url(), "", []string{".start-tls", "true"}},
		"no TLS behind":  {good.url(), "", []string{".start-tls", "true"}}, // accepts StartTLS, but has no TLS
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pairs := append([]string{Key, ldapClass, ".url", tc.urls, ".read.timeout.ms", "1000",
				".connection.timeout.ms", "1000", ".num.attempts.before.failover", "1"}, tc.pairs...)
			if tc.want != "" {
				pairs = append(pairs, ".num.attempts", "20") // on a busy machine the good server may miss the timeout too
			}
			began := time.Now()
			got, err := find(t, "ann", pairs...)
			if took := time.Since(began); got != tc.want || (err == nil) != (tc.want != "") || took > most {
				t.Errorf("%q, %v after %s", got, err, took)
			}
		})
	}
	t.Run("given up", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		p, err := open(conf(Key, ldapClass, ".url", silent.url()), hclog.NewNullLogger(), true)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := p.Groups(ctx, "ann"); err == nil || time.Since(began) > most {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestLDAPOverTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1
	defer web.Close()
	serving := &tls.Config{Certificates: web.TLS.Certificates}
	dir := t.TempDir()
	trusted := filepath.Join(dir, "trusted.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	secure := serve(t, forest(), serving)
	upgraded := forest()
	upgraded.upgrade = serving
	serve(t, upgraded, nil)
	for name, tc := range map[string]struct {
		want  string
		pairs []string
	}{
		"ssl":       {"etl", []string{".url", secure.url(), ".ssl", "true", ".ssl.truststore", trusted}},
		"ldaps":     {"etl", []string{".url", "ldaps://" + secure.Addr().String(), ".ssl.truststore", trusted}},
		"StartTLS":  {"etl", []string{".url", upgraded.url(), ".start-tls", "true", ".ssl.truststore", trusted}},
		"untrusted": {"", []string{".url", secure.url(), ".ssl", "true"}},
		"plain":     {"", []string{".url", secure.url(), ".num.attempts", "1", ".read.timeout.ms", "300"}},
	} {
		got, err := find(t, "ann", append([]string{Key, ldapClass}, tc.pairs...)...)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("groups of ann, %s = %q, %v, want %q, and an error only without groups",
				name, got, err, tc.want)
		}
		var unknown x509.UnknownAuthorityError
		if name == "untrusted" && (err == nil || !strings.Contains(err.Error(), unknown.Error())) {
			t.Errorf("%s: %v, want %q", name, err, unknown.Error())
		}
	}
}

func TestComposite(t *testing.T) {
	good, away := serve(t, forest(), nil), serve(t, forest(), nil)
	_ = away.Close()
	const class, provider = "org.apache.hadoop.security.CompositeGroupsMapping", Key + ".provider."
	both := []string{Key, class, Key + ".providers", "unix, dir", provider + "unix",
		"org.apache.hadoop.security.ShellBasedUnixGroupsMapping", provider + "dir", ldapClass}
	for _, tc := range []struct {
		user, want string
		pairs      []string
	}{
		{"root", "root", []string{provider + "dir.ldap.url", good.url()}},
		{"ann", "etl", []string{provider + "dir.ldap.url", good.url()}},
		{"root", "root", []string{provider + "dir.ldap.url", away.url()}},
		{"root", "root", []string{provider + "dir.ldap.url", good.url(), provider + "dir.ldap.search.filter.user",
			"(&(objectClass=user)(sAMAccountName=ann))", Key + ".providers.combined", "false"}},
		{"root", "root,etl", []string{provider + "dir.ldap.url", good.url(), provider + "dir.ldap.search.filter.user",
			"(&(objectClass=user)(sAMAccountName=ann))"}},
	} {
		if got, err := find(t, tc.user, append(both, tc.pairs...)...); got != tc.want || err != nil {
			t.Errorf("%s with %v: %q, %v", tc.user, tc.pairs, got, err)
		}
	}
	if _, err := find(t, "no-such-user", append(both, provider+"dir.ldap.url", away.url())...); err == nil {
		t.Error("nobody knows the user, and one could not be asked: there is no error")
	}
}

// TestRefused checks keys with invalid values.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	jks := filepath.Join(dir, "trust.jks")
	if err := os.WriteFile(jks, []byte("\xfe\xed\xfe\xed"), 0o600); err != nil {
		t.Fatal(err)
	}
	const u = "ldap://x"
	for _, tc := range []struct {
		want  string
		pairs []string
	}{
		{".url: is missing", []string{Key, ldapClass}},
		{`.url: "http://x" is not ldap://HOST`, []string{Key, ldapClass, ".url", "http://x"}},
		{`.url: "dir" is not`, []string{Key, ldapClass, ".url", u + ",dir"}},
		{`.search.filter.user: "(uid={0}" is not a filter`,
			[]string{Key, ldapClass, ".url", u, ".search.filter.user", "(uid={0}"}},
		{`.search.filter.group: "group" is not a filter`,
			[]string{Key, ldapClass, ".url", u, ".search.filter.group", "group"}},
		{`.read.timeout.ms: "0" is not a number from 1`, []string{Key, ldapClass, ".url", u, ".read.timeout.ms", "0"}},
		{`.search.group.hierarchy.levels: "-1" is not a number from 0 to 100`,
			[]string{Key, ldapClass, ".url", u, ".search.group.hierarchy.levels", "-1"}},
		{".start-tls: ldaps://x has TLS from the first byte",
			[]string{Key, ldapClass, ".url", "ldaps://x", ".start-tls", "true"}},
		{"has no certificate as PEM; keytool -exportcert -rfc",
			[]string{Key, ldapClass, ".url", u, ".ssl", "true", ".ssl.truststore", jks}},
		{".ssl.keystore: " + jks + " has no certificate with its key as PEM",
			[]string{Key, ldapClass, ".url", u, ".ssl", "true", ".ssl.keystore", jks}},
		{".ssl.truststore: open ", []string{Key, ldapClass, ".url", u, ".ssl", "true", ".ssl.truststore",
			filepath.Join(dir, "none")}},
		{".bind.password.file: open ", []string{Key, ldapClass, ".url", u, ".bind.user", "a", ".bind.password.file",
			filepath.Join(dir, "none")}},
		{"Java's credential stores are not read",
			[]string{Key, ldapClass, ".url", u, ".bind.user", "a", ".bind.password.alias", "a"}},
		{`.bind.users: user "a" has no name or no password`, []string{Key, ldapClass, ".url", u, ".bind.users", "a"}},
		{`.conversion.rule: "shout" is none of`,
			[]string{Key, "RuleBasedLdapGroupsMapping", ".url", u, ".conversion.rule", "shout"}},
		{"there are no providers", []string{Key, "CompositeGroupsMapping"}},
		{`provider "a" has no class`, []string{Key, "CompositeGroupsMapping", Key + ".providers", "a"}},
		{`provider "a": hadoop.security.group.mapping.ldap.url: is missing`,
			[]string{Key, "CompositeGroupsMapping", Key + ".providers", "a", Key + ".provider.a", ldapClass}},
		{"may not be one itself", []string{Key, "CompositeGroupsMapping", Key + ".providers", "a", Key + ".provider.a",
			"CompositeGroupsMapping"}},
	} {
		if _, err := open(conf(tc.pairs...), hclog.NewNullLogger(), true); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %s", tc.pairs, err, tc.want)
		}
	}
	if p, err := open(conf(Key, "org.example.Mine"), hclog.NewNullLogger(), true); err != nil || p != (system{}) {
		t.Errorf("a class that is not known: %v, %v", p, err)
	}
	if got, err := find(t, "root", Key, "org.apache.hadoop.security.NullGroupsMapping"); got != "" || err != nil {
		t.Errorf("groups of root with NullGroupsMapping = %q, %v, want none", got, err)
	}
}
