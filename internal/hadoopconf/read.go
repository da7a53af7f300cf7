package hadoopconf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dirFiles are the files of a configuration directory. Later files have precedence.
var dirFiles = []string{"core-site.xml", "yarn-site.xml", "resource-types.xml", "capacity-scheduler.xml"}

// Read reads files in layers: a later file has precedence, except for final keys. All files must
// exist.
func Read(paths ...string) (*Config, error) { return DefaultOptions().Read(paths...) }

// ReadDir reads the files of a Hadoop configuration directory that the ResourceManager reads, and
// then more files of the directory. It skips files that do not exist.
func ReadDir(dir string, more ...string) (*Config, error) {
	return DefaultOptions().ReadDir(dir, more...)
}

// Parse reads one document. name is used as the file in origins and faults. Includes are refused,
// because the text may come from outside.
func Parse(r io.Reader, name string) (*Config, error) { return DefaultOptions().Parse(r, name) }

// Read is the function Read with options.
func (o Options) Read(paths ...string) (*Config, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	l := newLoader(o)
	for _, p := range paths {
		l.file(p, 0)
	}
	return l.finish()
}

// ReadDir is the function ReadDir with options.
func (o Options) ReadDir(dir string, more ...string) (*Config, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("read hadoop configuration: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("read hadoop configuration: %s is not a directory", dir)
	}
	var paths []string
	for _, name := range slices.Concat(dirFiles, more) {
		p := filepath.Join(dir, name)
		if _, err := os.Stat(p); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		paths = append(paths, p)
	}
	return o.Read(paths...)
}

// Parse is the function Parse with options.
func (o Options) Parse(r io.Reader, name string) (*Config, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	l := newLoader(o)
	l.conf.files = append(l.conf.files, name)
	l.document(r, name, noIncludes)
	return l.finish()
}

// loader collects properties and faults of all files.
type loader struct {
	opt    Options
	conf   *Config
	faults []Fault
	open   []string // the chain of files that include each other
}

func newLoader(o Options) *loader {
	return &loader{opt: o, conf: &Config{props: map[string]Property{}}}
}

func (l *loader) fault(file string, line int, format string, args ...any) {
	l.faults = append(l.faults, Fault{file, line, fmt.Sprintf(format, args...)})
}

func (l *loader) warn(file string, line int, format string, args ...any) {
	l.conf.warnings = append(l.conf.warnings, Fault{file, line, fmt.Sprintf(format, args...)})
}

// finish substitutes variables after all layers are read.
func (l *loader) finish() (*Config, error) {
	if len(l.faults) == 0 {
		l.substituteAll()
	}
	if len(l.faults) > 0 {
		return nil, &Error{l.faults}
	}
	return l.conf, nil
}

// file reads one file. depth is the number of nested includes.
func (l *loader) file(path string, depth int) {
	if len(l.conf.files) >= l.opt.MaxFiles {
		l.fault(path, 0, "more than %d files", l.opt.MaxFiles)
		return
	}
	f, err := os.Open(path)
	if err != nil {
		l.fault(path, 0, "%v", unwrapPath(err))
		return
	}
	defer f.Close() // read only: an error does not matter
	l.conf.files = append(l.conf.files, path)
	l.open = append(l.open, absolute(path))
	l.document(f, path, depth)
	l.open = l.open[:len(l.open)-1]
}

// unwrapPath removes the path from an error, because the caller prints the path.
func unwrapPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// noIncludes is the depth of a document that may not include files.
const noIncludes = -1

// include reads the file of an xi:include. It returns false if the file does not exist.
func (l *loader) include(href, from string, line, depth int) bool {
	path := strings.TrimPrefix(href, "file://")
	switch {
	case depth == noIncludes:
		l.fault(from, line, "xi:include is not allowed here")
		return true
	case depth >= l.opt.MaxIncludeDepth:
		l.fault(from, line, "includes are nested more than %d deep", l.opt.MaxIncludeDepth)
		return true
	case path == "" || strings.Contains(path, "://"):
		l.fault(from, line, "xi:include of %q: only files can be included", href)
		return true
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(from), path)
	}
	if slices.Contains(l.open, absolute(path)) {
		l.fault(from, line, "xi:include of %q: the file includes itself", href)
		return true
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	l.file(path, depth+1)
	return true
}

// add adds a property, with precedence over earlier ones unless those are final.
func (l *loader) add(p Property) {
	switch {
	case len(p.Name) > l.opt.MaxNameBytes:
		l.fault(p.File, p.Line, "a name is longer than %d bytes", l.opt.MaxNameBytes)
		return
	case len(p.Raw) > l.opt.MaxValueBytes:
		l.fault(p.File, p.Line, "%s: the value is longer than %d bytes", p.Name, l.opt.MaxValueBytes)
		return
	}
	old, known := l.conf.props[p.Name]
	if known && old.Final {
		if old.Raw != p.Raw {
			l.warn(p.File, p.Line, "%s is final in %s; this value has no effect", p.Name, old.Origin())
		}
		return
	}
	if !known && len(l.conf.props) >= l.opt.MaxProperties {
		if len(l.conf.props) == l.opt.MaxProperties && !l.full() {
			l.fault(p.File, p.Line, "%s", l.tooMany())
		}
		return
	}
	l.conf.props[p.Name] = p
}

func (l *loader) tooMany() string { return fmt.Sprintf("more than %d properties", l.opt.MaxProperties) }

// full reports whether the fault of too many properties was already reported.
func (l *loader) full() bool {
	return slices.ContainsFunc(l.faults, func(f Fault) bool { return f.What == l.tooMany() })
}
