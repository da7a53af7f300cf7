package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"rmd/internal/certificate"
	"rmd/transport/peer"
)

// Certificates has the valid certificates from the files tls.ca, tls.cert and tls.key. If changed
// files are invalid, it keeps the previous ones. It is safe for concurrent use.
type Certificates struct {
	files TLS
	name  string // the URI that the certificate must contain
	now   atomic.Pointer[material]

	mu    sync.Mutex // held during a reload
	stamp string     // of the files at the last check
	err   error      // of the last reload
}

// material is the result of reading the files once: the configurations for peers and for HTTP.
type material struct {
	peer, http *tls.Config
	valid      map[string]Validity
	revoked    revoked
}

// OpenCertificates reads the files for a replica of a cluster.
func OpenCertificates(t TLS, cluster, id string) (*Certificates, error) {
	c := &Certificates{files: t, name: peer.URI(cluster, id)}
	_, err := c.Reload()
	return c, err
}

// Peer returns the configuration between replicas. The caller must not change it.
func (c *Certificates) Peer() *tls.Config { return c.now.Load().peer }

// HTTP returns the configuration of REST. Each new connection uses the current certificates.
// Clients may send a certificate, which must then be valid.
func (c *Certificates) HTTP() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.now.Load().http, nil }}
}

// Valid returns when the replica's certificate ("replica") and the CA that signed it ("ca") are
// valid. "ca" is missing if no CA of the file signed it.
func (c *Certificates) Valid() map[string]Validity { return c.now.Load().valid }

// OwnRevoked reports whether the replica's own certificate is revoked.
func (c *Certificates) OwnRevoked() bool {
	m := c.now.Load()
	return m.revoked[m.peer.Certificates[0].Leaf.SerialNumber.Text(16)]
}

// Err returns why the files could not be used when they were last read, or nil.
func (c *Certificates) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ReloadIfChanged reads the files again if one of them has changed since the last check.
func (c *Certificates) ReloadIfChanged() (changed bool, err error) {
	c.mu.Lock()
	same := c.stamp == c.files.stamp()
	c.mu.Unlock()
	if same {
		return false, nil
	}
	return c.Reload()
}

// Reload reads the files again. If they are invalid, it returns an error and keeps the current
// ones. changed reports whether the certificate, the CA or the list of revoked certificates
// differs.
func (c *Certificates) Reload() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamp = c.files.stamp()
	next, err := c.read()
	if c.err = err; err != nil {
		return false, err
	}
	before := c.now.Swap(next)
	return before == nil || !sameMaterial(before, next), nil
}

func sameMaterial(a, b *material) bool {
	return a.peer.Certificates[0].Leaf.Equal(b.peer.Certificates[0].Leaf) && a.peer.RootCAs.Equal(b.peer.RootCAs) &&
		maps.Equal(a.revoked, b.revoked)
}

func (c *Certificates) read() (*material, error) {
	if mode, open := keyIsOpen(c.files.Key); open {
		return nil, fmt.Errorf("tls.key: %s has mode %#o, so others can read it; chmod 600 it", c.files.Key, mode)
	}
	base, err := LoadTLS(c.files)
	if err != nil {
		return nil, err
	}
	leaf := base.Certificates[0].Leaf
	if !names(leaf, c.name) {
		return nil, fmt.Errorf("tls.cert: %s does not name %s", c.files.Cert, c.name)
	}
	if why, do := notValid(leaf, time.Now()); why != "" {
		return nil, fmt.Errorf("tls.cert: %s %s; %s", c.files.Cert, why, do)
	}
	valid, err := c.validity(base.Certificates[0])
	if err != nil {
		return nil, err
	}
	gone, err := loadRevoked(c.files)
	if err != nil {
		return nil, err
	}
	web := base.Clone()
	web.MinVersion, web.ClientAuth, web.NextProtos = tls.VersionTLS12, tls.VerifyClientCertIfGiven, []string{"http/1.1"}
	return &material{peer: base, http: web, valid: valid, revoked: gone}, nil
}

// validity returns the result of Valid for a certificate with its chain.
func (c *Certificates) validity(pair tls.Certificate) (map[string]Validity, error) {
	roots, err := certificate.Authorities(c.files.CA)
	if err != nil {
		return nil, fmt.Errorf("read tls.ca: %w", err)
	}
	var between []*x509.Certificate
	for _, der := range pair.Certificate[1:] {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("read tls.cert: %w", err)
		}
		between = append(between, cert)
	}
	out := map[string]Validity{"replica": validityOf(pair.Leaf)}
	if v, ok := issuerOf(pair.Leaf, roots, between); ok {
		out["ca"] = v
	}
	return out, nil
}

// stamp returns a text that changes when one of the files changes.
func (t TLS) stamp() string {
	text := ""
	for _, file := range []string{t.CA, t.Cert, t.Key, t.revocationFile()} {
		info, err := os.Stat(file)
		if err != nil {
			text += "missing;"
			continue
		}
		text += fmt.Sprintf("%d,%d,%v;", info.ModTime().UnixNano(), info.Size(), info.Mode())
	}
	return text
}
