package settings

import (
	"math/big"
	"strings"

	"rmd/yarn"
)

// Maximum is a queue's maximum-capacity: a share of its parent's maximum, or amounts of the kinds
// that it names.
type Maximum struct {
	Share *big.Rat      // of every kind; nil if Units counts
	Units yarn.Resource // 0 of a kind: the parent's maximum
}

// ReadMaximum reads "60", "8.5%" or "[memory=4096,vcores=4]". Anything else, as "" and -1, means the
// parent's whole maximum.
func ReadMaximum(text string, kinds yarn.Kinds) Maximum {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		return Maximum{Units: units(strings.TrimSuffix(inner, "]"), kinds)}
	}
	if share := percent(text); share != nil && share.Sign() >= 0 {
		return Maximum{Share: share}
	}
	return Maximum{Share: big.NewRat(1, 1)}
}

// Capacity is a queue's capacity: a share of its parent's, a weight among its siblings, or amounts
// of the kinds that it names.
type Capacity struct {
	Share, Weight *big.Rat
	Units         yarn.Resource
}

// ReadCapacity reads "60", "8.5%", "2w" or "[memory=4096,vcores=4]". Anything else guarantees
// nothing.
func ReadCapacity(text string, kinds yarn.Kinds) (c Capacity) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if !strings.ContainsAny(inner, "%w") { // amounts only
			c.Units = units(strings.TrimSuffix(inner, "]"), kinds)
		}
		return c
	}
	if number, ok := strings.CutSuffix(text, "w"); ok {
		c.Weight, _ = new(big.Rat).SetString(number)
		return c
	}
	c.Share = percent(text)
	return c
}

// Capacities returns a queue's capacities: of the nodes without a label, and of the nodes of each
// label.
func (p Properties) Capacities(path string, kinds yarn.Kinds) map[string]Capacity {
	out := map[string]Capacity{"": ReadCapacity(p.OfQueue(path, "capacity"), kinds)}
	for _, property := range p {
		key, ok := strings.CutPrefix(property.Name, prefix+path+".accessible-node-labels.")
		if label, name, _ := strings.Cut(key, "."); ok && name == "capacity" {
			out[label] = ReadCapacity(property.Value, kinds)
		}
	}
	return out
}

// Labels are the labels of nodes that a queue may use.
type Labels struct {
	Access   []string           // "*" stands for all
	Maximums map[string]Maximum // by label; without an entry the queue may use nothing
}

// Labels returns the labels that a queue may use. A queue without the key has the access of its
// parent; root always has access to all.
func (p Properties) Labels(path string, parent []string, kinds yarn.Kinds) Labels {
	out := Labels{Access: parent, Maximums: map[string]Maximum{}}
	isRoot := yarn.ParentQueue(path) == ""
	for _, property := range p {
		key, ok := strings.CutPrefix(property.Name, prefix+path+".accessible-node-labels")
		if !ok {
			continue
		}
		if key == "" && !isRoot {
			out.Access = strings.FieldsFunc(property.Value, func(r rune) bool { return r == ',' || r == ' ' })
		}
		label, name, _ := strings.Cut(strings.TrimPrefix(key, "."), ".")
		if _, known := out.Maximums[label]; name == "maximum-capacity" || name == "capacity" && !known {
			text := ""
			if name == "maximum-capacity" {
				text = property.Value
			}
			out.Maximums[label] = ReadMaximum(text, kinds)
		}
	}
	return out
}
