package certificate

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// RevocationFile is the name of the list of revoked certificates. The file is next to ca.pem, in
// the directory of the CA and at each replica.
const RevocationFile = "crl.pem"

// Revoke adds a certificate to the list in dir and signs the list. added reports whether the
// certificate was not in the list before.
func (a *Authority) Revoke(dir string, serial *big.Int, now time.Time) (added bool, err error) {
	path := filepath.Join(dir, RevocationFile)
	list := &x509.RevocationList{Number: big.NewInt(0)}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, err
	default:
		lists, err := ParseRevocations(data, []*x509.Certificate{a.Cert})
		if err != nil || len(lists) != 1 {
			return false, fmt.Errorf("%s is not the list of this CA: %w", path, err)
		}
		list = lists[0]
	}
	for _, e := range list.RevokedCertificateEntries {
		if e.SerialNumber.Cmp(serial) == 0 {
			return false, nil
		}
	}
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: new(big.Int).Add(list.Number, big.NewInt(1)), ThisUpdate: now, NextUpdate: a.Cert.NotAfter,
		RevokedCertificateEntries: append(list.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: serial, RevocationTime: now}),
	}, a.Cert, a.key)
	if err != nil {
		return false, err
	}
	return true, replace(path, pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}

// replace writes a file atomically: a reader finds the old or the new content.
func replace(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "crl-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// ParseRevocations parses lists in PEM form. Each must be signed by one of the CAs.
func ParseRevocations(data []byte, cas []*x509.Certificate) ([]*x509.RevocationList, error) {
	var lists []*x509.RevocationList
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil {
			break
		}
		list, err := x509.ParseRevocationList(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the list of revoked certificates: %w", err)
		}
		signed := false
		for _, ca := range cas {
			signed = signed || list.CheckSignatureFrom(ca) == nil
		}
		if !signed {
			return nil, errors.New("the list of revoked certificates is signed by none of the CAs")
		}
		lists = append(lists, list)
	}
	if len(lists) == 0 {
		return nil, errors.New("the file holds no list of revoked certificates")
	}
	return lists, nil
}

// Authorities reads the CA certificates in a file.
func Authorities(file string) ([]*x509.Certificate, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil {
			return out, nil
		}
		if cert, err := x509.ParseCertificate(b.Bytes); err == nil {
			out = append(out, cert)
		}
	}
}

// SerialOf returns a serial number: from the file of a certificate, or from hexadecimal digits.
func SerialOf(text string) (*big.Int, error) {
	data, err := os.ReadFile(text)
	if err == nil {
		b, _ := pem.Decode(data)
		if b == nil {
			return nil, fmt.Errorf("%s is not in PEM form", text)
		}
		leaf, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", text, err)
		}
		return leaf.SerialNumber, nil
	}
	n, ok := new(big.Int).SetString(strings.ReplaceAll(text, ":", ""), 16)
	if !ok || n.Sign() <= 0 {
		return nil, fmt.Errorf("%q is neither a certificate's file nor a serial number in hexadecimal", text)
	}
	return n, nil
}
