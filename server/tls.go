package server

import (
	"fmt"
	"strings"
	"time"

	"rmd/config"
	"rmd/internal/job"
)

const (
	// certificateLook is the time between two checks whether the TLS files have changed.
	certificateLook = 10 * time.Second
	// certificateAgain is the time between two warnings of the end of a certificate.
	certificateAgain = 24 * time.Hour
)

// certificateUse has the keys of config.Certificates.Valid with the text of each in a sentence.
var certificateUse = []struct{ key, text string }{{"replica", "its certificate"}, {"ca", "the CA of its certificate"}}

// ReloadCertificates reads the TLS files again. New connections use them. Without TLS it does
// nothing.
func (r *Replica) ReloadCertificates() error {
	if r.certs == nil {
		return nil
	}
	changed, err := r.certs.Reload()
	if err == nil && changed {
		r.tellCertificates("certificates are reloaded")
	}
	return err
}

// watchCertificates reloads changed files, and warns of certificates that end soon or have ended.
func (r *Replica) watchCertificates() {
	reading := r.jobs.Job(job.Certificates)
	var told certificatesTold
	for {
		r.tellEnds(&told, time.Now())
		pause := time.NewTimer(min(certificateLook, r.nextEnd(time.Now())))
		select {
		case <-r.ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
		switch changed, err := r.certs.ReloadIfChanged(); {
		case err != nil:
			r.log.Error("changed certificates are not taken, the ones before stay in force", "error", err)
		case changed:
			told = certificatesTold{}
			r.tellCertificates("changed certificates are taken")
		}
		_ = reading.Done(r.certs.Err())
	}
}

func (r *Replica) tellCertificates(what string) {
	r.measureCertificates()
	r.peer.Recheck() // a certificate may have been revoked
	r.cluster.TryConnections()
	valid := r.certs.Valid()
	r.log.Info(what, "replica_until", valid["replica"].Until.Format(time.DateOnly), "ca_until",
		valid["ca"].Until.Format(time.DateOnly))
}

// certificatesTold is what the log has said about the certificates in use.
type certificatesTold struct {
	soon  time.Time // the last warnings that one ends soon
	ended map[string]bool
}

// tellEnds logs that certificates end soon, once a day, and that they have ended, at once.
func (r *Replica) tellEnds(told *certificatesTold, now time.Time) {
	warn := now.Sub(told.soon) >= certificateAgain
	for _, use := range certificateUse {
		v, ok := r.certs.Valid()[use.key]
		switch {
		case !ok:
		case v.Ended(now) && !told.ended[use.key]:
			if told.ended == nil {
				told.ended = map[string]bool{}
			}
			told.ended[use.key] = true
			r.log.Error("a certificate has ended: replicas refuse new connections of this one; renew it", "certificate", use.key,
				"ended", v.Until.UTC().Format(time.RFC3339))
			r.cluster.TryConnections()
		case warn && !v.Ended(now) && now.After(v.Warns()):
			told.soon = now
			r.log.Warn("a certificate ends soon: renew it", "certificate", use.key, "days", int(v.Until.Sub(now).Hours()/24),
				"until", v.Until.UTC().Format(time.RFC3339))
		}
	}
}

// nextEnd returns the time until the next certificate ends. It is at least a moment.
func (r *Replica) nextEnd(now time.Time) time.Duration {
	next := certificateAgain
	for _, use := range certificateUse {
		if v, ok := r.certs.Valid()[use.key]; ok && !v.Ended(now) {
			next = min(next, v.Until.Sub(now))
		}
	}
	return next + time.Millisecond // a certificate is still valid at its last moment
}

// expired says which certificates of this replica have ended or are revoked, or returns "".
func (r *Replica) expired(now time.Time) string {
	all := r.certificates(func(v config.Validity) bool { return v.Ended(now) },
		"%s expired on %s: renew it, replicas refuse new connections of this one")
	if r.certs != nil && r.certs.OwnRevoked() {
		all = append(all, "its certificate is revoked: issue a new one, replicas refuse new connections of this one")
	}
	return strings.Join(all, "; ")
}

// endSoon says which certificates of this replica end soon, or returns "".
func (r *Replica) endSoon() string {
	now := time.Now()
	return strings.Join(r.certificates(func(v config.Validity) bool {
		return !v.Ended(now) && now.After(v.Soon())
	}, "%s expires on %s: renew it"), "; ")
}

// certificates returns a text for each certificate that is chosen.
func (r *Replica) certificates(chosen func(config.Validity) bool, format string) (all []string) {
	if r.certs == nil {
		return nil
	}
	for _, use := range certificateUse {
		if v, ok := r.certs.Valid()[use.key]; ok && chosen(v) {
			all = append(all, fmt.Sprintf(format, use.text, v.Until.UTC().Format(time.RFC3339)))
		}
	}
	return all
}

// measureCertificates exports when the certificates in use expire.
func (r *Replica) measureCertificates() {
	valid := r.certs.Valid()
	for use, of := range map[string]string{"peer": "replica", "http": "replica", "ca": "ca"} { // the order does not matter
		if v, ok := valid[of]; ok && (use != "http" || r.opt.Config.HTTP.ListenTLS != "") {
			r.metrics.CertificateExpires(use, v.Until)
		}
	}
}
