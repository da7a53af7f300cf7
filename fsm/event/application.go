package event

import (
	"fmt"

	"rmd/internal/codec"
	"rmd/yarn"
)

// ApplicationSubmitted adds an application to a leaf queue. App is its sequence number, which
// identifies it in all later events.
type ApplicationSubmitted struct {
	App            uint32
	Name           string
	User           string
	Queue          string
	Type           string
	Tags           []string
	Priority       int32
	AM             yarn.Resource
	Unmanaged      bool
	KeepContainers bool
	MaxAttempts    uint32
	LifetimeMillis int64
	ValidityMillis int64
	// Context is the submission context as encoded by the port that received it; the state does not
	// decode it.
	Context []byte
	// AMPlaces are the hosts and racks at which to ask for the AM. If AMStrict is set, the AM may
	// run only there.
	AMPlaces []yarn.Place
	AMStrict bool
}

var KindApplicationSubmitted = define[ApplicationSubmitted](40)

func (*ApplicationSubmitted) Kind() Kind { return KindApplicationSubmitted }

func (e *ApplicationSubmitted) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.String(&e.Name)
	c.String(&e.User)
	c.String(&e.Queue)
	c.String(&e.Type)
	codec.List(c, &e.Tags, func(c *codec.Coder, s *string) { c.String(s) })
	c.I32(&e.Priority)
	c.Resource(&e.AM)
	c.Bool(&e.Unmanaged)
	c.Bool(&e.KeepContainers)
	c.U32(&e.MaxAttempts)
	c.I64(&e.LifetimeMillis)
	c.I64(&e.ValidityMillis)
	c.Raw(&e.Context)
	codec.List(c, &e.AMPlaces, func(c *codec.Coder, p *yarn.Place) {
		c.String(&p.Name)
		c.Bool(&p.Relax)
	})
	c.Bool(&e.AMStrict)
}

func (e *ApplicationSubmitted) Text() string {
	return parts("submitted by "+e.User, quoted("as", e.Name))
}

// ApplicationPlaced records which placement rule chose a submitted application's queue.
type ApplicationPlaced struct {
	App  uint32
	Rule uint32 // from 1, in the configuration in force
	Text string // the text of the rule
	Why  string // why the rule's own queue could not be used, if the rule's fallback was used
	For  string // the user, named by a tag, for whom it was placed; empty: the submitting user
}

var KindApplicationPlaced = define[ApplicationPlaced](57)

func (*ApplicationPlaced) Kind() Kind { return KindApplicationPlaced }

func (e *ApplicationPlaced) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U32(&e.Rule)
	c.String(&e.Text)
	c.String(&e.Why)
	c.String(&e.For)
}

// ApplicationEnded ends an application. Its last attempt must have ended before.
type ApplicationEnded struct {
	App         uint32
	State       yarn.ApplicationState
	Final       yarn.FinalStatus
	Diagnostics string
}

var KindApplicationEnded = define[ApplicationEnded](41)

func (*ApplicationEnded) Kind() Kind { return KindApplicationEnded }

func (e *ApplicationEnded) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.Enum(c, &e.State)
	codec.Enum(c, &e.Final)
	c.String(&e.Diagnostics)
}

func (e *ApplicationEnded) Text() string {
	return because("ended: "+outcome(e.State, e.Final), e.Diagnostics)
}

// ApplicationMoved moves an application with its containers and reservations to another leaf queue.
type ApplicationMoved struct {
	App   uint32
	Queue string
}

var KindApplicationMoved = define[ApplicationMoved](42)

func (*ApplicationMoved) Kind() Kind { return KindApplicationMoved }

func (e *ApplicationMoved) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.String(&e.Queue)
}

func (e *ApplicationMoved) Text() string {
	return "moved to " + e.Queue
}

// ApplicationReprioritized changes an application's priority.
type ApplicationReprioritized struct {
	App      uint32
	Priority int32
}

var KindApplicationReprioritized = define[ApplicationReprioritized](43)

func (*ApplicationReprioritized) Kind() Kind { return KindApplicationReprioritized }

func (e *ApplicationReprioritized) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.I32(&e.Priority)
}

func (e *ApplicationReprioritized) Text() string {
	return fmt.Sprintf("priority is %d now", e.Priority)
}

// ApplicationForgotten removes an ended application.
type ApplicationForgotten struct{ App uint32 }

var KindApplicationForgotten = define[ApplicationForgotten](44)

func (*ApplicationForgotten) Kind() Kind            { return KindApplicationForgotten }
func (e *ApplicationForgotten) Code(c *codec.Coder) { c.U32(&e.App) }

// AttemptStarted begins an attempt. NonRunnable means that a limit on parallel applications holds
// the attempt back. A second event for the same attempt, without NonRunnable, ends that.
type AttemptStarted struct {
	App         uint32
	Attempt     uint32
	NonRunnable bool
}

var KindAttemptStarted = define[AttemptStarted](45)

func (*AttemptStarted) Kind() Kind { return KindAttemptStarted }

func (e *AttemptStarted) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U32(&e.Attempt)
	c.Bool(&e.NonRunnable)
}

// AttemptActivated makes the current attempt eligible for scheduling passes. Its AM counts in the
// AM limits from then on.
type AttemptActivated struct{ App uint32 }

var KindAttemptActivated = define[AttemptActivated](46)

func (*AttemptActivated) Kind() Kind            { return KindAttemptActivated }
func (e *AttemptActivated) Code(c *codec.Coder) { c.U32(&e.App) }

func (*AttemptActivated) Text() string {
	return "activated: its ApplicationMaster may be placed"
}

// AttemptRegistered records that the AM has registered. ClientKey signs the tokens with which
// clients call the AM. It is empty if callers are not authenticated.
type AttemptRegistered struct {
	App             uint32
	Host            string
	RPCPort         int32
	TrackingURL     string
	ClientKey       []byte
	ClientAlgorithm yarn.HMAC
}

var KindAttemptRegistered = define[AttemptRegistered](47)

// String describes the event without the secret key.
func (e *AttemptRegistered) String() string {
	return fmt.Sprintf("{App:%d Host:%s RPCPort:%d TrackingURL:%s ClientAlgorithm:%s}", e.App, e.Host, e.RPCPort,
		e.TrackingURL, e.ClientAlgorithm)
}

func (*AttemptRegistered) Kind() Kind { return KindAttemptRegistered }

func (e *AttemptRegistered) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.String(&e.Host)
	c.I32(&e.RPCPort)
	c.String(&e.TrackingURL)
	c.Raw(&e.ClientKey)
	codec.Enum(c, &e.ClientAlgorithm)
}

func (*AttemptRegistered) Text() string {
	return "its ApplicationMaster registered"
}

// AttemptEnded ends the current attempt and drops its asks. Its reservations must have been
// cancelled before and, unless Keep is set, its containers must have ended.
type AttemptEnded struct {
	App         uint32
	Final       yarn.FinalStatus
	Keep        bool
	Counts      bool // toward the maximum number of attempts
	Diagnostics string
	TrackingURL string
}

var KindAttemptEnded = define[AttemptEnded](48)

func (*AttemptEnded) Kind() Kind { return KindAttemptEnded }

func (e *AttemptEnded) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.Enum(c, &e.Final)
	c.Bool(&e.Keep)
	c.Bool(&e.Counts)
	c.String(&e.Diagnostics)
	c.String(&e.TrackingURL)
}

func (e *AttemptEnded) Text() string {
	return because(parts("attempt ended", words(e.Final)), e.Diagnostics)
}

// ResponseRecorded records an allocate response. The response delivers allocations and completions
// that no response has delivered yet. It acknowledges what earlier responses delivered, and frees
// acknowledged containers that have completed.
type ResponseRecorded struct {
	App      uint32
	Response int32
}

var KindResponseRecorded = frequent[ResponseRecorded](49)

func (*ResponseRecorded) Kind() Kind { return KindResponseRecorded }

func (e *ResponseRecorded) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.I32(&e.Response)
}

// ApplicationIDsReserved reserves Count application ids, beginning with App, for the leader that
// proposed the event. Only this leader hands them out.
type ApplicationIDsReserved struct{ App, Count uint32 }

var KindApplicationIDsReserved = define[ApplicationIDsReserved](56)

func (*ApplicationIDsReserved) Kind() Kind { return KindApplicationIDsReserved }

func (e *ApplicationIDsReserved) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U32(&e.Count)
}

// ApplicationLifetimeChanged sets an application's maximum lifetime, counted from its submission.
type ApplicationLifetimeChanged struct {
	App            uint32
	LifetimeMillis int64
}

var KindApplicationLifetimeChanged = define[ApplicationLifetimeChanged](51)

func (*ApplicationLifetimeChanged) Kind() Kind { return KindApplicationLifetimeChanged }

func (e *ApplicationLifetimeChanged) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.I64(&e.LifetimeMillis)
}

// AttemptLaunched records that a node has started the current attempt's AM.
type AttemptLaunched struct{ App uint32 }

var KindAttemptLaunched = define[AttemptLaunched](52)

func (*AttemptLaunched) Kind() Kind            { return KindAttemptLaunched }
func (e *AttemptLaunched) Code(c *codec.Coder) { c.U32(&e.App) }

// AttemptUnregistered records that the AM has finished its work. The attempt ends when the AM's
// container ends.
type AttemptUnregistered struct {
	App         uint32
	Final       yarn.FinalStatus
	Diagnostics string
	TrackingURL string
}

var KindAttemptUnregistered = define[AttemptUnregistered](53)

func (*AttemptUnregistered) Kind() Kind { return KindAttemptUnregistered }

func (e *AttemptUnregistered) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.Enum(c, &e.Final)
	c.String(&e.Diagnostics)
	c.String(&e.TrackingURL)
}

// AttemptResynced records that the AM has registered again. It drops the asks and restarts the
// count of responses at 0.
type AttemptResynced struct{ App uint32 }

var KindAttemptResynced = define[AttemptResynced](54)

func (*AttemptResynced) Kind() Kind            { return KindAttemptResynced }
func (e *AttemptResynced) Code(c *codec.Coder) { c.U32(&e.App) }

// AttemptReported records the progress and tracking URL that an AM has reported. Progress is in
// hundredths of a percent.
type AttemptReported struct {
	App         uint32
	Progress    uint32
	TrackingURL string
}

var KindAttemptReported = define[AttemptReported](55)

func (*AttemptReported) Kind() Kind { return KindAttemptReported }

func (e *AttemptReported) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U32(&e.Progress)
	c.String(&e.TrackingURL)
}
