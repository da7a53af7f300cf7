package hadoop

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jcmturner/gokrb5/v8/messages"

	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
	"rmd/transport/hadoop/ipc"
)

func short(p string) (string, error) {
	name, _, _ := strings.Cut(p, "@")
	return name, nil
}

func TestSecurityOf(t *testing.T) {
	keytab := gsstest.Keytab(t, gsstest.NewKey(t, "rm/one.example@EXAMPLE", 18, 1))
	kerberos := []string{"hadoop.security.authentication", "kerberos", "yarn.resourcemanager.hostname.rm1", "ONE.example",
		"yarn.resourcemanager.hostname.rm2", "two.example", principalKey, "rm/_HOST@EXAMPLE", keytabKey, keytab}
	change := func(pairs ...string) []string { // the last value of a key counts
		out := append([]string(nil), kerberos...)
		for i := 0; i < len(pairs); i += 2 {
			for j := 0; j < len(out); j += 2 {
				if out[j] == pairs[i] {
					out[j+1] = pairs[i+1]
				}
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		id    string
		pairs []string
		want  string // the service and host, or a part of the error
		fails bool
	}{
		"simple":       {id: "rm1", pairs: []string{"hadoop.security.authentication", "simple"}},
		"host":         {id: "rm1", pairs: kerberos, want: "rm/one.example"},
		"written host": {id: "rm1", pairs: change(principalKey, "rm/one.example@EXAMPLE"), want: "rm/one.example"},
		"other host": {id: "rm2", pairs: kerberos,
			want: "no AES key of rm/two.example@EXAMPLE, only of: rm/one.example@EXAMPLE", fails: true},
		"no principal": {id: "rm1", pairs: change(principalKey, ""), want: "name the service", fails: true},
		"no keytab":    {id: "rm1", pairs: change(keytabKey, ""), want: "name the file", fails: true},
		"missing file": {id: "rm1", pairs: change(keytabKey, "/nowhere/keytab"), want: "/nowhere/keytab", fails: true},
		"no host part": {id: "rm1", pairs: change(principalKey, "rm@EXAMPLE"),
			want: "Kerberos principal name does NOT have the expected hostname part: rm@EXAMPLE", fails: true},
		"protection": {id: "rm1", pairs: []string{"hadoop.rpc.protection", "secrecy"},
			want: "write authentication, integrity, privacy", fails: true},
	} {
		s, err := SecurityOf(read(t, c.pairs...), c.id, short, hclog.NewNullLogger())
		switch {
		case c.fails:
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == "" && s.Kerberos != nil:
			t.Errorf("%s: Kerberos is on", name)
		case c.want != "" && s.Kerberos.Service+"/"+s.Kerberos.Host != c.want:
			t.Errorf("%s: the server is %s/%s", name, s.Kerberos.Service, s.Kerberos.Host)
		}
	}
	if os.Getuid() != 0 { // root may read every file
		if err := os.Chmod(keytab, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := SecurityOf(read(t, kerberos...), "rm1", short, hclog.NewNullLogger()); !errors.Is(err,
			os.ErrPermission) || !strings.Contains(err.Error(), "the right to read") {
			t.Errorf("a keytab that may not be read: %v", err)
		}
	}
}

func TestProtectionOfPorts(t *testing.T) {
	const all = ipc.Authentication | ipc.Integrity | ipc.Privacy
	for _, c := range []struct {
		pairs []string
		want  map[string]ipc.Protection
	}{
		{nil, map[string]ipc.Protection{":8030": ipc.Authentication}},
		{[]string{"hadoop.rpc.protection", " Privacy, integrity,authentication"}, map[string]ipc.Protection{":8030": all}},
		{[]string{"hadoop.rpc.protection", "privacy", "ingress.port.sasl.configured.ports", "8032",
			"ingress.port.sasl.prop.8032", "authentication"},
			map[string]ipc.Protection{":8032": ipc.Privacy}},
		{[]string{"hadoop.rpc.protection", "integrity", "ingress.port.sasl.configured.ports", "8032,8033",
			"ingress.port.sasl.prop.8032", "authentication",
			"hadoop.security.saslproperties.resolver.class", ingressResolver},
			map[string]ipc.Protection{":8032": ipc.Authentication, ":8033": ipc.Privacy, ":8030": ipc.Integrity}},
	} {
		s, err := SecurityOf(read(t, c.pairs...), "rm1", short, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		for listen, want := range c.want {
			if got := s.at("0.0.0.0" + listen)(netip.Addr{}); got != want {
				t.Errorf("%v: port %s offers %q, not %q", c.pairs, listen, got, want)
			}
		}
	}
}

// TestProtectionOfAddresses checks what peers of two white lists and others are offered, and what
// happens when a file changes, becomes wrong or does not exist.
func TestProtectionOfAddresses(t *testing.T) {
	fixed, variable := filepath.Join(t.TempDir(), "fixed"), filepath.Join(t.TempDir(), "variable")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(fixed, "10.1.0.0/16\n10.2.0.1\nno.such.host.invalid\n")
	keys := []string{resolverKey, whitelistResolver, "hadoop.rpc.protection", "authentication,integrity", fixedKey, fixed,
		variableKey, variable}
	open := func(more ...string) Security {
		t.Helper()
		s, err := SecurityOf(read(t, append(keys[:len(keys):len(keys)], more...)...), "rm1", short, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	check := func(what string, s Security, others ipc.Protection, listed ...string) {
		t.Helper()
		for _, a := range []string{"127.0.0.1", "::1", "10.1.2.3", "::ffff:10.1.2.3", "10.2.0.1", "10.2.0.2", "10.3.0.1"} {
			want := others
			if slices.Contains(listed, a) {
				want = ipc.Authentication | ipc.Integrity
			}
			if got := s.at(":8032")(netip.MustParseAddr(a)); got != want {
				t.Errorf("%s: %s is offered %q, not %q", what, a, got, want)
			}
		}
	}
	listed := []string{"127.0.0.1", "10.1.2.3", "::ffff:10.1.2.3", "10.2.0.1"}
	write(variable, "10.3.0.1\n")
	check("the fixed file", open(), ipc.Privacy, listed...)
	check("others", open(othersKey, "integrity,privacy"), ipc.Integrity|ipc.Privacy, listed...)
	check("both files", open(enableKey, "true"), ipc.Privacy, append(listed, "10.3.0.1")...)
	cached, fresh := open(enableKey, "true", cacheKey, "-1"), open(enableKey, "true", cacheKey, "0")
	write(fixed, "*\n")
	write(variable, "10.2.0.2\n")
	check("cached", cached, ipc.Privacy, append(listed, "10.3.0.1")...)
	check("read again", fresh, ipc.Privacy, append(listed, "10.2.0.2")...)
	write(variable, "10.3.0.0/99\n")
	check("a wrong line later", fresh, ipc.Privacy, append(listed, "10.2.0.2")...)
	if err := os.Remove(variable); err != nil {
		t.Fatal(err)
	}
	check("no file later", fresh, ipc.Privacy, listed...)
	check("no files", open(fixedKey, "/nowhere/list", enableKey, "true"), ipc.Privacy, "127.0.0.1")
	check("all", open(), ipc.Privacy, "127.0.0.1", "::1", "10.1.2.3", "::ffff:10.1.2.3", "10.2.0.1",
		"10.2.0.2", "10.3.0.1")

	write(fixed, "10.0.0.0/99\n")
	for _, c := range []struct {
		pairs []string
		want  string
	}{
		{nil, fixedKey + ": " + fixed + `: "10.0.0.0/99" is not a network`},
		{[]string{fixedKey, t.TempDir()}, fixedKey + ": "},
		{[]string{othersKey, "secrecy"}, othersKey + ` is "secrecy": write authentication, integrity, privacy`},
		{[]string{fixedKey, "/nowhere/list", enableKey, "true", cacheKey, "soon"},
			cacheKey + `: "soon" is not a number of seconds`},
		{[]string{resolverKey, "com.example.Resolver"}, "the class com.example.Resolver cannot be run here: remove the key"},
	} {
		if _, err := SecurityOf(read(t, append(keys[:len(keys):len(keys)], c.pairs...)...), "rm1", short,
			hclog.NewNullLogger()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, not %q", c.pairs, err, c.want)
		}
	}
}

// TestKerberosPorts opens the four ports behind Kerberos, and asks at each for what it offers.
func TestKerberosPorts(t *testing.T) {
	key := gsstest.NewKey(t, "rm/one.example@EXAMPLE", 18, 1)
	s, err := SecurityOf(read(t, "hadoop.security.authentication", "kerberos", "yarn.resourcemanager.hostname",
		"one.example",
		principalKey, "rm/_HOST@EXAMPLE", keytabKey, gsstest.Keytab(t, key)), "rm1", short, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	local := Address{Listen: "127.0.0.1:0"}
	password := func(context.Context, []byte) (string, []byte, error) { return "", nil, ipc.InvalidToken("none") }
	f, err := Open(Config{Logger: hclog.NewNullLogger(), Security: s, Addresses: Addresses{local, local, local, local},
		Client: Port{Password: password}, Scheduler: Port{Password: password}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k := ipc.DefaultClientConfig()
	k.Logger = hclog.NewNullLogger()
	cl, err := ipc.OpenClient(k)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ticket := key.Ticket(t, "ann@EXAMPLE", nil)
	for i, available := range []string{"[TOKEN, KERBEROS]", "[TOKEN]", "[KERBEROS]", "[KERBEROS]"} {
		to := ipc.Target{Address: f.Addrs()[i].String(), Protocol: "x", User: "ann@EXAMPLE"}
		_, err := cl.Connect(context.Background(), to)
		if err == nil { // the refusal comes when something is read
			_, err = cl.Connect(context.Background(), ipc.Target{Address: to.Address, Protocol: "x", User: "ann", Sasl: true})
		}
		if err == nil {
			t.Errorf("port %d takes SIMPLE", i)
		}
		to.Ticket = func(service, host string) (gss.Ticket, error) {
			if service != "rm" || host != "one.example" {
				t.Errorf("port %d calls itself %s/%s", i, service, host)
			}
			return ticket, nil
		}
		cc, err := cl.Connect(context.Background(), to)
		if wantOK := strings.Contains(available, "KERBEROS"); (err == nil) != wantOK {
			t.Errorf("port %d: %v", i, err)
		}
		if err == nil {
			cc.Close()
		}
	}
}

// TestRealmsOfOthers shows tickets that came through a realm which only [capaths] of krb5.conf trusts.
func TestRealmsOfOthers(t *testing.T) {
	krb5 := filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(krb5, []byte("[capaths]\nOTHER = {\n EXAMPLE = HUB\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", krb5)
	key := gsstest.NewKey(t, "rm/one.example@EXAMPLE", 18, 1)
	s, err := SecurityOf(read(t, "hadoop.security.authentication", "kerberos", "yarn.resourcemanager.hostname",
		"one.example",
		principalKey, "rm/_HOST@EXAMPLE", keytabKey, gsstest.Keytab(t, key)), "rm1", short, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	for through, want := range map[string]bool{"HUB": true, "EVIL": false, "HUB,EVIL": false} {
		ticket := key.Ticket(t, "ann@OTHER", func(p *messages.EncTicketPart) {
			p.Transited = messages.TransitedEncoding{TRType: 1, Contents: []byte(through)}
		})
		_, token, err := gss.Initiate(ticket, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Kerberos.Acceptor.Accept(token, gss.Peer{}); (err == nil) != want {
			t.Errorf("through %s: %v", through, err)
		}
	}
}
