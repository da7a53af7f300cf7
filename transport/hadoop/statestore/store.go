package statestore

import "rmd/yarn"

// Store has the contents of a state store.
type Store struct {
	Version      string // of the layout, for instance "1.5"
	Epoch        uint32 // of the next ResourceManager; container ids may contain any lower epoch
	Applications []Application
	// AMRM are the keys of AM tokens. Next is set while the keys are rolled.
	AMRM AMRMKeys
	// DelegationKeys are sorted by id.
	DelegationKeys   []Key
	DelegationTokens []DelegationToken
	Sequence         uint32 // of the newest delegation token
	// Problems are the parts that cannot be read.
	Problems []Problem
}

// Problem is something that cannot be taken over: its name, the reason, and what to do.
type Problem struct{ Name, What, Do string }

// AMRMKeys are the master keys of AM tokens. An ID of 0 means that there is no key.
type AMRMKeys struct{ Current, Next Key }

// Key is a master key.
type Key struct {
	ID    int32
	Bytes []byte
}

// DelegationToken is a delegation token that has not been cancelled.
type DelegationToken struct {
	Sequence                 uint32
	Owner, Renewer, RealUser string
	KeyID                    int32
	IssuedMillis             int64
	MaxMillis                int64
	ExpiresMillis            int64
}

// Application is an application with its attempts, sorted by number.
type Application struct {
	ID      yarn.ApplicationID
	User    string
	Context []byte // the ApplicationSubmissionContextProto
	// State is the state in which the application has ended, or 0 if it has not.
	State           yarn.ApplicationState
	Diagnostics     string
	SubmittedMillis int64
	EndedMillis     int64
	// ExpiresMillis is the end of its lifetime in Unix milliseconds, or 0 if it has no limit.
	ExpiresMillis int64
	Attempts      []Attempt
}

// Attempt is an attempt of an application.
type Attempt struct {
	Number uint32
	Master uint64 // number of the AM's container; 0: none
	// State is the state in which the attempt has ended, or 0 if it has not.
	State         yarn.ApplicationState
	Final         yarn.FinalStatus
	ExitStatus    int32 // of the AM's container
	Diagnostics   string
	TrackingURL   string
	StartedMillis int64
	EndedMillis   int64
	// ResourceSeconds are the resources that the attempt has used, by the name of the resource
	// type, in units times seconds.
	ResourceSeconds map[string]int64
}
