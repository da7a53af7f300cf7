package config

import (
	"fmt"
	"slices"
	"strings"

	"rmd/internal/hadoopconf"
)

// Source names the sources of a configuration.
type Source struct {
	File string                           // path of rmd.yaml, or ""
	Env  func(name string) (string, bool) // nil means no environment
	// Flags has keys and values from the command line. Spelling has the flag that the user wrote
	// for a key, for messages.
	Flags    map[string]string
	Spelling map[string]string
	// Host is the name of this machine. "" means that of the system.
	Host string
	// Keys is the directory of certificates if no source names them and the addresses of the replicas
	// come from Hadoop's files. "" means /etc/rmd.
	Keys string
	// Files is the number of files that the process may open. 0 means the limit of the process.
	Files int
}

// Loaded is a valid configuration.
type Loaded struct {
	Config
	Origins  map[string]Origin
	Hadoop   *hadoopconf.Config // nil if no directory is configured
	Warnings []string
}

// loader merges the sources and collects the faults.
type loader struct {
	cfg      Config
	all      []setting
	byPath   map[string]setting
	sections map[string]bool
	seen     map[string]bool
	meant    []func() // read the values of mistyped keys, after all others
	origin   map[string]Origin
	faults   []Fault
	warnings []string
	hadoop   *hadoopconf.Config
	here     []string // ids of ResourceManagers in Hadoop's files whose host is this machine
}

// Variable returns the environment variable of a key: that of raft.join is RMD_RAFT_JOIN.
func Variable(path string) string {
	return "RMD_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// Load reads all sources and checks the result. Its error is an *Invalid.
func Load(src Source) (*Loaded, error) {
	l := newLoader()
	if src.File != "" && !l.readFile(src.File) {
		return nil, &Invalid{Faults: l.faults} // further faults would be misleading
	}
	l.readEnv(src.Env)
	l.readFlags(src)
	l.readHadoop(src)
	if l.cfg.HTTP.ListenTLS == "none" { // checked last, since "none" also overrides an address from Hadoop's files
		l.cfg.HTTP.ListenTLS = ""
	}
	l.check()
	l.checkFiles(src.Files)
	if len(l.faults) > 0 {
		return nil, &Invalid{Faults: l.faults}
	}
	return &Loaded{Config: l.cfg, Origins: l.origin, Hadoop: l.hadoop, Warnings: l.warnings}, nil
}

func newLoader() *loader {
	l := &loader{cfg: Default(), seen: map[string]bool{}, origin: map[string]Origin{}, byPath: map[string]setting{}}
	l.all = settings(&l.cfg)
	l.sections = sections(l.all)
	for _, s := range l.all {
		l.byPath[s.path] = s
	}
	return l
}

func (l *loader) fault(at Origin, do, format string, args ...any) {
	l.faults = append(l.faults, Fault{At: at, What: fmt.Sprintf(format, args...), Do: do})
}

func (l *loader) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

func (l *loader) readEnv(env func(string) (string, bool)) {
	if env == nil {
		return
	}
	for _, s := range l.all {
		name := Variable(s.path)
		if v, ok := env(name); ok && v != "" {
			l.set(s, v, Origin{Kind: "environment", Name: name})
		}
	}
}

func (l *loader) readFlags(src Source) {
	for _, path := range sortedKeys(src.Flags) {
		at := Origin{Kind: "flag", Name: "--set " + path}
		if n := src.Spelling[path]; n != "" {
			at.Name = n
		}
		s, ok := l.byPath[path]
		if !ok {
			l.unknown(at, "", path)
			continue
		}
		l.set(s, src.Flags[path], at)
	}
}

func (l *loader) set(s setting, v string, at Origin) {
	if err := s.value.Set(v); err != nil {
		l.fault(at, "", "%s: %v", s.path, err)
		return
	}
	l.origin[s.path] = at
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m { // sorted below
		out = append(out, k)
	}
	sortStrings(out)
	return out
}

func sortStrings(s []string) { slices.Sort(s) }
