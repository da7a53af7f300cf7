// Package checker judges a simulated run while it goes on. The simulation calls it for everything that
// happens, and it calls nobody.
//
//	c := checker.New(kerberos)
//	c.Applied(id, machine, entry, err) // by a replica: S1, S3, and the log by package ledger
//	c.Acked(id, at, in, reply, index)  // by a caller: S4 to S6, S11, S12, S19
//	if c.Broken() { … c.Report() }
//
// Begin with checker.go: what replicas apply, and the history that a report shows. members.go has
// votes, memberships and reads (S13, S14), acks.go and preemption.go the answers to callers, contents.go
// a digest of states. counts.go has what a summary adds up, and record.go what package check judges
// afterwards. query.go has what the load and the faults ask: the checker knows the log, as a real client
// knows it from its replica.
package checker

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/ledger"
	"rmd/jepsen-lite/ledger/statediff"
	"rmd/jepsen-lite/sim/clientkeys"
	"rmd/yarn"
)

// Checker checks every replica and every answer. The simulation calls it; the checker never calls a
// replica.
type Checker struct {
	mu      sync.Mutex
	begin   time.Time
	ledger  *ledger.Ledger // judges the log alone
	judged  int            // how many violations of the ledger are already reported
	faults  []string
	history []line

	entries map[uint64]entry // by index, as first applied anywhere
	last    uint64           // highest index in entries
	term    uint64
	level   uint32                 // feature level of the cluster as of last
	applies map[string]uint64      // by replica: the last index that its current process has applied
	reached map[string]logPosition // by ID.INCARNATION, over all processes
	leaders map[uint64]string
	sums    map[uint64][32]byte // by index: hash of a state of which a snapshot was taken
	acks    *acks
	counts  Counts
	keys    *clientkeys.Keys

	servers map[string]string             // by replica: its current ID.INCARNATION
	votes   map[uint64]map[string]string  // term to voter to candidate
	confs   map[uint64]raft.Configuration // membership by index, as first applied anywhere
	confAt  uint64                        // the newest index in confs
	floor   uint64                        // highest index that a client has seen
	lines   []history.Line                // for reports and for package check
	lives   map[string]int                // processes of each replica
	done    map[string]int                // completed operations and faults, by kind
}

// entry is what all replicas must apply at an index.
type entry struct {
	term    uint64
	digest  uint64
	crc     uint32
	skipped bool
}

// New returns a checker of a run that begins now. kerberos says that attempts get keys for the tokens
// of their clients.
func New(kerberos bool) *Checker {
	return &Checker{begin: time.Now(), ledger: ledger.New().UniqueNames(), entries: map[uint64]entry{},
		applies: map[string]uint64{}, reached: map[string]logPosition{},
		leaders: map[uint64]string{}, sums: map[uint64][32]byte{}, acks: newAcks(), keys: clientkeys.New(kerberos),
		servers: map[string]string{}, votes: map[uint64]map[string]string{}, confs: map[uint64]raft.Configuration{},
		done: map[string]int{}, lives: map[string]int{}}
}

// Limits of the history and of the output of a failure.
const (
	historyMax  = 4000
	ReportLines = 80
	faultsMax   = 10
)

// Note adds a text to the history.
func (c *Checker) Note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write(format, args...)
}

func (c *Checker) write(format string, args ...any) {
	c.keep(line{text: fmt.Sprintf(format, args...)})
}

// line is one line of the history: a text, or an entry that is only formatted when it is printed.
type line struct {
	at      time.Duration
	text    string
	index   uint64
	term    uint64
	skipped bool
	events  []event.Event
}

func (c *Checker) keep(l line) {
	l.at = time.Since(c.begin)
	c.history = append(c.history, l)
	if len(c.history) > 2*historyMax {
		c.history = append([]line(nil), c.history[historyMax:]...)
	}
}

// String formats the line.
func (l line) String() string {
	at := fmt.Sprintf("%9.3fs ", l.at.Seconds())
	switch {
	case l.text != "":
		return at + l.text
	case l.skipped:
		return at + fmt.Sprintf("index %d term %d skipped, %d events", l.index, l.term, len(l.events))
	}
	return at + fmt.Sprintf("index %d term %d: %s", l.index, l.term, formatEvents(l.events))
}

// Fail records a violation.
func (c *Checker) Fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violate(format, args...)
}

func (c *Checker) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.write("VIOLATION %s", text)
	if len(c.faults) < faultsMax {
		c.faults = append(c.faults, text)
	}
}

// Broken reports whether there is a violation.
func (c *Checker) Broken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.faults) > 0
}

// Report returns the violations and the usual number of lines of the history.
func (c *Checker) Report() string { return c.failureText(ReportLines) }

// FullReport returns the violations and all of the history that is left.
func (c *Checker) FullReport() string { return c.failureText(2 * historyMax) }

// failureText returns the violations and the last lines of the history.
func (c *Checker) failureText(lines int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out strings.Builder
	out.WriteString(strings.Join(c.faults, "\n") + "\n... history:")
	for _, l := range c.history[max(0, len(c.history)-lines):] {
		out.WriteString("\n" + l.String())
	}
	return out.String()
}

// Head returns the highest index that any replica has applied.
func (c *Checker) Head() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// ProcessStarted is called for a new process of a replica, with the end of its log and its stored
// term. It checks S3 across restarts.
func (c *Checker) ProcessStarted(id, server string, last, term uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write("%s starts as %s, its log ends at %d, its term is %d", id, server, last, term)
	if reached := c.reached[server]; last < reached.index || term < reached.term {
		c.violate("S3: %s comes back with index %d of term %d, it had applied %d and known term %d", server, last, term,
			reached.index, reached.term)
	}
	c.applies[id], c.servers[id] = 0, server
	c.lives[id]++
	l := c.replicaLine(id, history.Start)
	l.Disk = server
	c.record(l)
}

// reach records how far a replica's current identity has come.
func (c *Checker) reach(server string, index, term uint64) {
	r := c.reached[server]
	c.reached[server] = logPosition{max(r.index, index), max(r.term, term)}
}

// logPosition is an index and a term.
type logPosition struct{ index, term uint64 }

// Leads is called for each leadership. It checks S2.
func (c *Checker) Leads(term uint64, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if who, ok := c.leaders[term]; ok && who != id {
		c.violate("S2: two leaders of term %d: %s and %s", term, who, id)
		return
	}
	if _, ok := c.leaders[term]; !ok {
		c.counts.Terms++
	}
	c.leaders[term] = id
	c.reach(c.servers[id], 0, term)
	c.write("%s leads term %d", id, term)
	l := c.replicaLine(id, history.Lead)
	l.Term = term
	c.record(l)
}

// Terms returns the number of leaderships.
func (c *Checker) Terms() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts.Terms
}

// Moved counts the containers that have started and were not preempted, and the applications that
// have ended. A container that starts and is preempted, again and again, brings nothing further.
func (c *Checker) Moved() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts.Allocated + c.counts.Fulfilled + c.counts.Over - c.counts.Preempted
}

// Preempted counts the containers that were preempted.
func (c *Checker) Preempted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts.Preempted
}

// Running counts the applications that have not ended.
func (c *Checker) Running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts.Submitted - c.counts.Over
}

// compareEvery is the number of entries between two comparisons of the ledger with a state.
const compareEvery = 16

// Applied is called after a replica has applied a command. It checks S1 and S3, and adds the
// command to the ledger.
func (c *Checker) Applied(id string, m *fsm.Machine, l *raft.Log, err error) {
	got, _ := m.Entry(l.Index)
	var st *state.State
	c.mu.Lock()
	if l.Index > c.last && l.Index%compareEvery == 0 {
		c.mu.Unlock()
		st, _ = m.Fork()
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	c.counts.Digests++
	e := entry{term: l.Term, digest: got.Digest, crc: crc32.ChecksumIEEE(l.Data), skipped: errors.Is(err, fsm.ErrStale)}
	if err != nil && !e.skipped {
		c.violate("S1: %s cannot apply index %d: %v", id, l.Index, err)
		return
	}
	if l.Index <= c.applies[id] {
		c.violate("S3: %s applies index %d after %d", id, l.Index, c.applies[id])
	}
	c.applies[id] = l.Index
	c.reach(c.servers[id], l.Index, l.Term)
	seen := c.replicaLine(id, history.Apply)
	seen.Term, seen.Index, seen.Digest = l.Term, l.Index, got.Digest
	c.record(seen)
	if have, ok := c.entries[l.Index]; ok {
		if have != e {
			c.violate("S1: %s sees %+v at index %d, another replica saw %+v", id, e, l.Index, have)
		}
		return
	}
	if l.Index < c.last {
		c.violate("S1: %s applies index %d, which the others never had as a command (they are at %d)", id, l.Index, c.last)
		return
	}
	if l.Term < c.term {
		c.violate("S3: index %d is of term %d, after one of term %d", l.Index, l.Term, c.term)
	}
	c.entries[l.Index], c.last, c.term = e, l.Index, l.Term
	c.counts.Entries++
	c.record(&history.Entry{Kind: history.Command, Index: l.Index, Term: l.Term, Data: l.Data,
		Skipped: e.skipped, NS: c.ns()})
	c.follow(l, e.skipped)
	if st != nil {
		c.compareLocked(id, st, l.Index)
	}
}

// follow adds a new entry to the ledger.
func (c *Checker) follow(l *raft.Log, skipped bool) {
	b, err := event.Decode(l.Data)
	if err != nil {
		c.violate("S1: entry %d: %v", l.Index, err)
		return
	}
	c.keep(line{index: l.Index, term: l.Term, skipped: skipped, events: b.Events})
	before := c.ledger.Counts
	if err := c.ledger.Batch(l.Index, l.Term, b); err != nil {
		c.violate("S1: the log cannot be followed: %v", err)
	}
	for _, v := range c.ledger.Violations()[c.judged:] {
		c.violate("%s: index %d (term %d): %s", v.ID, v.Index, v.Term, v.Text)
	}
	c.judged = len(c.ledger.Violations())
	after := c.ledger.Counts
	if fenced := after.Skipped > before.Skipped; fenced != skipped {
		c.violate("S1: the replicas skip index %d: %v; by its number they must: %v", l.Index, skipped, fenced)
	}
	if after.Resubmitted > before.Resubmitted {
		c.violate("S5: index %d submits a name again", l.Index) // no run is long enough for replicas to forget a key
	}
	c.counts.Lost += int(after.Lost - before.Lost)
	c.counts.Warned += int(after.Warned - before.Warned)
	c.counts.Withdrawn += int(after.Withdrawn - before.Withdrawn)
	c.counts.Preempted += int(after.Preempted - before.Preempted)
	c.counts.Debts = c.ledger.Owed().Counts
	if skipped {
		c.counts.Skipped++
		return
	}
	c.keys.Follow(b.Events)
	for _, e := range b.Events {
		c.count(e)
	}
}

// count counts events for the report.
func (c *Checker) count(e event.Event) {
	n := &c.counts
	switch e := e.(type) {
	case *event.LevelRaised:
		c.level = e.Level
	case *event.ApplicationSubmitted:
		n.Submitted++
	case *event.ApplicationEnded:
		n.Over++
	case *event.NodeStateChanged:
		if e.State == yarn.NodeLost {
			n.Expired++
		}
	case *event.QueueCreated:
		n.Created++
	case *event.QueuesRemoved:
		n.Removed += len(e.Paths)
	case *event.QueuesActivated:
		n.Activated += len(e.Active)
		n.Deactivated += len(e.Inactive)
	case *event.ContainerAllocated:
		n.Allocated++
	case *event.ContainerLent:
		n.Allocated++
		n.Lent++
	case *event.PreemptionAsked:
		switch e.Cause {
		case yarn.PreemptQueuePriority:
			n.Ranked++
		case yarn.PreemptBalance:
			n.Balanced++
		}
	case *event.GangReserved:
		n.GangNodes++
	case *event.GangStarted:
		n.Gangs++
	case *event.ReservationMade:
		n.Made++
	case *event.ReservationFulfilled:
		n.Fulfilled++
	case *event.ReservationCancelled:
		n.Cancelled++
		if e.Cause == yarn.CancelExchanged {
			n.Exchanged++
		}
	}
}

// formatEvents formats the events that are facts, briefly.
func formatEvents(events []event.Event) string {
	var out []string
	for _, e := range events {
		if e.Kind().Class() == event.Fact {
			out = append(out, fmt.Sprintf("%s%+v", e.Kind(), e))
		}
	}
	text := strings.Join(out, " ")
	return text[:min(len(text), 600)]
}

// Snapshotted records the hash of a state of which a replica takes a snapshot.
func (c *Checker) Snapshotted(id string, m *fsm.Machine) {
	st, index := m.Fork()
	sum := Contents(st)
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.sums[index]; ok && have != sum {
		c.violate("S1: %s has other contents at index %d than the state that another snapshot was made of", id, index)
	}
	c.sums[index] = sum
	if index == c.last {
		c.compareLocked(id, st, index)
	}
}

// Restored is called after a replica has restored a snapshot. It checks S15.
func (c *Checker) Restored(id string, m *fsm.Machine, err error) {
	if err != nil {
		c.Fail("S15: %s cannot restore a snapshot: %v", id, err)
		return
	}
	st, index := m.Fork()
	sum, fault := Contents(st), st.Check()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Restores++
	l := c.replicaLine(id, history.Restore)
	l.Index, l.Digest = index, st.Digest()
	c.record(l)
	c.write("%s restores a snapshot of index %d", id, index)
	if fault != nil {
		c.violate("S15: %s after restore at %d: %v", id, index, fault)
	}
	if have, ok := c.sums[index]; !ok {
		c.violate("S15: %s restores a snapshot at index %d that nobody made", id, index)
	} else if have != sum {
		c.violate("S15: %s restores other contents at index %d than the snapshot was made of", id, index)
	}
	if index < c.applies[id] {
		c.violate("S3: %s goes back from index %d to %d by a snapshot", id, c.applies[id], index)
	}
	c.applies[id] = index
	if index == c.last {
		c.compareLocked(id, st, index)
	}
}

// Compare compares a state with the ledger if both are at the same index.
func (c *Checker) Compare(id string, st *state.State, index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if index != c.last {
		c.violate("S1: %s is at index %d, the ledger at %d", id, index, c.last)
		return
	}
	c.compareLocked(id, st, index)
}

func (c *Checker) compareLocked(id string, st *state.State, index uint64) {
	for _, d := range statediff.Of(st, c.ledger) {
		c.violate("%s: %s at index %d: %s", d.ID, id, index, d.Text)
	}
	c.keys.Differ(st, func(text string) { c.violate("S21: %s at index %d: %s", id, index, text) })
}
