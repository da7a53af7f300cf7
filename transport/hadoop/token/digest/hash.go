package digest

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// The values that Hadoop uses.
const (
	realm = "default"
	uri   = "/default"
	// firstCount is the only nonce count, because no challenge is used twice.
	firstCount = "00000001"
)

// newNonce returns 30 random bytes in base64.
func newNonce() string {
	var b [30]byte
	_, _ = rand.Read(b[:]) // crypto/rand never fails
	return base64.StdEncoding.EncodeToString(b[:])
}

// exchange has the values from which both proofs are computed.
type exchange struct {
	user, realm, password  string
	nonce, cnonce, authzid string
	uri                    string
	protection             Protection
}

// answer returns the client's proof, and final the server's.
func (e *exchange) answer() string { return e.proof("AUTHENTICATE:" + e.uri) }
func (e *exchange) final() string  { return e.proof(":" + e.uri) }

func (e *exchange) proof(a2 string) string {
	if e.protection != Authentication {
		a2 += ":00000000000000000000000000000000" // in place of the hash of a body
	}
	return hexMD5(hex.EncodeToString(e.secret()) + ":" + e.nonce + ":" + firstCount + ":" + e.cnonce + ":" +
		e.protection.String() + ":" + hexMD5(a2))
}

// secret returns H(A1) of md5-sess: a hash of the user's secret and the two nonces.
func (e *exchange) secret() []byte {
	h := md5.Sum([]byte(latin(e.user) + ":" + latin(e.realm) + ":" + latin(e.password)))
	a1 := string(h[:]) + ":" + e.nonce + ":" + e.cnonce
	if e.authzid != "" {
		a1 += ":" + e.authzid
	}
	secret := md5.Sum([]byte(a1))
	return secret[:]
}

func hexMD5(s string) string {
	h := md5.Sum([]byte(s))
	return hex.EncodeToString(h[:])
}

// latin implements a rule of RFC 2831: UTF-8 text whose characters are all in ISO 8859-1 is hashed
// in that encoding, and other text as it is.
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
