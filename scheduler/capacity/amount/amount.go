// Package amount reads and writes capacities as a configuration has them: percentages, weights, and
// vectors of units such as [memory=4Gi,vcores=50%]. It knows no queue.
package amount

import (
	"fmt"
	"math/big"
	"strings"

	"rmd/internal/clip"
	"rmd/yarn"
)

// Unit is the way in which a capacity is written.
type Unit uint8

// Units of a capacity; append only.
const (
	None     Unit = iota // not given
	Percent              // 30, of the parent
	Weight               // 3w, among siblings
	Absolute             // [memory=4096,vcores=4]
	Mixed                // [memory=50%,vcores=2w,yarn.io/gpu=4], not in legacy mode
)

// String returns the name of the unit.
func (u Unit) String() string {
	names := [...]string{"none", "percent", "weight", "absolute", "mixed"}
	if int(u) < len(names) {
		return names[u]
	}
	return "unknown"
}

// Part is the capacity for one kind of resource. Value is a percentage, a weight or a number of
// units.
type Part struct {
	Unit  Unit
	Value yarn.Fraction
}

// Amount is a capacity or a maximum capacity. A percentage or weight has the same Part for each
// kind. A vector has a Part for each kind that it names.
type Amount struct {
	Unit  Unit
	Value yarn.Fraction       // for UnitPercent and UnitWeight
	Parts [yarn.MaxKinds]Part // by kind; UnitNone for kinds that a vector does not name
}

// Absolute returns the numbers of units that a vector states, and 0 for all other kinds.
func (a Amount) Absolute() yarn.Resource {
	var r yarn.Resource
	for i, p := range a.Parts {
		if p.Unit == Absolute {
			r[i] = p.Value.MulFloor(1)
		}
	}
	return r
}

// IsZero reports whether the amount is not given, or 0 for all kinds.
func (a Amount) IsZero() bool {
	for _, p := range a.Parts {
		if p.Value.Num != 0 {
			return false
		}
	}
	return true
}

// WithoutMemory reports whether the amount is a vector that states no memory, or 0.
func (a Amount) WithoutMemory() bool {
	return (a.Unit == Absolute || a.Unit == Mixed) && a.Parts[yarn.Memory].Value.Num == 0
}

// suffixes are what follows the value of a Part in a vector.
var suffixes = [...]string{Percent: "%", Weight: "w", Absolute: "", Mixed: ""}

// Zeroed returns an amount of 0 in the same unit.
func (a Amount) Zeroed() Amount {
	a.Value.Num = 0
	for k := range a.Parts {
		a.Parts[k].Value = yarn.Fraction{Num: 0, Den: 1}
	}
	return a
}

// Format returns the amount as it is written in a configuration.
func (a Amount) Format(kinds yarn.Kinds) string {
	switch a.Unit {
	case None:
		return ""
	case Percent:
		return a.Value.String() + "%"
	case Weight:
		return a.Value.String() + "w"
	}
	var parts []string
	for i, p := range a.Parts {
		if p.Unit == None || i >= len(kinds) {
			continue
		}
		name := kinds[i]
		if i == yarn.Memory {
			name = "memory"
		}
		parts = append(parts, name+"="+p.Value.String()+suffixes[p.Unit])
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// Uniform returns an amount with the same percentage or weight for each kind.
func Uniform(u Unit, f yarn.Fraction) Amount {
	a := Amount{Unit: u, Value: f}
	for i := range a.Parts {
		a.Parts[i] = Part{u, f}
	}
	return a
}

// Parse reads "30", "30%", "3w" or a vector in brackets.
func Parse(s string, kinds yarn.Kinds, legacy bool) (Amount, error) {
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return Amount{}, fmt.Errorf("the vector is not closed with ]")
		}
		return parseVector(inner, kinds, legacy)
	}
	p, err := parseShare(s)
	if err != nil {
		return Amount{}, err
	}
	return Uniform(p.Unit, p.Value), nil
}

// parseShare reads a percentage (with or without the sign) or a weight.
func parseShare(s string) (Part, error) {
	unit := Percent
	num := strings.TrimSuffix(s, "%")
	if w, ok := strings.CutSuffix(s, "w"); ok {
		unit, num = Weight, w
	}
	f, err := yarn.ParseFraction(num)
	if err != nil {
		return Part{}, fmt.Errorf("%q is not a percentage, a weight such as 3w, or a vector such as [memory=4096,vcores=4]",
			clip.Text(s))
	}
	if f.Num < 0 {
		return Part{}, fmt.Errorf("is negative")
	}
	return Part{unit, f}, nil
}

func parseVector(inner string, kinds yarn.Kinds, legacy bool) (Amount, error) {
	a := Amount{Unit: Absolute}
	for _, item := range strings.Split(inner, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok {
			return Amount{}, fmt.Errorf("%q is not kind=value", clip.Text(item))
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		i := kindIndex(kinds, name)
		if i < 0 {
			return Amount{}, fmt.Errorf("%q is not a known resource kind (%s)", clip.Text(name), strings.Join(kinds, ", "))
		}
		if a.Parts[i].Unit != None {
			return Amount{}, fmt.Errorf("names %s twice", kinds[i])
		}
		p, err := parsePart(value, i)
		if err != nil {
			return Amount{}, err
		}
		if p.Unit != Absolute {
			if legacy {
				return Amount{},
					fmt.Errorf(
						"%q: percentages and weights inside a vector need yarn.scheduler.capacity.legacy-queue-mode.enabled = false",
						clip.Text(item))
			}
			a.Unit = Mixed
		}
		a.Parts[i] = p
	}
	return a, nil
}

// Nothing is a vector of zeros. As in YARN, it is what a vector without memory stands for.
var Nothing = Amount{Unit: Absolute}

func parsePart(value string, kind int) (Part, error) {
	if strings.HasSuffix(value, "%") || strings.HasSuffix(value, "w") {
		return parseShare(value)
	}
	n, err := ParseUnits(value, kind == yarn.Memory)
	if err != nil {
		return Part{}, err
	}
	return Part{Absolute, yarn.Fraction{Num: n, Den: 1}}, nil
}

// kindIndex returns the index of a kind, or a negative number. Like Hadoop it ignores the case of
// memory and vcores.
func kindIndex(kinds yarn.Kinds, name string) int {
	switch strings.ToLower(name) {
	case "memory", yarn.MemoryName:
		return yarn.Memory
	case yarn.VCoresName:
		return yarn.VCores
	}
	return kinds.Index(name)
}

// MaxUnits is the most units of a kind in an amount. It keeps sums and products of amounts far from
// the limits of 64 bits.
const MaxUnits = int64(1) << 50

// unitFactors has the numbers of bytes of Hadoop's units.
var unitFactors = []struct {
	name  string
	bytes int64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15},
}

// ParseUnits reads a whole number. Memory may have a unit; it is converted to MiB and rounded down.
// "mb" stands for MiB.
func ParseUnits(s string, memory bool) (int64, error) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.TrimSpace(s[len(digits):])
	if digits == "" || len(digits) > 18 || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a whole number", clip.Text(s))
	}
	n, _ := new(big.Int).SetString(digits, 10)
	if unit != "" && !(memory && strings.EqualFold(unit, "mb")) {
		if !memory {
			return 0, fmt.Errorf("%q: only memory may carry a unit", clip.Text(s))
		}
		bytes := unitBytes(unit)
		if bytes == 0 {
			return 0, fmt.Errorf("%q: unit %q is not one of k, M, G, T, P, Ki, Mi, Gi, Ti, Pi", clip.Text(s), unit)
		}
		n.Mul(n, big.NewInt(bytes)).Rsh(n, 20)
	}
	if !n.IsInt64() || n.Int64() > MaxUnits {
		return 0, fmt.Errorf("%q is more than %d units", clip.Text(s), MaxUnits)
	}
	return n.Int64(), nil
}

func unitBytes(unit string) int64 {
	for _, u := range unitFactors {
		if u.name == unit {
			return u.bytes
		}
	}
	return 0
}
