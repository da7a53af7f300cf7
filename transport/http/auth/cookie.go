package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rmd/fsm/state"
	"rmd/yarn"
)

// cookieName is the name of Hadoop's cookie, in which a caller proves that it has authenticated.
const cookieName = "hadoop.auth"

// pass is what the cookie says: u=USER&p=PRINCIPAL&t=TYPE&e=MILLISECONDS.
type pass struct {
	user, principal string
	expires         int64 // Unix milliseconds
}

// passTypes are the types of passes that are accepted. Hadoop's ResourceManager writes kerberos-dt
// and the NameNode kerberos, and both may have the same secret.
var passTypes = map[string]bool{"kerberos": true, "kerberos-dt": true}

func (p pass) String() string {
	return "u=" + p.user + "&p=" + p.principal + "&t=kerberos&e=" + strconv.FormatInt(p.expires, 10)
}

// parsePass reads a pass that was signed.
func parsePass(text string) (p pass, ok bool) {
	fields := map[string]string{}
	for field := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	var err error
	p.user, p.principal = fields["u"], fields["p"]
	p.expires, err = strconv.ParseInt(fields["e"], 10, 64)
	return p, err == nil && p.user != "" && p.principal != "" && passTypes[fields["t"]]
}

// writable reports whether a name can be in a cookie without changing its meaning.
func writable(name string) bool {
	return !strings.ContainsFunc(name, func(
		r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`&";\`, r)
	})
}

// sign returns the pass with its signature, &s=BASE64.
func (p pass) sign(secret []byte) string {
	text := p.String()
	return text + "&s=" + signature(secret, text)
}

func signature(secret []byte, text string) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// verifyPass returns the pass in a cookie that was signed with one of the secrets.
func verifyPass(cookie string, secrets [][]byte) (pass, bool) {
	at := strings.LastIndex(cookie, "&s=")
	if at < 0 {
		return pass{}, false
	}
	text, given := cookie[:at], cookie[at+len("&s="):]
	for _, secret := range secrets {
		if hmac.Equal([]byte(signature(secret, text)), []byte(given)) {
			return parsePass(text)
		}
	}
	return pass{}, false
}

// cookieSecrets returns the secrets of cookies, the one that signs first. Each is made from a master
// key of delegation tokens. Those keys are replicated, so that a cookie is valid at every replica,
// and they roll: the key before the current one is kept for as long as a day.
func cookieSecrets(st *state.State) [][]byte {
	keys := st.Keys(yarn.KeyDelegation)
	var out [][]byte
	for _, k := range []state.MasterKey{keys.Current, keys.Previous, keys.Next} {
		if k.ID != 0 {
			h := hmac.New(sha256.New, k.Bytes)
			h.Write([]byte("secret of the cookie hadoop.auth"))
			out = append(out, h.Sum(nil))
		}
	}
	return out
}

// setPass gives the caller a cookie as Hadoop's createAuthCookie does. Java's clients must be able to
// read it, so http.SetCookie, which writes other quotes and dates, is no help.
func (k *Kerberos) setPass(h http.Header, r *http.Request, value string, expires int64) {
	cookie := cookieName + "="
	if value != "" {
		cookie += `"` + value + `"`
	}
	cookie += "; Path=/"
	if k.CookieDomain != "" {
		cookie += "; Domain=" + k.CookieDomain
	}
	if k.CookiePersistent || value == "" {
		cookie += "; Expires=" + time.UnixMilli(expires).UTC().Format("Mon, 02-Jan-2006 15:04:05 GMT")
	}
	if r.TLS != nil {
		cookie += "; Secure"
	}
	h.Add("Set-Cookie", cookie+"; HttpOnly")
}
