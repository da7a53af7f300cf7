package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
)

// URI returns the URI SAN that a replica's certificate must contain.
func URI(cluster, id string) string { return "rmd://" + cluster + "/replica/" + id }

// serverTLS completes base for the listening side: TLS 1.3, and a client certificate is required.
func serverTLS(base *tls.Config) *tls.Config {
	c := base.Clone()
	c.MinVersion = tls.VersionTLS13
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if c.ClientCAs == nil {
		c.ClientCAs = c.RootCAs
	}
	return c
}

// clientTLS completes base for the dialing side. A replica's certificate names a replica, not a
// host. Therefore clientTLS checks the chain instead of the host, and checkCertificate checks the
// URI SAN after the hello, which contains the other side's id.
func clientTLS(base *tls.Config) *tls.Config {
	c := base.Clone()
	c.MinVersion = tls.VersionTLS13
	roots := c.RootCAs
	c.InsecureSkipVerify = true
	more := base.VerifyConnection
	c.VerifyConnection = func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) == 0 {
			return errors.New("no certificate")
		}
		inter := x509.NewCertPool()
		for _, crt := range cs.PeerCertificates[1:] {
			inter.AddCert(crt)
		}
		_, err := cs.PeerCertificates[0].Verify(
			x509.VerifyOptions{Roots: roots, Intermediates: inter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		if err == nil && more != nil {
			err = more(cs)
		}
		return err
	}
	return c
}

// checkCertificate compares the certificate of conn, if there is one, with the claimed id.
func checkCertificate(conn net.Conn, cluster, id string) error {
	tc, ok := conn.(*tls.Conn)
	if !ok {
		return nil
	}
	certs := tc.ConnectionState().PeerCertificates
	if len(certs) == 0 {
		return errors.New("no certificate")
	}
	want := URI(cluster, id)
	var have []string
	for _, u := range certs[0].URIs {
		if u.String() == want {
			return nil
		}
		have = append(have, u.String())
	}
	return fmt.Errorf("certificate names [%s], not %s", strings.Join(have, " "), want)
}

// secure performs the TLS handshake if TLS is configured.
func (s *Server) secure(ctx context.Context, raw net.Conn, server bool) (net.Conn, error) {
	if s.cfg.TLS == nil {
		return raw, nil
	}
	base := s.cfg.TLS
	if s.cfg.FreshTLS != nil {
		base = s.cfg.FreshTLS()
	}
	var tc *tls.Conn
	if server {
		tc = tls.Server(raw, serverTLS(base))
	} else {
		tc = tls.Client(raw, clientTLS(base))
	}
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("tls handshake: %w", err)
	}
	return tc, nil
}
