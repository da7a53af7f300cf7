package input

import (
	"strings"

	"rmd/yarn"
)

// Caller is the sender of a change, for the audit. Who is the name that the sender proves or
// claims, From is its address.
type Caller struct{ Who, From string }

// keyOwner separates an idempotency key from its owner. Keys contain no blanks.
const keyOwner = " of "

// OwnedKey joins an idempotency key and its owner, since two callers may use the same key.
func OwnedKey(key, who string) string { return key + keyOwner + who }

// BareKey returns an owned key without its owner. ok is false if the key has no owner: earlier
// versions remembered calls by such keys.
func BareKey(key string) (bare string, ok bool) {
	bare, _, ok = strings.Cut(key, keyOwner)
	return bare, ok
}

// Operation names an operator's change, which the audit records with its caller. It is empty for
// other inputs, such as dry runs. It is also empty for what programs send thousands of times a
// second: heartbeats, asks, registrations, submissions and the tokens of Hadoop's clients.
func Operation(in Input) string {
	switch in := in.(type) {
	case *SetQueues:
		if in.DryRun {
			return ""
		}
	case *AdoptQueue:
		if in.DryRun {
			return ""
		}
	case *SetQueueState:
		if in.State == yarn.QueueStopped {
			return "queue stop"
		}
		return "queue start"
	case *DrainNode:
		if in.Back {
			return "node undrain"
		}
	case *LabelNodes:
		if in.FromNode {
			return ""
		}
	}
	return rowOf(in.Kind()).audit
}
