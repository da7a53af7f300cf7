package ledger

import (
	"errors"
	"fmt"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Audit is the identity of a violation that no numbered invariant names: a
// decision that was not legal.
const Audit = "audit"

// Errors of a log that cannot be followed.
var (
	ErrNoBeginning = errors.New("the log does not begin with the cluster's first entry")
	ErrOrder       = errors.New("the log's indexes do not ascend")
)

// Step is one event of a chain.
type Step struct {
	Index, Term uint64
	Text        string
}

// Violation is an invariant that does not hold after an entry.
type Violation struct {
	ID          string // S5 to S10, or Audit
	Index, Term uint64
	Text        string
	Chain       []Step // the events that led to it
}

func (v Violation) String() string {
	return fmt.Sprintf("%s at index %d (term %d): %s", v.ID, v.Index, v.Term, v.Text)
}

// violationsMax bounds how many violations and notes are kept.
const violationsMax = 32

// Model is the books of a whole cluster as of an index.
type Model struct {
	index, term uint64
	sequence    uint64 // of the last fenced batch followed
	begun       bool
	terms       []termStart

	timestamp int64 // in application ids
	epoch     uint32
	now       int64
	dominant  bool
	kinds     yarn.Kinds
	rules     rules

	apps  []app
	seqs  []seqAt // ascending by sequence
	nodes []node  // by number; 0 is none
	// queues keep their place when the configuration drops them.
	queues       []queue
	version      uint64
	reservations []reservation // ascending by number; only those held
	ends         []end         // of reservations, in the order in which they came
	lastReserved uint64
	keys         []keyMade
	requests     []string // remembered calls, oldest first
	requestSet   map[string]uint64

	cluster    yarn.Resource // total of usable nodes
	entryPeak  yarn.Resource // largest total within the entry
	configured bool          // the entry brought a configuration
	doubtful   []int32       // applications with reservations whose asks changed in it
	grown      []int32       // leaves that took something in the entry
	moved      bool          // an application changed its queue in it

	violations []Violation
	notes      []Violation
	Counts     Counts
}

// Counts say how much was looked at.
type Counts struct {
	Entries, Skipped, Events uint64
	Containers               uint64 // ids handed out
	Reservations             uint64
	Decisions                uint64 // audited
	Terminal                 uint64 // ends of applications and containers
	Balances                 uint64 // sums of a queue held against its limits
	Forgotten                uint64 // remembered calls that were dropped
}

type termStart struct{ index, term uint64 }

type keyMade struct {
	id    int32
	index uint64
}

// New returns empty books.
func New() *Model {
	return &Model{nodes: make([]node, 1), requestSet: map[string]uint64{}, kinds: yarn.DefaultKinds(), rules: readRules(nil)}
}

// Violations are those found, the first one first; at most 32 are kept.
func (m *Model) Violations() []Violation { return m.violations }

// Notes are decisions that are legal and odd.
func (m *Model) Notes() []Violation { return m.notes }

// Index is that of the last entry.
func (m *Model) Index() uint64 { return m.index }

// Entry follows a committed command. An error means that the log itself cannot
// be followed; what is wrong with its content is in Violations.
func (m *Model) Entry(index, term uint64, data []byte) error {
	if index <= m.index {
		return fmt.Errorf("%w: %d after %d", ErrOrder, index, m.index)
	}
	b, err := event.Decode(data)
	if err != nil {
		return fmt.Errorf("entry %d: %w", index, err)
	}
	return m.Batch(index, term, b)
}

// Batch follows a decoded command.
func (m *Model) Batch(index, term uint64, b *event.Batch) error {
	if !m.begun {
		if !begins(b) {
			return fmt.Errorf("%w: index %d", ErrNoBeginning, index)
		}
		m.begun = true
	}
	m.index = index
	m.enterTerm(index, term)
	m.Counts.Entries++
	if !m.fence(term, b.Sequence) {
		m.Counts.Skipped++
		return nil
	}
	m.entryPeak, m.configured, m.moved, m.grown, m.doubtful = m.cluster, false, false, m.grown[:0], m.doubtful[:0]
	for _, e := range b.Events {
		m.Counts.Events++
		m.follow(e)
	}
	m.balance()
	m.needless()
	return nil
}

// begins says whether a batch is a cluster's first.
func begins(b *event.Batch) bool {
	for _, e := range b.Events {
		if _, ok := e.(*event.ClusterInitialized); ok {
			return true
		}
	}
	return false
}

// fence says whether a batch counts. Its number is the term it was planned in
// and its place among the batches of that term; one that is not the next of the
// entry's own term was planned on another log, and every replica passes it over.
func (m *Model) fence(term, sequence uint64) bool {
	if sequence == 0 {
		return true
	}
	want := uint64(uint32(term))<<32 + 1
	if uint32(m.sequence>>32) == uint32(term) {
		want = m.sequence + 1
	}
	if sequence != want {
		return false
	}
	m.sequence = sequence
	return true
}

func (m *Model) enterTerm(index, term uint64) {
	if m.term == term {
		return
	}
	if term < m.term {
		m.bad("S3", nil, "index %d is of term %d, after one of term %d", index, term, m.term)
	}
	m.term = term
	m.terms = append(m.terms, termStart{index, term})
}

// termOf is the term of an index.
func (m *Model) termOf(index uint64) uint64 {
	var term uint64
	for _, t := range m.terms {
		if t.index > index {
			break
		}
		term = t.term
	}
	return term
}

// bad notes a violation at the present index.
func (m *Model) bad(id string, chain []Step, format string, args ...any) {
	if len(m.violations) < violationsMax {
		m.violations = append(m.violations, m.finding(id, chain, format, args...))
	}
}

// odd notes a legal decision that a reader may want to look at.
func (m *Model) odd(format string, args ...any) {
	if len(m.notes) < violationsMax {
		m.notes = append(m.notes, m.finding(Audit, nil, format, args...))
	}
}

func (m *Model) finding(id string, chain []Step, format string, args ...any) Violation {
	text := fmt.Sprintf(format, args...)
	chain = append(chain, m.step(m.index, "%s", text))
	return Violation{ID: id, Index: m.index, Term: m.term, Text: text, Chain: chain}
}

func (m *Model) step(index uint64, format string, args ...any) Step {
	return Step{Index: index, Term: m.termOf(index), Text: fmt.Sprintf(format, args...)}
}

// fits says whether a size fits into room by the kinds that decide.
func (m *Model) fits(size, room yarn.Resource) bool {
	if !m.dominant {
		return size[yarn.Memory] <= room[yarn.Memory]
	}
	for i := range size {
		if size[i] > room[i] {
			return false
		}
	}
	return true
}
