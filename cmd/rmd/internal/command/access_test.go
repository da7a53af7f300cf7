package command

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/certificate"
	"rmd/internal/exitcode"
)

// TestAccessTokenPrecedence checks that the flag has precedence over RMD_TOKEN_FILE, and
// RMD_TOKEN_FILE over RMD_TOKEN. The flag of "cluster join" names another token.
func TestAccessTokenPrecedence(t *testing.T) {
	var auth, body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 1000)
		n, _ := r.Body.Read(b)
		auth, body = r.Header.Get("Authorization"), string(b[:n])
		fmt.Fprint(w, `{"index":1}`)
	}))
	defer s.Close()
	file := func(text string) string {
		f := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return f
	}
	one, two, join := file("rmd_one\n"), file("rmd_two"), file("join-secret")
	for _, c := range []struct {
		env        map[string]string
		line, want string
	}{
		{nil, "queue stop root.a", ""},
		{map[string]string{"RMD_TOKEN": "rmd_env"}, "queue stop root.a", "Bearer rmd_env"},
		{map[string]string{"RMD_TOKEN": "rmd_env", "RMD_TOKEN_FILE": two}, "queue stop root.a", "Bearer rmd_two"},
		{map[string]string{"RMD_TOKEN": "rmd_env", "RMD_TOKEN_FILE": two}, "queue stop root.a --token-file " + one,
			"Bearer rmd_one"},
		{nil, "--token-file " + one + " queue stop root.a", "Bearer rmd_one"},
		{nil, "cluster join 127.0.0.1:8034 --token-file " + join, ""},
		{map[string]string{"RMD_TOKEN_FILE": two}, "cluster join 127.0.0.1:8034 --token-file " + join, "Bearer rmd_two"},
		{nil, "--token-file " + one + " cluster join 127.0.0.1:8034 --token-file " + join, "Bearer rmd_one"},
	} {
		env := map[string]string{"RMD_ADDR": s.URL}
		for k, v := range c.env {
			env[k] = v
		}
		auth, body = "none was asked", ""
		r := rmd(t, env, strings.Fields(c.line)...)
		if r.exit != exitcode.OK || auth != c.want {
			t.Errorf("%v %s: %q, want %q (%+v)", c.env, c.line, auth, c.want, r)
		}
		if strings.Contains(c.line, "join") && !strings.Contains(body, "join-secret") {
			t.Errorf("%s: the join token is not in %s", c.line, body)
		}
	}
	for mode, lines := range map[os.FileMode]int{0o600: 0, 0o400: 0, 0o644: 1, 0o660: 1} {
		access, join := file("rmd_one"), file("join-secret")
		if err := errors.Join(os.Chmod(access, mode), os.Chmod(join, mode)); err != nil {
			t.Fatal(err)
		}
		for line, each := range map[string]int{"queue stop root.a --token-file " + access: 1,
			"--token-file " + access + " cluster join 127.0.0.1:8034 --token-file " + join: 2,
			"queue stop root.a -q --token-file " + access:                                  0} {
			r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, strings.Fields(line)...)
			if got := strings.Count(r.err, fmt.Sprintf("has mode %#o, so others can read the token; chmod 600 it",
				mode)); r.exit != exitcode.OK || got != lines*each {
				t.Errorf("%s with mode %#o: %+v", line, mode, r)
			}
		}
	}
	for addr, warns := range map[string]bool{"192.0.2.2:1": true, "127.0.0.1:1": false, "https://192.0.2.2:1": false} {
		r := rmd(t, map[string]string{"RMD_ADDR": addr, "RMD_TOKEN": "rmd_env"}, "queue", "stop", "root.a", "--timeout", "1ms")
		if strings.Contains(r.err, "the access token goes to http://192.0.2.2:1 unencrypted") != warns {
			t.Errorf("a token for %s: %+v", addr, r)
		}
	}
	if r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, "queue", "stop", "root.a", "--token-file",
		"/dev/zero"); !strings.Contains(r.err, "/dev/zero has more than the 4096 bytes") {
		t.Errorf("a file without end: %+v", r)
	}
	for _, bad := range []string{"", "two words", "a\nb", strings.Repeat("x", verb.TokenMax+1)} {
		r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, "queue", "stop", "root.a", "--token-file", file(bad))
		if r.exit == exitcode.OK || bad != "" && strings.Contains(r.err, bad) {
			t.Errorf("%.20q is taken: %+v", bad, r)
		}
	}
}

// TestCheckKerberos checks the exit code and the remedies of what Kerberos lacks.
func TestCheckKerberos(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte("<configuration/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := rmd(t, map[string]string{"HADOOP_CONF_DIR": dir}, "check", "--kerberos")
	if want := "BAD  kerberos: Hadoop's files do not ask for it\n     set hadoop.security.authentication"; r.exit != exitcode.CheckFailed || !strings.HasPrefix(r.out, want) || !strings.Contains(r.err, "1 of 1 checks") {
		t.Errorf("without Kerberos: %+v", r)
	}
	if r := rmd(t, nil, "check", "--kerberos"); r.exit != exitcode.Usage || !strings.Contains(r.err, "--conf-dir DIR") {
		t.Errorf("without a directory: %+v", r)
	}
}

// TestRevokeCertificate revokes certificates by file and by serial number, and lists them.
func TestRevokeCertificate(t *testing.T) {
	dir := t.TempDir()
	if r := rmd(t, nil, "access", "certificate", "revoke", "--dir", dir, "2a"); r.exit != exitcode.Usage ||
		!strings.Contains(r.err, "there is no ca-key.pem") {
		t.Errorf("without a CA: %+v", r)
	}
	if _, _, err := certificate.Open(dir, "prod", time.Now()); err != nil {
		t.Fatal(err)
	}
	if r := rmd(t, nil, "access", "certificate", "create", "--dir", dir, "--cluster", "prod", "--role", "read", "--name",
		"alice"); r.exit != 0 {
		t.Fatalf("rmd access certificate create: exit %d, want 0; stderr %q", r.exit, r.err)
	}
	file := filepath.Join(dir, "alice.pem")
	serial, err := certificate.SerialOf(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{file, "2a", serial.Text(16)} {
		if r := rmd(t, nil, "access", "certificate", "revoke", "--dir", dir, what); r.exit != 0 {
			t.Errorf("rmd access certificate revoke %s: exit %d, want 0; stderr %q", what, r.exit, r.err)
		}
	}
	r := rmd(t, nil, "access", "certificate", "list", "--dir", dir)
	if strings.Count(r.out, serial.Text(16)) != 1 || !strings.Contains(r.out, "2a ") {
		t.Errorf("the list is\n%s%s", r.out, r.err)
	}
	if r := rmd(t, nil, "access", "certificate", "revoke", "--dir", dir, "nonsense"); r.exit == 0 ||
		!strings.Contains(r.err, "serial number") {
		t.Errorf("nonsense: %+v", r)
	}
}

// TestPrincipal shows the short name of a principal, and why another one has none.
func TestPrincipal(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Query().Get("principal"); p {
		case "ann@X":
			fmt.Fprint(w, `{"role":"none","principal":{"principal":"ann@X","short":"ann","rule":2,"text":"DEFAULT"}}`)
		case "eve@Y":
			fmt.Fprint(w, `{"role":"none","principal":{"principal":"eve@Y","refused":"No rules applied to eve@Y"}}`)
		default:
			t.Errorf("the principal is %q", p)
		}
	}))
	defer s.Close()
	for name, want := range map[string]string{
		"ann@X": "principal   ann@X\nshort name  ann\nrule        2: DEFAULT\n",
		"eve@Y": "principal   eve@Y\nshort name  -\nrule        none\nrefused     No rules applied to eve@Y\n",
	} {
		if r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, "access", "whoami", "--principal", name); r.out != want {
			t.Errorf("rmd access whoami --principal %s: %+v, want %q", name, r, want)
		}
	}
}
