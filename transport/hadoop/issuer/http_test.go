package issuer

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rmd/internal/gss"
	"rmd/transport/hadoop/token"
)

// website is a service over HTTP in this process.
type website struct {
	*httptest.Server
	calls  []string
	status int
	body   string
	header map[string]string
}

// website opens a service that takes tickets for HTTP/localhost.
func (w *world) website(secure bool) *website {
	w.t.Helper()
	acceptor := w.acceptor("HTTP/localhost")
	s := &website{status: http.StatusOK, body: fmt.Sprintf(`{"long":%d}`, testEnd.UnixMilli())}
	h := http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Negotiate ")
		first, err := base64.StdEncoding.DecodeString(text)
		var ctx *gss.Context
		if err == nil {
			ctx, _, err = acceptor.Accept(first, gss.Peer{})
		}
		if err != nil {
			out.Header().Set("WWW-Authenticate", "Negotiate")
			http.Error(out, err.Error(), http.StatusUnauthorized)
			return
		}
		p, err := token.FromURLString(r.URL.Query().Get("token"))
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		s.calls = append(s.calls, fmt.Sprintf("%s %s %s %s by %s", r.Method, r.URL.Path, r.URL.Query().Get("op"),
			p.GetPassword(), ctx.Client))
		for k, v := range s.header {
			out.Header().Set(k, strings.ReplaceAll(v, "QUERY", r.URL.RawQuery))
		}
		out.WriteHeader(s.status)
		_, _ = out.Write([]byte(strings.ReplaceAll(s.body, "QUERY", r.URL.RawQuery)))
	})
	if secure {
		s.Server = httptest.NewTLSServer(h)
	} else {
		s.Server = httptest.NewServer(h)
	}
	w.t.Cleanup(s.Close)
	return s
}

func (s *website) addr() string { return s.Listener.Addr().String() }

func (s *website) take() string {
	defer func() { s.calls = nil }()
	return strings.Join(s.calls, "; ")
}

func (s *website) trusted(c *Config) {
	c.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	c.TLS.ServerName = "example.com" // the name in the certificate of httptest
}

// TestWeb renews and cancels at each service over HTTP, by the forms of a token's service.
func TestWeb(t *testing.T) {
	w := newWorld(t)
	plain, secure := w.website(false), w.website(true)
	port := func(s *website) string { return s.addr()[strings.LastIndex(s.addr(), ":")+1:] }
	properties := map[string]string{
		"dfs.nameservices": "ns", "dfs.ha.namenodes.ns": "a,b",
		"dfs.namenode.http-address.ns.a": closed(t), "dfs.namenode.http-address.ns.b": plain.addr(),
		"dfs.namenode.https-address.ns.a":                secure.addr(),
		"hadoop.security.key.provider.path":              "kms://http@localhost:" + port(plain) + "/kms",
		"yarn.timeline-service.http-authentication.type": "kerberos",
		"yarn.timeline-service.webapp.address":           plain.addr(),
	}
	s := w.services(properties, secure.trusted)
	for _, c := range []struct {
		kind, service string
		site          *website
		path          string
	}{
		{kindWebHDFS, plain.addr(), plain, "/webhdfs/v1/"},
		{kindWebHDFS, "ha-webhdfs:ns", plain, "/webhdfs/v1/"},
		{kindSWebHDFS, secure.addr(), secure, "/webhdfs/v1/"},
		{kindSWebHDFS, "ha-swebhdfs:ns", secure, "/webhdfs/v1/"},
		{kindKMS, "kms://https@localhost:" + port(secure) + "/kms", secure, "/kms/v1/"},
		{kindKMS, "kms://http@0.0.0.1;localhost;elsewhere.invalid:" + port(plain) + "/kms/", plain, "/kms/v1/"},
		{kindKMS, "10.0.0.1:9600", plain, "/kms/v1/"},
		{token.KindTimeline, plain.addr(), plain, "/ws/v1/timeline/"},
		{token.KindTimeline, "", plain, "/ws/v1/timeline/"},
	} {
		tok := hdfs(c.service)
		tok.Kind = c.kind
		w.key("HTTP/0.0.0.1")
		w.key("HTTP/elsewhere.invalid")
		end, err := s.Renew(context.Background(), tok, nil)
		if err != nil || !end.Equal(testEnd) {
			t.Errorf("%s of %q: renewed until %v, %v", c.kind, c.service, end, err)
			continue
		}
		if err := s.Cancel(context.Background(), tok, nil); err != nil {
			t.Errorf("%s of %q: %v", c.kind, c.service, err)
		}
		want := "PUT " + c.path + " RENEWDELEGATIONTOKEN " + testPassword + " by " + testPrincipal + "; PUT " + c.path +
			" CANCELDELEGATIONTOKEN " + testPassword + " by " + testPrincipal
		if got := c.site.take(); got != want {
			t.Errorf("%s of %q: the service got %s, want %s", c.kind, c.service, got, want)
		}
	}
	for _, bad := range []string{"kms://ftp@host/kms", "kms://host:1/kms", "kms:/x", "kms://http@"} {
		tok := hdfs(bad)
		tok.Kind = kindKMS
		_, err := s.Renew(context.Background(), tok, nil)
		clean(t, err, "is no address of a KMS")
	}
}

// TestTimelineWithoutKerberos does not renew tokens of a timeline service that has no logins.
func TestTimelineWithoutKerberos(t *testing.T) {
	tok := hdfs("10.0.0.1:8188")
	tok.Kind = token.KindTimeline
	s := newWorld(t).services(nil)
	if end, err := s.Renew(context.Background(), tok, nil); err != nil || !end.IsZero() {
		t.Errorf("renewed until %v, %v", end, err)
	}
	if err := s.Cancel(context.Background(), tok, nil); err != nil {
		t.Error(err)
	}
}

// TestWebRefusals tells what is final, and keeps the token out of errors.
func TestWebRefusals(t *testing.T) {
	remote := func(class, message string) string {
		return fmt.Sprintf(`{"RemoteException":{"exception":"X","javaClassName":%q,"message":%q}}`, class, message)
	}
	for _, c := range []struct {
		name     string
		status   int
		body     string
		final    error
		contains string
	}{
		{"WebHDFS, invalid", 403, remote("org.apache.hadoop.security.token.SecretManager$InvalidToken", "unknown token"),
			ErrInvalidToken, "unknown token"},
		{"WebHDFS, not the renewer", 403, remote("org.apache.hadoop.security.AccessControlException",
			"rm tries to renew a token"), ErrNotRenewer, "tries to renew"},
		{"WebHDFS, standby", 403, remote("org.apache.hadoop.ipc.StandbyException", "state standby"), nil, "state standby"},
		{"KMS, invalid", 403,
			"<h2>HTTP ERROR 403 org.apache.hadoop.security.token.SecretManager$InvalidToken: token (kms-dt owner=ann)</h2> QUERY", ErrInvalidToken, "HTTP status 403"},
		{"KMS, not the renewer", 403, "<p>org.apache.hadoop.security.AccessControlException: rm tries to renew</p>",
			ErrNotRenewer, "HTTP status 403"},
		{"echo", 500, remote("java.io.IOException", "cannot handle QUERY"), nil, "cannot handle"},
		{"a page", 503, "<html>", nil, "HTTP status 503 Service Unavailable"},
		{"redirected", 307, "", nil, "HTTP status 307"},
		{"no end", 200, "{}", nil, "did not say until when"},
		{"no JSON", 200, "hello", nil, "did not say until when"},
		{"without end", 200, strings.Repeat(" ", 2*answerMax) + `{"long":1}`, nil, "did not say until when"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			site := w.website(false)
			other := w.website(false)
			site.status, site.body, site.header = c.status, c.body, map[string]string{}
			if c.status == 307 {
				site.header["Location"] = other.URL + "/?QUERY"
			}
			tok := hdfs("kms://http@" + site.addr() + "/kms")
			tok.Kind = kindKMS
			_, err := w.services(nil).Renew(context.Background(), tok, nil)
			clean(t, err, c.contains)
			for _, final := range []error{ErrInvalidToken, ErrNotRenewer} {
				if errors.Is(err, final) != (c.final == final) {
					t.Errorf("the error is %q: %v", final, err)
				}
			}
			if got := other.take(); got != "" {
				t.Errorf("a redirection is followed with the token: %s", got)
			}
		})
	}
}

// TestWebCancelled takes the answer of the KMS about a token that is not valid any more.
func TestWebCancelled(t *testing.T) {
	w := newWorld(t)
	site := w.website(false)
	site.status, site.body = 404, "<h2>HTTP ERROR 404 Invalid delegation token, cannot cancel</h2>"
	tok := hdfs("kms://http@" + site.addr() + "/kms")
	tok.Kind = kindKMS
	if err := w.services(nil).Cancel(context.Background(), tok, nil); err != nil {
		t.Error(err)
	}
	site.body = "<h2>HTTP ERROR 404 Not Found</h2>"
	clean(t, w.services(nil).Cancel(context.Background(), tok, nil), "404")
}

// TestWebTicketRefused forgets the ticket of a service that refuses it.
func TestWebTicketRefused(t *testing.T) {
	w := newWorld(t)
	site := w.website(false)
	w.mu.Lock()
	delete(w.keys, "HTTP/localhost")
	w.mu.Unlock()
	w.key("HTTP/localhost")
	tok := hdfs(site.addr())
	tok.Kind = kindWebHDFS
	_, err := w.services(nil).Renew(context.Background(), tok, nil)
	clean(t, err, "HTTP status 401")
	if len(w.forgotten) != 1 {
		t.Errorf("forgotten are %v", w.forgotten)
	}
	site.Close()
	_, err = w.services(nil).Renew(context.Background(), tok, nil)
	clean(t, err, "connection refused")
}
