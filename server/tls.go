package server

import "time"

const (
	// certificateLook is the time between two checks whether the TLS files have changed.
	certificateLook = 10 * time.Second
	// certificateWarn is how long before its end a certificate causes warnings. certificateAgain is
	// the time between two warnings.
	certificateWarn  = 30 * 24 * time.Hour
	certificateAgain = 24 * time.Hour
)

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

// watchCertificates reloads changed files, and warns of certificates that expire soon.
func (r *Replica) watchCertificates() {
	tick := time.NewTicker(certificateLook)
	defer tick.Stop()
	var warned time.Time
	for {
		if now := time.Now(); now.Sub(warned) >= certificateAgain {
			warned = now
			r.warnOfEnds(now)
		}
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		switch changed, err := r.certs.ReloadIfChanged(); {
		case err != nil:
			r.log.Error("changed certificates are not taken, the ones before stay in force", "error", err)
		case changed:
			warned = time.Time{}
			r.tellCertificates("changed certificates are taken")
		}
	}
}

func (r *Replica) tellCertificates(what string) {
	r.measureCertificates()
	r.peer.Recheck() // a certificate may have been revoked
	ends := r.certs.Ends()
	r.log.Info(what, "replica_until", ends["replica"].Format(time.DateOnly), "ca_until", ends["ca"].Format(time.DateOnly))
}

func (r *Replica) warnOfEnds(now time.Time) {
	ends := r.certs.Ends()
	for _, of := range []string{"replica", "ca"} {
		if left := ends[of].Sub(now); left < certificateWarn {
			r.log.Warn("a certificate ends soon: renew it", "certificate", of, "days", int(left.Hours()/24), "until", ends[of].Format(time.DateOnly))
		}
	}
}

// measureCertificates exports when the certificates in use expire.
func (r *Replica) measureCertificates() {
	ends := r.certs.Ends()
	for use, of := range map[string]string{"peer": "replica", "http": "replica", "ca": "ca"} { // the order does not matter
		if use != "http" || r.opt.Config.HTTP.ListenTLS != "" {
			r.metrics.CertificateExpires(use, ends[of])
		}
	}
}
