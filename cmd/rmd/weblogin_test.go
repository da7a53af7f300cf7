package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
	"rmd/transport/hadoop/proto"
)

// webCluster is a cluster whose callers log in by Kerberos over HTTP.
type webCluster struct {
	*hadoopCluster
	key gsstest.Key
}

func startWeb(t *testing.T, n int, site ...string) *webCluster {
	setRealm(t)
	w := &webCluster{key: gsstest.NewKey(t, "HTTP/127.0.0.1@TEST", 18, 1)}
	w.hadoopCluster = startHadoop(t, n, "", append([]string{"hadoop.http.authentication.type", "kerberos",
		"yarn.resourcemanager.webapp.spnego-principal", "HTTP/_HOST@TEST", "yarn.resourcemanager.webapp.spnego-keytab-file",
		gsstest.Keytab(t, w.key),
		"hadoop.security.auth_to_local", "RULE:[1:$1@$0](.*@TEST)s/@.*// RULE:[2:$1]", "yarn.admin.acl", "boss",
		"hadoop.http.authentication.kerberos.endpoint.whitelist", "/metrics",
		"hadoop.proxyuser.knox.hosts", "*", "hadoop.proxyuser.knox.users", "ann"}, site...)...)
	return w
}

// ticket returns the header Authorization of a client of SPNEGO, and the initiator that checks the
// server's answer.
func (w *webCluster) ticket(client string) (string, *gss.Initiator) {
	w.t.Helper()
	i, mech, err := gss.Initiate(w.key.Ticket(w.t, client, nil), time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	// NegTokenInit{mechTypes: [Kerberos], mechToken: mech} in DER
	oid := []byte{6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2}
	body := append(der(0xa0, der(0x30, oid)), der(0xa2, der(4, mech))...)
	spnego := der(0x60, append([]byte{6, 6, 0x2b, 6, 1, 5, 5, 2}, der(0xa0, der(0x30, body))...))
	return "Negotiate " + base64.StdEncoding.EncodeToString(spnego), i
}

func der(tag byte, b []byte) []byte {
	switch n := len(b); {
	case n < 0x80:
		return append([]byte{tag, byte(n)}, b...)
	case n < 0x100:
		return append([]byte{tag, 0x81, byte(n)}, b...)
	default:
		return append([]byte{tag, 0x82, byte(n >> 8), byte(n)}, b...)
	}
}

// ask makes a request with headers, alternating names and values.
func (w *webCluster) ask(p *process, method, path, body string, headers ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequest(method, "http://"+p.http+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}, Timeout: patience}
	a, err := c.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return a, string(text)
}

// wants checks the status of an answer and that it contains says.
func (w *webCluster) wants(what string, a *http.Response, body string, status int, says string) {
	w.t.Helper()
	if a.StatusCode != status || !strings.Contains(body, says) {
		w.t.Errorf("%s: %s, want %d and %q:\n%.600s", what, a.Status, status, says, body)
	}
}

// cookie returns the cookie of an answer.
func (w *webCluster) cookie(a *http.Response) string {
	w.t.Helper()
	for _, c := range a.Cookies() {
		if c.Name == "hadoop.auth" && c.Value != "" {
			return `hadoop.auth="` + c.Value + `"`
		}
	}
	w.t.Fatalf("no cookie in %v", a.Header)
	return ""
}

// TestWebLogin logs in at one replica and shows the cookie at another. It asks without a login, with
// tickets that must be refused, for another user and with a delegation token.
func TestWebLogin(t *testing.T) {
	w := startWeb(t, 3)
	here, there := w.all[0], w.all[1]
	const info, apps = "/ws/v1/cluster/info", "/ws/v1/cluster/apps/new-application"

	for _, path := range []string{info, "/v1/apps", "/ui/", "/proxy/application_1_0001/", "/cluster/apps"} {
		a, body := w.ask(here, "GET", path, "")
		w.wants("GET "+path+" without a login", a, body, 401, "")
		if got := a.Header.Values("WWW-Authenticate"); len(got) != 1 || got[0] != "Negotiate" {
			t.Errorf("GET %s asks for %q", path, got)
		}
	}
	a, body := w.ask(here, "OPTIONS", apps, "")
	w.wants("the first request of Hadoop's client", a, body, 401, "")
	a, body = w.ask(here, "POST", apps+"?user.name=ann", "")
	w.wants("a user who proves nothing", a, body, 401, "")
	for _, path := range []string{"/metrics", "/readyz"} {
		a, body = w.ask(here, "GET", path, "")
		w.wants("GET "+path, a, body, 200, "")
	}

	ann, initiator := w.ticket("ann@TEST")
	a, body = w.ask(here, "GET", "/v1/access", "", "Authorization", ann)
	w.wants("ann's ticket", a, body, 200, `"by":"kerberos"`)
	reply, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(a.Header.Get("WWW-Authenticate"), "Negotiate "))
	mark := []byte{0xa2}
	at := strings.Index(string(reply), string(mark))
	if err != nil || len(reply) < 20 || reply[0] != 0xa1 || at < 0 {
		t.Fatalf("the answer to the ticket is %x, %v", reply, err)
	}
	if _, err := initiator.Finish(reply[strings.Index(string(reply), "\x60"):]); err != nil {
		t.Errorf("the server does not prove itself: %v", err)
	}
	cookie := w.cookie(a)
	if !strings.HasPrefix(cookie, `hadoop.auth="u=ann&p=ann@TEST&t=kerberos&e=`) ||
		strings.Contains(a.Header.Get("Set-Cookie"), "Expires") {
		t.Errorf("the cookie is %s", a.Header.Get("Set-Cookie"))
	}
	var access api.Access
	if err := json.Unmarshal([]byte(body), &access); err != nil || access.Name != "ann" || access.Role != "submit" {
		t.Errorf("ann is %+v, %v", access, err)
	}
	a, body = w.ask(here, "GET", info, "", "Authorization", ann)
	w.wants("the same ticket again", a, body, 403, "the Kerberos ticket is refused")

	w.await("the other replica knows the secret", patience, func() bool {
		a, _ := w.ask(there, "GET", info, "", "Cookie", cookie)
		return a.StatusCode == 200
	})
	a, body = w.ask(there, "POST", apps, "", "Cookie", cookie)
	w.wants("a write with the cookie", a, body, 200, "application-id")
	a, body = w.ask(there, "POST", apps+"?user.name=eve", "", "Cookie", cookie)
	w.wants("user.name is not believed", a, body, 200, "application-id")
	a, body = w.ask(there, "POST", apps, "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site")
	w.wants("a page of another site", a, body, 403, "another site's page")
	for _, path := range []string{apps, "/v1/apps", "/ui/"} {
		a, body = w.ask(there, "POST", path, "", "Cookie", cookie, "Origin", "http://other.example")
		w.wants("another site's form to "+path, a, body, 403, "site")
	}
	for what, bad := range map[string]string{
		"another user":      strings.Replace(cookie, "u=ann", "u=boss", 1),
		"a later end":       strings.Replace(cookie, "&e=1", "&e=2", 1),
		"no signature":      cookie[:strings.Index(cookie, "&s=")] + `"`,
		"another signature": strings.Replace(cookie, "&s=", "&s=A", 1),
	} {
		a, body = w.ask(there, "GET", info, "", "Cookie", bad)
		w.wants("a cookie with "+what, a, body, 401, "")
		if !strings.HasPrefix(a.Header.Get("Set-Cookie"), "hadoop.auth=;") {
			t.Errorf("a cookie with %s is not removed: %q", what, a.Header.Get("Set-Cookie"))
		}
	}

	boss, _ := w.ticket("boss@TEST")
	a, body = w.ask(here, "GET", "/v1/access", "", "Authorization", boss)
	w.wants("an administrator of YARN", a, body, 200, `"role":"operator"`)
	eve, _ := w.ticket("eve@OTHER")
	a, body = w.ask(here, "GET", info, "", "Authorization", eve)
	w.wants("a principal without a name", a, body, 403, "No rules applied to eve@OTHER")
	for what, text := range map[string]string{"NTLM": "Negotiate TlRMTVNTUAABAAAA", "no base64": "Negotiate ??",
		"nothing": "Negotiate "} {
		a, body = w.ask(here, "GET", info, "", "Authorization", text)
		w.wants(what, a, body, 403, "")
	}
	other := gsstest.NewKey(t, "HTTP/127.0.0.1@TEST", 18, 1)
	w.key, other = other, w.key
	forged, _ := w.ticket("boss@TEST")
	w.key = other
	a, body = w.ask(here, "GET", info, "", "Authorization", forged)
	w.wants("a ticket that another key encrypts", a, body, 403, "the Kerberos ticket is refused")

	knox, _ := w.ticket("knox/gateway@TEST")
	a, body = w.ask(here, "GET", "/v1/access?doAs=ann", "", "Authorization", knox)
	w.wants("a proxy user", a, body, 200, `"name":"ann"`)
	knoxCookie := w.cookie(a)
	a, body = w.ask(here, "GET", "/v1/access?DOAS=boss", "", "Cookie", knoxCookie)
	w.wants("a user for whom it may not act", a, body, 403, "User: knox is not allowed to impersonate boss")
	a, body = w.ask(here, "GET", "/v1/access", "", "Cookie", knoxCookie)
	w.wants("the cookie of a proxy user", a, body, 200, `"name":"knox"`)

	var out proto.GetDelegationTokenResponseProto
	w.must(w.at[here].client, clientProtocol, "ann", "getDelegationToken",
		&proto.GetDelegationTokenRequestProto{Renewer: new("yarn")}, &out)
	text := urlString(out.GetToken().GetIdentifier(), out.GetToken().GetPassword())
	for _, header := range []string{"X-Hadoop-Delegation-Token", "Hadoop-YARN-Auth-Delegation-Token",
		"Hadoop-YARN-RM-Delegation-Token"} {
		a, body = w.ask(there, "GET", "/v1/access", "", header, text)
		w.wants("a delegation token in "+header, a, body, 200, `"name":"ann"`)
		a, body = w.ask(there, "GET", "/v1/access", "", header,
			urlString(out.GetToken().GetIdentifier(), []byte("no password")))
		w.wants("a forged delegation token in "+header, a, body, 403, "its password is wrong")
	}
	// As in Hadoop's TestRMWebServicesDelegationTokenAuthentication, but with an id that the cluster has given.
	a, body = w.ask(there, "POST", apps, "", "Hadoop-YARN-Auth-Delegation-Token", text)
	w.wants("an id by delegation token", a, body, 200, "application-id")
	var made struct {
		ID string `json:"application-id"`
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		t.Fatal(err)
	}
	submission := `{"application-id":"` + made.ID + `","queue":"a","resource":{"memory":1024,"vCores":1},
		"am-container-spec":{"commands":{"command":"sleep 1"}}}`
	a, body = w.ask(there, "POST", "/ws/v1/cluster/apps", submission, "Content-Type", "application/json")
	w.wants("a submission without a login", a, body, 401, "")
	a, body = w.ask(there, "POST", "/ws/v1/cluster/apps", submission, "Content-Type", "application/json",
		"Hadoop-YARN-Auth-Delegation-Token", text)
	w.wants("a submission by delegation token", a, body, 202, "")
	a, body = w.ask(here, "GET", "/ws/v1/cluster/apps/"+made.ID, "", "Hadoop-YARN-Auth-Delegation-Token", text)
	w.wants("the application of the token's owner", a, body, 200, `"user":"ann"`)
}

// TestWebLoginSecret shows cookies that another program has signed with the secret in a file.
func TestWebLoginSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := startWeb(t, 1, "hadoop.http.authentication.signature.secret.file", file)
	p := w.all[0]
	signed := func(secret, kind string, expires time.Time) string {
		text := fmt.Sprintf("u=ann&p=ann@TEST&t=%s&e=%d", kind, expires.UnixMilli())
		h := hmac.New(sha256.New, []byte(secret))
		h.Write([]byte(text))
		return `hadoop.auth="` + text + "&s=" + base64.StdEncoding.EncodeToString(h.Sum(nil)) + `"`
	}
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Second)
	for _, c := range []struct {
		what, cookie string
		status       int
	}{
		{"the cookie of a NameNode", signed("secret\n", "kerberos", later), 200},
		{"the cookie of a Java ResourceManager", signed("secret\n", "kerberos-dt", later), 200},
		{"an expired cookie", signed("secret\n", "kerberos", before), 401},
		{"a cookie without proof", signed("secret\n", "simple", later), 401},
		{"a cookie with another secret", signed("secret", "kerberos", later), 401},
	} {
		a, body := w.ask(p, "GET", "/ws/v1/cluster/info", "", "Cookie", c.cookie)
		w.wants(c.what, a, body, c.status, "")
	}
}

// urlString writes a token of a few bytes as Hadoop does in URLs.
func urlString(identifier, password []byte) string {
	b := append([]byte{byte(len(identifier))}, identifier...)
	b = append(append(b, byte(len(password))), password...)
	return base64.RawURLEncoding.EncodeToString(append(b, 0, 0))
}

// TestNamesBehindKerberos has Kerberos at YARN's ports and no login over HTTP, as many sites do. There
// nobody proves a user.name, so that it must not open over REST what the ports refuse.
func TestNamesBehindKerberos(t *testing.T) {
	setRealm(t)
	w := &webCluster{key: gsstest.NewKey(t, "rm/localhost@TEST", 18, 1)}
	w.hadoopCluster = startHadoop(t, 1, "", "hadoop.security.authentication", "kerberos",
		"yarn.resourcemanager.principal", "rm/localhost@TEST", "yarn.resourcemanager.keytab", gsstest.Keytab(t, w.key))
	p := w.all[0]
	const apps = "/ws/v1/cluster/apps"
	for _, path := range []string{apps + "/new-application", apps + "/new-application?user.name=ann"} {
		a, body := w.ask(p, "POST", path, "")
		w.wants("POST "+path, a, body, 403, "The default static user cannot carry out this operation.")
	}
	for _, call := range [][2]string{{"POST", apps}, {"PUT", apps + "/application_1_0001/state"}} {
		a, body := w.ask(p, call[0], call[1]+"?user.name=ann", "{}", "Content-Type", "application/json")
		w.wants(call[0]+" "+call[1], a, body, 403, "The default static user cannot carry out this operation.")
	}
	a, body := w.ask(p, "GET", "/ws/v1/cluster/userinfo?user.name=ann", "")
	w.wants("the name of the caller", a, body, 200, `"requestedUser":"dr.who"`)
}
