package input

import (
	"fmt"
	"slices"

	"rmd/internal/codec"
	"rmd/yarn"
)

// Code is the stable name of a refusal, the same on every frontend.
type Code string

// Class says what is wrong with a refused request. Frontends derive their own statuses from it.
type Class uint8

// The classes of refusals.
const (
	Conflict     Class = iota // the state does not allow it
	Missing                   // what it names does not exist
	Malformed                 // it cannot be understood
	Unacceptable              // it can be understood, and can never be done
	Outdated                  // the state has changed since the caller read it
	Forbidden                 // the caller may not do it
	Oversized                 // it is too large
)

// RefusalKind is a kind of refusal. Text is its meaning, and Do what to do about it, in Markdown for
// operators. They are empty if a server refuses with the same code, too, and its documentation says it.
type RefusalKind struct {
	Code     Code
	Class    Class
	Text, Do string
}

var refusals []RefusalKind

// Refusals returns all refusals of the planner, in the order of the documentation.
func Refusals() []RefusalKind { return slices.Clone(refusals) }

func refusal(code Code, class Class, text, do string) Code {
	refusals = append(refusals, RefusalKind{code, class, text, do})
	return code
}

// Refusals of the planner. A new one needs only its line here; frontends of Hadoop may give it a
// Java class of its own.
var (
	NoSuchApplication = refusal("NO_SUCH_APPLICATION", Missing,
		"the application does not exist",
		"`rmd app list`; the cluster forgets ended applications after some time")
	NoSuchAttempt = refusal("NO_SUCH_ATTEMPT", Missing, "the attempt does not exist",
		"`rmd app status` of its application")
	NoSuchNode        = refusal("NO_SUCH_NODE", Missing, "the node does not exist", "`rmd node list`")
	NoSuchQueue       = refusal("NO_SUCH_QUEUE", Missing, "the queue does not exist", "`rmd queue list`")
	NoSuchReservation = refusal("NO_SUCH_RESERVATION", Missing, "the reservation does not exist", "`rmd reservation list`")
	NoSuchContainer   = refusal("NO_SUCH_CONTAINER", Missing,
		"the container does not exist",
		"`rmd app status` of its application")
	NoSuchVersion = refusal("NO_SUCH_VERSION", Missing,
		"the queue configuration has no such version",
		"`rmd conf history`")
	NoSuchLabel = refusal("NO_SUCH_LABEL", Missing, "the cluster does not have this label",
		"add it, or correct the name")
	NoSuchToken    = refusal("NO_SUCH_TOKEN", Missing, "", "")
	QueueNotLeaf   = refusal("QUEUE_NOT_LEAF", Conflict, "the queue is a parent", "name the leaf queue with its full path")
	QueueAmbiguous = refusal("QUEUE_AMBIGUOUS", Conflict,
		"several queues have this short name",
		"name the leaf queue with its full path")
	QueueStopped = refusal("QUEUE_STOPPED", Conflict,
		"the queue is stopped",
		"use another queue, or run `rmd queue start`")
	QueueFull = refusal("QUEUE_FULL", Conflict,
		"the queue has reached its maximum of applications",
		"use another queue, or raise `maximum-applications`")
	QueueNotCreated = refusal("QUEUE_NOT_CREATED", Conflict,
		"the submission would create a queue that is too deep, exceeds a maximum, or has siblings without weights",
		"correct the path, or the keys of [the queue above](queues.md#queues-that-submissions-create)")
	QueueNotMapped = refusal("QUEUE_NOT_MAPPED", Conflict,
		"the submission names a leaf below a parent with `auto-create-child-queue`; only placement rules may choose such a leaf",
		"name no queue, and add a rule to `queue-mappings` ([managed parents](queues.md#managed-parents))")
	PlacementRejected = refusal("PLACEMENT_REJECTED", Conflict,
		"a placement rule, or its fallback, rejects the application",
		"name a queue that the rules accept, or change the [rules](queues.md#keys-of-placement)")
	PriorityTooHigh = refusal("PRIORITY_TOO_HIGH", Forbidden,
		"`acl_application_max_priority` of the queue does not let the user have the priority",
		"ask for a lower one, or change the [list](queues.md#who-may-have-which-priority)")
	NeverFits = refusal("NEVER_FITS", Unacceptable,
		"the ask exceeds the largest container, or every running node",
		"ask for less, raise `maximum-allocation`, or add a larger node")
	InvalidAsk  = refusal("INVALID_ASK", Malformed, "the ask is malformed", "correct what the message names")
	InvalidGang = refusal("INVALID_GANG", Malformed,
		"a key of a [gang](gangs.md) is malformed or out of range",
		"correct the key that the message names")
	InvalidRelease = refusal("INVALID_RELEASE", Conflict,
		"an AM releases a container that is not its own",
		"correct the call")
	InvalidBlacklist = refusal("INVALID_BLACKLIST", Conflict,
		"an AM names an invalid node in its blacklist",
		"correct the call")
	InvalidLabel = refusal("INVALID_LABEL", Malformed,
		"the name is not valid for a label; a node or an ask has more than one label; the exclusivity differs from the label's; or the queue may not use the label",
		"follow the message")
	LabelInUse = refusal("LABEL_IN_USE", Conflict,
		"a queue lists the label in `accessible-node-labels`",
		"change the queue first")
	LabelsOff     = refusal("LABELS_OFF", Conflict, "`yarn.node-labels.enabled` is not set", "set it to true")
	InvalidQueues = refusal("INVALID_QUEUES", Unacceptable,
		"the queue configuration has faults; nothing was changed",
		"correct the faults that the error lists")
	VersionConflict = refusal("VERSION_CONFLICT", Outdated,
		"someone else changed the queue configuration meanwhile",
		"check `rmd conf diff` and repeat the change")
	AlreadyEnded  = refusal("ALREADY_ENDED", Conflict, "the application, attempt or container has ended", "nothing")
	AlreadyDone   = refusal("ALREADY_DONE", Conflict, "the operation has already been done", "nothing")
	NotRegistered = refusal("NOT_REGISTERED", Conflict,
		"the attempt has not registered yet, or has finished",
		"register the attempt")
	WrongResponse = refusal("WRONG_RESPONSE", Conflict,
		"the call is older than the last answered call",
		"use the newest response number, which `/v1/apps/{id}` shows")
	HostRefused = refusal("HOST_REFUSED", Conflict,
		"the include or exclude list does not allow the node",
		"change the list, then `yarn rmadmin -refreshNodes`")
	NodeElsewhere = refusal("NODE_ELSEWHERE", Conflict,
		"a late registration: the node has registered or reported with a newer call",
		"nothing; the node tries again")
	KeyReused = refusal("KEY_REUSED", Conflict,
		"the idempotency key was already used with another body",
		"use a new key for a new request")
	InvalidRequest = refusal("INVALID_REQUEST", Malformed, "", "")
	TooLarge       = refusal("TOO_LARGE", Oversized, "", "")
	NotAllowed     = refusal("NOT_ALLOWED", Forbidden, "", "")
	NotInitialized = refusal("NOT_INITIALIZED", Conflict, "", "")
	TokenInvalid   = refusal("TOKEN_INVALID", Forbidden, "", "")
	TokenUsed      = refusal("TOKEN_USED", Forbidden, "", "")
	TokenExpired   = refusal("TOKEN_EXPIRED", Forbidden, "", "")
	TokenExists    = refusal("TOKEN_EXISTS", Conflict, "", "")
	NoAdminLeft    = refusal("NO_ADMIN_LEFT", Conflict, "", "")
)

// Refusal says what was refused and how to correct it. Details lists the single problems where there
// can be several.
type Refusal struct {
	Reason  Code     `json:"code"`
	What    string   `json:"what"`
	Do      string   `json:"do,omitempty"`
	Details []string `json:"details,omitempty"`
}

// Refusef returns a refusal with a formatted sentence. do says how to correct it; it may be empty.
func Refusef(code Code, do, format string, args ...any) *Refusal {
	return &Refusal{Reason: code, What: fmt.Sprintf(format, args...), Do: do}
}

// NoFirstQueues returns the refusal of every input while the cluster has no first configuration.
func NoFirstQueues() *Refusal {
	return Refusef(NotInitialized, "see \"rmd cluster status\" and the log of the leader",
		"the cluster has no queue configuration yet")
}

func (f *Refusal) Error() string {
	s := string(f.Reason) + ": " + f.What
	if f.Do != "" {
		s += "; " + f.Do
	}
	return s
}

// Code encodes or decodes the refusal.
func (f *Refusal) Code(c *codec.Coder) {
	s := string(f.Reason)
	c.String(&s)
	f.Reason = Code(s)
	c.String(&f.What)
	c.String(&f.Do)
	codec.List(c, &f.Details, func(c *codec.Coder, s *string) { c.String(s) })
}

// NoSuchApp returns the refusal for an application that does not exist.
func NoSuchApp(id yarn.ApplicationID) *Refusal {
	return Refusef(NoSuchApplication, "list them with \"rmd app list\"", "there is no application %s", id)
}
