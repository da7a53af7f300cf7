package trace

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// Names of the formats.
const (
	FormatAuto  = "auto"
	FormatRMD   = "rmd"
	FormatOpenB = "openb"
	FormatSWIM  = "swim"
	FormatRumen = "rumen"
	FormatSLS   = "sls"
	FormatSynth = "sls-synth"
)

// MinMemoryMB is YARN's default minimum allocation. Smaller requests are raised to it.
const MinMemoryMB = 1024

// Trace is a workload: the jobs with their times, and the nodes of the traced cluster.
type Trace struct {
	Format string
	Jobs   []Job
	Nodes  []Node   // empty if neither the trace nor Options.Nodes has any
	Queues []string // queue paths of the jobs, sorted
	Rows   int      // lines, tasks or objects read, including those that were left out
	Notes  []string // what was derived, raised, cut or left out
}

// Job is one application.
type Job struct {
	Submit   time.Duration // since the start of the trace
	Name     string
	User     string
	Queue    string // a path: root.a.b
	Priority int    // of the application: higher is more urgent
	Tasks    []TaskGroup
}

// TaskGroup is a number of equal containers that are requested together.
type TaskGroup struct {
	Count    int
	MemoryMB int64
	VCores   int64
	GPUs     int64
	Duration time.Duration // run time of each container; the mean if Durations is set
	// Durations is nil or has a run time for each of the Count containers.
	Durations []time.Duration
	Priority  int // of the ask: lower is more urgent, as in YARN
	// Hosts are preferred hosts: none, one for all containers, or one for each of the Count
	// containers ("": no preference).
	Hosts []string
	Label string        // requested node label, or ""
	Delay time.Duration // delay of the ask after it becomes possible
	After int           // index of the group that must finish first, or -1
}

// Node is one machine of the traced cluster.
type Node struct {
	Name     string
	Rack     string // with its leading slash
	MemoryMB int64
	VCores   int64
	GPUs     int64
	Labels   []string
}

// Options controls how a trace is read.
type Options struct {
	Format string  // one of the Format constants; "": FormatAuto
	Nodes  string  // path of a node list, or ""
	Seed   int64   // for generated values; 0: the seed in the file, or 1
	Load   float64 // factor by which arrivals are faster; 0: 1
	Limit  int     // maximum number of jobs, the earliest; 0: all
	Labels bool    // openb: GPU models become node labels, and tasks with one model request its label
}

// DefaultOptions returns options that read everything unchanged.
func DefaultOptions() Options { return Options{Format: FormatAuto, Load: 1} }

// Formats returns the valid values of Options.Format.
func Formats() []string {
	return []string{FormatAuto, FormatRMD, FormatOpenB, FormatSWIM, FormatRumen, FormatSLS, FormatSynth}
}

// Validate returns an error if the options are invalid. It reads no file.
func (o Options) Validate() error {
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return fmt.Errorf("%w %q; expected one of %s", ErrUnknownFormat, o.Format, strings.Join(Formats(), ", "))
	}
	if math.IsNaN(o.Load) || math.IsInf(o.Load, 0) || o.Load < 0 || (o.Load > 0 && o.Load < 1e-6) || o.Load > 1e6 {
		return fmt.Errorf("load %v; expected 0.000001 to 1000000, or 0 for the trace's own arrivals", o.Load)
	}
	if o.Limit < 0 {
		return fmt.Errorf("limit %d; expected 0 (all jobs) or more", o.Limit)
	}
	return nil
}

// Read reads the trace at path, the one named [Demo], or generates [GoogleLike] or [PhillyLike].
func Read(path string, opt Options) (*Trace, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	if _, ok := generators[path]; ok {
		r := &reader{file: path, opt: opt}
		r.out.Format = "generated"
		r.generate(path)
		r.finish()
		return &r.out, nil
	}
	data, nodes, err := source(path)
	if err != nil {
		return nil, err
	}
	if opt.Nodes != "" {
		if nodes, err = readNodes(opt.Nodes, opt.Labels); err != nil {
			return nil, err
		}
	}
	return decode(path, data, nodes, opt, defaultBounds)
}

// ReadNodes reads a node list: CSV as in the demo trace, CSV of openb, or the JSON of the Scheduler
// Load Simulator.
func ReadNodes(path string) ([]Node, error) { return readNodes(path, false) }

func readNodes(path string, modelLabels bool) ([]Node, error) {
	data, err := load(path)
	if err != nil {
		return nil, err
	}
	return decodeNodes(path, data, modelLabels)
}

// bounds limit the memory that a wrong number in a file can use.
type bounds struct {
	jobs  int // tasks with their own run time or host
	tasks int // of which each has its own run time or host
}

var defaultBounds = bounds{jobs: 2_000_000, tasks: 20_000_000}

// maxFileBytes is far above the size of every published trace in one file.
const maxFileBytes = 2 << 30

func load(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("read trace: %s is a directory; expected a file", path)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("read trace: %s has %d bytes; expected at most %d: cut it", path, info.Size(), maxFileBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// reader reads one file.
type reader struct {
	file  string
	data  []byte
	opt   Options
	nodes []Node // from the caller
	bound bounds
	tasks int // tasks with their own run time or host, so far
	out   Trace
}

var decoders = map[string]func(*reader) error{
	FormatRMD:   (*reader).readRMD,
	FormatOpenB: (*reader).readOpenB,
	FormatSWIM:  (*reader).readSWIM,
	FormatRumen: (*reader).readRumen,
	FormatSLS:   (*reader).readSLS,
	FormatSynth: (*reader).readSynth,
}

func decode(file string, data []byte, nodes []Node, opt Options, b bounds) (*Trace, error) {
	format := opt.Format
	if format == "" || format == FormatAuto {
		var err error
		if format, err = detect(file, data); err != nil {
			return nil, err
		}
	}
	r := &reader{file: file, data: data, opt: opt, nodes: nodes, bound: b}
	r.out.Format = format
	r.out.Nodes = nodes
	if err := decoders[format](r); err != nil {
		return nil, err
	}
	if len(r.out.Jobs) == 0 {
		return nil, &Error{File: file, Line: 1, Column: 1, What: "no job in it that could be replayed",
			Expected: "at least one" + because(r.out.Notes)}
	}
	r.finish()
	return &r.out, nil
}

func because(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

// finish sorts the jobs and applies the options that are the same for all formats.
func (r *reader) finish() {
	t := &r.out
	slices.SortStableFunc(t.Jobs, func(a, b Job) int {
		switch {
		case a.Submit < b.Submit:
			return -1
		case a.Submit > b.Submit:
			return 1
		}
		return 0
	})
	if x := r.opt.Load; x > 0 && x != 1 {
		for i := range t.Jobs {
			squeezed := float64(t.Jobs[i].Submit) / x
			t.Jobs[i].Submit = time.Duration(min(squeezed, float64(maxSeconds*time.Second)))
		}
		r.note("arrivals %g times as fast; run times unchanged", x)
	}
	if n := r.opt.Limit; n > 0 && len(t.Jobs) > n {
		r.note("the first %d of %d jobs", n, len(t.Jobs))
		t.Jobs = slices.Clip(t.Jobs[:n])
	}
	seen := map[string]bool{}
	for i := range t.Jobs {
		if q := t.Jobs[i].Queue; !seen[q] {
			seen[q] = true
			t.Queues = append(t.Queues, q)
		}
	}
	slices.Sort(t.Queues)
}

func (r *reader) note(format string, args ...any) {
	r.out.Notes = append(r.out.Notes, fmt.Sprintf(format, args...))
}

func (r *reader) seed(ofFile int64) uint64 {
	switch {
	case r.opt.Seed != 0:
		return uint64(r.opt.Seed)
	case ofFile != 0:
		return uint64(ofFile)
	}
	return 1
}

// queuePath returns the path of a queue, because Hadoop's traces name only leaf queues.
func queuePath(name string) string {
	if name == "root" || strings.HasPrefix(name, "root.") {
		return name
	}
	return "root." + name
}

// userOf distributes jobs without a user over eight users, as in the demo trace.
func userOf(n int) string { return fmt.Sprintf("u%02d", n%8+1) }
