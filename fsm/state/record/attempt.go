package record

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// AttemptState is the state of an application's current attempt.
type AttemptState uint8

// The states of an attempt; append only.
const (
	AttemptNone        AttemptState = iota
	AttemptNonRunnable              // held back by a limit on parallel applications
	AttemptPending                  // waits for activation
	AttemptActive                   // may be scheduled; its AM may not run yet
	AttemptRegistered               // its AM has registered
	AttemptFinishing                // its AM has unregistered; the AM's container still runs
	AttemptEnded

	// AttemptStates is one more than the highest state.
	AttemptStates
)

// Attempt is an ended attempt of an application.
type Attempt struct {
	App            AppSlot
	Number         uint32
	Final          yarn.FinalStatus
	Counted        bool // toward the maximum number of attempts
	Unregistered   bool // its AM had unregistered
	StartedMillis  int64
	LaunchedMillis int64
	EndedMillis    int64
	MasterNumber   uint64
	MasterNode     NodeSlot
	Host           string
	RPCPort        int32
	TrackingURL    string
	Diagnostics    string
	Next           AttemptSlot // the attempt before it
}

// Code encodes the record, or decodes into it.
func (a *Attempt) Code(c *codec.Coder) {
	codec.Slot(c, &a.App)
	c.U32(&a.Number)
	codec.Enum(c, &a.Final)
	c.Bool(&a.Counted)
	c.Bool(&a.Unregistered)
	c.I64(&a.StartedMillis)
	c.I64(&a.LaunchedMillis)
	c.I64(&a.EndedMillis)
	c.U64(&a.MasterNumber)
	codec.Slot(c, &a.MasterNode)
	c.String(&a.Host)
	c.I32(&a.RPCPort)
	c.String(&a.TrackingURL)
	c.String(&a.Diagnostics)
	codec.Slot(c, &a.Next)
}

// AMCharge returns what the AM of an active attempt counts toward the AM limits.
func (a *App) AMCharge() yarn.Resource {
	if a.Unmanaged {
		return yarn.Resource{}
	}
	return a.AM
}
