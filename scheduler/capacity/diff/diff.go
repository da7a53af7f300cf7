// Package diff compares two queue configurations, for those who show what a change does.
package diff

import (
	"fmt"

	"rmd/scheduler/capacity"
)

// Kind is the kind of a Change.
type Kind uint8

// Kinds of changes; append only.
const (
	QueueAdded Kind = 1 + iota
	QueueRemoved
	KeySet     // the key is new
	KeyUnset   // the key is removed
	KeyChanged // the key has another value
)

// String returns the name of the kind.
func (k Kind) String() string {
	names := [...]string{"", "queue-added", "queue-removed", "set", "unset", "changed"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Change is one difference between two configurations.
type Change struct {
	Kind  Kind   `json:"kind"`
	Queue string `json:"queue,omitempty"` // path, if the key belongs to a queue
	Key   string `json:"key,omitempty"`   // full name
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
}

func (c Change) String() string {
	switch c.Kind {
	case QueueAdded:
		return "+ queue " + c.Queue
	case QueueRemoved:
		return "- queue " + c.Queue
	case KeySet:
		return fmt.Sprintf("+ %s = %s", c.Key, c.New)
	case KeyUnset:
		return fmt.Sprintf("- %s = %s", c.Key, c.Old)
	}
	return fmt.Sprintf("~ %s: %s -> %s", c.Key, c.Old, c.New)
}

// Of returns the changes from old to new: removed queues, then added queues, then keys by name. A
// nil Config counts as an empty one.
func Of(old, new *capacity.Config) []Change {
	if old == nil {
		old = &capacity.Config{}
	}
	if new == nil {
		new = &capacity.Config{}
	}
	var out []Change
	out = appendMissing(out, QueueRemoved, old, new)
	out = appendMissing(out, QueueAdded, new, old)
	a, b := old.Properties(), new.Properties()
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			out = append(out, Change{Kind: KeyUnset, Queue: old.QueueOfKey(a[0].Name), Key: a[0].Name, Old: a[0].Value})
			a = a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			out = append(out, Change{Kind: KeySet, Queue: new.QueueOfKey(b[0].Name), Key: b[0].Name, New: b[0].Value})
			b = b[1:]
		default:
			if a[0].Value != b[0].Value {
				out = append(out, Change{Kind: KeyChanged, Queue: new.QueueOfKey(b[0].Name), Key: b[0].Name, Old: a[0].Value,
					New: b[0].Value})
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// appendMissing appends a Change for each queue that has contains and not does not.
func appendMissing(out []Change, kind Kind, has, not *capacity.Config) []Change {
	for i := range has.Queues {
		if !not.HasPath(has.Queues[i].Path) {
			out = append(out, Change{Kind: kind, Queue: has.Queues[i].Path})
		}
	}
	return out
}
