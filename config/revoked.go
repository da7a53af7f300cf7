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

// revoked are the serial numbers, in hexadecimal, of certificates that are good no more.
type revoked map[string]bool

// revocationFile is where the list of revoked certificates lies: beside tls.ca.
func (t TLS) revocationFile() string {
	return filepath.Join(filepath.Dir(t.CA), certificate.RevocationFile)
}

// loadRevoked reads the list; without the file nothing is revoked.
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

// verify refuses a connection whose other end has a revoked certificate.
func (r revoked) verify(cs tls.ConnectionState) error {
	for _, cert := range cs.PeerCertificates {
		if r[cert.SerialNumber.Text(16)] {
			return fmt.Errorf("certificate %s is revoked", cert.SerialNumber.Text(16))
		}
	}
	return nil
}

// Revoked says whether the certificate with a serial number, in hexadecimal, is revoked.
func (c *Certificates) Revoked(serial string) bool { return c.now.Load().revoked[serial] }
