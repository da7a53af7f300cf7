package logsim

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"reflect"
	"strings"

	"rmd/analysis/forecast"
	"rmd/analysis/shadow"
	"rmd/fsm/event"
	"rmd/internal/boolint"
	"rmd/jepsen-lite/ledger"
	"rmd/jepsen-lite/ledger/statediff"
	"rmd/jepsen-lite/tokenlog"
	"rmd/snapshot"
	"rmd/yarn"
)

// checker compares a run with the ledger of its log, and the replicas with each other at each
// index.
type checker struct {
	beside  *shadow.Shadow
	w       *world
	faults  []string
	history []line

	seen    []record // by index, from 1
	snaps   map[uint64]uint32
	skips   map[uint64]bool
	ledger  *ledger.Ledger
	tokens  *tokenlog.Judge
	granted map[yarn.ContainerID]grantAnswer
	told    map[toldWarning]warningAnswer
	ids     map[yarn.ApplicationID]bool // application ids handed out before a submission
	// container ids handed out after a backup that was then restored; no log may contain them again
	lostIDs map[yarn.ContainerID]bool
}

// record is what all replicas must have at an index.
type record struct {
	entry
	digest  uint64
	skipped bool
}

// grantAnswer identifies the response in which an AM received a grant.
type grantAnswer struct {
	resyncs  int
	response int32
}

// line is a line of the history. It is formatted only when tail needs it.
type line struct {
	now   int64
	text  string
	index uint64
	data  []byte
}

const (
	historyMax = 600
	historyOut = 60
	checkEvery = 16 // entries between two comparisons of the state with the ledger and with its own sums

	forecastEvery = 256 // entries between two forecasts
)

func newChecker(w *world) *checker {
	return &checker{w: w, snaps: map[uint64]uint32{}, skips: map[uint64]bool{}, ledger: ledger.New().UniqueNames(),
		tokens:  new(tokenlog.Judge),
		granted: map[yarn.ContainerID]grantAnswer{}, told: map[toldWarning]warningAnswer{},
		ids: map[yarn.ApplicationID]bool{}, lostIDs: map[yarn.ContainerID]bool{}}
}

func (c *checker) broken() bool { return len(c.faults) > 0 }

// fail records a violation of an invariant.
func (c *checker) fail(invariant, format string, args ...any) {
	c.faults = append(c.faults, invariant+": "+fmt.Sprintf(format, args...))
}

// note adds a line to the history.
func (c *checker) note(format string, args ...any) {
	c.add(line{now: c.w.now, text: fmt.Sprintf(format, args...)})
}

func (c *checker) add(l line) {
	c.history = append(c.history, l)
	if len(c.history) > 2*historyMax {
		c.history = append([]line(nil), c.history[historyMax:]...)
	}
}

// tail returns the end of the history as text.
func (c *checker) tail() []string {
	var out []string
	for _, l := range c.history[max(0, len(c.history)-historyOut):] {
		text := l.text
		if l.data != nil {
			text = fmt.Sprintf("index %d ", l.index)
			if b, err := event.Decode(l.data); err == nil {
				text += formatEvents(b.Events)
			}
		}
		out = append(out, fmt.Sprintf("%8.3fs %s", float64(l.now)/1000, text))
	}
	return out
}

// formatEvents formats the events that are facts, except long ones, briefly.
func formatEvents(events []event.Event) string {
	var out []string
	for _, e := range events {
		if e.Kind().Class() == event.Fact && e.Kind() != event.KindQueuesConfigured {
			out = append(out, fmt.Sprintf("%s%+v", e.Kind(), e))
		}
	}
	text := strings.Join(out, " ")
	return text[:min(len(text), 800)]
}

// started notes that a replica has started.
func (c *checker) started(id int) { c.note("replica %d starts", id) }

// expectSkip records that the fence must skip the entry at an index.
func (c *checker) expectSkip(index uint64) { c.skips[index] = true }

// applied records that a replica has applied an entry, and checks S1 and S3.
func (c *checker) applied(r *replica, index uint64, e entry, skipped bool, err error) {
	if err != nil && !skipped {
		c.fail("S1", "replica %d cannot apply index %d: %v", r.id, index, err)
		return
	}
	got, ok := r.m.Entry(index)
	if !ok {
		c.fail("S3", "replica %d does not know index %d, which it has just applied", r.id, index)
		return
	}
	rec := record{entry: e, digest: got.Digest, skipped: skipped}
	if n := uint64(len(c.seen)); index <= n {
		have := c.seen[index-1]
		if have.term != e.term || have.digest != rec.digest || have.skipped != skipped || !bytes.Equal(have.data, e.data) {
			c.fail("S1", "replica %d sees digest %016x, skipped %v at index %d; another replica saw %016x, %v", r.id, rec.digest,
				skipped, index, have.digest, have.skipped)
		}
		return
	} else if index != n+1 {
		c.fail("S3", "index %d is applied first anywhere after %d", index, n)
		return
	}
	c.seen = append(c.seen, rec)
	c.w.trace.number(rec.digest)
	c.w.trace.bytes(e.data)
	c.w.counts.Entries++
	if skipped != c.skips[index] {
		c.fail("S1", "the entry at %d was skipped: %v; it was planned on the entries before it: %v", index, skipped,
			!c.skips[index])
	}
	c.enter(index, rec)
	if index%checkEvery == 0 {
		c.compare(r)
	}
	if index%forecastEvery == 0 {
		c.forecast(r)
	}
	c.shadow(r, index, rec)
}

// forecast computes a forecast from a replica's state. The computation must end, give the same
// answer twice, and not change the state.
func (c *checker) forecast(r *replica) {
	st, index := r.m.Fork()
	if st.Versions.Current() == nil {
		return
	}
	digest, asks, o := st.Digest(), forecast.Waiting(st), forecast.RefreshOptions()
	o.Runs, o.MaxEnds = 2, 200
	first, err := forecast.Run(st, c.w.now, asks, o)
	if err != nil {
		c.fail("S7", "nothing can be forecast from the state at %d: %v", index, err)
		return
	}
	again, err := forecast.Run(st, c.w.now, asks, o)
	if err != nil || !reflect.DeepEqual(first, again) || st.Digest() != digest {
		c.fail("S7", "a forecast from the state at %d is another one when it is repeated, or changes the state: %v", index,
			err)
	}
	c.w.counts.Forecast += len(first)
}

// enter adds a new entry to the ledger and reports the violations that the ledger finds.
func (c *checker) enter(index uint64, rec record) {
	b, err := event.Decode(rec.data)
	if err != nil {
		c.fail("S1", "entry %d: %v", index, err)
		return
	}
	c.add(line{now: c.w.now, index: index, data: rec.data})
	if err := c.ledger.Batch(index, rec.term, b); err != nil {
		c.fail("S1", "the ledger cannot follow: %v", err)
	}
	for _, v := range c.ledger.Violations() {
		c.fail(v.ID, "%v", v)
	}
	for _, id := range c.ledger.Given() {
		if c.lostIDs[id] {
			c.fail("S6", "%s was handed out before the backup was restored, and is again", id)
		}
	}
	if rec.skipped {
		c.w.counts.Skipped++
		return
	}
	for _, wrong := range c.tokens.Batch(b.Events) {
		c.fail("tokens", "at %d: %s", index, wrong)
	}
	for _, e := range b.Events {
		c.count(e)
	}
}

// count counts an event in Counts.
func (c *checker) count(e event.Event) {
	n := &c.w.counts
	c.w.events[uint8(e.Kind())]++
	switch e := e.(type) {
	case *event.ApplicationSubmitted:
		n.Submitted++
		declared, err := yarn.DeclaredLifetime(e.Tags)
		n.Declared += boolint.Of[int](err == nil && declared > 0)
	case *event.ContainerAllocated:
		n.Allocated++
	case *event.ContainerLent:
		n.Allocated++
		n.Borrowed += boolint.Of[int](e.DeadlineMillis > 0)
	case *event.ReservationMade:
		n.Made++
	case *event.ReservationFulfilled:
		n.Fulfilled++
	case *event.ReservationCancelled:
		n.Cancelled++
	case *event.ContainerCompleted:
		n.Completed++
	case *event.ContainerReleased:
		n.Released++
		n.Preempted += boolint.Of[int](e.ExitStatus == yarn.ExitPreempted)
	case *event.PreemptionAsked:
		n.Warned++
		n.Inside += boolint.Of[int](e.Cause.InsideQueue() && e.Reservation != 0)
	case *event.PreemptionWithdrawn:
		n.Withdrawn++
	case *event.NodeStateChanged:
		if e.State == yarn.NodeLost {
			n.NodesLost++
		}
	case *event.ApplicationEnded:
		n.Finished += boolint.Of[int](e.State == yarn.AppFinished)
		n.Failed += boolint.Of[int](e.State == yarn.AppFailed)
		n.Killed += boolint.Of[int](e.State == yarn.AppKilled)
	}
}

// compare checks a replica's state against its own invariants and against the ledger.
func (c *checker) compare(r *replica) {
	st, index := r.m.Fork()
	if err := st.Check(); err != nil {
		c.fail("S9", "state at %d: %v", index, err)
	}
	if index != uint64(len(c.seen)) {
		return
	}
	for _, d := range statediff.Of(st, c.ledger) {
		c.fail(d.ID, "replica %d at index %d: %s", r.id, index, d.Text)
	}
}

// snapshotted checks a finished snapshot: S15. Its bytes equal those of every other replica at that
// index, and restoring it gives the same state again.
func (c *checker) snapshotted(r *replica, p *pendingSnapshot, data []byte) {
	c.w.counts.Snapshots++
	crc := crc32.Checksum(data, castagnoli)
	if have, ok := c.snaps[p.index]; ok && have != crc {
		c.fail("S15", "replica %d writes another snapshot of index %d than another replica did", r.id, p.index)
	}
	c.snaps[p.index] = crc
	if !p.known {
		return
	}
	h, st, err := snapshot.Read(bytes.NewReader(data))
	switch {
	case err != nil:
		c.fail("S15", "the snapshot of index %d cannot be read: %v", p.index, err)
	case h.Index != p.index || st.Digest() != c.seen[p.index-1].digest:
		c.fail("S15", "the snapshot of index %d is of index %d with digest %016x", p.index, h.Index, st.Digest())
	case snapshot.Sum(st) != p.sum:
		c.fail("S15", "the snapshot of index %d, restored, is not the state that it was made of", p.index)
	}
}

// restored checks a state that was restored from a snapshot.
func (c *checker) restored(r *replica) {
	st, index := r.m.Fork()
	c.note("replica %d is restored at %d", r.id, index)
	if index == 0 || index > uint64(len(c.seen)) {
		c.fail("S15", "replica %d is restored at index %d, beyond %d", r.id, index, len(c.seen))
		return
	}
	if st.Digest() != c.seen[index-1].digest {
		c.fail("S15", "replica %d is restored at index %d with digest %016x, it was %016x", r.id, index, st.Digest(),
			c.seen[index-1].digest)
	}
	if index == uint64(len(c.seen)) {
		c.compare(r)
	}
}

// backedUp records the index of a backup in the history.
func (c *checker) backedUp(index uint64) { c.note("a backup is taken at %d", index) }
