package input

import (
	"fmt"

	"rmd/internal/codec"
	"rmd/yarn"
)

// Code is the stable name of a refusal, the same on every frontend.
type Code string

// Refusals of the planner.
const (
	NoSuchApplication Code = "NO_SUCH_APPLICATION"
	NoSuchAttempt     Code = "NO_SUCH_ATTEMPT"
	NoSuchNode        Code = "NO_SUCH_NODE"
	NoSuchQueue       Code = "NO_SUCH_QUEUE"
	NoSuchReservation Code = "NO_SUCH_RESERVATION"
	NoSuchVersion     Code = "NO_SUCH_VERSION"
	QueueNotLeaf      Code = "QUEUE_NOT_LEAF"
	QueueAmbiguous    Code = "QUEUE_AMBIGUOUS"
	QueueStopped      Code = "QUEUE_STOPPED"
	QueueFull         Code = "QUEUE_FULL"
	NeverFits         Code = "NEVER_FITS"
	InvalidAsk        Code = "INVALID_ASK"
	InvalidRequest    Code = "INVALID_REQUEST"
	InvalidQueues     Code = "INVALID_QUEUES"
	VersionConflict   Code = "VERSION_CONFLICT"
	AlreadyEnded      Code = "ALREADY_ENDED"
	NotRegistered     Code = "NOT_REGISTERED"
	WrongResponse     Code = "WRONG_RESPONSE"
	KeyReused         Code = "KEY_REUSED"
	TokenInvalid      Code = "TOKEN_INVALID"
	TokenUsed         Code = "TOKEN_USED"
	TokenExpired      Code = "TOKEN_EXPIRED"
	NotInitialized    Code = "NOT_INITIALIZED"
	AlreadyDone       Code = "ALREADY_DONE"
	NotAllowed        Code = "NOT_ALLOWED"
	TooLarge          Code = "TOO_LARGE"
	InvalidRelease    Code = "INVALID_RELEASE"
	InvalidBlacklist  Code = "INVALID_BLACKLIST"
	NoSuchContainer   Code = "NO_SUCH_CONTAINER"
	HostRefused       Code = "HOST_REFUSED"
	NoSuchToken       Code = "NO_SUCH_TOKEN"
	TokenExists       Code = "TOKEN_EXISTS"
	NoAdminLeft       Code = "NO_ADMIN_LEFT"
	NodeElsewhere     Code = "NODE_ELSEWHERE"
	NoSuchLabel       Code = "NO_SUCH_LABEL"
	InvalidLabel      Code = "INVALID_LABEL"
	LabelInUse        Code = "LABEL_IN_USE"
	LabelsOff         Code = "LABELS_OFF"
	PlacementRejected Code = "PLACEMENT_REJECTED"
	PriorityTooHigh   Code = "PRIORITY_TOO_HIGH"
	QueueNotCreated   Code = "QUEUE_NOT_CREATED"
	InvalidGang       Code = "INVALID_GANG"
	QueueNotMapped    Code = "QUEUE_NOT_MAPPED"
)

// Fault says what was refused and how to correct it. Details lists the single problems where there
// can be several.
type Fault struct {
	Reason  Code     `json:"code"`
	What    string   `json:"what"`
	Do      string   `json:"do,omitempty"`
	Details []string `json:"details,omitempty"`
}

// Faultf returns a fault with a formatted sentence. do says how to correct it; it may be empty.
func Faultf(code Code, do, format string, args ...any) *Fault {
	return &Fault{Reason: code, What: fmt.Sprintf(format, args...), Do: do}
}

// NoFirstQueues returns the refusal of every input while the cluster has no first configuration.
func NoFirstQueues() *Fault {
	return Faultf(NotInitialized, "see \"rmd cluster status\" and the log of the leader", "the cluster has no queue configuration yet")
}

func (f *Fault) Error() string {
	s := string(f.Reason) + ": " + f.What
	if f.Do != "" {
		s += "; " + f.Do
	}
	return s
}

// Code encodes or decodes the fault.
func (f *Fault) Code(c *codec.Coder) {
	s := string(f.Reason)
	c.String(&s)
	f.Reason = Code(s)
	c.String(&f.What)
	c.String(&f.Do)
	codec.List(c, &f.Details, func(c *codec.Coder, s *string) { c.String(s) })
}

// NoSuchApp returns the fault for an application that does not exist.
func NoSuchApp(id yarn.ApplicationID) *Fault {
	return Faultf(NoSuchApplication, "list them with \"rmd app list\"", "there is no application %s", id)
}
