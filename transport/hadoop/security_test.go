package hadoop

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

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
		"other host":   {id: "rm2", pairs: kerberos, want: "no AES key of rm/two.example@EXAMPLE, only of: rm/one.example@EXAMPLE", fails: true},
		"no principal": {id: "rm1", pairs: change(principalKey, ""), want: "name the service", fails: true},
		"no keytab":    {id: "rm1", pairs: change(keytabKey, ""), want: "name the file", fails: true},
		"missing file": {id: "rm1", pairs: change(keytabKey, "/nowhere/keytab"), want: "/nowhere/keytab", fails: true},
		"no host part": {id: "rm1", pairs: change(principalKey, "rm@EXAMPLE"), want: "Kerberos principal name does NOT have the expected hostname part: rm@EXAMPLE", fails: true},
		"protection":   {id: "rm1", pairs: []string{"hadoop.rpc.protection", "secrecy"}, want: "write authentication, integrity, privacy", fails: true},
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
		if _, err := SecurityOf(read(t, kerberos...), "rm1", short, hclog.NewNullLogger()); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "the right to read") {
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
		{[]string{"hadoop.rpc.protection", "privacy", "ingress.port.sasl.configured.ports", "8032", "ingress.port.sasl.prop.8032", "authentication"},
			map[string]ipc.Protection{":8032": ipc.Privacy}},
		{[]string{"hadoop.rpc.protection", "integrity", "ingress.port.sasl.configured.ports", "8032,8033", "ingress.port.sasl.prop.8032", "authentication",
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

// TestKerberosPorts opens the four ports behind Kerberos, and asks at each for what it offers.
func TestKerberosPorts(t *testing.T) {
	key := gsstest.NewKey(t, "rm/one.example@EXAMPLE", 18, 1)
	s, err := SecurityOf(read(t, "hadoop.security.authentication", "kerberos", "yarn.resourcemanager.hostname", "one.example",
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
