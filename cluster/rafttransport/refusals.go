package rafttransport

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// ErrBadEntry is the error of an entry that replicas cannot apply. A leader recognizes it in a
// follower's answer by its text, so the text is part of the protocol.
var ErrBadEntry = errors.New("replicas cannot apply the entry")

// Refusal says that a follower answers and does not store this leader's entries.
type Refusal struct {
	Server raft.ServerID
	Why    string    // the follower's error
	Since  time.Time // the first refusal since the follower last stored entries
	// OfEntry reports that the cause is an entry which the follower cannot apply. Without that entry
	// it could lead. Otherwise the cause is the follower itself, for instance its full disk.
	OfEntry bool
}

// answers records when each replica was heard, and which of them refuse entries.
type answers struct {
	log hclog.Logger

	mu      sync.Mutex
	heard   map[raft.ServerID]time.Time
	refused map[raft.ServerID]Refusal
}

func newAnswers(log hclog.Logger) *answers {
	return &answers{log: log, heard: map[raft.ServerID]time.Time{}, refused: map[raft.ServerID]Refusal{}}
}

// request records that a replica has sent a request.
func (a *answers) request(command any) {
	if q, ok := command.(raft.WithRPCHeader); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.heard[raft.ServerID(q.GetRPCHeader().ID)] = time.Now()
	}
}

// observe records the result of a request of any kind.
func (a *answers) observe(id raft.ServerID, err error) {
	refused := isRefusal(err)
	if err != nil && !refused {
		return
	}
	a.mu.Lock()
	a.heard[id] = time.Now()
	_, known := a.refused[id]
	if refused && !known {
		a.refused[id] = Refusal{Server: id, Why: err.Error(), Since: time.Now(), OfEntry: isBadEntry(err)}
	}
	a.mu.Unlock() // a logger that hangs must not hold the lock
	if refused && !known {
		name, _ := identity.Split(id)
		a.log.Warn("a replica refuses the entries of this leader", "replica", name, "error", err)
	}
}

// stored records that a follower has stored entries or a snapshot.
func (a *answers) stored(id raft.ServerID) {
	a.mu.Lock()
	_, known := a.refused[id]
	delete(a.refused, id)
	a.mu.Unlock()
	if known {
		name, _ := identity.Split(id)
		a.log.Info("a replica stores the entries of this leader again", "replica", name)
	}
}

// isRefusal reports whether an error is the answer of a follower that does not store entries.
func isRefusal(err error) bool {
	return isDiskFull(err) || isBadEntry(err) || errors.Is(err, errQuarantined)
}

// isBadEntry compares the text: the network transmits nothing else of an error.
func isBadEntry(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), ErrBadEntry.Error())
}

// Refusals returns the followers among the members that refuse the entries of this leader, sorted by
// server. A removed one, whose place another disk may have taken under the same name, is asked no more.
func (tr *Transport) Refusals(members raft.Configuration) []Refusal {
	tr.answers.mu.Lock()
	defer tr.answers.mu.Unlock()
	var out []Refusal
	for _, s := range members.Servers {
		if r, refuses := tr.answers.refused[s.ID]; refuses {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(x, y Refusal) int { return strings.Compare(string(x.Server), string(y.Server)) })
	return out
}

// ForgetRefusals forgets the refusals of a leadership that has ended.
func (tr *Transport) ForgetRefusals() {
	tr.answers.mu.Lock()
	defer tr.answers.mu.Unlock()
	clear(tr.answers.refused)
}

// HeardAt returns when a replica last answered a request of this one or sent a request, or zero.
func (tr *Transport) HeardAt(id raft.ServerID) time.Time {
	tr.answers.mu.Lock()
	defer tr.answers.mu.Unlock()
	return tr.answers.heard[id]
}
