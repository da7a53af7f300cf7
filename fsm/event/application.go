package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// ApplicationSubmitted admits an application to a leaf queue. App is its
// sequence number, which names it in all later events.
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
	// Context is the submission context of the port that took it, opaque here.
	Context []byte
	// AMPlaces are the hosts and racks that the AM is asked at; with AMStrict it
	// may run nowhere else.
	AMPlaces []yarn.Place
	AMStrict bool
}

// ApplicationPlaced says which placement rule sent a submitted application to its queue.
type ApplicationPlaced struct {
	App  uint32
	Rule uint32 // from 1, of the configuration in force
	Text string // that rule
	Why  string // why the queue of the rule could not be used, if its fallback placed
	For  string // the user of a tag, for whom it was placed; empty: its own user
}

// ApplicationEnded ends an application for good. Its attempt has ended before.
type ApplicationEnded struct {
	App         uint32
	State       yarn.ApplicationState
	Final       yarn.FinalStatus
	Diagnostics string
}

// ApplicationMoved takes an application with its containers and reservations to
// another leaf queue.
type ApplicationMoved struct {
	App   uint32
	Queue string
}

// ApplicationReprioritized changes an application's priority.
type ApplicationReprioritized struct {
	App      uint32
	Priority int32
}

// ApplicationForgotten drops an ended application.
type ApplicationForgotten struct{ App uint32 }

// AttemptStarted begins attempt number Attempt. NonRunnable says that a limit
// on parallel applications keeps it out of the queue for now.
type AttemptStarted struct {
	App         uint32
	Attempt     uint32
	NonRunnable bool
}

// AttemptActivated admits the current attempt to the scheduling passes: its AM
// counts in the queue's AM share from here on.
type AttemptActivated struct{ App uint32 }

// AttemptRegistered says that the AM has registered.
type AttemptRegistered struct {
	App         uint32
	Host        string
	RPCPort     int32
	TrackingURL string
}

// AttemptEnded ends the current attempt. Its reservations are cancelled and its
// asks dropped before; containers are kept only with Keep.
type AttemptEnded struct {
	App         uint32
	Final       yarn.FinalStatus
	Keep        bool
	Counts      bool // toward the maximum number of attempts
	Diagnostics string
	TrackingURL string
}

// ResponseRecorded closes one allocate call: containers allocated and
// completions not yet told are delivered with Response, those delivered with an
// earlier one are acknowledged and, where they have ended, forgotten.
type ResponseRecorded struct {
	App      uint32
	Response int32
}

// ApplicationIDGiven reserves the next application id.
type ApplicationIDGiven struct{ App uint32 }

// ApplicationIDsReserved reserves the next Count application ids, from App on, for the leader that
// proposed it: it hands them out one by one, and no other leader does.
type ApplicationIDsReserved struct{ App, Count uint32 }

// ApplicationLifetimeChanged bounds an application's time since its submission.
type ApplicationLifetimeChanged struct {
	App            uint32
	LifetimeMillis int64
}

// AttemptLaunched says that a node took the current attempt's AM.
type AttemptLaunched struct{ App uint32 }

// AttemptUnregistered says that the AM has done its work; the attempt ends when
// its container does.
type AttemptUnregistered struct {
	App         uint32
	Final       yarn.FinalStatus
	Diagnostics string
	TrackingURL string
}

// AttemptResynced says that the AM registered again: its asks and what it has
// not been told are void, its responses count from 0.
type AttemptResynced struct{ App uint32 }

// AttemptReported is what an AM says of itself now and then. Progress is in
// hundredths of a percent.
type AttemptReported struct {
	App         uint32
	Progress    uint32
	TrackingURL string
}

func (*ApplicationIDGiven) Kind() Kind         { return KindApplicationIDGiven }
func (*ApplicationIDsReserved) Kind() Kind     { return KindApplicationIDsReserved }
func (*ApplicationLifetimeChanged) Kind() Kind { return KindApplicationLifetimeChanged }
func (*AttemptLaunched) Kind() Kind            { return KindAttemptLaunched }
func (*AttemptUnregistered) Kind() Kind        { return KindAttemptUnregistered }
func (*AttemptResynced) Kind() Kind            { return KindAttemptResynced }
func (*AttemptReported) Kind() Kind            { return KindAttemptReported }
func (*ApplicationSubmitted) Kind() Kind       { return KindApplicationSubmitted }
func (*ApplicationEnded) Kind() Kind           { return KindApplicationEnded }
func (*ApplicationMoved) Kind() Kind           { return KindApplicationMoved }
func (*ApplicationPlaced) Kind() Kind          { return KindApplicationPlaced }
func (*ApplicationReprioritized) Kind() Kind   { return KindApplicationReprioritized }
func (*ApplicationForgotten) Kind() Kind       { return KindApplicationForgotten }
func (*AttemptStarted) Kind() Kind             { return KindAttemptStarted }
func (*AttemptActivated) Kind() Kind           { return KindAttemptActivated }
func (*AttemptRegistered) Kind() Kind          { return KindAttemptRegistered }
func (*AttemptEnded) Kind() Kind               { return KindAttemptEnded }
func (*ResponseRecorded) Kind() Kind           { return KindResponseRecorded }

// Code implements Event.
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

// Code implements Event.
func (e *ApplicationEnded) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.Enum(c, &e.State)
	codec.Enum(c, &e.Final)
	c.String(&e.Diagnostics)
}

// Code implements Event.
func (e *ApplicationMoved) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.String(&e.Queue)
}

// Code implements Event.
func (e *ApplicationPlaced) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U32(&e.Rule)
	c.String(&e.Text)
	c.String(&e.Why)
	c.String(&e.For)
}

// Code implements Event.
func (e *ApplicationReprioritized) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.I32(&e.Priority)
}

// Code implements Event.
func (e *ApplicationForgotten) Code(c *codec.Coder) { c.U32(&e.App) }

// Code implements Event.
func (e *AttemptStarted) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U32(&e.Attempt)
	c.Bool(&e.NonRunnable)
}

// Code implements Event.
func (e *AttemptActivated) Code(c *codec.Coder) { c.U32(&e.App) }

// Code implements Event.
func (e *AttemptRegistered) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.String(&e.Host)
	c.I32(&e.RPCPort)
	c.String(&e.TrackingURL)
}

// Code implements Event.
func (e *AttemptEnded) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.Enum(c, &e.Final)
	c.Bool(&e.Keep)
	c.Bool(&e.Counts)
	c.String(&e.Diagnostics)
	c.String(&e.TrackingURL)
}

// Code implements Event.
func (e *ResponseRecorded) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.I32(&e.Response)
}

// Code implements Event.
func (e *ApplicationIDGiven) Code(c *codec.Coder) { c.U32(&e.App) }

// Code implements Event.
func (e *ApplicationIDsReserved) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U32(&e.Count)
}

// Code implements Event.
func (e *ApplicationLifetimeChanged) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.I64(&e.LifetimeMillis)
}

// Code implements Event.
func (e *AttemptLaunched) Code(c *codec.Coder) { c.U32(&e.App) }

// Code implements Event.
func (e *AttemptUnregistered) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.Enum(c, &e.Final)
	c.String(&e.Diagnostics)
	c.String(&e.TrackingURL)
}

// Code implements Event.
func (e *AttemptResynced) Code(c *codec.Coder) { c.U32(&e.App) }

// Code implements Event.
func (e *AttemptReported) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U32(&e.Progress)
	c.String(&e.TrackingURL)
}
