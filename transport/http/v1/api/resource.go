package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"rmd/yarn"
)

// Names of the kinds that every cluster has.
const (
	MemoryMB = "memory-mb"
	VCores   = "vcores"
	GPU      = "yarn.io/gpu"
)

// Resource is an amount of each resource kind by YARN's name: memory-mb,
// vcores, yarn.io/gpu … A kind that is missing is 0.
type Resource map[string]int64

// Names are the kinds of the resource in the order in which they are shown: memory, vcores, then by
// name.
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

// String is the resource as people read it: "320 GiB · 88 vc · 8 gpu".
func (r Resource) String() string {
	names := r.Names()
	return yarn.FormatAmounts(names, func(i int) int64 { return r[names[i]] })
}

// Duration is a time span written as "24h" or "1m30s"; a bare number is seconds.
type Duration time.Duration

// MarshalJSON writes the span as text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads text or a number of seconds.
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
