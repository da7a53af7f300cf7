package server

import (
	"rmd/internal/leadership"
	"rmd/server/hadoop"
)

// openHadoop creates Hadoop's frontend if a directory with Hadoop's files is configured. Its ports
// open last, after everything that they need.
func (r *Replica) openHadoop() error {
	if r.opt.Config.HadoopConfDir == "" {
		return nil
	}
	plain, secure := r.pages()
	var err error
	r.hadoop, err = hadoop.Open(hadoop.Config{
		Logger: r.log.Named("hadoop"), Settings: r.opt.Config, Budget: r.budget, Jobs: r.jobs,
		Submitter: r.forwarder, Machine: r.machine, Current: r.current, Reason: r.analyses.reasons.Of,
		Leader:  func() leadership.Leadership { l, _ := r.tracker.Leader(); return l },
		Listens: r.listens, Entropy: r.parts.Entropy, Observe: r.metrics.ObserveIPC, Handshake: r.metrics.CountHandshake,
		Plain: plain, Secure: secure, Dialable: func(listens string) string { return dialable(listens, r.PeerAddr()) },
	})
	return err
}

// pages returns the addresses of the REST ports without and with TLS, or "" if there is no such
// port.
func (r *Replica) pages() (plain, secure string) {
	for _, l := range r.http {
		if l == r.secure {
			secure = l.Addr().String()
		} else {
			plain = l.Addr().String()
		}
	}
	return plain, secure
}

// listens returns the addresses of the REST ports and the peer port.
func (r *Replica) listens() []string {
	out := []string{r.PeerAddr()}
	for _, l := range r.http {
		out = append(out, l.Addr().String())
	}
	return out
}

// ReloadHadoop reads again those parts of Hadoop's files that may change while the replica runs:
// administrators, proxy users, groups and racks. The queues are replicated, so it does not read
// them.
func (r *Replica) ReloadHadoop() error {
	if r.hadoop == nil {
		return nil
	}
	return r.hadoop.Reload()
}
