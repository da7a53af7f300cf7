// Package digest is the SASL mechanism DIGEST-MD5 (RFC 2831) as Hadoop uses it
// for its tokens: both ends, quality of protection auth, algorithm md5-sess,
// realm "default", digest-uri "/default".
//
// The server makes a challenge with a nonce of its own, checks one answer to it,
// and proves in turn that it knows the password. The client is the mirror image.
// The mechanism is what Hadoop's peers speak; it is not chosen for its strength,
// and it protects no traffic after the exchange.
//
// It knows nothing of tokens: the user name and the password are text to it.
package digest
