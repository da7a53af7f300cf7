// Package digest implements the SASL mechanism DIGEST-MD5 (RFC 2831) as Hadoop uses it for its
// tokens, for servers and clients: algorithm md5-sess, realm "default", digest-uri "/default".
//
// The server sends a challenge with its own nonce, checks one answer to it, and then proves that it
// knows the password. Both may agree that later messages are signed or encrypted; then they wrap
// them with a Layer. Hadoop's programs require this mechanism. It is weak: MD5 and 3DES are old.
//
// The package knows nothing of tokens. The user name and the password are strings.
package digest
