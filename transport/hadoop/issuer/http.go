package issuer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"rmd/internal/gss"
	"rmd/transport/hadoop/token"
)

// web is a service that is called over HTTP with SPNEGO. Its servers are addresses of the resource.
type web struct {
	s       *Services
	servers []string
}

// webHDFS returns the NameNodes of a token's service: ha-webhdfs:NAME, ha-swebhdfs:NAME, or
// host:port.
func (s *Services) webHDFS(c conf, t token.Token) (service, error) {
	scheme, key, prefix, port := "http", "dfs.namenode.http-address", "ha-webhdfs:", "9870"
	if t.Kind == kindSWebHDFS {
		scheme, key, prefix, port = "https", "dfs.namenode.https-address", "ha-swebhdfs:", "9871"
	}
	servers, err := direct(t.Service)
	if name, logical := strings.CutPrefix(t.Service, prefix); logical {
		servers, err = c.servers(name, key, port)
	}
	return s.web(servers, scheme, "/webhdfs/v1/"), err
}

// kms returns the servers of kms://SCHEME@HOST;HOST:PORT/PATH. Older tokens name an address, which
// does not say the scheme, so that the key of this replica decides.
func (s *Services) kms(c conf, service string) (service, error) {
	if !strings.HasPrefix(service, "kms:/") {
		service = c.value("hadoop.security.key.provider.path", "")
	}
	rest, ok := strings.CutPrefix(service, "kms://")
	scheme, rest, at := strings.Cut(rest, "@")
	authority, path, _ := strings.Cut(rest, "/")
	if !ok || !at || scheme != "http" && scheme != "https" || authority == "" {
		return nil,
			fmt.Errorf("%q is no address of a KMS, kms://SCHEME@HOST:PORT/PATH: see hadoop.security.key.provider.path", service)
	}
	hosts, port, found := strings.Cut(authority, ":")
	if !found {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	var servers []string
	for _, host := range strings.Split(hosts, ";") {
		servers = append(servers, net.JoinHostPort(host, port))
	}
	if len(servers) > serversMax {
		return nil, fmt.Errorf("the token names %d servers, at most %d are tried", len(servers), serversMax)
	}
	path = strings.TrimSuffix("/"+path, "/")
	return s.web(servers, scheme, path+"/v1/"), nil
}

// timeline returns the timeline service of version 1, which has no tokens without Kerberos.
func (s *Services) timeline(c conf, service string) (service, error) {
	if c.value("yarn.timeline-service.http-authentication.type", "simple") == "simple" {
		return unlimited{}, nil
	}
	scheme, key, port := "http", "yarn.timeline-service.webapp.address", "8188"
	if c.value("yarn.http.policy", "HTTP_ONLY") == "HTTPS_ONLY" {
		scheme, key, port = "https", "yarn.timeline-service.webapp.https.address", "8190"
	}
	if service == "" {
		service = withPort(c.value(key, c.value("yarn.timeline-service.hostname", "0.0.0.0")), port)
	}
	servers, err := direct(service)
	return s.web(servers, scheme, "/ws/v1/timeline/"), err
}

func (s *Services) web(servers []string, scheme, path string) *web {
	w := &web{s: s}
	for _, server := range servers {
		w.servers = append(w.servers, (&url.URL{Scheme: scheme, Host: server, Path: path}).String())
	}
	return w
}

// unlimited is a service whose tokens need not be renewed.
type unlimited struct{}

func (unlimited) renew(context.Context, token.Token) (time.Time, error) { return time.Time{}, nil }
func (unlimited) cancel(context.Context, token.Token) error             { return nil }
func (unlimited) prepare(context.Context) error                         { return nil }

func (w *web) renew(ctx context.Context, t token.Token) (time.Time, error) {
	var end time.Time
	err := w.s.each(ctx, w.servers, func(ctx context.Context, at string) error {
		body, err := w.put(ctx, at, "RENEWDELEGATIONTOKEN", t)
		if err != nil {
			return err
		}
		var answer struct {
			Long *int64 `json:"long"`
		}
		if err := json.Unmarshal(body, &answer); err != nil || answer.Long == nil {
			return errors.New("it did not say until when the token is valid")
		}
		end = time.UnixMilli(*answer.Long)
		return nil
	})
	return end, err
}

func (w *web) cancel(ctx context.Context, t token.Token) error {
	return w.s.each(ctx, w.servers, func(ctx context.Context, at string) error {
		_, err := w.put(ctx, at, "CANCELDELEGATIONTOKEN", t)
		return err
	})
}

// prepare gets the tickets for all servers.
func (w *web) prepare(ctx context.Context) error {
	var errs []error
	for _, at := range w.servers {
		u, err := url.Parse(at)
		if err == nil {
			_, err = w.s.cfg.Login.Ticket(ctx, w.principal(ctx, u))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// principal returns the service at an address, name/host.
func (w *web) principal(ctx context.Context, at *url.URL) string {
	return "HTTP/" + w.s.nameOf(ctx, at.Hostname())
}

// put makes one request. No error contains the token, although it is a part of the address.
func (w *web) put(ctx context.Context, at, op string, t token.Token) ([]byte, error) {
	text := t.URLString()
	body, err := w.request(ctx, at, op, text)
	if err != nil && strings.Contains(err.Error(), text) {
		err = errors.New(strings.ReplaceAll(err.Error(), text, "TOKEN"))
	}
	return body, err
}

func (w *web) request(ctx context.Context, at, op, text string) ([]byte, error) {
	query := url.Values{"op": {op}, "token": {text}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, at+"?"+query.Encode(), nil)
	if err != nil {
		return nil, errors.New("it is no address of HTTP")
	}
	spn := w.principal(ctx, req.URL)
	ticket, err := w.s.cfg.Login.Ticket(ctx, spn)
	if err != nil {
		return nil, err
	}
	ticket.OneSided = true
	_, first, err := gss.Initiate(ticket, time.Now())
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(first))
	resp, err := w.s.http.Do(req)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized {
		w.s.cfg.Login.Forget(spn)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(op, resp, body)
	}
	return body, nil
}

// refusal turns an answer into an error.
func refusal(op string, resp *http.Response, body []byte) error {
	var answer struct {
		RemoteException struct {
			Class   string `json:"javaClassName"`
			Message string `json:"message"`
		}
	}
	_ = json.Unmarshal(body, &answer) // a page of the web server has no exception
	e := answer.RemoteException
	where := string(body) + resp.Status
	text := firstLine(e.Class + ": " + e.Message)
	if e.Class == "" {
		text = "HTTP status " + firstLine(resp.Status)
	}
	switch {
	case strings.Contains(where, "StandbyException"):
		return errors.New(text)
	case strings.Contains(where, "SecretManager$InvalidToken"),
		// what the filter of KMS and timeline service says about each token that it cannot cancel
		op == "CANCELDELEGATIONTOKEN" && resp.StatusCode == http.StatusNotFound &&
			strings.Contains(where, "Invalid delegation token"):
		return fmt.Errorf("%w: %s", ErrInvalidToken, text)
	case strings.Contains(where, "org.apache.hadoop.security.AccessControlException"):
		return fmt.Errorf("%w: %s", ErrNotRenewer, text)
	}
	return errors.New(text)
}

// nameOf returns the name of a host, for the principal of its service.
func (s *Services) nameOf(ctx context.Context, host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		if names, err := s.cfg.Reverse(ctx, host); err == nil && len(names) > 0 {
			host = strings.TrimSuffix(names[0], ".")
		}
	}
	return strings.ToLower(host)
}

// newHTTP returns a client that follows no redirection, because the token would go along.
func newHTTP(cfg Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: cfg.Dial, TLSClientConfig: cfg.TLS, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
