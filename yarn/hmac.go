package yarn

import "strings"

// HMAC is the algorithm with which a master key signs tokens.
type HMAC uint8

// The algorithms; append only.
const (
	HMACSHA1 HMAC = iota
	HMACSHA224
	HMACSHA256
	HMACSHA384
	HMACSHA512
	HMACs // one more than the last
)

var hmacs = [HMACs]string{"HmacSHA1", "HmacSHA224", "HmacSHA256", "HmacSHA384", "HmacSHA512"}

// String returns Java's name.
func (h HMAC) String() string { return name(uint8(h), hmacs[:]...) }

// ParseHMAC returns the algorithm with one of Java's names, in any case.
func ParseHMAC(text string) (HMAC, bool) {
	for i, n := range hmacs {
		if strings.EqualFold(n, text) {
			return HMAC(i), true
		}
	}
	return 0, false
}

// HMACNames returns Java's names of the algorithms.
func HMACNames() []string { return hmacs[:] }
