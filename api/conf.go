package api

// Conf is a version of the queue configuration. The ETag is the version.
type Conf struct {
	Version    uint64            `json:"version"`
	AtMillis   int64             `json:"at_ms"`
	Author     string            `json:"author,omitempty"`
	Comment    string            `json:"comment,omitempty"`
	Kinds      []string          `json:"kinds"`
	Properties map[string]string `json:"properties"`
}

// ConfVersions lists the versions that the state still has, newest first, without properties.
type ConfVersions struct {
	Versions []ConfVersion `json:"versions"`
}

// ConfVersion describes a version.
type ConfVersion struct {
	Version  uint64 `json:"version"`
	AtMillis int64  `json:"at_ms"`
	Author   string `json:"author,omitempty"`
	Comment  string `json:"comment,omitempty"`
	Changes  int    `json:"changes"` // from the version before
	Current  bool   `json:"current,omitempty"`
}

// ConfDiff lists the changes from one version to another.
type ConfDiff struct {
	From    uint64   `json:"from"`
	To      uint64   `json:"to"`
	Changes []Change `json:"changes"`
}

// Change is a difference between two configurations. Kind is queue-added, queue-removed, set, unset
// or changed.
type Change struct {
	Kind  string `json:"kind"`
	Queue string `json:"queue,omitempty"`
	Key   string `json:"key,omitempty"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
}

// PutConf is a queue configuration to apply or to check. A Hadoop configuration file
// (application/xml) may replace it.
type PutConf struct {
	Properties map[string]string `json:"properties"`
	Comment    string            `json:"comment,omitempty"`
}

// ConfApplied has the version that is now in force.
type ConfApplied struct {
	Version  uint64   `json:"version"`
	Index    uint64   `json:"index"`
	Warnings []string `json:"warnings,omitempty"`
	DryRun   bool     `json:"dry_run,omitempty"`

	Changes  []Change  `json:"changes,omitempty"`  // of a dry run
	Landings *Landings `json:"landings,omitempty"` // of a dry run
}

// Validation is the result of checking a configuration.
type Validation struct {
	Valid    bool     `json:"valid"`
	Faults   []Fault  `json:"faults,omitempty"`
	Warnings []Fault  `json:"warnings,omitempty"`
	Ignored  []Fault  `json:"ignored,omitempty"` // keys of Hadoop that rmd ignores
	Changes  []Change `json:"changes,omitempty"` // from the configuration in force
}

// Fault is an error or a remark about a configuration key.
type Fault struct {
	Name   string `json:"name,omitempty"`
	Value  string `json:"value,omitempty"`
	Origin string `json:"origin,omitempty"`
	What   string `json:"what"`
	Do     string `json:"do,omitempty"`
	// Effect is what follows from a key that rmd does not honor: harmless, visible or fatal.
	Effect string `json:"effect,omitempty"`
}

// Rollback makes the properties of an earlier version the newest version.
type Rollback struct {
	To      uint64 `json:"to"`
	Comment string `json:"comment,omitempty"`
}
