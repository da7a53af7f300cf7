package replica

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/config"
	"rmd/internal/exitcode"
	"rmd/internal/sleep"
)

// devReplica is one replica of `rmd dev`: a process of this program. So it can die as a machine's
// replica does.
type devReplica struct {
	id, addr string // addr is of REST
	args     []string
	token    string
	version  string
	log      io.Writer
	died     func(r *devReplica, err error) // called if it ends without being told to

	mu    sync.Mutex
	cmd   *exec.Cmd // nil: not running
	stdin io.Closer
	said  lastWords
	ended chan struct{}
	told  bool // to end
}

// devReplicas are the replicas of `rmd dev`, by number.
type devReplicas []*devReplica

// newDevReplica writes the configuration of replica i. peers are the addresses of all replicas.
func (d *devCluster) newDevReplica(i int, peers []string) (*devReplica, error) {
	r := &devReplica{id: "rm" + strconv.Itoa(i+1), addr: "127.0.0.1:" + strconv.Itoa(d.c.Int("port")+DevStep*i),
		token: d.work.Token, version: d.c.Program.Version, log: d.logFile}
	set := map[string]string{"id": r.id, "cluster": "local", "data": filepath.Join(d.dir, r.id), "scheduling": "eager",
		"raft.listen": peers[i], "raft.join": strings.Join(peers, ","), "raft.bootstrap_expect": strconv.Itoa(len(peers)),
		"raft.allow_even": "true",
		"http.listen":     r.addr}
	var b bytes.Buffer
	if err := config.Sample(&b, set); err != nil {
		return nil, err
	}
	file := filepath.Join(d.dir, r.id+".yaml")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		return nil, err
	}
	r.args = []string{"rmd", "server", "--config", file, "--queues", filepath.Join(d.dir, "queues.xml"), "--part-of-dev"}
	if level := d.c.String("log-level"); level != "" {
		r.args = append(r.args, "--log-level", level)
	}
	return r, nil
}

// start starts the process, unless it runs.
func (r *devReplica) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// These variables are for the commands of the user.
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "RMD_") || strings.HasPrefix(v, "HADOOP_CONF_DIR=")
	})
	cmd := &exec.Cmd{Path: self, Args: r.args, Env: env, Stdout: r.log, Stderr: io.MultiWriter(r.log, &r.said),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}} // Ctrl-C must not reach it: it ends after the workload
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	r.cmd, r.stdin, r.ended, r.told = cmd, stdin, ended, false
	go r.wait(cmd, ended)
	_, err = io.WriteString(stdin, r.token+"\n")
	return err
}

func (r *devReplica) wait(cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	r.mu.Lock()
	told := r.told
	r.cmd = nil
	r.mu.Unlock()
	close(ended)
	if !told {
		r.died(r, err)
	}
}

// kill ends the process with SIGKILL, and returns the time just before.
func (r *devReplica) kill() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = true
	now := time.Now()
	if r.cmd != nil {
		_ = r.cmd.Process.Kill() // it may have ended by itself
	}
	return now
}

// stop lets the process stop in order, and waits for it.
func (r *devReplica) stop() {
	r.mu.Lock()
	r.told = true
	running, ended := r.cmd != nil, r.ended
	if running {
		_ = r.stdin.Close()
	}
	r.mu.Unlock()
	if !running {
		return
	}
	select {
	case <-ended:
	case <-time.After(devStart):
		r.kill()
		<-ended
	}
}

func (r *devReplica) running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cmd != nil
}

// down returns the replicas that do not run.
func (rs devReplicas) down() (out devReplicas) {
	for _, r := range rs {
		if !r.running() {
			out = append(out, r)
		}
	}
	return out
}

// up returns the replicas that run, or all if none does.
func (rs devReplicas) up() devReplicas {
	up := slices.DeleteFunc(slices.Clone(rs), func(r *devReplica) bool { return !r.running() })
	if len(up) == 0 {
		return rs
	}
	return up
}

// line says what each replica is: a process that has ended, one that the others do not reach yet, the
// leader, or a follower, which needs no word.
func (rs devReplicas) line(d api.Cluster) string {
	var words []string
	for _, r := range rs {
		s := r.id
		switch i := slices.IndexFunc(d.Members, func(m api.Member) bool { return m.ID == r.id }); {
		case !r.running():
			s += " dead"
		case r.id == d.Leader:
			s += " leader"
		case i < 0 || d.Members[i].State != "alive":
			s += " starts"
		}
		words = append(words, s)
	}
	return strings.Join(words, "  ")
}

// addrs returns the REST addresses.
func (rs devReplicas) addrs() (out []string) {
	for _, r := range rs {
		out = append(out, r.addr)
	}
	return out
}

// without returns all replicas but one.
func (rs devReplicas) without(id string) devReplicas {
	return slices.DeleteFunc(slices.Clone(rs), func(r *devReplica) bool { return r.id == id })
}

// named returns a replica by its id, or nil.
func (rs devReplicas) named(id string) *devReplica {
	for _, r := range rs {
		if r.id == id {
			return r
		}
	}
	return nil
}

// stop stops all replicas, the followers first: so none elects a leader that stops next.
func (rs devReplicas) stop(leader string) {
	var wg sync.WaitGroup
	for _, r := range rs.without(leader) {
		wg.Go(r.stop)
	}
	wg.Wait()
	if r := rs.named(leader); r != nil {
		r.stop()
	}
}

// awaitReady waits until every replica has a leader and has applied what that has committed.
func (rs devReplicas) awaitReady(ctx context.Context) error {
	for _, r := range rs {
		for {
			cl, err := rs.clientOf(r)
			if err == nil {
				_, err = cl.Get(ctx, "/v1/ready", nil)
			}
			if err == nil {
				break
			}
			if !sleep.For(ctx, 20*time.Millisecond) {
				return errors.Join(context.Cause(ctx), fmt.Errorf("replica %s: %w", r.id, err))
			}
		}
	}
	return nil
}

// clientOf returns a client that reads the state of these replicas, without asking the leader.
func (devReplicas) clientOf(rs ...*devReplica) (*client.Client, error) {
	cfg := client.DefaultConfig()
	cfg.Addrs, cfg.Token, cfg.Stale, cfg.Timeout, cfg.Version = devReplicas(rs).addrs(), rs[0].token, true,
		3*time.Second, rs[0].version
	return client.New(cfg)
}

// replicaError returns the error of a replica that ended by itself, with its last line. The log
// file remains only if the directory is kept.
func (r *devReplica) replicaError(err error, port int, kept bool) error {
	code := exitcode.Failure
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		code = exit.ExitCode()
	}
	said, do := r.said.line(), "use --data DIR to keep its log, DIR/rmd.log"
	switch {
	case strings.Contains(said, "address already in use"):
		do = fmt.Sprintf("choose another --port: replica i uses %d + %d·(i − 1) for REST and %d + %d·(i − 1) for Raft",
			port, DevStep, port+PeerPort-HTTPPort, DevStep)
	case kept:
		do = "see rmd.log below --data DIR"
	}
	return &clierr.Error{Code: "REPLICA_STOPPED", What: "replica " + r.id + " ended: " + said, Do: do,
		Exit: code, Err: err}
}

// lastWords keeps the end of what a process has printed.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

const lastWordsMax = 4096

func (l *lastWords) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	l.text = l.text[max(0, len(l.text)-lastWordsMax):]
	return len(b), nil
}

// line returns the last line.
func (l *lastWords) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(string(l.text))
	return strings.TrimPrefix(text[strings.LastIndexByte(text, '\n')+1:], "rmd: ")
}

// followParent reads the access token that `rmd dev` sends to its replicas. When the input ends,
// `rmd dev` has ended or wants the replica to: it stops as after SIGTERM.
func followParent(in io.Reader) (token string, err error) {
	r := bufio.NewReader(in)
	if token, err = r.ReadString('\n'); err != nil {
		return "", fmt.Errorf("read the token of rmd dev: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, r) // any end is an end
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
	return strings.TrimSuffix(token, "\n"), nil
}
