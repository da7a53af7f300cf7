package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rmd/api"
	"rmd/internal/certificate"
)

// certified gives a replica a certificate that ends at a time. The replica's configuration names its
// files from the first call on.
func (c *processes) certified(ca *certificate.Authority, dir string, p *process, end time.Time) {
	c.t.Helper()
	const years = 2 // of each certificate
	f, err := ca.Issue(c.t.(*testing.T).TempDir(), "test", p.id, []string{"127.0.0.1"}, end.AddDate(-years, 0, 0))
	if err != nil {
		c.t.Fatal(err)
	}
	cert, key := filepath.Join(dir, p.id+".pem"), filepath.Join(dir, p.id+"-key.pem")
	_, err = os.Stat(cert)
	for from, to := range map[string]string{f.Key: key, f.Cert: cert} {
		if err := os.Rename(from, to); err != nil {
			c.t.Fatal(err)
		}
	}
	if err != nil {
		c.reconfigure(p, "cluster: test\n", fmt.Sprintf("cluster: test\ntls: {ca: %s, cert: %s, key: %s}\n",
			filepath.Join(dir, "ca.pem"), cert, key))
	}
}

// metric returns the value of a series of a replica.
func (c *processes) metric(p *process, series string) (value float64, ok bool) {
	resp, err := http.Get("http://" + p.http + "/metrics")
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, false
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindSubmatch(b)
	if m == nil {
		return 0, false
	}
	value, err = strconv.ParseFloat(string(m[1]), 64)
	return value, err == nil
}

// TestExpiredCertificates lets the certificates of all replicas end while they run. The old
// connections go on, but no election could be won. Health must say so, name the certificates before
// and after their end, and recover when they are renewed.
func TestExpiredCertificates(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 3, calm, "  bootstrap_expect: 3\n", "")
	dir := t.TempDir()
	ca, _, err := certificate.Open(dir, "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	renew := func(end time.Time) {
		for _, p := range c.all {
			c.certified(ca, dir, p, end)
		}
	}
	renew(time.Now().AddDate(1, 0, 0))
	for _, p := range c.all {
		c.start(p)
	}
	c.awaitReady(c.all...)
	c.awaitHealthy()
	leader := c.leader()

	read := func(end time.Time) {
		renew(end)
		for _, p := range c.all {
			p.signal(t, syscall.SIGHUP)
		}
	}
	read(time.Now().Add(time.Hour))
	var d api.Cluster
	c.await("the end is told before", patience, func() bool {
		return c.get(leader, "/v1/cluster", &d) && len(d.Verdict.Warnings) == 3 && d.Verdict.CanLose == 1 &&
			strings.Contains(d.Verdict.Text, "rm2: its certificate expires on ")
	})
	c.done("cluster", "health") // it is a warning, not yet a problem

	read(time.Now().Add(10 * time.Second))
	c.await("nobody can be lost any more", patience, func() bool {
		return c.get(leader, "/v1/cluster", &d) && d.Verdict.CanLose == 0 && len(d.Verdict.Problems) == 6
	})
	if d.Leader != leader.id || d.Verdict.InStep != 3 {
		t.Errorf("the old connections do not go on: %+v", d.Verdict)
	}
	c.refused(9, "rm2: its certificate expired on ", "cluster", "health", "--addr", leader.http)
	c.refused(9, "rm3: it cannot open a new connection to rm1 and rm2, which an election needs: ", "cluster", "health",
		"--addr", leader.http)
	c.refused(9, "the cluster cannot lose a replica", "cluster", "health", "--addr", leader.http)
	for _, p := range c.all {
		contains(t, "the log of "+p.id, p.logged(), "a certificate has ended", "cannot open a new connection to a replica")
		if end, ok := c.metric(p, `rmd_certificate_expiry_timestamp_seconds{use="peer"}`); !ok ||
			end > float64(time.Now().Unix()) {
			t.Errorf("the metric of %s says that its certificate ends at %f", p.id, end)
		}
		for _, other := range c.others(p) {
			if v, ok := c.metric(p, fmt.Sprintf(`rmd_raft_peer_unreached{peer="%s"}`, other.id)); !ok || v != 1 {
				t.Errorf("the metrics of %s do not say that it cannot reach %s", p.id, other.id)
			}
		}
	}

	renew(time.Now().AddDate(1, 0, 0))
	c.awaitHealthy()
	if !c.get(leader, "/v1/cluster", &d) || d.Verdict.Status != "healthy" {
		t.Errorf("in the end: %+v", d.Verdict)
	}
}

// TestNoInodes gives a follower a file system that has space but no inodes. Its log grows within its
// file, and no snapshot can be written. Health, REST, the page and the metrics must say so.
func TestNoInodes(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 3, calm, "  bootstrap_expect: 3\n"+often, "")
	for _, p := range c.all {
		p.onSmallDisk(t, "size=400m,nr_inodes=200,mode=0700")
		c.start(p)
	}
	c.awaitReady(c.all...)
	victim := c.others(c.leader())[0]
	took := func() float64 { n, _ := c.metric(victim, `rmd_raft_snapshots_total{op="write",result="ok"}`); return n }
	work := c.work(newCaller(t, c.addrs()), 6)
	c.await("snapshots are written", patience, func() bool { return took() > 0 })
	filled := fillInodes(t, victim.dir)

	const says = "snapshot: cannot write snapshots"
	var h api.Health
	c.await("the replica says that snapshots fail", patience, func() bool {
		return c.get(victim, "/v1/health", &h) && strings.Contains(h.Problem, "background jobs fail: snapshot")
	})
	for _, p := range c.all {
		c.refused(9, victim.id+": "+says, "cluster", "health", "--addr", p.http)
	}
	contains(t, "status", c.done("cluster", "status"), "degraded", "can lose 1", victim.id+": "+says,
		"no space left on device")
	var jobs api.Jobs
	if !c.get(victim, "/v1/jobs", &jobs) || !strings.Contains(fmt.Sprint(jobs), says) {
		t.Errorf("REST lists %+v", jobs)
	}
	for series, least := range map[string]float64{`rmd_job_runs_total{name="snapshot",result="error"}`: 1,
		`rmd_job_failing{name="snapshot"}`: 1, `rmd_raft_snapshots_total{op="write",result="error"}`: 1} {
		if v, ok := c.metric(victim, series); !ok || v < least {
			t.Errorf("%s is %f", series, v)
		}
	}
	resp, err := http.Get("http://" + victim.http + "/ui/cluster")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "the page", string(page), says, "Background jobs", "no space left on device")

	for _, f := range filled {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	c.awaitHealthy()
	work.end()
}

// fillInodes creates files in a directory until its file system has no inode left. It returns their
// paths.
func fillInodes(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	for {
		path := filepath.Join(dir, fmt.Sprint("inode", len(out)))
		f, err := os.Create(path)
		if err != nil {
			return out
		}
		_ = f.Close()
		if out = append(out, path); len(out) > 1000 {
			t.Fatal("the file system has inodes without end")
		}
	}
}
