package server

import (
	"fmt"
	"net"
	"net/http"

	"rmd/internal/descriptors"
	httpserver "rmd/transport/http"
)

// divideFiles plans the file descriptors of this replica before anything takes one.
func (r *Replica) divideFiles() error {
	limit := r.opt.Files
	if limit == 0 {
		var err error
		if limit, err = descriptors.Limit(); err != nil {
			return err
		}
	}
	r.files = descriptors.Divide(limit)
	r.budget = descriptors.NewBudget(r.files, r.log.Named("files"))
	return nil
}

// off turns plain REST off in http.listen.
const off = "none"

// listenHTTP opens the ports of REST.
func (r *Replica) listenHTTP() error {
	c := r.opt.Config
	if c.HTTP.Listen != "" && c.HTTP.Listen != off {
		l, err := net.Listen("tcp", c.HTTP.Listen)
		if err != nil {
			return fmt.Errorf("http.listen: %w", err)
		}
		r.http = append(r.http, r.budget.Listen("http.listen", l))
	}
	if c.HTTP.ListenTLS == "" {
		return nil
	}
	l, err := net.Listen("tcp", c.HTTP.ListenTLS)
	if err != nil {
		return fmt.Errorf("http.listen_tls: %w", err)
	}
	r.secure = r.budget.Listen("http.listen_tls", l)
	r.http = append(r.http, r.secure)
	return nil
}

// serveHTTP answers on one of the ports until the end.
func (r *Replica) serveHTTP(l net.Listener) {
	if l == r.secure {
		_ = r.rest.ServeTLS(l, r.certs.HTTP()) // it ends with Close
		return
	}
	_ = r.rest.Serve(l) // it ends with Close
}

// admitOpen takes what carries a role over plain HTTP from other machines too,
// because the operator said so.
func admitOpen(*http.Request, httpserver.Class) error { return nil }
