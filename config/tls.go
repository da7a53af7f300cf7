package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"os"
	"time"

	"rmd/internal/filemode"
	"rmd/transport/peer"
)

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
	if err != nil {
		l.invalid("tls.cert", "name the CA, a certificate and the key that belongs to it, each in PEM format", "%v", err)
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

// LoadTLS reads the three files, and the list of revoked certificates beside tls.ca.
func LoadTLS(t TLS) (*tls.Config, error) {
	pem, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, fmt.Errorf("read tls.ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read tls.ca: %s contains no certificate", t.CA)
	}
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("read tls.cert and tls.key: %s and %s: %w", t.Cert, t.Key, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("read tls.cert: %w", err)
		}
	}
	gone, err := loadRevoked(t)
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ClientCAs: pool, Certificates: []tls.Certificate{pair},
		VerifyConnection: gone.verify}, nil
}
