package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"rmd/internal/certificate"
	"rmd/internal/filemode"
	"rmd/transport/peer"
)

// pemRemedy is what to do about files of TLS that cannot be used.
const pemRemedy = "name the CA, a certificate and the key that belongs to it, each in PEM format"

// checkTLS reads and checks the certificates.
func (l *loader) checkTLS() {
	t := l.cfg.TLS
	if !t.On() {
		return
	}
	missing := false
	for path, file := range map[string]string{"tls.ca": t.CA, "tls.cert": t.Cert, "tls.key": t.Key} {
		if file == "" {
			l.invalid(path, "configure tls.ca, tls.cert and tls.key, or none of them", "is missing")
			missing = true
		}
	}
	if missing {
		return
	}
	if mode, open := keyIsOpen(t.Key); open {
		l.invalid("tls.key", "chmod 600 it", "%s has mode %#o, so others can read it", t.Key, mode)
	}
	conf, err := LoadTLS(t)
	var of *fileError
	switch {
	case errors.As(err, &of):
		l.invalid(of.key, pemRemedy, "%v", of.err)
		return
	case err != nil:
		l.invalid("tls.cert", pemRemedy, "%v", err)
		return
	}
	leaf := conf.Certificates[0].Leaf
	want := peer.URI(l.cfg.Cluster, l.cfg.ID)
	if !names(leaf, want) {
		l.invalid("tls.cert", "create it with \"rmd init --tls\", or correct id and cluster",
			"certificate id differs from the replica id: %s does not name %s", t.Cert, want)
	}
	now := time.Now()
	if why, do := notValid(leaf, now); why != "" {
		l.invalid("tls.cert", do, "%s", why)
	} else if v := validityOf(leaf); now.After(v.Warns()) {
		l.warn("the certificate %s expires in %d days, on %s", t.Cert, int(v.Until.Sub(now).Hours()/24),
			v.Until.Format("2006-01-02"))
	}
}

// keyIsOpen reports whether others can read a file with a key, and returns its mode.
func keyIsOpen(file string) (mode fs.FileMode, open bool) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, false // reading the file fails too
	}
	return info.Mode().Perm(), !filemode.Secret(info)
}

// notValid returns why a certificate is not valid at a time and what to do, or empty strings if it
// is valid.
func notValid(leaf *x509.Certificate, now time.Time) (why, do string) {
	switch {
	case now.After(leaf.NotAfter):
		return "expired on " + leaf.NotAfter.Format("2006-01-02"), "renew it"
	case now.Before(leaf.NotBefore):
		return "is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339),
			"correct the clock of this machine, or wait"
	}
	return "", ""
}

func names(leaf *x509.Certificate, uri string) bool {
	for _, u := range leaf.URIs {
		if u.String() == uri {
			return true
		}
	}
	return false
}

// fileError is the error of a file, with the key that names it.
type fileError struct {
	key string
	err error
}

func (e *fileError) Error() string { return "read " + e.key + ": " + e.err.Error() }

func (e *fileError) Unwrap() error { return e.err }

// LoadTLS reads the three files, and the list of revoked certificates beside tls.ca.
func LoadTLS(t TLS) (*tls.Config, error) {
	pem, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, &fileError{"tls.ca", err}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &fileError{"tls.ca", fmt.Errorf("%s contains no certificate", t.CA)}
	}
	pair, err := loadPair(t)
	if err != nil {
		return nil, err
	}
	gone, err := loadRevoked(t)
	if err != nil {
		return nil, &fileError{"tls.ca", err}
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ClientCAs: pool, Certificates: []tls.Certificate{pair},
		VerifyConnection: gone.verify}, nil
}

// loadPair reads the certificate of the replica and its key.
func loadPair(t TLS) (pair tls.Certificate, err error) {
	certs, err := certificate.Authorities(t.Cert)
	if err == nil && len(certs) == 0 {
		err = fmt.Errorf("%s contains no certificate", t.Cert)
	}
	if err != nil {
		return pair, &fileError{"tls.cert", err}
	}
	if pair, err = tls.LoadX509KeyPair(t.Cert, t.Key); err != nil {
		return pair, &fileError{"tls.key", fmt.Errorf("%w (tls.cert is %s, tls.key %s)", err, t.Cert, t.Key)}
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return pair, &fileError{"tls.cert", err}
		}
	}
	return pair, nil
}
