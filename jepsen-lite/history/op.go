package history

import "strings"

// Op is the call or the return of an operation.
type Op struct {
	Process int    `json:"p"`
	Type    Type   `json:"t"`
	F       F      `json:"f"`
	In      *Value `json:"in,omitempty"`
	Out     *Value `json:"out,omitempty"`
	Client  string `json:"c,omitempty"` // name of the client that the process belongs to: a row in the report
	NS      int64  `json:"ns"`
}

// Type says whether an Op is a call, or how the operation ended.
type Type string

// The values of Type.
const (
	Invoke Type = "invoke"
	OK     Type = "ok"
	Fail   Type = "fail" // refused: it has not happened and never will
	Info   Type = "info" // outcome unknown: once or never
)

// F is the kind of an operation.
type F string

// Operations.
const (
	Submit            F = "submit"      // in Name, User, Queue, Key; out App
	Kill              F = "kill"        // in App
	Move              F = "move"        // in App, Queue
	Prioritize        F = "prioritize"  // in App, Text (the priority); out Text (the new priority)
	Finish            F = "finish"      // in App, State: an AM unregisters
	RegisterAM        F = "register-am" // in Attempt
	Ask               F = "ask"         // in Attempt
	Release           F = "release"     // in Attempt, Containers
	Allocate          F = "allocate"    // in Attempt, Response; out Response, Granted, Completed
	Complete          F = "complete"    // in Node, Containers: a node reports their end
	QueueAdd          F = "queue-add"   // in Queue, Text (its configuration)
	QueueSet          F = "queue-set"   // in Queue, Text
	QueueStop         F = "queue-stop"  // in Queue
	QueueStart        F = "queue-start" // in Queue
	QueueDelete       F = "queue-delete"
	NodeAdd           F = "node-add" // in Node: an administrator admits it or takes it back, or it registers
	NodeDrain         F = "node-drain"
	NodeRemove        F = "node-remove"
	Reserve           F = "reserve"            // out Reservation, Node: a reservation was observed
	CancelReservation F = "cancel-reservation" // in Reservation
	ReadApp           F = "read-app"           // in App; out State, Queue, Index; Code "not-found"
	ReadQueue         F = "read-queue"         // in Queue; out State, Text
	ReadNode          F = "read-node"          // in Node; out State
	List              F = "list"               // out Names
	ReadMembers       F = "read-members"       // out Members
	Join              F = "join"               // in Replica, Voter
	Promote           F = "promote"            // in Replica
	Remove            F = "remove"             // in Replica
	Transfer          F = "transfer"           // in Replica
	TakeSnapshot      F = "snapshot"
	RestoreSnapshot   F = "restore"
)

// Reads reports whether the operation changes nothing.
func (f F) Reads() bool {
	switch f {
	case ReadApp, ReadQueue, ReadNode, List, ReadMembers, Reserve:
		return true
	}
	return false
}

// Value is the input or output of an operation. Each operation uses some of the fields, which are
// named as in the CLI.
type Value struct {
	Key         string       `json:"key,omitempty"` // idempotency key: client and sequence
	App         string       `json:"app,omitempty"`
	Attempt     string       `json:"attempt,omitempty"`
	Name        string       `json:"name,omitempty"`
	User        string       `json:"user,omitempty"`
	Queue       string       `json:"queue,omitempty"`
	Node        string       `json:"node,omitempty"`
	Replica     string       `json:"replica,omitempty"` // the replica that is asked, or that the operation concerns
	Voter       bool         `json:"voter,omitempty"`
	Reservation string       `json:"reservation,omitempty"`
	State       string       `json:"state,omitempty"`
	Text        string       `json:"text,omitempty"`
	Code        string       `json:"code,omitempty"` // of a refusal
	Index       uint64       `json:"index,omitempty"`
	Stale       bool         `json:"stale,omitempty"`   // a stale read
	Session     string       `json:"session,omitempty"` // of reads that must not go back; "" means the process's client
	Response    int32        `json:"response,omitempty"`
	Containers  []string     `json:"containers,omitempty"`
	Granted     []Grant      `json:"granted,omitempty"`
	Completed   []Completion `json:"completed,omitempty"`
	Members     []Member     `json:"members,omitempty"`
	Names       []string     `json:"names,omitempty"`
}

// NotFound is the code of a refusal because the object does not exist.
const NotFound = "not-found"

// Grant is a container that an AM received.
type Grant struct {
	Container string `json:"id"`
	Node      string `json:"node,omitempty"`
	MemoryMB  int64  `json:"mb,omitempty"`
	VCores    int64  `json:"vc,omitempty"`
}

// Completion is the end of a container that an AM received.
type Completion struct {
	Container string `json:"id"`
	Exit      int32  `json:"exit"`
}

// Member is a replica in a list of members.
type Member struct {
	ID    string `json:"id"`
	Voter bool   `json:"voter,omitempty"`
}

// AppOf returns the application's id in the id of an attempt or container; "" for any other text.
func AppOf(id string) string {
	rest, attempt := strings.CutPrefix(id, "appattempt_")
	parts := strings.Split(rest, "_")
	if !attempt {
		rest, ok := strings.CutPrefix(id, "container_")
		if parts = strings.Split(rest, "_"); !ok {
			return ""
		}
		if strings.HasPrefix(parts[0], "e") { // the epoch
			parts = parts[1:]
		}
	}
	if len(parts) < 2 {
		return ""
	}
	return "application_" + parts[0] + "_" + parts[1]
}
