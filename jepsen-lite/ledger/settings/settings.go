// Package settings reads a configuration for the ledger. It shares no code with the product's own
// reader of configurations, which the ledger judges. A text that it cannot read sets no limit, and
// guarantees nothing.
package settings

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Properties are the properties of a configuration. If one is set twice, the last value counts.
type Properties []event.Property

const prefix = "yarn.scheduler.capacity."

// Value returns the value of a property; "" if it is not set.
func (p Properties) Value(name string) string {
	for _, property := range slices.Backward(p) {
		if property.Name == name {
			return property.Value
		}
	}
	return ""
}

// OfQueue returns the value of a queue's property; "" if it is not set.
func (p Properties) OfQueue(path, key string) string { return p.Value(prefix + path + "." + key) }

// Rules are the cluster-wide settings of scheduling decisions.
type Rules struct {
	Eager   bool          // an unneeded reservation is cancelled at once, not at the next heartbeat of its node
	Minimum yarn.Resource // the smallest container
	LendAMs bool          // AMs may run on lent nodes
}

// Rules returns the cluster-wide settings of scheduling decisions.
func (p Properties) Rules() Rules {
	r := Rules{Eager: true, Minimum: yarn.NewResource(1024, 1)}
	for _, property := range p {
		switch property.Name {
		case prefix + "reservation.eager-cancel":
			r.Eager = !isWord(property.Value, "false")
		case "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation":
			r.LendAMs = isWord(property.Value, "true")
		case "yarn.scheduler.minimum-allocation-mb":
			r.Minimum[yarn.Memory] = count(property.Value)
		case "yarn.scheduler.minimum-allocation-vcores":
			r.Minimum[yarn.VCores] = count(property.Value)
		}
	}
	return r
}

// isWord reports whether a value is the word, in letters of any case.
func isWord(value, word string) bool { return strings.EqualFold(strings.TrimSpace(value), word) }

// Priority returns the priority of a queue among its siblings. It is 0 if the ordering policy of its
// parent ignores priorities.
func (p Properties) Priority(path string) int32 {
	parent := yarn.ParentQueue(path)
	if parent == "" || p.OfQueue(parent, "ordering-policy") != "priority-utilization" {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(p.OfQueue(path, "priority")), 10, 32)
	return int32(n)
}

// Backfill returns which containers of a queue may borrow room of reserved nodes; "" if none may. A
// queue without the key has what its parent has.
func (p Properties) Backfill(path, parent string) string {
	switch text := p.OfQueue(path, "backfill"); text {
	case "":
		return parent
	case "off":
		return ""
	default:
		return text
	}
}
