package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/url"
	"path/filepath"
	"time"
)

// ClientURI returns the name in the certificate of a client, which is a user or a program. It
// contains the client's role.
func ClientURI(cluster, role, name string) string {
	return "rmd://" + cluster + "/role/" + role + "/" + name
}

// IssueClient writes NAME.pem and NAME-key.pem for a client. The certificate authenticates the
// client at replicas. It cannot be used as a replica's certificate.
func (a *Authority) IssueClient(dir, cluster, role, name string, life time.Duration, now time.Time) (Files, error) {
	f := Files{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, name+".pem"),
		Key: filepath.Join(dir, name+"-key.pem")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return f, err
	}
	uri, err := url.Parse(ClientURI(cluster, role, name))
	if err != nil {
		return f, fmt.Errorf("name %s: %w", name, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name, Organization: []string{"rmd " + cluster},
			OrganizationalUnit: []string{role}},
		NotBefore: now.Add(-back), NotAfter: now.Add(life), URIs: []*url.URL{uri},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Cert, &key.PublicKey, a.key)
	if err != nil {
		return f, err
	}
	return f, writePair(f.Cert, f.Key, der, key)
}
