package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// signer is a certificate with its key.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign makes a certificate that is valid from begin until end. by is nil for one that signs itself.
func sign(t *testing.T, name string, by *signer, ca bool, begin, end time.Time) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: begin, NotAfter: end,
		IsCA: ca, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	parent, parentKey := c, key
	if by != nil {
		parent, parentKey = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return &signer{c, key}
}

// TestIssuerOf checks how long what a certificate depends on is valid. An old CA beside the new one
// in tls.ca does not count.
func TestIssuerOf(t *testing.T) {
	begin := time.Now().Truncate(time.Second)
	year := func(n int) time.Time { return begin.AddDate(n, 0, 0) }
	before, root, renewed := sign(t, "before", nil, true, begin, year(1)), sign(t, "root", nil, true, begin, year(9)),
		sign(t, "renewed", nil, true, begin, year(12))
	between := sign(t, "between", root, true, begin, year(4))
	leaf, direct, foreign := sign(t, "leaf", between, false, begin, year(2)),
		sign(t, "direct", root, false, begin, year(2)), sign(t, "foreign", renewed, false, begin, year(2))
	roots := []*x509.Certificate{before.cert, root.cert}
	for _, c := range []struct {
		name    string
		leaf    *signer
		between []*x509.Certificate
		ends    time.Time // zero: no CA signed it
	}{
		{"signed by the root", direct, nil, year(9)},
		{"the one in between ends first", leaf, []*x509.Certificate{between.cert}, year(4)},
		{"without the one in between", leaf, nil, time.Time{}},
		{"another CA", foreign, []*x509.Certificate{between.cert}, time.Time{}},
	} {
		v, ok := issuerOf(c.leaf.cert, roots, c.between)
		if ok == c.ends.IsZero() || !v.Until.Equal(c.ends) {
			t.Errorf("%s: until %s %t, want %s", c.name, v.Until, ok, c.ends)
		}
	}
}

// TestValidity checks from when the end of a certificate is told.
func TestValidity(t *testing.T) {
	begin := time.Unix(1_800_000_000, 0)
	day := 24 * time.Hour
	for _, c := range []struct{ life, warns, soon time.Duration }{
		{730 * day, 30 * day, 7 * day},
		{90 * day, 30 * day, 7 * day},
		{30 * day, 10 * day, 3 * day},
		{10 * time.Hour, 200 * time.Minute, time.Hour},
	} {
		v := Validity{begin, begin.Add(c.life)}
		if w, s := v.Until.Sub(v.Warns()), v.Until.Sub(v.Soon()); w != c.warns || s != c.soon {
			t.Errorf("valid for %s: warns %s before the end, soon %s; want %s, %s", c.life, w, s, c.warns, c.soon)
		}
		if v.Ended(v.Until) || !v.Ended(v.Until.Add(1)) {
			t.Error("a certificate is valid up to its last moment")
		}
	}
}
