package replica

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"rmd/cmd/rmd/internal/config"
	"rmd/transport/rest"
)

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
		r.http = append(r.http, l)
	}
	if c.HTTP.ListenTLS == "" {
		return nil
	}
	conf, err := config.LoadTLS(c.TLS)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.HTTP.ListenTLS)
	if err != nil {
		return fmt.Errorf("http.listen_tls: %w", err)
	}
	r.http = append(r.http, withTLS(l, conf))
	return nil
}

// withTLS puts TLS round a listener. A client's certificate is asked for and,
// when there is one, must be good.
func withTLS(l net.Listener, conf *tls.Config) net.Listener {
	conf.MinVersion, conf.ClientAuth = tls.VersionTLS12, tls.VerifyClientCertIfGiven
	conf.NextProtos = []string{"http/1.1"}
	return tls.NewListener(l, conf)
}

// admitWrites is the usual admission, but takes writes over plain HTTP from
// anywhere, because the operator said so.
func admitWrites(req *http.Request, class rest.Class) error {
	if class == rest.ClassWrite {
		return nil
	}
	return rest.AdmitLocal(req, class)
}
