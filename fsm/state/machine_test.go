package state

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec/codectest"
	"rmd/yarn"
)

// machine applies valid events, which it derives from the state. After every event it checks that:
//
//   - the state is consistent (Check);
//   - the changes of the event are the difference to the state before;
//   - a twin that applies the same encoded events has the same digest, also after it was written to
//     a snapshot and read back;
//   - a fork taken earlier has not changed.
type machine struct {
	s, twin   *State
	old       *State // a fork taken earlier; s may have been the fork
	oldBytes  []byte
	events    int
	nextToken byte
}

func TestMachine(t *testing.T) {
	longRuns(t, "150")
	clear(kindsApplied)
	for range 4 { // some kinds need a rare state: one round applies them ten times, or by chance never
		rapid.Check(t, func(t *rapid.T) {
			m := &machine{s: world(t), twin: world(t)}
			for _, s := range []*State{m.s, m.twin} { // as after a takeover from another ResourceManager
				s.Meta.Epoch, s.Meta.ImportEpoch = 1, 1
			}
			m.old = m.s.Fork()
			m.oldBytes = encode(m.old)
			actions := rapid.StateMachineActions(m)
			t.Repeat(actions)
			m.Snapshot(t)
		})
		if t.Failed() || len(kindsNeverApplied()) == 0 {
			return
		}
	}
	t.Errorf("never generated: %v", kindsNeverApplied())
}

func kindsNeverApplied() (never []event.Kind) {
	for _, k := range event.Kinds() {
		if kindsApplied[k] == 0 && k != event.KindClusterInitialized {
			never = append(never, k)
		}
	}
	return never
}

// kindsApplied counts the applied events by kind. It reveals a generator that no longer generates
// anything.
var kindsApplied = map[event.Kind]int{}

func (m *machine) Check(t *rapid.T) {
	if err := m.s.Check(); err != nil {
		t.Fatal(err)
	}
	if m.s.Digest() != m.twin.Digest() {
		t.Fatal("the twin that replayed the same events has another digest")
	}
	if !bytes.Equal(m.oldBytes, encode(m.old)) {
		t.Fatal("a fork taken earlier has changed")
	}
}

func (m *machine) apply(t *rapid.T, e event.Event) {
	t.Helper()
	m.giveUpGrowth(t, e)
	m.withdrawFor(t, e)
	before := see(m.s)
	if err := m.s.Apply(e); err != nil {
		t.Fatalf("live: %v", err)
	}
	if err := checkChanges(before, see(m.s), m.s.Changes()); err != nil {
		t.Fatalf("changes of %s: %v", event.Describe(e), err)
	}
	b, err := event.Decode((&event.Batch{Level: 1, Events: []event.Event{e}}).Encode())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.twin.Apply(b.Events[0]); err != nil {
		t.Fatalf("replayed: %v", err)
	}
	m.events++
	kindsApplied[e.Kind()]++
}

// Fork forks the state. The machine continues with a randomly chosen side.
func (m *machine) Fork(t *rapid.T) {
	m.old = m.s.Fork()
	if rapid.Bool().Draw(t, "go on with the fork") {
		m.s, m.old = m.old, m.s
	}
	m.oldBytes = encode(m.old)
}

// Snapshot writes the state to a snapshot and continues with the restored state as the twin.
func (m *machine) Snapshot(t *rapid.T) {
	data := encode(m.s)
	if !bytes.Equal(data, encode(m.twin)) {
		t.Fatal("the twin has other bytes")
	}
	r, err := decode(data)
	if err != nil {
		t.Fatalf("read back: %v", err)
	}
	if !bytes.Equal(data, encode(r)) || r.Digest() != m.s.Digest() {
		t.Fatal("what was read back has other bytes")
	}
	want, got := rows(m.s), rows(r)
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || got[i] != want[i] {
			t.Fatalf("what was read back has the record %q, want %q", got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
		}
	}
	m.twin = r
}

// Anything applies an event with random fields to a fork. Apply must either reject it and change
// nothing, or leave a consistent state.
func (m *machine) Anything(t *rapid.T) {
	e := event.New(rapid.SampledFrom(event.Kinds()).Draw(t, "kind"))
	codectest.Random(t, e)
	before, f := encode(m.s), m.s.Fork()
	if err := f.Apply(e); err != nil {
		var b *BrokenError
		if !errors.As(err, &b) || !bytes.Equal(before, encode(f)) {
			t.Fatalf("refused with a trace: %v", err)
		}
	}
	if err := f.Check(); err != nil {
		t.Fatalf("after %s %+v: %v", e.Kind(), e, err)
	}
	if !bytes.Equal(before, encode(m.s)) {
		t.Fatal("a fork wrote to its origin")
	}
}

// records is a table, whether or not its records have keys.
type records[S table.Slot, T any] interface {
	Get(slot S) *T
	Each(f func(slot S, r *T) bool)
}

// pick draws a record, with its slot, for which ok returns true.
func pick[S table.Slot, T any](t *rapid.T, what string, tab records[S, T], ok func(r *T) bool) (S, *T) {
	var slots []S
	tab.Each(func(slot S, r *T) bool {
		if ok(r) {
			slots = append(slots, slot)
		}
		return true
	})
	if len(slots) == 0 {
		t.Skip("no such " + what)
	}
	slot := rapid.SampledFrom(slots).Draw(t, what)
	return slot, tab.Get(slot)
}

var (
	machineUsers = []string{"ann", "bob", "cid"}
	machineHosts = []string{"h1", "h2", "h3", "h4", "h5"}
	machineNames = []string{"h1", "h2", "h3", "/r1", "/r2", "/r3", "elsewhere"}
	machineKeys  = []yarn.SchedulerKey{{Priority: 0}, k1, {Priority: 1, AllocationID: 5}, k2, {Priority: -1}}
	machineSizes = []yarn.Resource{gb(1), gb(2), gb(3), gb(6), yarn.NewResource(3000, 1), {}}
)

func drawOf[T any](t *rapid.T, label string, all []T) T { return rapid.SampledFrom(all).Draw(t, label) }

// within is the test's own implementation of QueueVersions.fits.
func (m *machine) within(size, free yarn.Resource) bool {
	c := yarn.Calculator{Dominant: m.s.Versions.Current().Dominant, Kinds: 2}
	return c.FitsIn(size, free)
}
