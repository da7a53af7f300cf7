package config

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"rmd/transport/peer"
)

// Certificates are the files of tls.ca, tls.cert and tls.key as they were last
// found good. It is safe for concurrent use.
type Certificates struct {
	files TLS
	name  string // the URI that the certificate must carry
	now   atomic.Pointer[material]

	mu    sync.Mutex // of reading again
	stamp string     // of the files when they were last looked at
}

// material is what one reading gave: for replicas and for HTTP.
type material struct {
	peer, http *tls.Config
	ends       map[string]time.Time
	revoked    revoked
}

// OpenCertificates reads the files for a replica of a cluster.
func OpenCertificates(t TLS, cluster, id string) (*Certificates, error) {
	c := &Certificates{files: t, name: peer.URI(cluster, id)}
	_, err := c.Reload()
	return c, err
}

// Peer is the configuration between replicas; it is not to be changed.
func (c *Certificates) Peer() *tls.Config { return c.now.Load().peer }

// HTTP is the configuration of REST. Every connection takes what is good then. A
// client's certificate is asked for and, when there is one, must be good.
func (c *Certificates) HTTP() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.now.Load().http, nil }}
}

// Ends are the ends of the replica's certificate and of the CA's that ends first.
func (c *Certificates) Ends() map[string]time.Time { return c.now.Load().ends }

// ReloadIfChanged reads the files again when one of them is another than at the
// last look.
func (c *Certificates) ReloadIfChanged() (changed bool, err error) {
	c.mu.Lock()
	same := c.stamp == c.files.stamp()
	c.mu.Unlock()
	if same {
		return false, nil
	}
	return c.Reload()
}

// Reload reads the files again. What is not good is not taken: what was stays in
// force. It says whether the certificate, the CA or the list of revoked certificates is another one.
func (c *Certificates) Reload() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamp = c.files.stamp()
	next, err := c.read()
	if err != nil {
		return false, err
	}
	before := c.now.Swap(next)
	return before == nil || !sameMaterial(before, next), nil
}

func sameMaterial(a, b *material) bool {
	return a.peer.Certificates[0].Leaf.Equal(b.peer.Certificates[0].Leaf) && a.peer.RootCAs.Equal(b.peer.RootCAs) && maps.Equal(a.revoked, b.revoked)
}

func (c *Certificates) read() (*material, error) {
	if info, err := os.Stat(c.files.Key); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("tls.key: %s has mode %#o, so others can read it; chmod 600 it", c.files.Key, info.Mode().Perm())
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
	ca, err := firstEnd(c.files.CA)
	if err != nil {
		return nil, err
	}
	gone, err := loadRevoked(c.files)
	if err != nil {
		return nil, err
	}
	web := base.Clone()
	web.MinVersion, web.ClientAuth, web.NextProtos = tls.VersionTLS12, tls.VerifyClientCertIfGiven, []string{"http/1.1"}
	return &material{peer: base, http: web, ends: map[string]time.Time{"replica": leaf.NotAfter, "ca": ca}, revoked: gone}, nil
}

// firstEnd is the end of the certificate in a file that ends first.
func firstEnd(file string) (time.Time, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return time.Time{}, fmt.Errorf("read tls.ca: %w", err)
	}
	var first time.Time
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil {
			break
		}
		cert, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			continue // the pool has passed over it too
		}
		if first.IsZero() || cert.NotAfter.Before(first) {
			first = cert.NotAfter
		}
	}
	if first.IsZero() {
		return first, errors.New("read tls.ca: it contains no certificate")
	}
	return first, nil
}

// stamp tells versions of the files apart.
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
