package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
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

// String is the resource as tables show it: "4096MB 2vc 1gpu". Kinds beyond
// memory and vcores show when they are not 0.
func (r Resource) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%dMB %dvc", r[MemoryMB], r[VCores])
	names := make([]string, 0, len(r))
	for name := range r { // sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name != MemoryMB && name != VCores && r[name] != 0 {
			fmt.Fprintf(&b, " %d%s", r[name], name[strings.LastIndexByte(name, '/')+1:])
		}
	}
	return b.String()
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
