package harness

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"rmd/api"
	"rmd/internal/certificate"
)

// TLS is the TLS configuration of clients. It is nil on loopback.
func (c *Cluster) TLS() *tls.Config { return c.tls }

// certificates creates a CA, a certificate for each replica and one for an administrator, with the
// program's own commands.
func (c *Cluster) certificates() error {
	dir := filepath.Join(c.cfg.Dir, "tls")
	for _, r := range c.Replicas {
		host, _, _ := strings.Cut(r.Place.Peer, ":")
		if _, err := c.offline("init", "--dir", dir, "--id", r.ID, "--cluster", ClusterName, "--advertise", r.Place.Peer,
			"--tls", "--host", host); err != nil {
			return err
		}
	}
	if _, err := c.offline("access", "certificate", "create", "--dir", dir, "--cluster", ClusterName, "--name", "chaos",
		"--role", "admin"); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.pem("chaos"), c.pem("chaos-key"))
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(c.pem("ca"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return errors.New("ca.pem holds no certificate")
	}
	c.tls = &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, Certificates: []tls.Certificate{pair}}
	return nil
}

// certificateYears is how long the certificates of package certificate are valid.
const certificateYears = 2

// Certify replaces a replica's certificate and key by new ones that are valid until end. A running
// replica takes them by itself within ten seconds, or at once after Reload.
func (c *Cluster) Certify(r *Replica, end time.Time) error {
	dir := filepath.Dir(c.pem("ca"))
	ca, _, err := certificate.Open(dir, ClusterName, time.Now())
	if err != nil {
		return err
	}
	aside, err := os.MkdirTemp(dir, "new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(aside)
	host, _, _ := strings.Cut(r.Place.Peer, ":")
	f, err := ca.Issue(aside, ClusterName, r.ID, []string{host}, end.AddDate(-certificateYears, 0, 0))
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(f.Key, c.pem(r.ID+"-key")), os.Rename(f.Cert, c.pem(r.ID)))
}

// AsReplica returns a TLS configuration with a replica's certificate. It is nil on loopback, where
// there are no certificates.
func (c *Cluster) AsReplica(r *Replica) (*tls.Config, error) {
	if c.tls == nil {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.pem(r.ID), c.pem(r.ID+"-key"))
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}}, nil
}

// URL returns the URL of a replica's REST port. If direct is true, the URL bypasses the faults of
// links where the network allows it.
func (c *Cluster) URL(r *Replica, direct bool) string {
	scheme, at := "http://", r.Place.HTTP
	if r.Place.Public {
		scheme = "https://"
	}
	if direct {
		at = r.Place.Direct
	}
	return scheme + at
}

// URLs returns the URLs, for clients, of the REST ports of the replicas that bootstrap the cluster.
func (c *Cluster) URLs() []string {
	var out []string
	for _, r := range c.Voters() {
		out = append(out, c.URL(r, false))
	}
	return out
}

// Get reads a document of one replica. If the replica refuses, the error is an *api.Error.
func (c *Cluster) Get(ctx context.Context, r *Replica, path string, doc any) error {
	return c.Call(ctx, http.MethodGet, c.URL(r, true)+path, nil, doc)
}

// Call sends one request to a REST port. body and doc may be nil.
func (c *Cluster) Call(ctx context.Context, method, url string, body, doc any) error {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.do(req, doc)
}

func (c *Cluster) do(req *http.Request, doc any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode >= 300 {
		refusal := &api.Error{Status: resp.StatusCode}
		if json.Unmarshal(b, refusal) != nil || refusal.Code == "" {
			refusal.Code, refusal.Message = api.CodeInternal, resp.Status+" "+string(b[:min(len(b), 200)])
		}
		return refusal
	}
	if doc == nil {
		return nil
	}
	return json.Unmarshal(b, doc)
}

// offline runs a command of the program that needs no replica.
func (c *Cluster) offline(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	return c.command(ctx, args)
}

// CLI runs a command of the program against the cluster and returns its standard output. It names
// the leader first, because a replica without data answers too, and refuses. If the command ends
// with another code than 0, the error wraps an *exec.ExitError.
func (c *Cluster) CLI(ctx context.Context, args ...string) (string, error) {
	return c.CLIAt(ctx, c.Leader(ctx), args...)
}

// CLIAt is CLI with another replica named first. It may be nil.
func (c *Cluster) CLIAt(ctx context.Context, first *Replica, args ...string) (string, error) {
	var addrs []string
	if first != nil {
		addrs = append(addrs, c.URL(first, false))
	}
	for _, r := range c.Replicas {
		if r.Awake() && r != first {
			addrs = append(addrs, c.URL(r, false))
		}
	}
	return c.command(ctx, args, "RMD_ADDR="+strings.Join(addrs, ","))
}

func (c *Cluster) command(ctx context.Context, args []string, env ...string) (string, error) {
	if c.tls != nil {
		args = append([]string{"--cacert", c.pem("ca"), "--cert", c.pem("chaos"), "--key", c.pem("chaos-key")}, args...)
	}
	cmd := exec.CommandContext(ctx, c.cfg.Binary, args...)
	cmd.Env = append(c.environment(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("rmd %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// environment returns the environment of every process. It leaves out the variables of this process
// that rmd would read as settings, but keeps RMD_TEST_*.
func (c *Cluster) environment() []string {
	var out []string
	for _, v := range os.Environ() {
		setting := strings.HasPrefix(v, "RMD_") && !strings.HasPrefix(v, "RMD_TEST_") || strings.HasPrefix(v, "HADOOP_")
		if !setting {
			out = append(out, v)
		}
	}
	return append(out, c.cfg.Env...)
}

// ExitCode returns the exit code of a command that ended with err, or −1 for another error.
func ExitCode(err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode()
	}
	return -1
}

// poll calls holds every 10 ms until it returns true or the context ends.
func poll(ctx context.Context, what string, holds func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
	return nil
}

// AwaitReady waits until the replicas are ready (/v1/ready).
func (c *Cluster) AwaitReady(ctx context.Context, of ...*Replica) error {
	for _, r := range of {
		if err := poll(ctx, r.ID+" is ready", func() bool { return c.Get(ctx, r, "/v1/ready", nil) == nil }); err != nil {
			return err
		}
	}
	return nil
}

// AwaitUp waits until the replicas answer /v1/health.
func (c *Cluster) AwaitUp(ctx context.Context, of ...*Replica) error {
	for _, r := range of {
		if err := poll(ctx, r.ID+" answers", func() bool { return c.Get(ctx, r, "/v1/health", nil) == nil }); err != nil {
			return err
		}
	}
	return nil
}

// Leader returns the replica that says that it leads, with the highest term, or nil. It ignores
// replicas that do not answer within two seconds.
func (c *Cluster) Leader(ctx context.Context) *Replica {
	type answer struct {
		r    *Replica
		term uint64
	}
	found := make(chan answer, len(c.Replicas))
	asked := 0
	for _, r := range c.Replicas {
		if !r.Awake() {
			continue
		}
		asked++
		go func() { // it ends at its timeout
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			var h api.Health
			if err := c.Get(ctx, r, "/v1/leader?role=leader", &h); err != nil {
				found <- answer{}
				return
			}
			found <- answer{r, h.Term}
		}()
	}
	var best answer
	for range asked {
		if a := <-found; a.r != nil && (best.r == nil || a.term > best.term) {
			best = a
		}
	}
	return best.r
}

// TakeSnapshot makes a replica write a snapshot to its disk.
func (c *Cluster) TakeSnapshot(ctx context.Context, r *Replica) (api.Snapshot, error) {
	var doc api.Snapshot
	err := c.Call(ctx, http.MethodPost, c.URL(r, true)+"/v1/snapshot:take", nil, &doc)
	return doc, err
}

// Facts returns a replica's document /v1/cluster.
func (c *Cluster) Facts(ctx context.Context, r *Replica) (api.Cluster, error) {
	var doc api.Cluster
	err := c.Get(ctx, r, "/v1/cluster", &doc)
	return doc, err
}
