package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ClusterName is the name of every cluster of this package.
const ClusterName = "chaos"

// Cluster is a temporary cluster.
type Cluster struct {
	Replicas []*Replica
	Offer    Offer

	cfg     Config
	network Network
	tls     *tls.Config // nil on loopback
	http    *http.Client
}

// Open creates the network, disks and configurations of a cluster. It starts no process. The caller
// must call Close.
func Open(cfg Config, offer Offer) (*Cluster, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, Offer: offer}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) open() error {
	for _, dir := range []string{"logs", "data"} {
		if err := os.MkdirAll(filepath.Join(c.cfg.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	if c.Offer.Network == Namespaces {
		n, err := newNamespaces()
		if err != nil {
			return err
		}
		c.network = n
	} else {
		c.network = newLoopback()
	}
	for i := range c.cfg.Replicas + c.cfg.Spare {
		r, err := c.newReplica(fmt.Sprintf("rm%d", i+1), i < c.cfg.Replicas)
		if r != nil {
			c.Replicas = append(c.Replicas, r)
		}
		if err != nil {
			return err
		}
	}
	if c.Replicas[0].Place.Public {
		if err := c.certificates(); err != nil {
			return err
		}
	}
	var own *tls.Config
	if c.tls != nil {
		own = c.tls.Clone()
		own.InsecureSkipVerify = true // the harness looks also at replicas whose certificates have ended
	}
	c.http = &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: own, MaxIdleConnsPerHost: 4, IdleConnTimeout: 5 * time.Second}}
	if err := c.hadoopFiles(); err != nil {
		return err
	}
	for _, r := range c.Replicas {
		if err := os.WriteFile(r.Config, []byte(c.yaml(r)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) newReplica(id string, voter bool) (*Replica, error) {
	r := &Replica{ID: id, Voter: voter, cluster: c, binary: c.cfg.Binary}
	r.Config, r.logFile = filepath.Join(c.cfg.Dir, id+".yaml"), filepath.Join(c.cfg.Dir, "logs", id+".log")
	var err error
	if r.Place, err = c.network.Add(id); err != nil {
		return nil, fmt.Errorf("make a place for %s: %w", id, err)
	}
	dir := filepath.Join(c.cfg.Dir, "data", id)
	if c.Offer.Disk == Loop {
		r.Disk, err = newLoop(dir, c.cfg.DiskMB)
	} else {
		r.Disk, err = newDirectory(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("make a disk for %s: %w", id, err)
	}
	r.Dir = r.Disk.Dir()
	return r, nil
}

// ReserveMB and StopMB are the disk limits of the replicas, in MiB. The defaults are for larger
// disks.
const (
	ReserveMB = 64
	StopMB    = 32
)

// yaml returns a replica's rmd.yaml.
func (c *Cluster) yaml(r *Replica) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("id: %s\ncluster: %s\ndata: %s", r.ID, ClusterName, r.Dir)
	if r.Place.Public {
		line("http:\n  listen: none\n  listen_tls: %s\n  rate: 100000\n  burst: 100000", r.Place.HTTPListen)
		line("tls:\n  ca: %s\n  cert: %s\n  key: %s", c.pem("ca"), c.pem(r.ID), c.pem(r.ID+"-key"))
	} else {
		line("http:\n  listen: %s", r.Place.HTTPListen)
	}
	line("raft:\n  listen: %s\n  advertise: %s", r.Place.PeerListen, r.Place.Peer)
	if r.Voter {
		line("  bootstrap_expect: %d\n  allow_even: true\n  join: [%s]", c.cfg.Replicas, strings.Join(c.peers(), ", "))
	}
	line("  heartbeat: %s\n  election: %s\n  lease: %s", c.cfg.Heartbeat, c.cfg.Election, c.cfg.Lease)
	line("  snapshot_threshold: %d\n  snapshot_interval: 1s\n  trailing: %d", c.cfg.SnapshotEvery, c.cfg.Trailing)
	line("disk:\n  reserve: %dMiB\n  stop: %dMiB", ReserveMB, StopMB)
	line("autopilot:\n  server_stabilization_time: 500ms")
	line("hadoop:\n  conf_dir: %s", c.hadoopDir())
	return b.String() + c.cfg.Extra
}

// peers returns the peer addresses of the replicas that bootstrap the cluster.
func (c *Cluster) peers() []string {
	var out []string
	for _, r := range c.Replicas {
		if r.Voter {
			out = append(out, r.Place.Peer)
		}
	}
	return out
}

func (c *Cluster) pem(name string) string { return filepath.Join(c.cfg.Dir, "tls", name+".pem") }

// Bootstrap starts the voters and waits until they are ready.
func (c *Cluster) Bootstrap(ctx context.Context) error {
	for _, r := range c.Voters() {
		if err := r.Start(); err != nil {
			return err
		}
	}
	return c.AwaitReady(ctx, c.Voters()...)
}

// Voters returns the replicas that bootstrap the cluster.
func (c *Cluster) Voters() []*Replica {
	var out []*Replica
	for _, r := range c.Replicas {
		if r.Voter {
			out = append(out, r)
		}
	}
	return out
}

// Replica returns the replica with an id, or nil.
func (c *Cluster) Replica(id string) *Replica {
	for _, r := range c.Replicas {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Network returns the cluster's network.
func (c *Cluster) Network() Network { return c.network }

// Dir returns the directory with all files of the cluster.
func (c *Cluster) Dir() string { return c.cfg.Dir }

// Note passes a message to Config.Note.
func (c *Cluster) Note(format string, args ...any) { c.cfg.note(format, args...) }

// Close ends all processes and removes the network and the mounted disks. It keeps the files.
func (c *Cluster) Close() error {
	var errs []error
	for _, r := range c.Replicas {
		_ = r.Disk.Thaw() // a frozen disk would block the end of its process; Close reports the error
		errs = append(errs, r.Kill())
	}
	if c.network != nil {
		errs = append(errs, c.network.Close())
	}
	for _, r := range c.Replicas {
		errs = append(errs, r.Disk.Close())
	}
	return errors.Join(errs...)
}

// Another returns the configuration of a cluster with one replica beside this one, on loopback.
func (c *Cluster) Another(dir string) Config {
	k := c.cfg
	k.Dir, k.Replicas, k.Spare, k.Network, k.Disk = dir, 1, 0, Loopback, Directory
	return k
}
