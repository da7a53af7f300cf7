// Package digest implements the SASL mechanism DIGEST-MD5 (RFC 2831) as Hadoop uses it for its
// tokens, for servers and clients: quality of protection auth, algorithm md5-sess, realm "default",
// digest-uri "/default".
//
// The server makes a challenge with its own nonce, checks one answer to it, and then proves that it
// knows the password. The client does the counterpart. Hadoop's programs require this mechanism. It
// is weak, and it protects no traffic after the exchange.
//
// The package knows nothing of tokens: the user name and the password are text to it.
package digest
