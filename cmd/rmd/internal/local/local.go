// Package local runs a whole cluster in one process: real replicas with real
// Raft, real stores on disk and loopback TCP. `rmd replay` uses it, and so do the
// tests of whole clusters.
package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"rmd/config"
	"rmd/internal/descriptors"
	"rmd/scheduler/capacity"
	"rmd/server"
)

// Options describes the cluster.
type Options struct {
	Replicas int
	Dir      string // contains one directory per replica
	Queues   []capacity.Property
	// Scheduling is "eager" or "heartbeat".
	Scheduling string
	// Adjust changes the configuration of replica i, counted from 0, before it is opened. It may be
	// nil.
	Adjust  func(i int, c *config.Config)
	Version string
	Logger  hclog.Logger
	// OnFatal is called when a replica must stop.
	OnFatal func(id string, code int, err error)
	// Parts replaces parts of all replicas. The zero value replaces none.
	Parts server.Parts
}

// Cluster is a set of running replicas.
type Cluster struct {
	Replicas []*server.Replica
	opt      Options
	configs  []config.Config
	token    string
}

// startTries limits how often Start tries other ports.
const startTries = 5

// Start opens all replicas and waits until they have a leader and queues. Between the choice of a free
// port and its use, another program may take it; then Start chooses others.
func Start(ctx context.Context, opt Options) (c *Cluster, err error) {
	for range startTries {
		if c, err = tryStart(ctx, opt); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return c, err
}

func tryStart(ctx context.Context, opt Options) (*Cluster, error) {
	c := &Cluster{opt: opt, token: rand.Text()}
	ports, err := freePorts(opt.Replicas)
	if err != nil {
		return nil, err
	}
	var peers []string
	for _, p := range ports {
		peers = append(peers, "127.0.0.1:"+strconv.Itoa(p))
	}
	for i := range opt.Replicas {
		c.configs = append(c.configs, c.configOf(i, peers))
		r, err := c.open(i)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.Replicas = append(c.Replicas, r)
	}
	for _, r := range c.Replicas {
		if err := r.AwaitLeader(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("replica %s: %w", r.ID(), err), c.Close())
		}
	}
	return c, nil
}

func (c *Cluster) configOf(i int, peers []string) config.Config {
	k := config.Default()
	k.ID, k.Cluster = "rm"+strconv.Itoa(i+1), "local"
	k.Data = filepath.Join(c.opt.Dir, k.ID)
	k.Scheduling = c.opt.Scheduling
	k.Raft.Listen, k.Raft.Join = peers[i], peers
	k.Raft.BootstrapExpect, k.Raft.AllowEven = uint(len(peers)), true
	k.HTTP.Listen = "127.0.0.1:0"
	if c.opt.Adjust != nil {
		c.opt.Adjust(i, &k)
	}
	return k
}

func (c *Cluster) open(i int) (*server.Replica, error) {
	k := c.configs[i]
	if err := os.MkdirAll(k.Data, 0o700); err != nil {
		return nil, err
	}
	files, err := descriptors.Limit()
	if err != nil {
		return nil, err
	}
	fatal := func(code int, err error) {
		if c.opt.OnFatal != nil {
			c.opt.OnFatal(k.ID, code, err)
		}
	}
	return server.Open(server.Options{Config: k, Version: c.opt.Version, Queues: c.opt.Queues, OwnToken: c.token,
		Logger: c.opt.Logger.With("replica", k.ID), OnFatal: fatal, Files: files / c.opt.Replicas, Parts: c.opt.Parts})
}

// Token returns an administrator's access token that the replicas accept from this process. With
// it, the workload continues after a user creates the cluster's first token.
func (c *Cluster) Token() string { return c.token }

// Addrs returns the REST addresses of all replicas.
func (c *Cluster) Addrs() []string {
	var out []string
	for _, r := range c.Replicas {
		out = append(out, r.HTTPAddr())
	}
	return out
}

// Leader returns the position of the leader, or −1 if there is none.
func (c *Cluster) Leader() int {
	for i, r := range c.Replicas {
		if r.Cluster().IsLeader() {
			return i
		}
	}
	return -1
}

// Close stops all replicas, followers first.
func (c *Cluster) Close() error {
	var errs []error
	lead := c.Leader()
	for i, r := range c.Replicas {
		if i != lead {
			errs = append(errs, r.Close())
		}
	}
	if lead >= 0 {
		errs = append(errs, c.Replicas[lead].Close())
	}
	return errors.Join(errs...)
}

// freePorts returns ports that are free now.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // keep each port in use until all are known
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
