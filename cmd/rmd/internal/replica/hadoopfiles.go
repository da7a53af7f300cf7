package replica

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"rmd/internal/hadoopconf"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/access"
	"rmd/transport/hadoop/tracker"
)

// hadoopFiles are Hadoop's configuration files as they are on this machine.
type hadoopFiles struct {
	dir    string
	owner  string
	access *access.Access
	racks  *tracker.Topology

	mu   sync.Mutex
	conf *hadoopconf.Config // as it was read last
}

// Conf is the last reading.
func (f *hadoopFiles) Conf() *hadoopconf.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conf
}

// Queues implements admin.Files.
func (f *hadoopFiles) Queues() ([]input.Property, error) {
	conf, err := hadoopconf.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	props := Properties(conf)
	out := make([]input.Property, len(props))
	for i, p := range props {
		out[i] = input.Property(p)
	}
	return out, nil
}

// Hosts implements admin.Files.
func (f *hadoopFiles) Hosts() (include, exclude []string, err error) {
	conf, err := hadoopconf.ReadDir(f.dir)
	if err != nil {
		return nil, nil, err
	}
	const prefix = "yarn.resourcemanager.nodes."
	include, err1 := hostsOf(conf.Value(prefix+"include-path", ""))
	exclude, err2 := hostsOf(conf.Value(prefix+"exclude-path", ""))
	return include, exclude, errors.Join(err1, err2)
}

// Reload implements admin.Files.
func (f *hadoopFiles) Reload() error {
	conf, err := hadoopconf.ReadDir(f.dir)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.conf = conf
	f.mu.Unlock()
	f.access.Load(conf, f.owner)
	return f.racks.Reload()
}

// hostsOf reads a list of hosts: one or more a line, "#" begins a comment.
func hostsOf(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("list of hosts: %w", err)
	}
	defer file.Close()
	var out []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		out = append(out, strings.Fields(text)...)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("list of hosts %s: %w", path, err)
	}
	return out, nil
}
