package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"rmd/yarn"
)

// Names of the resource kinds that every cluster has.
const (
	MemoryMB = "memory-mb"
	VCores   = "vcores"
	GPU      = "yarn.io/gpu"
)

// Resource has an amount for each resource kind, by YARN's name: memory-mb, vcores, yarn.io/gpu …
// The amount of a missing kind is 0.
type Resource map[string]int64

// Names returns the resource kinds in the order in which they are shown: memory, vcores, then the
// others by name.
func (r Resource) Names() []string {
	out := []string{MemoryMB, VCores}
	for name := range r { // sorted below
		if name != MemoryMB && name != VCores {
			out = append(out, name)
		}
	}
	slices.Sort(out[2:])
	return out
}

// String returns the resource for people, such as "320 GiB · 88 vc · 8 gpu".
func (r Resource) String() string {
	names := r.Names()
	return yarn.FormatAmounts(names, func(i int) int64 { return r[names[i]] })
}

// Duration is a duration such as "24h" or "1m30s". A bare number is in seconds.
type Duration time.Duration

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads a duration as text, or as a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var seconds float64
	if json.Unmarshal(b, &seconds) == nil {
		*d = Duration(seconds * float64(time.Second))
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s is not a duration such as \"90s\" or \"24h\"", b)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as \"90s\" or \"24h\"", s)
	}
	*d = Duration(v)
	return nil
}
