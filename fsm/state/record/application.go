package record

import (
	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// App is one application with its current attempt. The fields from ID to EndedMillis belong to the
// whole application, those from Attempt to Progress to the current attempt; BeginAttempt clears
// these. The rest is what the application uses, and the heads of its lists.
type App struct {
	ID             yarn.ApplicationID
	details        packed     // see Details
	NameHash       uint64     // see hashOfAppName; not in snapshots: follows from the name
	declaredMillis int64      // see yarn.DeclaredLifetime; not in snapshots: follows from the tags
	Blacklist      []NameSlot // hosts and racks, sorted; replaced whole, never written in place
	User           NameSlot
	Queue          QueueSlot // the leaf; 0: the application has ended and the queue was removed
	UserSlot       UserSlot  // the User to which it is charged; 0: the application has ended
	Priority       int32
	State          yarn.ApplicationState
	Final          yarn.FinalStatus
	Unmanaged      bool // its AM runs outside the cluster and counts in no AM limit
	KeepContainers bool // across attempts
	MaxAttempts    uint32
	Failures       uint32 // attempts that counted toward MaxAttempts
	AM             yarn.Resource
	AMStrict       bool      // the AM may run only at AppDetails.AMPlaces
	Labelled       bool      // AppDetails has a label
	AMLabel        LabelSlot // the partition to which its AM is charged
	LifetimeMillis int64     // after SubmittedMillis; 0: no limit
	ValidityMillis int64     // failures older than this do not count; 0: all count

	SubmittedMillis int64
	StartedMillis   int64 // when its first AM registered
	EndedMillis     int64

	Attempt       uint32
	AttemptState  AttemptState
	AttemptMillis int64  // when the attempt began
	Response      int32  // number of the last allocate response
	NextNumber    uint64 // the last container number given; see Meta.NextNumber
	// MasterNumber and MasterNode are the number of the AM's container and of its node.
	// MasterNumber is 0 before the container is allocated. MasterNode is also 0 while the node of
	// an AM that was taken over has not registered, and after the node was forgotten.
	MasterNumber   uint64
	MasterNode     NodeSlot
	LaunchedMillis int64  // when the node started the AM
	FinishMillis   int64  // when the AM unregistered
	Progress       uint32 // hundredths of a percent

	Used     yarn.Resource // live containers
	Reserved yarn.Resource // reservations, increases included
	Pending  yarn.Resource // size times count of its asks
	// ResourceSeconds is what containers of all attempts used until they ended or were resized.
	// State.ResourceSeconds adds the live ones.
	ResourceSeconds yarn.Resource

	RPCPort int32 // of the AM

	Asks             AskSlot             // first Ask, in key order; those for increases come last
	Outstanding      int64               // sum of Ask.Count
	Containers       ContainerSlot       // first Container, of all attempts, that is not freed
	Live             int32               // number of live containers
	Undelivered      ContainerSlot       // first Container with something undelivered or unacknowledged
	Reservations     ReservationSlot     // first Reservation
	Reserving        int32               // number of its reservations
	History          AttemptSlot         // newest ended Attempt
	NodeApplications NodeApplicationSlot // first NodeApplication; empty when it has ended
}

// Runnable reports whether the current attempt counts toward the limits on parallel applications:
// it waits for activation, runs, or finishes.
func (a *App) Runnable() bool {
	return a.AttemptState >= AttemptPending && a.AttemptState <= AttemptFinishing
}

// Activated reports whether scheduling passes consider the application.
func (a *App) Activated() bool {
	return a.AttemptState == AttemptActive || a.AttemptState == AttemptRegistered
}

// AttemptID returns the id of the current attempt.
func (a *App) AttemptID() yarn.AttemptID { return yarn.AttemptID{App: a.ID, Attempt: a.Attempt} }

// Code encodes the record, or decodes into it.
func (a *App) Code(c *codec.Coder) {
	d := a.Details()
	c.ApplicationID(&a.ID)
	c.String(&d.Name)
	codec.Slot(c, &a.User)
	c.String(&d.Type)
	CodeStrings(c, &d.Tags)
	c.String(&d.Context)
	codec.Slot(c, &a.Queue)
	codec.Slot(c, &a.UserSlot)
	c.I32(&a.Priority)
	codec.Enum(c, &a.State)
	codec.Enum(c, &a.Final)
	c.Bool(&a.Unmanaged)
	c.Bool(&a.KeepContainers)
	c.U32(&a.MaxAttempts)
	c.U32(&a.Failures)
	c.Resource(&a.AM)
	c.I64(&a.LifetimeMillis)
	c.I64(&a.ValidityMillis)
	c.I64(&a.SubmittedMillis)
	c.I64(&a.StartedMillis)
	c.I64(&a.EndedMillis)
	c.Resource(&a.ResourceSeconds)
	codec.List(c, &d.AMPlaces, func(c *codec.Coder, p *yarn.Place) {
		c.String(&p.Name)
		c.Bool(&p.Relax)
	})
	c.Bool(&a.AMStrict)
	a.codeAttempt(c, &d)
	codec.Slot(c, &a.AMLabel)
	c.String(&d.Label)
	c.String(&d.AMLabel)
	if c.Decoding() {
		a.SetDetails(d)
	}
}

func (a *App) codeAttempt(c *codec.Coder, d *AppDetails) {
	c.U32(&a.Attempt)
	codec.Enum(c, &a.AttemptState)
	c.I64(&a.AttemptMillis)
	c.I32(&a.Response)
	c.U64(&a.NextNumber)
	c.U64(&a.MasterNumber)
	codec.Slot(c, &a.MasterNode)
	c.I64(&a.LaunchedMillis)
	c.I64(&a.FinishMillis)
	c.U32(&a.Progress)
	c.Resource(&a.Used)
	c.Resource(&a.Reserved)
	c.Resource(&a.Pending)
	c.String(&d.Host)
	c.I32(&a.RPCPort)
	c.String(&d.TrackingURL)
	c.String(&d.Diagnostics)
	c.Raw(&d.ClientKey.Bytes)
	codec.Enum(c, &d.ClientKey.Algorithm)
	codec.Slot(c, &a.Asks)
	c.I64(&a.Outstanding)
	codec.Slot(c, &a.Containers)
	c.I32(&a.Live)
	codec.Slot(c, &a.Undelivered)
	codec.Slot(c, &a.Reservations)
	c.I32(&a.Reserving)
	CodeSlots(c, &a.Blacklist)
	codec.Slot(c, &a.History)
	codec.Slot(c, &a.NodeApplications)
}

// Apps is the table of applications.
type Apps struct {
	table.Keyed[AppSlot, App, *App]
}

// Find returns the slot of the application with the given sequence number, or 0 if there is none.
func (t *Apps) Find(seq uint32) AppSlot {
	return t.Lookup(table.Mix(uint64(seq)), func(r *App) bool { return r.ID.Seq == seq })
}

// ByID returns the slot of an application, or 0 if there is none.
func (t *Apps) ByID(id yarn.ApplicationID) AppSlot {
	slot := t.Find(id.Seq)
	if slot == 0 || t.Get(slot).ID != id {
		return 0
	}
	return slot
}

// Hash returns the hash of the key.
func (a *App) Hash() uint64 { return table.Mix(uint64(a.ID.Seq)) }

// Same reports whether the keys are equal.
func (a *App) Same(other *App) bool { return a.ID.Seq == other.ID.Seq }

// Named returns the application of an event, ready for writing.
func (t *Apps) Named(e event.Event, seq uint32) (AppSlot, *App, error) {
	slot := t.Find(seq)
	if slot == 0 {
		return 0, nil, Broken(e, "no application %d", seq)
	}
	return slot, t.Mut(slot), nil
}
