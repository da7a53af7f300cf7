package statestore

import "rmd/yarn"

// Store is the content of a state store.
type Store struct {
	Version      string // of the layout, as "1.5"
	Epoch        uint32 // of the next ResourceManager; every earlier one may be in container ids
	Applications []Application
	// AMRM are the keys of AMs' tokens. Next is set while the keys are rolled over.
	AMRM AMRMKeys
	// DelegationKeys are in the order of their ids.
	DelegationKeys   []Key
	DelegationTokens []DelegationToken
	Sequence         uint32 // of the newest delegation token
	// Problems are what cannot be read.
	Problems []Problem
}

// Problem says what cannot be taken, why, and what to do.
type Problem struct{ Name, What, Do string }

// AMRMKeys are the master keys of AMs' tokens; an ID of 0 is none.
type AMRMKeys struct{ Current, Next Key }

// Key is a master key.
type Key struct {
	ID    int32
	Bytes []byte
}

// DelegationToken is one that has not been cancelled.
type DelegationToken struct {
	Sequence                 uint32
	Owner, Renewer, RealUser string
	KeyID                    int32
	IssuedMillis             int64
	MaxMillis                int64
	ExpiresMillis            int64
}

// Application is an application with its attempts, in the order of their numbers.
type Application struct {
	ID      yarn.ApplicationID
	User    string
	Context []byte // the ApplicationSubmissionContextProto
	// State is how the application has ended; 0: it has not.
	State           yarn.ApplicationState
	Diagnostics     string
	SubmittedMillis int64
	EndedMillis     int64
	// ExpiresMillis is the end of its lifetime; 0: none.
	ExpiresMillis int64
	Attempts      []Attempt
}

// Attempt is an attempt whose AM has a container.
type Attempt struct {
	Number uint32
	Master uint64 // number of the AM's container; 0: it has none
	// State is how the attempt has ended; 0: it has not.
	State         yarn.ApplicationState
	Final         yarn.FinalStatus
	ExitStatus    int32 // of the AM's container
	Diagnostics   string
	TrackingURL   string
	StartedMillis int64
	EndedMillis   int64
	// ResourceSeconds is what the attempt has used, by the name of the resource.
	ResourceSeconds map[string]int64
}
