package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rmd/api"
	"rmd/internal/sleep"
)

// Pauses between two rounds over all replicas, and the number of rounds after which Do gives up if
// no replica could be reached.
const (
	pauseMin     = 100 * time.Millisecond
	pauseMax     = time.Second
	deafRoundMax = 3
	answerMax    = 256 << 20
	dialMax      = 3 * time.Second
	tryMax       = 10 * time.Second // limit of one try if there is another replica
)

// Do sends the request until a replica answers it, and returns the answer. A refusal is an
// *api.Error.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	cancel := context.CancelFunc(func() {})
	if r.Silence == 0 {
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
	}
	defer cancel()
	defer c.tellWaiting(ctx)()
	if r.Method == http.MethodGet && !c.cfg.Stale && !r.Plain {
		q := url.Values{"consistent": {""}}
		for k, v := range r.Query {
			q[k] = v
		}
		r.Query = q
	}
	key := ""
	if r.Method != http.MethodGet {
		key = c.cfg.Name + "/" + strconv.FormatUint(c.seq.Add(1), 10)
	}
	a, err := c.rounds(ctx, r, key)
	if err == nil && c.cfg.Stale && c.cfg.Read != nil && r.Method == http.MethodGet && !r.Plain {
		c.cfg.Read(a)
	}
	return a, err
}

// rounds tries one replica after the other, the best first, until one answers.
func (c *Client) rounds(ctx context.Context, r Request, key string) (*Answer, error) {
	began := time.Now()
	pause, deaf, sent, unsure := pauseMin, 0, false, false
	var last error
	for {
		reached, heard := false, false
		var silent []string
		var unfit error // why a replica cannot serve now; another one may
		for _, s := range c.standings(ctx) {
			a, err := c.tryReplica(ctx, r, s.Addr, key)
			if err == nil {
				return a, nil
			}
			var doc *api.Error
			answered := errors.As(err, &doc)
			if errors.As(err, new(*Error)) {
				unfit = cmp.Or(unfit, err) // plain HTTP at a TLS port
				continue
			}
			if answered && unsure && r.Made != "" && doc.Code == r.Made {
				return &Answer{Status: http.StatusOK, Body: []byte("{}\n"), From: s.Addr}, nil
			}
			if answered && c.passedOver(ctx, &s, doc) {
				unfit = cmp.Or(unfit, error(c.named(doc, s))) // the best replica's says most
				continue
			}
			if answered && ofReplica[doc.Code] {
				err = c.named(doc, s)
			}
			if answered && !mayRetry(doc) {
				return nil, err
			}
			c.forget()
			if wrong := c.tlsError(err); wrong != nil {
				unfit = cmp.Or(unfit, wrong) // perhaps only its certificate has expired
				continue
			}
			unreached := !answered && (notSent(err) || r.Method == http.MethodGet && errors.Is(err, io.EOF))
			if unreached {
				silent = append(silent, s.Addr)
			}
			reached = reached || !unreached
			sent = sent || !unreached && !answered
			unsure = unsure || !unreached && (!answered || doc.Code == "UNKNOWN_OUTCOME")
			// what a replica says tells more than that another is not reached
			if last == nil || ctx.Err() == nil && (answered || !heard) {
				last = err
			}
			heard = heard || answered
			if ctx.Err() != nil {
				return nil, c.timeoutError(ctx, r, last, sent)
			}
		}
		if unfit != nil && !reached {
			c.forget()
			return nil, withSilent(unfit, silent) // and repeating the request cannot help
		}
		if deaf++; reached {
			deaf = 0
		}
		if deaf >= deafRoundMax || deaf > 0 && !resolvable(last) {
			return nil, c.unreached(last)
		}
		if r.Silence > 0 && time.Since(began) > c.cfg.Timeout {
			return nil, c.timeoutError(ctx, r, last, sent) // Timeout limits the search for an answer, not the answer itself
		}
		if !sleep.For(ctx, retryDelay(last, pause)) {
			return nil, c.timeoutError(ctx, r, last, sent)
		}
		pause = min(2*pause, pauseMax)
	}
}

// tryReplica makes one try at one replica.
func (c *Client) tryReplica(ctx context.Context, r Request, base, key string) (*Answer, error) {
	var quiet *silence
	switch {
	case r.Silence > 0:
		ctx, quiet = newSilence(ctx, r.Silence)
	case len(c.bases) > 1:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tryMax)
		defer cancel()
	}
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	target := base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, body)
	if err != nil {
		return nil, err
	}
	req.GetBody = r.body
	if body != nil && r.Stream == nil {
		req.ContentLength = int64(len(r.Body))
	}
	for k, v := range r.Header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", "rmd/"+c.cfg.Version)
	set(req, "Content-Type", r.ContentType)
	set(req, api.HeaderKey, key)
	set(req, api.HeaderUser, c.cfg.User)
	set(req, "Authorization", c.bearer)
	res, err := c.http.Do(req)
	if err != nil {
		quiet.end()
		return nil, quiet.because(err)
	}
	a := &Answer{Status: res.StatusCode, Header: res.Header, From: base}
	if r.Silence > 0 && res.StatusCode < 300 {
		quiet.timer.Stop() // until the first Read
		a.Stream = &stream{res.Body, quiet}
		return a, nil
	}
	defer quiet.end()
	defer res.Body.Close()
	if a.Body, err = io.ReadAll(io.LimitReader(res.Body, answerMax)); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", base, err)
	}
	if res.StatusCode >= 300 {
		return nil, refusal(a)
	}
	return a, nil
}

func set(req *http.Request, name, value string) {
	if value != "" {
		req.Header.Set(name, value)
	}
}

// httpsOnly is the answer of Go's servers to plain HTTP on a TLS port.
const httpsOnly = "Client sent an HTTP request to an HTTPS server"

// plainAtTLS returns the error for plain HTTP at addresses that may be TLS ports.
func plainAtTLS(at string, err error) *Error {
	return &Error{Code: CodeUntrusted, What: "the port at " + at + " does not speak plain HTTP",
		Do: "if it is a replica's TLS port, write https://HOST:PORT and --cacert", Err: err}
}

// portOfHadoop returns the error for HTTP at a port of Hadoop's IPC. Hadoop and rmd answer such a
// request there with a text about it.
func portOfHadoop(at string) *Error {
	return &Error{Code: CodeNoReplica, What: "the port at " + at + " is one of YARN, not REST", Do: portToCall}
}

// portToCall is what to do if a port may be another one than that of REST.
const portToCall = "the port to call is that of http.listen, by default 8088; if it is that, see the log of the replica"

// refusal reads an error document. If the answer is none, the error gets a code of its own.
func refusal(a *Answer) error {
	if a.Status == http.StatusBadRequest && strings.Contains(string(a.Body), httpsOnly) {
		return plainAtTLS(a.From, nil)
	}
	if a.Status == http.StatusNotFound && strings.Contains(string(a.Body), "Hadoop IPC") {
		return portOfHadoop(a.From)
	}
	e := &api.Error{Status: a.Status}
	if err := json.Unmarshal(a.Body, e); err != nil || e.Code == "" {
		e.Code = "HTTP_" + strconv.Itoa(a.Status)
		e.Message = fmt.Sprintf("%s answered %s", a.From, http.StatusText(a.Status))
		e.Remedy = "check that this is the REST address of an rmd replica"
	}
	return e
}

// mayRetry reports whether another try may get another answer.
func mayRetry(e *api.Error) bool {
	switch e.Code {
	case api.CodeNoLeader, api.CodeNotReady, api.CodeBusy, "UNKNOWN_OUTCOME":
		return true
	case "PEER_UNREACHABLE": // the replica has already tried; the caller gave the addresses
		return false
	}
	return e.Status == http.StatusBadGateway || e.Status == http.StatusTooManyRequests
}

// tlsError returns an error if only one side uses TLS or if the two sides use different CAs,
// otherwise nil.
func (c *Client) tlsError(err error) error {
	var cert *tls.CertificateVerificationError
	e := &Error{Code: CodeUntrusted, Err: err}
	var record tls.RecordHeaderError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &cert):
		e.What, e.Do = "the replica's certificate is not trusted: "+cert.Err.Error(),
			"name the cluster's CA with --cacert, and in --addr a host that the certificate names"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.What, e.Do = "the replica does not speak TLS at "+strings.Join(c.bases, ", "),
			"use its TLS port, or write http://HOST:PORT"
	case errors.As(err, &record): // a port of YARN, for instance
		e.What, e.Do = "what listens at "+strings.Join(c.bases, ", ")+" speaks neither TLS nor HTTP",
			"use the port of http.listen_tls, 8090 by default"
	case strings.Contains(err.Error(), "malformed HTTP response"):
		return plainAtTLS(strings.Join(c.bases, ", "), err)
	default:
		return nil
	}
	return e
}

// notSent reports whether the request certainly did not reach a replica.
func notSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// resolvable returns false for a host that does not exist: another round cannot help.
func resolvable(err error) bool {
	var dns *net.DNSError
	return !(errors.As(err, &dns) && dns.IsNotFound)
}

// retryDelay returns the pause that a replica asked for, or the usual one.
func retryDelay(err error, pause time.Duration) time.Duration {
	var doc *api.Error
	if errors.As(err, &doc) && doc.RetryAfterMillis > 0 {
		return min(time.Duration(doc.RetryAfterMillis)*time.Millisecond, 5*time.Second)
	}
	return pause
}

// unreached returns the error for the case that no replica could be reached.
func (c *Client) unreached(last error) error {
	do := "start one with \"rmd dev\" or \"rmd server\", or set --addr"
	if errors.Is(last, io.EOF) {
		do = portToCall
	}
	e := newError(CodeNoReplica, do, "no replica reached at %s: %s", strings.Join(c.bases, ", "), reason(last))
	e.Err = last
	return e
}

// timeoutError returns the error for the case that the time is up. sent means that a replica may
// have received the request.
func (c *Client) timeoutError(ctx context.Context, r Request, last error, sent bool) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	var doc *api.Error
	if errors.As(last, &doc) {
		return last // it is more specific, for instance NO_LEADER or BUSY
	}
	if notSent(last) {
		return c.unreached(last)
	}
	what, do := "no answer within "+c.cfg.Timeout.String()+" from "+strings.Join(c.bases, ", "), "raise --timeout"
	if last != nil && !errors.Is(last, context.DeadlineExceeded) {
		what += " (" + reason(last) + ")"
	}
	if r.Method != http.MethodGet && sent {
		what += ", so the outcome is unknown"
		do = "check the result before you repeat the command, or raise --timeout"
	}
	return &Error{Code: CodeTimedOut, What: what, Do: do, Err: last}
}

// reason returns a short cause of a failed connection.
func reason(err error) string {
	if errors.Is(err, io.EOF) {
		return "the connection ends without an answer"
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}
