package tracker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/hadoopconf"
	"rmd/internal/job"
)

// DefaultRack is the rack of a host whose rack is unknown.
const DefaultRack = "/default-rack"

// Racks returns the racks of hosts.
type Racks interface {
	// Rack returns the path of a host's rack, which begins with "/". It returns DefaultRack if the
	// rack is unknown.
	Rack(ctx context.Context, host string) string
}

// RacksConfig is the configuration of a Topology.
type RacksConfig struct {
	Logger hclog.Logger
	Job    *job.Job // each lookup is a run of it
	// Table is a file with two columns: host or address, and rack (net.topology.table.file.name).
	// Script is a program that prints the racks of the addresses in its arguments
	// (net.topology.script.file.name). If both are set, the table is used. If neither is set, every
	// host is in DefaultRack.
	Table, Script string
	// TableMax limits the table, in bytes.
	TableMax int64
	// Lookup resolves a host name. As in YARN, the first address is used.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// Timeout limits one lookup. After a failed one, a host is not looked up again before
	// RetryAfter.
	Timeout    time.Duration
	RetryAfter time.Duration
	// ScriptsMax limits the scripts that run at a time. CacheMax limits the cached hosts.
	ScriptsMax int
	CacheMax   int
}

// DefaultRacksConfig returns a configuration in which all hosts are in one rack.
func DefaultRacksConfig() RacksConfig {
	return RacksConfig{
		Logger:     hclog.NewNullLogger(),
		TableMax:   32 << 20, // 100,000 hosts need at most 30 MB
		Lookup:     lookup,
		Timeout:    10 * time.Second,
		RetryAfter: 30 * time.Second,
		ScriptsMax: 4,
		CacheMax:   100_000,
	}
}

// tableMapping is the value of net.topology.node.switch.mapping.impl that selects the table.
const tableMapping = "org.apache.hadoop.net.TableMapping"

// RacksConfigOf returns DefaultRacksConfig with the values in Hadoop's files.
func RacksConfigOf(conf *hadoopconf.Config) RacksConfig {
	c := DefaultRacksConfig()
	c.Script = conf.Value("net.topology.script.file.name", "")
	if conf.Value("net.topology.node.switch.mapping.impl", "") == tableMapping || c.Script == "" {
		c.Table = conf.Value("net.topology.table.file.name", "")
	}
	return c
}

// Validate returns all errors of the configuration, joined.
func (c RacksConfig) Validate() error {
	var errs []error
	if c.Logger == nil || c.Lookup == nil {
		errs = append(errs, errors.New("logger and look-up are required"))
	}
	if c.Timeout <= 0 || c.RetryAfter <= 0 || c.ScriptsMax < 1 || c.CacheMax < 1 || c.TableMax < 1 {
		errs = append(errs, errors.New("times and bounds must be positive (start from DefaultRacksConfig)"))
	}
	return errors.Join(errs...)
}

func lookup(ctx context.Context, host string) ([]string, error) {
	return net.DefaultResolver.LookupHost(ctx, host)
}

// Topology finds racks in a table or with a script. It caches the results until Reload.
type Topology struct {
	cfg     RacksConfig
	scripts chan struct{} // a semaphore for running scripts

	mu     sync.Mutex
	table  map[string]string // nil: not read
	known  map[string]string
	failed map[string]time.Time // hosts without a result, and the time of the lookup
}

// NewTopology returns the Topology of a configuration. As in YARN, a table that cannot be read is
// logged and leaves every host in DefaultRack.
func NewTopology(cfg RacksConfig) (*Topology, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &Topology{cfg: cfg, scripts: make(chan struct{}, cfg.ScriptsMax), known: map[string]string{},
		failed: map[string]time.Time{}}
	if err := t.Reload(); err != nil {
		cfg.Logger.Warn("topology table not read, every host is in the default rack until it can be", "error", err)
	}
	return t, nil
}

// Reload clears the cache and reads the table again. On an error it changes nothing.
func (t *Topology) Reload() error {
	var table map[string]string
	if t.cfg.Table != "" {
		data, err := hadoopconf.ReadFile(t.cfg.Table, t.cfg.TableMax)
		if err != nil {
			return fmt.Errorf("topology table (net.topology.table.file.name): %w", err)
		}
		table = readTable(data)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table, t.known, t.failed = table, map[string]string{}, map[string]time.Time{}
	return nil
}

// readTable parses lines with two columns. As in YARN, it ignores other lines.
func readTable(data []byte) map[string]string {
	table := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if columns := strings.Fields(line); len(columns) == 2 && columns[0][0] != '#' {
			table[columns[0]] = columns[1]
		}
	}
	return table
}

// Rack implements Racks.
func (t *Topology) Rack(ctx context.Context, host string) string {
	if t.cfg.Table == "" && t.cfg.Script == "" {
		return DefaultRack
	}
	t.mu.Lock()
	rack, ok := t.known[host]
	failed, bad := t.failed[host]
	t.mu.Unlock()
	if ok || (bad && time.Since(failed) < t.cfg.RetryAfter) {
		return path(rack)
	}
	bounded, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	rack, err := t.find(bounded, host)
	if err == nil && rack != "" && rack[0] != '/' {
		err = fmt.Errorf("%q does not begin with a slash", clip(rack))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known)+len(t.failed) >= t.cfg.CacheMax {
		clear(t.known)
		clear(t.failed)
	}
	if err != nil && ctx.Err() != nil {
		return DefaultRack // the caller has gone; the next one looks again
	}
	if t.cfg.Job.Done(err) != nil {
		t.failed[host] = time.Now()
		t.cfg.Logger.Warn("rack of a host not found, the default is used", "host", host, "rack", DefaultRack, "error", err)
		return DefaultRack
	}
	delete(t.failed, host)
	t.known[host] = rack
	return path(rack)
}

// path returns a rack without slashes at its end.
func path(rack string) string {
	if rack = strings.TrimRight(rack, "/"); rack == "" {
		return DefaultRack
	}
	return rack
}

// find looks up a rack in the table or with the script. As in YARN it uses the host's address. In
// the table it also tries the name.
func (t *Topology) find(ctx context.Context, host string) (string, error) {
	name := host
	if found, err := t.cfg.Lookup(ctx, host); err == nil && len(found) > 0 {
		name = found[0]
	}
	if t.cfg.Table == "" {
		return t.run(ctx, name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if rack := t.table[name]; rack != "" {
		return rack, nil
	}
	return t.table[host], nil
}

// outputMax limits the output of a script, in bytes.
const outputMax = 4096

// run runs the script for one address.
func (t *Topology) run(ctx context.Context, name string) (string, error) {
	select {
	case t.scripts <- struct{}{}:
		defer func() { <-t.scripts }()
	case <-ctx.Done():
		return "", fmt.Errorf("topology script: %w", ctx.Err())
	}
	out := limited{left: outputMax}
	cmd := exec.CommandContext(ctx, t.cfg.Script, name)
	cmd.Stdout, cmd.WaitDelay = &out, time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("topology script %s for %s: %w", t.cfg.Script, name, err)
	}
	racks := strings.Fields(out.String())
	if len(racks) != 1 {
		return "", fmt.Errorf("topology script %s: %d racks for one host", t.cfg.Script, len(racks))
	}
	return racks[0], nil
}

// limited keeps the first bytes that are written.
type limited struct {
	bytes.Buffer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.Buffer.Write(p[:n])
	return len(p), nil
}
