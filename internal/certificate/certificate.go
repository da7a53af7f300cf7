// Package certificate makes the certificates for mutual TLS: a CA for the cluster, and for each
// replica a certificate that names cluster and replica (URI rmd://CLUSTER/replica/ID). Both sides
// of a connection check this name.
//
// It is for clusters without a PKI. It never overwrites a file, and writes keys with mode 0600.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"rmd/transport/peer"
)

const (
	caYears   = 10
	leafYears = 2
	back      = time.Hour // certificates are valid from an hour ago, for clocks that are behind
)

// Authority is a CA with its certificate and key.
type Authority struct {
	Cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Files has the names of the files for a replica or a client.
type Files struct{ CA, Cert, Key string }

// Open reads the CA in dir (ca.pem, ca-key.pem), or creates one if there is none. made reports
// whether it created one.
func Open(dir, cluster string, now time.Time) (a *Authority, made bool, err error) {
	a, err = read(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return a, false, err
	}
	if _, err := os.Stat(filepath.Join(dir, "ca.pem")); err == nil {
		return nil, false,
			fmt.Errorf("%s is there and its key ca-key.pem is not: certificates are made where the key is kept",
				filepath.Join(dir, "ca.pem"))
	}
	a, err = create(dir, cluster, now)
	return a, err == nil, err
}

func read(dir string) (*Authority, error) {
	certPEM, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(filepath.Join(dir, "ca-key.pem"))
	if err != nil {
		return nil, err
	}
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, fmt.Errorf("ca.pem or ca-key.pem in %s is not in PEM form", dir)
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read ca.pem: %w", err)
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read ca-key.pem: %w", err)
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok || !ec.PublicKey.Equal(cert.PublicKey) {
		return nil, fmt.Errorf("ca-key.pem in %s is not the key of ca.pem", dir)
	}
	return &Authority{Cert: cert, key: ec}, nil
}

func create(dir, cluster string, now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "rmd " + cluster + " CA"},
		NotBefore: now.Add(-back), NotAfter: now.AddDate(caYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if err := writePair(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca-key.pem"), der, key); err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &Authority{Cert: cert, key: key}, err
}

// Issue writes ID.pem and ID-key.pem for a replica. hosts are the names and addresses by which
// clients reach the replica.
func (a *Authority) Issue(dir, cluster, id string, hosts []string, now time.Time) (Files, error) {
	f := Files{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, id+".pem"),
		Key: filepath.Join(dir, id+"-key.pem")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return f, err
	}
	name, err := url.Parse(peer.URI(cluster, id))
	if err != nil {
		return f, fmt.Errorf("name of replica %s: %w", id, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: id, Organization: []string{"rmd " + cluster}},
		NotBefore: now.Add(-back), NotAfter: now.AddDate(leafYears, 0, 0), URIs: []*url.URL{name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Cert, &key.PublicKey, a.key)
	if err != nil {
		return f, err
	}
	return f, writePair(f.Cert, f.Key, der, key)
}

func writePair(certFile, keyFile string, der []byte, key *ecdsa.PrivateKey) error {
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writeNew(keyFile, &pem.Block{Type: "PRIVATE KEY", Bytes: raw}, 0o600); err != nil {
		return err
	}
	return writeNew(certFile, &pem.Block{Type: "CERTIFICATE", Bytes: der}, 0o644)
}

// writeNew writes a file that must not exist yet, with this mode whatever the umask is.
func writeNew(path string, b *pem.Block, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	return errors.Join(pem.Encode(f, b), f.Chmod(mode), f.Sync(), f.Close())
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return big.NewInt(time.Now().UnixNano())
	}
	return n
}
