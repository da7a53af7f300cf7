package capacity

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"rmd/yarn"
)

// reader hands out typed values and gathers what is wrong with them. A key that
// was asked for counts as known.
type reader struct {
	values   map[string]Property
	overlay  []Property // of the dynamic queue that is read: what the configuration does not state; sorted
	seen     map[string]bool
	faults   []Fault
	warnings []Fault
	ignored  []Fault
	stored   bool // the configuration is in force; see ruleFault
	strays   int  // keys passed over that were warned of
	// templates says whether there is a template of dynamic queues.
	templates bool
}

// value is a property as it was written.
func (r *reader) value(name string) (Property, bool) {
	if i, ok := findProperty(r.overlay, name); ok {
		return r.overlay[i], true
	}
	p, ok := r.values[name]
	return p, ok
}

// get returns a value, trimmed, and whether it is set. An empty value is not.
func (r *reader) get(name string) (string, bool) {
	r.seen[name] = true
	p, _ := r.value(name)
	v := strings.TrimSpace(p.Value)
	return v, v != ""
}

// raw returns a value as written.
func (r *reader) raw(name string) (string, bool) {
	r.seen[name] = true
	p, ok := r.value(name)
	return p.Value, ok
}

func (r *reader) set(name string) bool {
	_, ok := r.get(name)
	return ok
}

func (r *reader) fault(name, what, do string) {
	p, _ := r.value(name)
	r.faults = append(r.faults, Fault{Name: name, Value: p.Value, Origin: p.Origin, What: what, Do: do})
}

func (r *reader) warn(name, what, do string) {
	p, _ := r.value(name)
	r.warnings = append(r.warnings, Fault{Name: name, Value: p.Value, Origin: p.Origin, What: what, Do: do})
}

func (r *reader) ignore(name, why string) {
	p, _ := r.value(name)
	r.ignored = append(r.ignored, Fault{Name: name, Value: p.Value, Origin: p.Origin, What: "not honored", Do: why})
}

func (r *reader) bool(name string, def bool) bool {
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
func (r *reader) int(name string, def, least, most int64) int64 {
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

func (r *reader) int32(name string, def int32) int32 {
	return int32(r.int(name, int64(def), math.MinInt32, math.MaxInt32))
}

// bound reads a count that may be unlimited: absent or −1.
func (r *reader) bound(name string, def int64) int64 {
	return r.int(name, def, Unlimited, math.MaxInt32)
}

// fraction reads a decimal number of at least 0 and at most most.
func (r *reader) fraction(name string, def yarn.Fraction, most int64) yarn.Fraction {
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

// timeUnits are Hadoop's suffixes of a duration, in milliseconds; nanoseconds
// and microseconds make no sense here.
var timeUnits = []struct {
	suffix string
	millis int64
}{{"ms", 1}, {"s", 1000}, {"m", 60_000}, {"h", 3_600_000}, {"d", 86_400_000}}

// millis reads a duration, in milliseconds unless a suffix says otherwise.
func (r *reader) millis(name string, def int64) int64 {
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

// names reads a comma list.
func (r *reader) names(name string) []string {
	v, _ := r.get(name)
	var out []string
	for _, n := range strings.Split(v, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}
