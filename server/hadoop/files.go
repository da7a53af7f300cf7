package hadoop

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"rmd/internal/hadoopconf"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/access"
	"rmd/transport/hadoop/tracker"
	yarnweb "rmd/transport/http/yarn"
)

// files are the Hadoop configuration files on this machine.
type files struct {
	dir    string
	owner  string
	access *access.Access
	racks  *tracker.Topology
	// authorizes says that service ACLs are checked. As in Hadoop, it does not change.
	authorizes bool

	mu     sync.Mutex
	conf   *hadoopconf.Config // as read last
	policy *hadoopconf.Config // with hadoop-policy.xml; nil if service ACLs are not checked
}

// Conf returns the configuration as read last.
func (f *files) Conf() *hadoopconf.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conf
}

// All returns the configuration as read last, with the service ACLs if they are checked.
func (f *files) All() *hadoopconf.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	return cmp.Or(f.policy, f.conf)
}

// Queues implements admin.Files.
func (f *files) Queues() ([]input.Property, error) {
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

// Illegal implements admin.Files.
func (f *files) Illegal(queues []input.Property) string {
	props := make([]capacity.Property, len(queues))
	for i, p := range queues {
		props[i] = capacity.Property(p)
	}
	var bad *capacity.Invalid
	if _, err := capacity.Parse(props); errors.As(err, &bad) {
		return bad.YARN()
	}
	return ""
}

// Hosts implements admin.Files.
func (f *files) Hosts() (*input.SetHosts, error) { return HostsOf(f.dir) }

// HostsOf reads the include and exclude lists of hosts that a Hadoop configuration directory names
// (yarn.resourcemanager.nodes.include-path and exclude-path).
func HostsOf(dir string) (*input.SetHosts, error) {
	conf, err := hadoopconf.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	const prefix = "yarn.resourcemanager.nodes."
	include, _, err1 := hostsOf(conf.Value(prefix+"include-path", ""))
	exclude, timeouts, err2 := hostsOf(conf.Value(prefix+"exclude-path", ""))
	return &input.SetHosts{Include: include, Exclude: exclude, Timeouts: timeouts}, errors.Join(err1, err2)
}

// Reload implements admin.Files.
func (f *files) Reload() error {
	conf, err := hadoopconf.ReadDir(f.dir)
	if err != nil {
		return err
	}
	if err := f.loadServices(); err != nil {
		return err
	}
	if err := f.access.Load(conf, f.owner); err != nil {
		return err
	}
	f.mu.Lock()
	f.conf = conf
	f.mu.Unlock()
	return f.racks.Reload()
}

// loadServices reads the service ACLs if they are checked. The keys in hadoop-policy.xml have
// precedence over those in other files.
func (f *files) loadServices() error {
	if !f.authorizes {
		return nil
	}
	conf, err := hadoopconf.ReadDir(f.dir, access.PolicyFile)
	if err == nil {
		err = f.access.LoadServices(conf)
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.policy = conf
	f.mu.Unlock()
	return nil
}

// hostsFileMax limits a list of hosts, in bytes. 100,000 names need at most 25 MB.
const hostsFileMax = 32 << 20

// hostsOf reads a list of hosts. Each line has any number of hosts, and "#" begins a comment. A
// file whose name ends with .xml has YARN's XML format.
func hostsOf(path string) ([]string, []input.HostTimeout, error) {
	if path == "" {
		return nil, nil, nil
	}
	b, err := hadoopconf.ReadFile(path, hostsFileMax)
	if err != nil {
		return nil, nil, fmt.Errorf("list of hosts: %w", err)
	}
	if strings.HasSuffix(strings.ToLower(path), ".xml") {
		hosts, timeouts, err := xmlHosts(b)
		if err != nil {
			err = fmt.Errorf("list of hosts %s: %w", path, err)
		}
		return hosts, timeouts, err
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		text, _, _ := strings.Cut(line, "#")
		out = append(out, strings.Fields(text)...)
	}
	return out, nil, nil
}

// xmlHosts reads <hosts><host><name>HOST, HOST</name><timeout>SECONDS</timeout></host>…</hosts>.
func xmlHosts(b []byte) (hosts []string, timeouts []input.HostTimeout, err error) {
	var doc struct {
		Hosts []struct {
			Name    string  `xml:"name"`
			Timeout *string `xml:"timeout"`
		} `xml:"host"`
	}
	if err := xml.Unmarshal(b, &doc); err != nil {
		return nil, nil, err
	}
	for _, h := range doc.Hosts {
		names := strings.FieldsFunc(h.Name, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		hosts = append(hosts, names...)
		if h.Timeout == nil {
			continue
		}
		seconds, err := strconv.ParseInt(strings.TrimSpace(*h.Timeout), 10, 32)
		if err != nil {
			return nil, nil, fmt.Errorf("timeout %q of host %s is not a number of seconds", *h.Timeout, h.Name)
		}
		for _, name := range names {
			timeouts = append(timeouts, input.HostTimeout{Host: name, Millis: drainMillis(seconds)})
		}
	}
	return hosts, timeouts, nil
}

// drainMillis converts the timeout of a drain from seconds to milliseconds. In YARN a negative time
// means no limit, which is 0 here. In YARN 0 means at once, which is 1 here: the drain ends after
// one millisecond.
func drainMillis(seconds int64) int64 {
	switch {
	case seconds < 0:
		return 0
	case seconds == 0:
		return 1
	}
	return seconds * 1000
}

// QueuesOf reads the queue configuration of a Hadoop configuration directory. If dir is empty, it
// returns a configuration with root.default.
func QueuesOf(dir string) ([]capacity.Property, error) {
	if dir == "" {
		return preset.Default(), nil
	}
	conf, err := hadoopconf.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	return Properties(conf), nil
}

// Properties returns the keys of a Hadoop configuration that the planner reads, and the contents of
// the files that they name.
func Properties(conf *hadoopconf.Config) []capacity.Property {
	var out []capacity.Property
	for _, p := range conf.Properties() {
		if capacity.Relevant(p.Name) {
			out = append(out, capacity.Property{Name: p.Name, Value: p.Value, Origin: p.Origin()})
		}
	}
	return withFiles(conf, out)
}

// settings returns the configuration as read last, for the page /conf.
func (f *files) settings() []yarnweb.Setting {
	out := slices.DeleteFunc(slices.Clone(webAppDefaults),
		func(d yarnweb.Setting) bool { return f.Conf().Value(d.Name, "") != "" })
	for _, p := range f.Conf().Properties() {
		out = append(out, yarnweb.Setting{Name: p.Name, Value: p.Value, File: p.File, Final: p.Final})
	}
	return out
}
