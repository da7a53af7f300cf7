package history

import "strings"

// Op is one end of an operation: its call or its return.
type Op struct {
	Process int    `json:"p"`
	Type    Type   `json:"t"`
	F       F      `json:"f"`
	In      *Value `json:"in,omitempty"`
	Out     *Value `json:"out,omitempty"`
	Client  string `json:"c,omitempty"` // whose process it is, by name: a lane of the report
	NS      int64  `json:"ns"`
}

// Type is how an operation stands.
type Type string

// Types of an operation's ends.
const (
	Invoke Type = "invoke"
	OK     Type = "ok"
	Fail   Type = "fail" // refused: it has not happened and never will
	Info   Type = "info" // outcome unknown: once or never
)

// F is what an operation does.
type F string

// Operations.
const (
	Submit            F = "submit"      // in Name, User, Queue, Key; out App
	Kill              F = "kill"        // in App
	Move              F = "move"        // in App, Queue
	Prioritize        F = "prioritize"  // in App, Text (the priority); out Text (what was given)
	Finish            F = "finish"      // in App, State: an AM says that it is done
	RegisterAM        F = "register-am" // in Attempt
	Ask               F = "ask"         // in Attempt
	Release           F = "release"     // in Attempt, Containers
	Allocate          F = "allocate"    // in Attempt, Response; out Response, Granted, Completed
	Complete          F = "complete"    // in Node, Containers: an agent reports their end
	QueueAdd          F = "queue-add"   // in Queue, Text (its configuration)
	QueueSet          F = "queue-set"   // in Queue, Text
	QueueStop         F = "queue-stop"  // in Queue
	QueueStart        F = "queue-start" // in Queue
	QueueDelete       F = "queue-delete"
	NodeAdd           F = "node-add" // in Node: admitted, or brought back
	NodeDrain         F = "node-drain"
	NodeRemove        F = "node-remove"
	Reserve           F = "reserve"            // out Reservation, Node: a reservation seen
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

// Reads says whether the operation changes nothing.
func (f F) Reads() bool {
	switch f {
	case ReadApp, ReadQueue, ReadNode, List, ReadMembers, Reserve:
		return true
	}
	return false
}

// Value is what goes into an operation or comes out of it: the fields that the
// operation has, named as in the CLI; the others are left out.
type Value struct {
	Key         string       `json:"key,omitempty"` // idempotency key: client and sequence
	App         string       `json:"app,omitempty"`
	Attempt     string       `json:"attempt,omitempty"`
	Name        string       `json:"name,omitempty"`
	User        string       `json:"user,omitempty"`
	Queue       string       `json:"queue,omitempty"`
	Node        string       `json:"node,omitempty"`
	Replica     string       `json:"replica,omitempty"` // asked, or meant
	Voter       bool         `json:"voter,omitempty"`
	Reservation string       `json:"reservation,omitempty"`
	State       string       `json:"state,omitempty"`
	Text        string       `json:"text,omitempty"`
	Code        string       `json:"code,omitempty"` // of a refusal
	Index       uint64       `json:"index,omitempty"`
	Stale       bool         `json:"stale,omitempty"`   // a stale read was asked for
	Session     string       `json:"session,omitempty"` // of reads that must move forward; "" is the process's client
	Response    int32        `json:"response,omitempty"`
	Containers  []string     `json:"containers,omitempty"`
	Granted     []Grant      `json:"granted,omitempty"`
	Completed   []Completion `json:"completed,omitempty"`
	Members     []Member     `json:"members,omitempty"`
	Names       []string     `json:"names,omitempty"`
}

// NotFound is the code of a refusal that says: there is no such thing.
const NotFound = "not-found"

// Grant is a container that an AM was given.
type Grant struct {
	Container string `json:"id"`
	Node      string `json:"node,omitempty"`
	MemoryMB  int64  `json:"mb,omitempty"`
	VCores    int64  `json:"vc,omitempty"`
}

// Completion is the end of a container as an AM was told.
type Completion struct {
	Container string `json:"id"`
	Exit      int32  `json:"exit"`
}

// Member is a replica as a list of members has it.
type Member struct {
	ID    string `json:"id"`
	Voter bool   `json:"voter,omitempty"`
}

// AppOf is the application's id in an attempt's or a container's; "" when it is
// neither.
func AppOf(id string) string {
	rest, attempt := strings.CutPrefix(id, "appattempt_")
	parts := strings.Split(rest, "_")
	if !attempt {
		rest, ok := strings.CutPrefix(id, "container_")
		if parts = strings.Split(rest, "_"); !ok {
			return ""
		}
		if strings.HasPrefix(parts[0], "e") { // an epoch stands before
			parts = parts[1:]
		}
	}
	if len(parts) < 2 {
		return ""
	}
	return "application_" + parts[0] + "_" + parts[1]
}
