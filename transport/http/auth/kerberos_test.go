package auth

import (
	"encoding/asn1"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/yarn"
)

// hadoopsPass is a cookie that the Signer of Hadoop 3.4.2 made with the secret "secret".
const hadoopsPass = "u=ann&p=ann@TEST&t=kerberos&e=1796000000000&s=K0Ajbvr6z0ZmQxgJpgflMMt8ZyP5lLWMcXtDjchZlNY="

// TestPass checks that passes have Hadoop's form, and that only signed ones are accepted.
func TestPass(t *testing.T) {
	secret := []byte("secret")
	p := pass{user: "ann", principal: "ann@TEST", expires: 1796000000000}
	if got := p.sign(secret); got != hadoopsPass {
		t.Errorf("the pass is %s, want %s", got, hadoopsPass)
	}
	for cookie, want := range map[string]bool{
		hadoopsPass: true, "": false, "u=ann": false, strings.TrimSuffix(hadoopsPass, "="): false,
		strings.Replace(hadoopsPass, "ann", "eve", 1): false,
		signed("u=ann&p=ann@TEST&t=kerberos-dt&e=1"):  true, signed("u=ann&p=ann@TEST&t=simple&e=1"): false,
		signed("u=ann&p=ann@TEST&t=kerberos"): false,
		signed("p=ann@TEST&t=kerberos&e=1"):   false, signed("u=ann&t=kerberos&e=1"): false,
		signed("u=ann&p=ann@TEST&t=kerberos&e=x"): false,
	} {
		if _, ok := verifyPass(cookie, [][]byte{[]byte("another"), secret}); ok != want {
			t.Errorf("%s is accepted: %v", cookie, ok)
		}
	}
	if got, _ := verifyPass(hadoopsPass, [][]byte{secret}); got != p {
		t.Errorf("the pass reads %+v", got)
	}
	if _, ok := verifyPass(hadoopsPass, nil); ok {
		t.Error("a pass is accepted without secrets")
	}
	for name, want := range map[string]bool{"ann": true, "a&u=boss": false, "a;b": false, `a"b`: false, "a b": false,
		"ä": false} {
		if writable(name) != want {
			t.Errorf("%q may be in a cookie: %v", name, !want)
		}
	}
}

func signed(text string) string { return text + "&s=" + signature([]byte("secret"), text) }

// TestCookieSecrets checks that a cookie outlives one change of the key, and not two.
func TestCookieSecrets(t *testing.T) {
	st := state.New()
	key := func(id int32) state.MasterKey { return state.MasterKey{ID: id, Bytes: []byte{byte(id)}} }
	valid := func(cookie string) bool { _, ok := verifyPass(cookie, cookieSecrets(st)); return ok }
	if len(cookieSecrets(st)) != 0 {
		t.Error("there are secrets without a key")
	}
	keys := st.Keys(yarn.KeyDelegation)
	keys.Current = key(1)
	cookie := pass{user: "ann", principal: "ann@TEST", expires: 1}.sign(cookieSecrets(st)[0])
	if !valid(cookie) {
		t.Error("its own cookie is refused")
	}
	if _, ok := verifyPass(pass{user: "ann", principal: "ann@TEST"}.sign(key(1).Bytes), cookieSecrets(st)); ok {
		t.Error("the key of delegation tokens signs cookies")
	}
	keys.Current, keys.Previous = key(2), key(1)
	if !valid(cookie) {
		t.Error("the cookie of the previous key is refused")
	}
	keys.Current, keys.Previous = key(3), key(2)
	if valid(cookie) {
		t.Error("the cookie of a key that is gone is accepted")
	}
}

// TestSetCookie checks the attributes of the cookie, which Java's clients read.
func TestSetCookie(t *testing.T) {
	plain, secure := httptest.NewRequest("GET", "http://h/", nil), httptest.NewRequest("GET", "https://h/", nil)
	at := time.Date(2026, 11, 27, 20, 0, 0, 0, time.UTC).UnixMilli()
	for _, c := range []struct {
		k    Kerberos
		r    *http.Request
		text string
		want string
	}{
		{Kerberos{}, plain, "u=a", `hadoop.auth="u=a"; Path=/; HttpOnly`},
		{Kerberos{CookieDomain: "example.com", CookiePersistent: true}, secure, "u=a",
			`hadoop.auth="u=a"; Path=/; Domain=example.com; Expires=Fri, 27-Nov-2026 20:00:00 GMT; Secure; HttpOnly`},
		{Kerberos{}, plain, "", `hadoop.auth=; Path=/; Expires=Thu, 01-Jan-1970 00:00:00 GMT; HttpOnly`},
	} {
		h, end := http.Header{}, at
		if c.text == "" {
			end = 0
		}
		if c.k.setPass(h, c.r, c.text, end); h.Get("Set-Cookie") != c.want {
			t.Errorf("the cookie is %s, want %s", h.Get("Set-Cookie"), c.want)
		}
	}
}

// TestUnwrapNegotiate reads tokens of clients, and such that are cut off.
func TestUnwrapNegotiate(t *testing.T) {
	mech := func(first asn1.ObjectIdentifier, token string) []byte {
		init, err := asn1.MarshalWithParams(negTokenInit{MechTypes: []asn1.ObjectIdentifier{first, oidKerberos},
			MechToken: []byte(token)}, "explicit,tag:0")
		if err != nil {
			t.Fatal(err)
		}
		return gssFrame(t, oidSPNEGO, init)
	}
	for _, first := range []asn1.ObjectIdentifier{oidKerberos, oidWindows} {
		got, answer, err := unwrapNegotiate(mech(first, "ticket"))
		if err != nil || string(got) != "ticket" {
			t.Fatalf("with %s first: %q, %v", first, got, err)
		}
		out, err := answer([]byte("reply"))
		if err != nil {
			t.Fatal(err)
		}
		var resp negTokenResp
		if rest, err := asn1.UnmarshalWithParams(out, &resp, "explicit,tag:1"); err != nil || len(rest) > 0 ||
			resp.NegState != 0 || !resp.SupportedMech.Equal(first) || string(resp.ResponseToken) != "reply" {
			t.Errorf("the answer is %+v, %v", resp, err)
		}
	}
	raw := gssFrame(t, oidKerberos, []byte{1, 0})
	got, answer, err := unwrapNegotiate(raw)
	if err != nil || string(got) != string(raw) {
		t.Fatalf("Kerberos's own token: %x, %v", got, err)
	}
	if out, err := answer([]byte("reply")); err != nil || string(out) != "reply" {
		t.Errorf("its answer is %q, %v", out, err)
	}
	whole := mech(oidKerberos, "ticket")
	for i := range whole {
		if _, _, err := unwrapNegotiate(whole[:i]); err == nil {
			t.Errorf("the first %d bytes are accepted", i)
		}
	}
	for what, bad := range map[string][]byte{"another mechanism": gssFrame(t, asn1.ObjectIdentifier{1, 2, 3}, nil),
		"NTLM first": mech(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 2, 2, 10}, "x"),
		"no ticket":  mech(oidKerberos, ""), "more bytes": append(whole, 0)} {
		if _, _, err := unwrapNegotiate(bad); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

func gssFrame(t *testing.T, oid asn1.ObjectIdentifier, body []byte) []byte {
	t.Helper()
	id, err := asn1.Marshal(oid)
	if err != nil {
		t.Fatal(err)
	}
	out, err := asn1.Marshal(asn1.RawValue{Class: asn1.ClassApplication, IsCompound: true, Bytes: append(id, body...)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzUnwrapNegotiate reads what strangers send.
func FuzzUnwrapNegotiate(f *testing.F) {
	seed, _ := base64.StdEncoding.DecodeString("YBAGBisGAQUFAqAGMASgAjAA")
	f.Add(seed)
	f.Fuzz(func(t *testing.T, b []byte) {
		if mech, answer, err := unwrapNegotiate(b); err == nil {
			if _, err := answer(mech); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzCookie reads cookies of strangers, who do not know the secret, and those that were signed, of
// which no byte may be changed.
func FuzzCookie(f *testing.F) {
	secrets := [][]byte{[]byte("new"), []byte("old")}
	f.Add(pass{"ann", "ann@TEST", 1}.sign([]byte("other")), "ann", "ann@TEST", int64(1), 3, byte(1))
	f.Add("u=ann&p=ann@TEST&t=kerberos&e=1&s=", "a", "a", int64(-1), 0, byte(0))
	f.Fuzz(func(t *testing.T, cookie, user, principal string, expires int64, at int, flip byte) {
		if p, ok := verifyPass(cookie, secrets); ok {
			t.Errorf("%q is taken for %v", cookie, p)
		}
		_, _ = parsePass(cookie)
		if user == "" || principal == "" || !writable(user) || !writable(principal) {
			return
		}
		want := pass{user, principal, expires}
		for _, secret := range secrets {
			signed := want.sign(secret)
			if p, ok := verifyPass(signed, secrets); !ok || p != want {
				t.Errorf("%v is read as %v, %v", want, p, ok)
			}
			b := []byte(signed)
			b[uint(at)%uint(len(b))] ^= flip
			if p, ok := verifyPass(string(b), secrets); ok && flip != 0 {
				t.Errorf("%q, changed to %q, is taken for %v", signed, b, p)
			}
		}
	})
}

func TestDoAs(t *testing.T) {
	for query, want := range map[string]struct {
		user  string
		found bool
		rest  string
	}{
		"":                    {},
		"a=1&b":               {"", false, "a=1&b"},
		"doAs=ann":            {"ann", true, ""},
		"a=1&DOAS=ann&b=2":    {"ann", true, "a=1&b=2"},
		"doas=a%20b":          {"a b", true, ""},
		"doAs=ann&doAs=eve&x": {"ann", true, "x"},
		"doAs=&doAs=eve":      {"", true, ""},
		"doAs":                {"", true, ""},
		"doAs=%":              {"", true, ""},
		"do%41s=ann":          {"ann", true, ""},
		"a=1;doAs=ann":        {"ann", true, "a=1"},
	} {
		if user, found, rest := doAs(query); user != want.user || found != want.found || rest != want.rest {
			t.Errorf("%q: %q, %v and %q, want %+v", query, user, found, rest, want)
		}
	}
}
