package sim

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

// checker checks every replica and every answer. The simulation calls it; the checker never calls a
// replica.
type checker struct {
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
	counts  counts
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

// counts show whether the simulation still covers what it should.
type counts struct {
	entries, skipped, terms, restores, acked, unknown int
	made, fulfilled, cancelled, exchanged             int
	gangs, gangNodes                                  int
	allocated, lost, expired                          int
	members, votes, reads, refused, digests           int
	submitted, over                                   int // applications
	again                                             int // AMs that had to register again
	warned, withdrawn, preempted, told                int // containers
	ranked, balanced                                  int // of the warned: by priority, and for balance
	lent                                              int // of the allocated
	created, removed, activated, deactivated          int // queues
}

func (c *counts) add(o counts) {
	c.entries += o.entries
	c.skipped += o.skipped
	c.terms += o.terms
	c.restores += o.restores
	c.acked += o.acked
	c.unknown += o.unknown
	c.made += o.made
	c.gangs += o.gangs
	c.gangNodes += o.gangNodes
	c.fulfilled += o.fulfilled
	c.cancelled += o.cancelled
	c.exchanged += o.exchanged
	c.allocated += o.allocated
	c.lost += o.lost
	c.expired += o.expired
	c.members += o.members
	c.votes += o.votes
	c.reads += o.reads
	c.refused += o.refused
	c.submitted += o.submitted
	c.over += o.over
	c.again += o.again
	c.warned += o.warned
	c.withdrawn += o.withdrawn
	c.ranked += o.ranked
	c.lent += o.lent
	c.balanced += o.balanced
	c.preempted += o.preempted
	c.told += o.told
	c.created += o.created
	c.removed += o.removed
	c.activated += o.activated
	c.deactivated += o.deactivated
	c.digests += o.digests
}

func newChecker(kerberos bool) *checker {
	return &checker{begin: time.Now(), ledger: ledger.New().UniqueNames(), entries: map[uint64]entry{}, applies: map[string]uint64{}, reached: map[string]logPosition{},
		leaders: map[uint64]string{}, sums: map[uint64][32]byte{}, acks: newAcks(), keys: clientkeys.New(kerberos),
		servers: map[string]string{}, votes: map[uint64]map[string]string{}, confs: map[uint64]raft.Configuration{}, done: map[string]int{}, lives: map[string]int{}}
}

// Limits of the history and of the output of a failure.
const (
	historyMax = 4000
	historyOut = 80
	faultsMax  = 10
)

// note adds a text to the history.
func (c *checker) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write(format, args...)
}

func (c *checker) write(format string, args ...any) {
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

func (c *checker) keep(l line) {
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

// fail records a violation.
func (c *checker) fail(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violate(format, args...)
}

func (c *checker) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.write("VIOLATION %s", text)
	if len(c.faults) < faultsMax {
		c.faults = append(c.faults, text)
	}
}

// broken reports whether there is a violation.
func (c *checker) broken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.faults) > 0
}

// report returns the violations and the usual number of lines of the history.
func (c *checker) report() string { return c.failureText(historyOut) }

// fullReport returns the violations and all of the history that is left.
func (c *checker) fullReport() string { return c.failureText(2 * historyMax) }

// failureText returns the violations and the last lines of the history.
func (c *checker) failureText(lines int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out strings.Builder
	out.WriteString(strings.Join(c.faults, "\n") + "\n... history:")
	for _, l := range c.history[max(0, len(c.history)-lines):] {
		out.WriteString("\n" + l.String())
	}
	return out.String()
}

func (c *checker) head() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// processStarted is called for a new process of a replica, with the end of its log and its stored
// term. It checks S3 across restarts.
func (c *checker) processStarted(id, server string, last, term uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write("%s starts as %s, its log ends at %d, its term is %d", id, server, last, term)
	if reached := c.reached[server]; last < reached.index || term < reached.term {
		c.violate("S3: %s comes back with index %d of term %d, it had applied %d and known term %d", server, last, term, reached.index, reached.term)
	}
	c.applies[id], c.servers[id] = 0, server
	c.lives[id]++
	l := c.replicaLine(id, history.Start)
	l.Disk = server
	c.record(l)
}

// reach records how far a replica's current identity has come.
func (c *checker) reach(server string, index, term uint64) {
	r := c.reached[server]
	c.reached[server] = logPosition{max(r.index, index), max(r.term, term)}
}

// logPosition is an index and a term.
type logPosition struct{ index, term uint64 }

// leads is called for each leadership. It checks S2.
func (c *checker) leads(term uint64, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if who, ok := c.leaders[term]; ok && who != id {
		c.violate("S2: two leaders of term %d: %s and %s", term, who, id)
		return
	}
	if _, ok := c.leaders[term]; !ok {
		c.counts.terms++
	}
	c.leaders[term] = id
	c.reach(c.servers[id], 0, term)
	c.write("%s leads term %d", id, term)
	l := c.replicaLine(id, history.Lead)
	l.Term = term
	c.record(l)
}

// terms returns the number of leaderships.
func (c *checker) terms() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts.terms
}

// moved counts the containers that have started or ended.
func (c *checker) moved() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts.allocated + c.counts.fulfilled + c.counts.over
}

// running counts the applications that have not ended.
func (c *checker) running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts.submitted - c.counts.over
}

// compareEvery is the number of entries between two comparisons of the ledger with a state.
const compareEvery = 16

// applied is called after a replica has applied a command. It checks S1 and S3, and adds the
// command to the ledger.
func (c *checker) applied(id string, m *fsm.Machine, l *raft.Log, err error) {
	got, _ := m.Entry(l.Index)
	var st *state.State
	c.mu.Lock()
	if l.Index > c.last && l.Index%compareEvery == 0 {
		c.mu.Unlock()
		st, _ = m.Fork()
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	c.counts.digests++
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
	c.counts.entries++
	c.record(&history.Entry{Kind: history.Command, Index: l.Index, Term: l.Term, Data: l.Data, Skipped: e.skipped, NS: c.ns()})
	c.follow(l, e.skipped)
	if st != nil {
		c.compareLocked(id, st, l.Index)
	}
}

// follow adds a new entry to the ledger.
func (c *checker) follow(l *raft.Log, skipped bool) {
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
	c.counts.lost += int(after.Lost - before.Lost)
	c.counts.warned += int(after.Warned - before.Warned)
	c.counts.withdrawn += int(after.Withdrawn - before.Withdrawn)
	c.counts.preempted += int(after.Preempted - before.Preempted)
	if skipped {
		c.counts.skipped++
		return
	}
	c.keys.Follow(b.Events)
	for _, e := range b.Events {
		c.count(e)
	}
}

// count counts events for the report.
func (c *checker) count(e event.Event) {
	n := &c.counts
	switch e := e.(type) {
	case *event.LevelRaised:
		c.level = e.Level
	case *event.ApplicationSubmitted:
		n.submitted++
	case *event.ApplicationEnded:
		n.over++
	case *event.NodeStateChanged:
		if e.State == yarn.NodeLost {
			n.expired++
		}
	case *event.QueueCreated:
		n.created++
	case *event.QueuesRemoved:
		n.removed += len(e.Paths)
	case *event.QueuesActivated:
		n.activated += len(e.Active)
		n.deactivated += len(e.Inactive)
	case *event.ContainerAllocated:
		n.allocated++
	case *event.ContainerLent:
		n.allocated++
		n.lent++
	case *event.PreemptionAsked:
		switch e.Cause {
		case yarn.PreemptQueuePriority:
			n.ranked++
		case yarn.PreemptBalance:
			n.balanced++
		}
	case *event.GangReserved:
		n.gangNodes++
	case *event.GangStarted:
		n.gangs++
	case *event.ReservationMade:
		n.made++
	case *event.ReservationFulfilled:
		n.fulfilled++
	case *event.ReservationCancelled:
		n.cancelled++
		if e.Cause == yarn.CancelExchanged {
			n.exchanged++
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

// snapshotted records the hash of a state of which a replica takes a snapshot.
func (c *checker) snapshotted(id string, m *fsm.Machine) {
	st, index := m.Fork()
	sum := contents(st)
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

// restored is called after a replica has restored a snapshot. It checks S15.
func (c *checker) restored(id string, m *fsm.Machine, err error) {
	if err != nil {
		c.fail("S15: %s cannot restore a snapshot: %v", id, err)
		return
	}
	st, index := m.Fork()
	sum, fault := contents(st), st.Check()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.restores++
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

// compare compares a state with the ledger if both are at the same index.
func (c *checker) compare(id string, st *state.State, index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if index != c.last {
		c.violate("S1: %s is at index %d, the ledger at %d", id, index, c.last)
		return
	}
	c.compareLocked(id, st, index)
}

func (c *checker) compareLocked(id string, st *state.State, index uint64) {
	for _, d := range statediff.Of(st, c.ledger) {
		c.violate("%s: %s at index %d: %s", d.ID, id, index, d.Text)
	}
	c.keys.Differ(st, func(text string) { c.violate("S21: %s at index %d: %s", id, index, text) })
}
