package config

import (
	"crypto/x509"
	"time"
)

// Validity is the time in which a certificate is valid.
type Validity struct{ From, Until time.Time }

// A certificate causes warnings in the log from warnBefore its end, and counts as ending soon from
// soonBefore its end. For a short life these are a third and a tenth of it.
const (
	warnBefore = 30 * 24 * time.Hour
	soonBefore = 7 * 24 * time.Hour
)

// Warns returns the time from which the log warns of the end.
func (v Validity) Warns() time.Time { return v.Until.Add(-min(warnBefore, v.Until.Sub(v.From)/3)) }

// Soon returns the time from which the end is near.
func (v Validity) Soon() time.Time { return v.Until.Add(-min(soonBefore, v.Until.Sub(v.From)/10)) }

// Ended reports whether the certificate is no longer valid at a time.
func (v Validity) Ended(now time.Time) bool { return now.After(v.Until) }

func validityOf(c *x509.Certificate) Validity { return Validity{c.NotBefore, c.NotAfter} }

// issuerOf returns the validity of what a certificate depends on: a root that signed it, or others
// up to a root. It is that of the first to end on the path that lasts longest. ok is false if no path
// leads to a root.
func issuerOf(c *x509.Certificate, roots, between []*x509.Certificate) (best Validity, ok bool) {
	for _, root := range roots {
		if v := validityOf(root); c.CheckSignatureFrom(root) == nil && (!ok || v.Until.After(best.Until)) {
			best, ok = v, true
		}
	}
	for i, b := range between {
		if c.CheckSignatureFrom(b) != nil {
			continue
		}
		v, found := issuerOf(b, roots, between[i+1:]) // a chain is in order, so this ends
		if own := validityOf(b); own.Until.Before(v.Until) {
			v = own
		}
		if found && (!ok || v.Until.After(best.Until)) {
			best, ok = v, true
		}
	}
	return best, ok
}
