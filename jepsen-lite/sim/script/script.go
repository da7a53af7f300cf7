package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Script describes one run.
type Script struct {
	// Name is the file name without its extension. Story says what the script shows, Found where it
	// comes from, and Invariant which invariant was violated then. A drawn script has none of them.
	Name      string `json:"name,omitempty"`
	Story     string `json:"story,omitempty"`
	Found     string `json:"found,omitempty"`
	Invariant string `json:"invariant,omitempty"`
	// Seed is the seed for the random decisions of network, disks and load.
	Seed int64 `json:"seed"`
	// Schedule is the seed for the randomness of the guest in an exact run: the order of map
	// iteration, the choice among ready select cases, and raft's timeouts.
	Schedule int64 `json:"schedule,omitempty"`

	Cluster Cluster  `json:"cluster"`
	Load    Load     `json:"load"`
	Length  Duration `json:"length"` // time of load and faults, before the calm
	Faults  []Fault  `json:"faults"`
}

// Cluster has the settings of the cluster.
type Cluster struct {
	Replicas      int     `json:"replicas"`
	Eager         bool    `json:"eager,omitempty"`
	Dominant      bool    `json:"dominant,omitempty"`
	InFlight      int     `json:"in_flight"`
	SnapshotAfter uint64  `json:"snapshot_after"`
	Trailing      uint64  `json:"trailing"`
	Yields        int     `json:"yields"` // how long goroutines are delayed where they race: 0 to 2
	LazyCancel    bool    `json:"lazy_cancel,omitempty"`
	Pipelined     bool    `json:"pipelined,omitempty"`
	FastPath      bool    `json:"fast_path,omitempty"`    // without the guard against hashicorp/raft #695
	Preempt       bool    `json:"preempt,omitempty"`      // preemption is on
	Selector      string  `json:"selector,omitempty"`     // which selector chooses victims; empty: rmd's own
	Ranked        bool    `json:"ranked,omitempty"`       // preemption by queue priority and for balance is on
	Users         bool    `json:"users,omitempty"`        // users have dynamic queues
	Managed       bool    `json:"managed,omitempty"`      // placement rules use leaves of a managed parent
	Backfill      string  `json:"backfill,omitempty"`     // which containers borrow room of reserved nodes; empty: none
	ReserveNode   string  `json:"reserve_node,omitempty"` // how reservations choose their nodes; empty: by mode
	NodeOrder     string  `json:"node_order,omitempty"`   // the order of nodes; empty: auto
	Queues        []Queue `json:"queues"`
}

// Queue is a leaf below root.
type Queue struct {
	Name     string `json:"name"`
	Capacity string `json:"capacity"`
}

// Load has the numbers of simulated nodes and clients.
type Load struct {
	Nodes   int `json:"nodes"`
	Clients int `json:"clients"`
	Readers int `json:"readers"`
}

// Fault is one step of a script.
type Fault struct {
	After Duration `json:"after"` // wait after the end of the step before
	Kind  string   `json:"kind"`
	Draw  int64    `json:"draw,omitempty"` // seed for the details
}

// Heal is the kind of the step that ends all faults.
const Heal = "heal"

// Outcome is the result of a run.
type Outcome struct {
	Script     Script   `json:"script"`
	Violations []string `json:"violations,omitempty"`
	// BrokeAt is when the first violation was seen, and Began when the faults began after the
	// cluster was up. Both are virtual times since the start.
	BrokeAt Duration `json:"broke_at,omitempty"`
	Began   Duration `json:"began,omitempty"`
	Virtual Duration `json:"virtual"`
	// Trace is a checksum of every event of the run with its virtual nanosecond.
	Trace string `json:"trace"`
	Steps int    `json:"steps"` // number of events in the trace
	// Played are the steps that began.
	Played  []Played `json:"played,omitempty"`
	History string   `json:"history,omitempty"` // only of a failed run
	Acked   int      `json:"acked"`
}

// Played is an executed step of a script.
type Played struct {
	Kind string   `json:"kind"`
	At   Duration `json:"at"`   // start, since the start of the faults
	Took Duration `json:"took"` // duration
}

// Duration is a time.Duration that is encoded as text, exact to the nanosecond.
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// String returns the text.
func (d Duration) String() string { return time.Duration(d).String() }

// lengthMax limits the length of a run, in virtual time.
const lengthMax = Duration(24 * time.Hour)

// Validate checks the script except for the kinds of faults, which package sim checks.
func (s Script) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, a ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	c := s.Cluster
	bad(c.Replicas < 1 || c.Replicas > 9, "cluster.replicas is %d: 1 to 9", c.Replicas)
	bad(c.InFlight < 1, "cluster.in_flight is %d: at least 1", c.InFlight)
	bad(c.SnapshotAfter < 1, "cluster.snapshot_after is 0: at least 1")
	bad(c.Yields < 0 || c.Yields > 2, "cluster.yields is %d: 0 to 2", c.Yields)
	bad(len(c.Queues) == 0, "cluster.queues is empty: name one at least")
	bad(s.Load.Nodes < 1, "load.nodes is %d: at least 1", s.Load.Nodes)
	bad(s.Load.Clients < 0 || s.Load.Readers < 0, "load has a negative number")
	bad(s.Length < 0 || s.Length > lengthMax, "length is %s: 0 to %s", s.Length, lengthMax)
	for i, f := range s.Faults {
		bad(f.After < 0, "fault %d (%s) is to come %s before the one before it", i, f.Kind, -f.After)
	}
	return errors.Join(errs...)
}

// Decode reads a script. It refuses unknown fields, because the run would ignore them.
func Decode(b []byte) (Script, error) {
	var s Script
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("decode script: %w", err)
	}
	if err := s.Validate(); err != nil {
		return Script{}, fmt.Errorf("script %s: %w", s.Name, err)
	}
	return s, nil
}

// Read reads a script from a file.
func Read(path string) (Script, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	s, err := Decode(b)
	if err != nil {
		return Script{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Encode returns the script as text, with one line for each fault.
func (s Script) Encode() ([]byte, error) {
	faults := s.Faults
	s.Faults = nil
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode script: %w", err)
	}
	var list bytes.Buffer
	for i, f := range faults {
		line, err := json.Marshal(f)
		if err != nil {
			return nil, fmt.Errorf("encode fault %d: %w", i, err)
		}
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString("\n    ")
		list.Write(line)
	}
	if len(faults) > 0 {
		list.WriteString("\n  ")
	}
	return append(bytes.Replace(b, []byte(`"faults": null`), []byte(`"faults": [`+list.String()+`]`), 1), '\n'), nil
}

// Write writes the script to a file.
func (s Script) Write(path string) error {
	b, err := s.Encode()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("write script: %w", err)
	}
	return nil
}
