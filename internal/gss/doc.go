// Package gss implements the Kerberos mechanism of GSS-API (RFC 4121) for servers and clients: the
// exchange AP-REQ, AP-REP, and the messages that are protected afterwards. It supports the
// encryption types aes128-cts-hmac-sha1-96 (17), aes256-cts-hmac-sha1-96 (18),
// aes128-cts-hmac-sha256-128 (19) and aes256-cts-hmac-sha384-192 (20), and refuses all others.
//
// An Acceptor has the keys of a keytab. Start reading at Acceptor.Accept. Tokens begin with the
// header of RFC 2743 and the mechanism's identifier, both as SASL's GSSAPI sends them and as SPNEGO
// carries them.
//
// Package kdc below gets the tickets with which this process is a client. Package gokrb5 decodes the
// messages and derives keys from a user's keytab. What is checked, encrypted and signed here does not
// use it, because its replay cache takes the service's name from clear text, it does not compare the
// client's realm, and it panics on short messages. Accept recovers what is left of its panics and
// counts them.
//
// Invariants:
//
//   - No token is accepted twice by a process while its time is within the allowed skew.
//   - A context that the client asked to be mutual has a key that the acceptor chose. A token that
//     is replayed at another process can open a context, but the attacker can neither read nor send
//     a message of it.
//   - All that a stranger sends is bounded: TokenMax for the first token, and the memory of the
//     replay cache.
package gss
