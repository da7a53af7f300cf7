package capacity

import (
	"strings"

	"rmd/yarn"
)

// TokenSettings are the algorithm and length of master keys, and the intervals of master keys and
// delegation tokens, in milliseconds.
type TokenSettings struct {
	Algorithm yarn.HMAC
	KeyBytes  int // length of a master key

	Roll        [yarn.KeyKinds]int64 // from the creation of a key to that of the next
	Activate    [yarn.KeyKinds]int64 // from the creation of a key to its first use
	LifeMillis  int64                // of a delegation token, with all renewals
	RenewMillis int64                // of a delegation token, from one renewal to the next
}

func (r *reader) readExpiries() (node, am int64) {
	return r.millis("yarn.nm.liveness-monitor.expiry-interval-ms", 600_000),
		r.millis("yarn.am.liveness-monitor.expiry-interval-ms", 600_000)
}

// Hadoop's keys of the algorithm that signs tokens, and of the length of master keys in bits.
const (
	TokenAlgorithmKey = "hadoop.security.secret-manager.key-generator.algorithm"
	tokenLengthKey    = "hadoop.security.secret-manager.key-length"
)

// minKeyBytes is the least length of a master key. It is longer than Hadoop's default of 64 bits,
// because nodes take keys of any length.
const minKeyBytes = 32

// readAlgorithm reads the algorithm that signs tokens.
func (r *reader) readAlgorithm() yarn.HMAC {
	v, ok := r.get(TokenAlgorithmKey)
	h, known := yarn.ParseHMAC(v)
	if ok && !known {
		r.fault(TokenAlgorithmKey, "is not an algorithm with which rmd signs tokens",
			"write "+strings.Join(yarn.HMACNames(), ", ")+" here and in the files of all NodeManagers")
	}
	return h
}

func (r *reader) readTokens() TokenSettings {
	const (
		prefix = "yarn.resourcemanager."
		every  = ".master-key-rolling-interval-secs"
		day    = 86_400
		year   = 365 * day
	)
	node, am := r.readExpiries()
	t := TokenSettings{
		Algorithm:   r.readAlgorithm(),
		KeyBytes:    max(minKeyBytes, int(r.int(tokenLengthKey, 64, 1, 8192)+7)/8),
		LifeMillis:  r.millis(prefix+"delegation.token.max-lifetime", 7*day*1000),
		RenewMillis: r.millis(prefix+"delegation.token.renew-interval", day*1000),
	}
	t.Roll[yarn.KeyContainer] = r.int(prefix+"container-tokens"+every, day, 1, year) * 1000
	t.Roll[yarn.KeyNM] = r.int(prefix+"nm-tokens"+every, day, 1, year) * 1000
	t.Roll[yarn.KeyAMRM] = r.int(prefix+"am-rm-tokens"+every, day, 1, year) * 1000
	t.Roll[yarn.KeyDelegation] = r.millis(prefix+"delegation.key.update-interval", day*1000)
	// By then each node or AM has the new key, or has expired.
	t.Activate[yarn.KeyContainer], t.Activate[yarn.KeyNM], t.Activate[yarn.KeyAMRM] = node*3/2, node*3/2, am*3/2
	return t
}
