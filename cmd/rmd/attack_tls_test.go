package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rmd/internal/certificate"
	"rmd/internal/portblock"
)

// certificates are the certificates of the replicas and of the attacker.
type certificates struct {
	*testing.T
	dir, foreign string
	ca           *certificate.Authority
	other        *certificate.Authority // the attacker's own authority
	pool         *x509.CertPool
	web          map[*process]string // REST address of each replica with TLS
}

func newCertificates(t *testing.T) *certificates {
	c := &certificates{T: t, dir: t.TempDir(), foreign: t.TempDir(), web: map[*process]string{}}
	var err error
	if c.ca, _, err = certificate.Open(c.dir, "test", time.Now()); err != nil {
		t.Fatal(err)
	}
	if c.other, _, err = certificate.Open(c.foreign, "test", time.Now()); err != nil {
		t.Fatal(err)
	}
	c.pool = x509.NewCertPool()
	c.pool.AddCert(c.ca.Cert)
	return c
}

var loopbackHosts = []string{"127.0.0.1", "localhost"}

// use configures the replicas to use TLS.
func (c *certificates) use(h *hadoopCluster) {
	block := portblock.Open(c.T)
	for _, p := range h.all {
		f, err := c.ca.Issue(c.dir, "test", p.id, loopbackHosts, time.Now())
		if err != nil {
			c.Fatal(err)
		}
		c.web[p] = portblock.Loopback(block.Take())
		h.reconfigure(p, "http:\n", "tls: {ca: "+f.CA+", cert: "+f.Cert+", key: "+f.Key+"}\nhttp:\n  listen_tls: "+
			c.web[p]+"\n")
	}
}

// anonymous returns a client configuration that trusts the CA and has no certificate.
func (c *certificates) anonymous() *tls.Config {
	return &tls.Config{RootCAs: c.pool, ServerName: "localhost"}
}

// ofRemoved returns a client configuration with the certificate of the removed replica.
func (c *certificates) ofRemoved() *tls.Config {
	return c.with(certificate.Files{Cert: filepath.Join(c.dir, "rm4.pem"), Key: filepath.Join(c.dir, "rm4-key.pem")})
}

// role returns a client configuration with a certificate for a role.
func (c *certificates) role(role string) *tls.Config {
	dir, err := os.MkdirTemp(c.dir, "shown")
	if err != nil {
		c.Fatal(err)
	}
	f, err := c.ca.IssueClient(dir, "test", role, "mallory", time.Hour, time.Now())
	if err != nil {
		c.Fatal(err)
	}
	return c.with(f)
}

// showing returns a client configuration with a certificate that an authority issued for a replica
// of a cluster.
func (c *certificates) showing(by *certificate.Authority, cluster, id string) *tls.Config {
	dir, err := os.MkdirTemp(c.dir, "shown")
	if err != nil {
		c.Fatal(err)
	}
	f, err := by.Issue(dir, cluster, id, loopbackHosts, time.Now())
	if err != nil {
		c.Fatal(err)
	}
	return c.with(f)
}

func (c *certificates) with(f certificate.Files) *tls.Config {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		c.Fatal(err)
	}
	cfg := c.anonymous()
	cfg.Certificates = []tls.Certificate{pair}
	return cfg
}

// letIn lets a fourth replica join.
func (a *attack) letIn(p *process) {
	a.processes.start(p)
	a.join(p, a.all[0])
	a.await(p.id+" is a member", patience, func() bool { return a.members(a.leader())[p.id].Incarnation != "" })
}

// removeAgain removes the replica. Its data and certificate are the attacker's from now on.
func (a *attack) removeAgain(p *process) {
	a.done("cluster", "remove", p.id, "--yes", "--addr", a.leader().http)
	a.await(p.id+" is removed", patience, func() bool { _, there := a.members(a.leader())[p.id]; return !there })
	a.kill(p)
	a.all = a.all[:3]
}
