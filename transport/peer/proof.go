package peer

import (
	"crypto/ed25519"
	"crypto/tls"
	"fmt"
	"net"
)

// A replica has its own key pair in addition to that of its certificate. It signs each hello with
// this key, together with a secret that only the two ends of the TLS connection know. The
// certificate shows which replica id the caller may use. The key shows that it is the same replica
// that joined. The key does not change when the certificate is renewed.
//
// The proof is the public key and the signature. A plain TCP connection has no such secret, so
// there is no proof.

// proofSize is the size of a proof in bytes.
const proofSize = ed25519.PublicKeySize + ed25519.SignatureSize

// The two ends sign different texts, so that neither can return the other's proof.
const (
	proofDialer   = "rmd replica hello 1 dialer\x00"
	proofListener = "rmd replica hello 1 listener\x00"
)

// prove returns the proof for a hello. It is empty without TLS or without a key.
func prove(conn net.Conn, key ed25519.PrivateKey, side string, h hello) (string, error) {
	words, ok, err := provenWords(conn, side, h)
	if !ok || err != nil || key == nil {
		return "", err
	}
	return string(key.Public().(ed25519.PublicKey)) + string(ed25519.Sign(key, words)), nil
}

// checkProof checks the proof of a hello and returns its key. The key is nil if the hello has no
// proof, as in earlier versions.
func checkProof(conn net.Conn, side string, h hello) (ed25519.PublicKey, error) {
	words, ok, err := provenWords(conn, side, h)
	if !ok || err != nil || h.Text == "" {
		return nil, err
	}
	if len(h.Text) != proofSize {
		return nil, fmt.Errorf("a proof of %d bytes", len(h.Text))
	}
	key := ed25519.PublicKey(h.Text[:ed25519.PublicKeySize])
	if !ed25519.Verify(key, words, []byte(h.Text[ed25519.PublicKeySize:])) {
		return nil, fmt.Errorf("the proof of %s does not verify", h.From.ServerID())
	}
	return key, nil
}

// provenWords returns the signed bytes: the side, the connection's secret and the hello.
func provenWords(conn net.Conn, side string, h hello) (words []byte, ok bool, err error) {
	tc, ok := conn.(*tls.Conn)
	if !ok {
		return nil, false, nil
	}
	state := tc.ConnectionState()
	secret, err := state.ExportKeyingMaterial("EXPORTER-rmd-replica", nil, 32)
	if err != nil {
		return nil, false, fmt.Errorf("secret of the connection: %w", err)
	}
	h.Text = ""
	return append(append([]byte(side), secret...), h.encode()...), true, nil
}

// serial returns the serial number of the other end's certificate in hexadecimal. It is empty over
// plain TCP.
func serial(conn net.Conn) string {
	tc, ok := conn.(*tls.Conn)
	if !ok || len(tc.ConnectionState().PeerCertificates) == 0 {
		return ""
	}
	return tc.ConnectionState().PeerCertificates[0].SerialNumber.Text(16)
}
