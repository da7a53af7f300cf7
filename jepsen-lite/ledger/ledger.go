package ledger

import (
	"errors"
	"fmt"

	"rmd/fsm/event"
	"rmd/jepsen-lite/ledger/nodelabel"
	"rmd/jepsen-lite/ledger/owed"
	"rmd/jepsen-lite/ledger/settings"
	"rmd/yarn"
)

// Audit is the id of a violation that no numbered invariant covers: an illegal decision.
const Audit = "audit"

// Errors of a log that the ledger cannot follow.
var (
	ErrNoBeginning = errors.New("the log does not begin with the cluster's first entry")
	ErrOrder       = errors.New("the log's indexes do not ascend")
)

// Step is one event that led to a violation.
type Step struct {
	Index, Term uint64
	Text        string
}

// Violation is an invariant that does not hold after an entry.
type Violation struct {
	ID          string // such as S5, or Audit
	Index, Term uint64
	Text        string
	Chain       []Step // the events that led to it
}

func (v Violation) String() string {
	return fmt.Sprintf("%s at index %d (term %d): %s", v.ID, v.Index, v.Term, v.Text)
}

// violationsMax is the maximum number of violations and of notes that are kept.
const violationsMax = 32

// Ledger is the state of a whole cluster according to its log, up to an index.
type Ledger struct {
	*nouns
	sequence uint64 // of the last fenced batch that was not skipped
	begun    bool
}

// nouns are the parts of a ledger. Each owns what the log says about one noun, and knows the others: the
// end of a container frees its node, its queue and what it was warned for.
type nouns struct {
	*journal
	calls        *calls
	nodes        *nodes
	queues       *queues
	apps         *apps
	containers   *containers
	reservations *reservations
	gangs        *gangs
	leases       *leases
	warnings     *warnings
	debts        *debts
}

// journal is the position in the log, and what was found up to there.
type journal struct {
	index, term uint64
	terms       []termStart
	now         int64
	dominant    bool
	kinds       yarn.Kinds

	violations []Violation
	notes      []Violation
	Counts     Counts
}

// Counts say how much was checked.
type Counts struct {
	Entries, Skipped, Events     uint64
	Containers                   uint64 // assigned ids
	Reservations                 uint64
	Decisions                    uint64 // audited
	Terminal                     uint64 // ends of applications and containers
	Balances                     uint64 // comparisons of a queue's usage with its limits
	Forgotten                    uint64 // remembered calls that were dropped
	Resubmitted                  uint64 // names submitted again after such a call was dropped
	Lost                         uint64 // containers that ended by themselves and failed
	Warned, Withdrawn, Preempted uint64 // containers
	Lent                         uint64 // containers in the room of reserved nodes
	Silent                       uint64 // marks of nodes that missed heartbeats
}

type termStart struct{ index, term uint64 }

type keyMade struct {
	id    int32
	index uint64
}

// New returns an empty ledger.
func New() *Ledger {
	n := &nouns{journal: &journal{kinds: yarn.DefaultKinds()}}
	n.calls = &calls{nouns: n, set: map[string]uint64{}}
	n.nodes = &nodes{nouns: n, list: make([]node, 1), clusters: map[string]*size{}, labels: nodelabel.New()}
	n.queues = &queues{nouns: n, places: map[string]int32{}, rules: settings.Properties(nil).Rules(),
		preemption: settings.Properties(nil).Preemption()}
	n.apps, n.containers, n.reservations = &apps{nouns: n}, &containers{nouns: n}, &reservations{nouns: n}
	n.gangs, n.leases, n.warnings = &gangs{nouns: n}, &leases{nouns: n}, &warnings{nouns: n}
	n.debts = &debts{nouns: n}
	return &Ledger{nouns: n}
}

// UniqueNames makes the ledger check that every application has a unique name, as in both
// simulations: S5 without idempotency keys. Call it before the first entry.
func (l *Ledger) UniqueNames() *Ledger {
	l.apps.names = map[string]uint32{}
	return l
}

// Violations returns the violations in order, at most 32.
func (l *journal) Violations() []Violation { return l.violations }

// Notes returns decisions that are legal but unusual.
func (l *journal) Notes() []Violation { return l.notes }

// Owed returns the debts so far, with their counts.
func (l *Ledger) Owed() *owed.Debts { return &l.debts.Debts }

// Index returns the index of the last entry.
func (l *journal) Index() uint64 { return l.index }

// Entry follows a committed entry. An error means that the ledger cannot follow the log. Violations
// returns the faults of its contents.
func (l *Ledger) Entry(index, term uint64, data []byte) error {
	if index <= l.index {
		return fmt.Errorf("%w: %d after %d", ErrOrder, index, l.index)
	}
	b, err := event.Decode(data)
	if err != nil {
		return fmt.Errorf("entry %d: %w", index, err)
	}
	return l.Batch(index, term, b)
}

// Batch follows a decoded entry.
func (l *Ledger) Batch(index, term uint64, b *event.Batch) error {
	if !l.begun {
		if !isFirstBatch(b) {
			return fmt.Errorf("%w: index %d", ErrNoBeginning, index)
		}
		l.begun = true
	}
	l.index = index
	l.enterTerm(index, term)
	l.Counts.Entries++
	if !l.fence(term, b.Sequence) {
		l.Counts.Skipped++
		l.containers.given = l.containers.given[:0]
		return nil
	}
	l.queues.configured, l.queues.grown, l.queues.fulfilled = false, l.queues.grown[:0], l.queues.fulfilled[:0]
	l.apps.moved, l.nodes.lent, l.containers.given = false, l.nodes.lent[:0], l.containers.given[:0]
	l.reservations.doubtful, l.reservations.awaited, l.reservations.full = l.reservations.doubtful[:0],
		l.reservations.awaited[:0], l.reservations.full[:0]
	l.warnings.withdrawn, l.warnings.preemptedNow, l.warnings.takenFrom = l.warnings.withdrawn[:0],
		l.warnings.preemptedNow[:0], l.warnings.takenFrom[:0]
	l.nodes.cluster.peak = l.nodes.cluster.now
	for _, s := range l.nodes.clusters {
		s.peak = s.now
	}
	for _, e := range b.Events {
		l.Counts.Events++
		l.warnings.endOfChoice(e)
		l.follow(e)
	}
	l.warnings.endOfChoice(nil)
	l.warnings.balanceWarnings()
	l.queues.balance()
	l.reservations.needless()
	l.gangs.allOrNothing()
	l.debts.Look(l.debts)
	return nil
}

// isFirstBatch reports whether a batch is a cluster's first one.
func isFirstBatch(b *event.Batch) bool {
	for _, e := range b.Events {
		if _, ok := e.(*event.ClusterInitialized); ok {
			return true
		}
	}
	return false
}

// fence reports whether a batch counts. Its sequence number has the term in which it was planned,
// and its position among the batches of that term. A batch that is not the next one of its entry's
// term was planned on another log, and every replica skips it.
func (l *Ledger) fence(term, sequence uint64) bool {
	if sequence == 0 {
		return true
	}
	want := uint64(uint32(term))<<32 + 1
	if uint32(l.sequence>>32) == uint32(term) {
		want = l.sequence + 1
	}
	if sequence != want {
		return false
	}
	l.sequence = sequence
	return true
}

func (l *journal) enterTerm(index, term uint64) {
	if l.term == term {
		return
	}
	if term < l.term {
		l.violate("S3", nil, "index %d is of term %d, after one of term %d", index, term, l.term)
	}
	l.term = term
	l.terms = append(l.terms, termStart{index, term})
}

// termOf returns the term of an index.
func (l *journal) termOf(index uint64) uint64 {
	var term uint64
	for _, t := range l.terms {
		if t.index > index {
			break
		}
		term = t.term
	}
	return term
}

// violate records a violation at the current index.
func (l *journal) violate(id string, chain []Step, format string, args ...any) {
	if len(l.violations) < violationsMax {
		l.violations = append(l.violations, l.finding(id, chain, format, args...))
	}
}

// note records a legal decision that a reader may want to see.
func (l *journal) note(format string, args ...any) {
	if len(l.notes) < violationsMax {
		l.notes = append(l.notes, l.finding(Audit, nil, format, args...))
	}
}

func (l *journal) finding(id string, chain []Step, format string, args ...any) Violation {
	text := fmt.Sprintf(format, args...)
	chain = append(chain, l.step(l.index, "%s", text))
	return Violation{ID: id, Index: l.index, Term: l.term, Text: text, Chain: chain}
}

func (l *journal) step(index uint64, format string, args ...any) Step {
	return Step{Index: index, Term: l.termOf(index), Text: fmt.Sprintf(format, args...)}
}

// fits reports whether a size fits into room, by the resource kinds that count.
func (l *journal) fits(size, room yarn.Resource) bool {
	if !l.dominant {
		return size[yarn.Memory] <= room[yarn.Memory]
	}
	for i := range size {
		if size[i] > room[i] {
			return false
		}
	}
	return true
}
