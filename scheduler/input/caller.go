package input

import "strings"

// Caller is who asks for a change, for the audit: who it proves or claims to be,
// and the address it asks from.
type Caller struct{ Who, From string }

// keyOwner stands between an idempotency key and its owner. No key has a blank.
const keyOwner = " of "

// OwnedKey is an idempotency key with whom it belongs to: two callers may have the same
// one.
func OwnedKey(key, who string) string { return key + keyOwner + who }

// BareKey is a key without its owner, as calls were remembered before; ok is false when
// there is none.
func BareKey(key string) (bare string, ok bool) {
	bare, _, ok = strings.Cut(key, keyOwner)
	return bare, ok
}

// Operation names an operator's change, which the audit records with its caller; it
// is empty for other inputs. What programs ask for thousands of times a second is
// none: heartbeats, asks, registrations, submissions, tokens of Hadoop's clients.
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
		return "queue " + in.State.String()
	case *DrainNode:
		if in.Back {
			return "node undrain"
		}
	case *LabelNodes:
		if in.FromNode {
			return ""
		}
	}
	return operations[in.Kind()]
}

var operations = map[Kind]string{
	KindKillApplication:   "app kill",
	KindMoveApplication:   "app move",
	KindSetPriority:       "app priority",
	KindSetLifetime:       "app lifetime",
	KindSetGang:           "app gang",
	KindFailAttempt:       "attempt fail",
	KindSignalContainer:   "container signal",
	KindSetQueues:         "conf set",
	KindRollbackQueues:    "conf rollback",
	KindAdoptQueue:        "queue adopt",
	KindCancelReservation: "reservation cancel",
	KindDrainNode:         "node drain",
	KindDrainNodes:        "node drain",
	KindForgetNode:        "node forget",
	KindSetNodeResource:   "node resource",
	KindLabelNodes:        "label map",
	KindSetLabels:         "label add",
	KindRemoveLabels:      "label remove",
	KindSetHosts:          "node lists",
	KindCreateJoinToken:   "cluster token create",
	KindSetAccessToken:    "access token create",
	KindRevokeAccessToken: "access token revoke",
	KindSetAutopilot:      "autopilot set",
	KindRaiseLevel:        "upgrade finalize",
}
