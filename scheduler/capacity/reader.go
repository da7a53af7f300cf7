package capacity

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"rmd/scheduler/capacity/property"
	"rmd/yarn"
)

// reader reads a configuration from its properties.
type reader struct {
	*values
	keys      classifier
	stored    bool // a cluster has accepted the configuration before; see ruleFault
	templates bool // there is a template for dynamic queues
}

// values reads typed values and collects faults, warnings and ignored keys. It remembers which keys
// were read; classifier reports the others.
type values struct {
	written                   map[string]Property
	overlay                   []Property // keys of the dynamic queue being read, from templates and defaults; sorted
	seen                      map[string]bool
	faults, warnings, ignored []Fault
}

func newValues(m map[string]Property) *values { return &values{written: m, seen: map[string]bool{}} }

// value returns a property as written.
func (r *values) value(name string) (Property, bool) {
	if i, ok := property.Find(r.overlay, name); ok {
		return r.overlay[i], true
	}
	p, ok := r.written[name]
	return p, ok
}

// get returns a trimmed value, and whether it is set. An empty value counts as not set.
func (r *values) get(name string) (string, bool) {
	r.seen[name] = true
	p, _ := r.value(name)
	v := strings.TrimSpace(p.Value)
	return v, v != ""
}

// raw returns a value as written, and whether the key is present.
func (r *values) raw(name string) (string, bool) {
	r.seen[name] = true
	p, ok := r.value(name)
	return p.Value, ok
}

func (r *values) set(name string) bool {
	_, ok := r.get(name)
	return ok
}

func (r *values) fault(name, what, do string) {
	p, _ := r.value(name)
	r.faults = append(r.faults, Fault{Name: name, Value: p.Value, Origin: p.Origin, What: what, Do: do})
}

func (r *values) warn(name, what, do string) {
	p, _ := r.value(name)
	r.warnings = append(r.warnings, Fault{Name: name, Value: p.Value, Origin: p.Origin, What: what, Do: do})
}

func (r *values) ignore(name, why, effect string) {
	p, _ := r.value(name)
	r.ignored = append(r.ignored, Fault{Name: name, Value: p.Value, Origin: p.Origin, What: "not honored", Do: why,
		Effect: effect})
}

func (r *values) bool(name string, def bool) bool {
	v, ok := r.get(name)
	if !ok {
		return def
	}
	switch strings.ToLower(v) {
	case "true":
		return true
	case "false":
		return false
	}
	r.fault(name, "is not true or false", "write true or false")
	return def
}

// int reads a whole number between least and most.
func (r *values) int(name string, def, least, most int64) int64 {
	v, ok := r.get(name)
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		r.fault(name, "is not a whole number", fmt.Sprintf("write a number from %d to %d", least, most))
		return def
	}
	if n < least || n > most {
		r.fault(name, "is out of bounds", fmt.Sprintf("write a number from %d to %d", least, most))
		return def
	}
	return n
}

func (r *values) int32(name string, def int32) int32 {
	return int32(r.int(name, int64(def), math.MinInt32, math.MaxInt32))
}

// bound reads a count; -1 means unlimited.
func (r *values) bound(name string, def int64) int64 {
	return r.int(name, def, Unlimited, math.MaxInt32)
}

// fraction reads a decimal number from 0 to most.
func (r *values) fraction(name string, def yarn.Fraction, most int64) yarn.Fraction {
	v, ok := r.get(name)
	if !ok {
		return def
	}
	do := fmt.Sprintf("write a decimal number from 0 to %d", most)
	f, err := yarn.ParseFraction(v)
	if err != nil {
		r.fault(name, "is not a decimal number", do)
		return def
	}
	if f.Num < 0 || f.Cmp(yarn.Fraction{Num: most, Den: 1}) > 0 {
		r.fault(name, "is out of bounds", do)
		return def
	}
	return f
}

// timeUnits are Hadoop's suffixes of durations, in milliseconds, without those below a millisecond.
var timeUnits = []struct {
	suffix string
	millis int64
}{{"ms", 1}, {"s", 1000}, {"m", 60_000}, {"h", 3_600_000}, {"d", 86_400_000}}

// millis reads a duration from a millisecond to 365 days. Without a suffix it is in milliseconds.
func (r *values) millis(name string, def int64) int64 {
	const most = 365 * 86_400_000
	v, ok := r.get(name)
	if !ok {
		return def
	}
	factor, digits := int64(1), strings.ToLower(v)
	for _, u := range timeUnits {
		if d, found := strings.CutSuffix(digits, u.suffix); found {
			factor, digits = u.millis, d
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n <= 0 || n > most/factor {
		r.fault(name, "is not a duration", "write milliseconds, or a number with ms, s, m, h or d")
		return def
	}
	return n * factor
}

// names reads a list that is separated by commas.
func (r *values) names(name string) []string {
	v, _ := r.get(name)
	var out []string
	for _, n := range strings.Split(v, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}
