package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"rmd/internal/certificate"
)

// revoked has the serial numbers, in hexadecimal, of revoked certificates.
type revoked map[string]bool

// revocationFile returns the path of the list of revoked certificates, which is beside tls.ca.
func (t TLS) revocationFile() string {
	return filepath.Join(filepath.Dir(t.CA), certificate.RevocationFile)
}

// loadRevoked reads the list. If there is no file, no certificate is revoked.
func loadRevoked(t TLS) (revoked, error) {
	data, err := os.ReadFile(t.revocationFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var cas []*x509.Certificate
	if err == nil {
		cas, err = certificate.Authorities(t.CA)
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of revoked certificates: %w", err)
	}
	lists, err := certificate.ParseRevocations(data, cas)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.revocationFile(), err)
	}
	out := revoked{}
	for _, l := range lists {
		for _, e := range l.RevokedCertificateEntries {
			out[e.SerialNumber.Text(16)] = true
		}
	}
	return out, nil
}

// verify returns an error if the certificate of the peer is revoked.
func (r revoked) verify(cs tls.ConnectionState) error {
	for _, cert := range cs.PeerCertificates {
		if r[cert.SerialNumber.Text(16)] {
			return fmt.Errorf("certificate %s is revoked", cert.SerialNumber.Text(16))
		}
	}
	return nil
}

// Revoked reports whether the certificate with a serial number, in hexadecimal, is revoked.
func (c *Certificates) Revoked(serial string) bool { return c.now.Load().revoked[serial] }
