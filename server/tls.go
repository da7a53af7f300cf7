package server

import "time"

const (
	// certificateLook is how often the files of tls are looked at.
	certificateLook = 10 * time.Second
	// certificateWarn is how long before its end a certificate is warned of,
	// certificateAgain how often.
	certificateWarn  = 30 * 24 * time.Hour
	certificateAgain = 24 * time.Hour
)

// ReloadCertificates reads the files of tls again: connections from then on use
// them. It does nothing without tls.
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

// watchCertificates notices files that have changed, and warns of ends.
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

// measureCertificates shows when the certificates in use end.
func (r *Replica) measureCertificates() {
	ends := r.certs.Ends()
	for use, of := range map[string]string{"peer": "replica", "http": "replica", "ca": "ca"} { // each for itself: order is harmless
		if use != "http" || r.opt.Config.HTTP.ListenTLS != "" {
			r.metrics.CertificateExpires(use, ends[of])
		}
	}
}
