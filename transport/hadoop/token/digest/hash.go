package digest

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// The constants of Hadoop's use.
const (
	realm = "default"
	uri   = "/default"
	qop   = "auth"
	// firstCount is the only nonce count there is: no answer is used twice.
	firstCount = "00000001"
)

// newNonce is 30 random bytes as text.
func newNonce() string {
	var b [30]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return base64.StdEncoding.EncodeToString(b[:])
}

// exchange is all that both proofs are computed from.
type exchange struct {
	user, realm, password  string
	nonce, cnonce, authzid string
	uri                    string
}

// answer is the client's proof, and final the server's.
func (e *exchange) answer() string { return e.proof("AUTHENTICATE:" + e.uri) }
func (e *exchange) final() string  { return e.proof(":" + e.uri) }

func (e *exchange) proof(a2 string) string {
	return hexMD5(e.secret() + ":" + e.nonce + ":" + firstCount + ":" + e.cnonce + ":" + qop + ":" + hexMD5(a2))
}

// secret is HA1 of md5-sess: the user's secret bound to the two nonces.
func (e *exchange) secret() string {
	h := md5.Sum([]byte(latin(e.user) + ":" + latin(e.realm) + ":" + latin(e.password)))
	a1 := string(h[:]) + ":" + e.nonce + ":" + e.cnonce
	if e.authzid != "" {
		a1 += ":" + e.authzid
	}
	return hexMD5(a1)
}

func hexMD5(s string) string {
	h := md5.Sum([]byte(s))
	return hex.EncodeToString(h[:])
}

// latin is the RFC's rule for hashing: UTF-8 text that ISO 8859-1 can hold is
// hashed as that, all other as it is.
func latin(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r > 0xff || (r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD")) {
			return s
		}
		b.WriteByte(byte(r))
	}
	return b.String()
}
