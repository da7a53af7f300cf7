package api

// Conf is one version of the replicated configuration. Its ETag is the version.
type Conf struct {
	Version    uint64            `json:"version"`
	AtMillis   int64             `json:"at_ms"`
	Author     string            `json:"author,omitempty"`
	Comment    string            `json:"comment,omitempty"`
	Kinds      []string          `json:"kinds"`
	Properties map[string]string `json:"properties"`
}

// ConfVersions lists the versions kept, newest first, without properties.
type ConfVersions struct {
	Versions []ConfVersion `json:"versions"`
}

// ConfVersion is one line of the history.
type ConfVersion struct {
	Version  uint64 `json:"version"`
	AtMillis int64  `json:"at_ms"`
	Author   string `json:"author,omitempty"`
	Comment  string `json:"comment,omitempty"`
	Changes  int    `json:"changes"` // against the version before
	Current  bool   `json:"current,omitempty"`
}

// ConfDiff is what changes from one version to another.
type ConfDiff struct {
	From    uint64   `json:"from"`
	To      uint64   `json:"to"`
	Changes []Change `json:"changes"`
}

// Change is one difference. Kind is queue-added, queue-removed, set, unset or
// changed.
type Change struct {
	Kind  string `json:"kind"`
	Queue string `json:"queue,omitempty"`
	Key   string `json:"key,omitempty"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
}

// PutConf replaces the configuration, or is validated. A Hadoop configuration
// document (application/xml) may stand in its place.
type PutConf struct {
	Properties map[string]string `json:"properties"`
	Comment    string            `json:"comment,omitempty"`
}

// ConfApplied tells the version in force.
type ConfApplied struct {
	Version  uint64   `json:"version"`
	Index    uint64   `json:"index"`
	Warnings []string `json:"warnings,omitempty"`
	DryRun   bool     `json:"dry_run,omitempty"`

	Changes  []Change  `json:"changes,omitempty"`  // of a dry run
	Landings *Landings `json:"landings,omitempty"` // of a dry run
}

// Validation is the judgment of a configuration; nothing is written.
type Validation struct {
	Valid    bool     `json:"valid"`
	Faults   []Fault  `json:"faults,omitempty"`
	Warnings []Fault  `json:"warnings,omitempty"`
	Ignored  []Fault  `json:"ignored,omitempty"` // keys of Hadoop's that are not honored
	Changes  []Change `json:"changes,omitempty"` // against the one in force
}

// Fault is one thing about a configuration key.
type Fault struct {
	Name   string `json:"name,omitempty"`
	Value  string `json:"value,omitempty"`
	Origin string `json:"origin,omitempty"`
	What   string `json:"what"`
	Do     string `json:"do,omitempty"`
}

// Rollback makes an earlier version the newest.
type Rollback struct {
	To      uint64 `json:"to"`
	Comment string `json:"comment,omitempty"`
}
