package check

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/jepsen-lite/history"
)

// Streams combines the event streams of the replicas: S1, S2, S3, S14 and S15. Add must be called
// in the order of time, by Judge or during a run. A Streams is for one goroutine.
type Streams struct {
	found     findings
	age       int // how often the cluster's log was replaced on purpose
	applied   map[position]statement
	leaders   map[position]statement
	replicas  map[string]*replica
	snaps     map[position]statement
	roster    roster
	highest   uint64 // highest index applied on any replica
	elections []election
}

// position is an index or a term in one age of the log.
type position struct {
	age int
	n   uint64
}

// statement is the first statement about an index or a term, and the replica that made it.
type statement struct {
	who    string
	life   int
	term   uint64
	digest uint64
	ns     int64
}

// replica is what a replica has reported so far.
type replica struct {
	age          int
	incarnation  int
	disk         string
	term         uint64 // highest
	termNS       int64
	applied      uint64 // in its present life
	everApplied  uint64 // in any life
	everNS       int64
	leads        uint64 // the term that it leads; 0: none
	running      bool
	configured   uint64 // index of the newest membership that it knows
	member       bool   // of that membership
	removed      bool   // it was a member and knows that it is one no more
	removedNS    int64
	removedIndex uint64
	origin       []Link // how its state began in its present life
}

// NewStreams returns an empty Streams.
func NewStreams() *Streams {
	return &Streams{found: newFindings(), applied: map[position]statement{}, leaders: map[position]statement{},
		snaps: map[position]statement{}, replicas: map[string]*replica{}, roster: newRoster()}
}

// Failing reports whether an invariant is violated already.
func (s *Streams) Failing() bool {
	for _, f := range s.found {
		if f.Violations > 0 {
			return true
		}
	}
	return false
}

// Verdict returns what is known now. Invariants without data are skipped.
func (s *Streams) Verdict() *Verdict {
	s.count()
	return s.found.verdict()
}

// Forget drops the digests of indexes below one that every replica has passed. Long runs need the
// memory.
func (s *Streams) Forget(below uint64) {
	for k := range s.applied { // the order does not matter
		if k.n < below {
			delete(s.applied, k)
		}
	}
}

func link(e *history.Replica, format string, args ...any) Link {
	return Link{NS: e.NS, Lane: e.ID, Index: e.Index, Text: fmt.Sprintf(format, args...)}
}

func (s statement) link(index uint64, format string, args ...any) Link {
	return Link{NS: s.ns, Lane: s.who, Index: index, Text: fmt.Sprintf(format, args...)}
}

// Add processes the next event.
func (s *Streams) Add(e *history.Replica) {
	r := s.replicas[e.ID]
	if r == nil {
		r = &replica{age: s.age}
		s.replicas[e.ID] = r
	}
	if e.Fresh {
		s.renew(r)
	}
	switch e.Kind {
	case history.Start:
		s.start(r, e)
	case history.Stop:
		r.running, r.leads = false, 0
	case history.Apply:
		s.apply(r, e)
	case history.Restore:
		s.restore(r, e)
	case history.Snapshot:
		s.snapshot(r, e)
	case history.Lead, history.Propose:
		s.lead(r, e)
	case history.Follow:
		s.current(r, e)
		r.leads = 0
	case history.Vote:
		s.current(r, e)
		s.vote(r, e)
	case history.Campaign:
		s.current(r, e)
	case history.Config:
		s.config(r, e)
	}
}

// renew begins a new age for a replica, because its log was replaced on purpose.
func (s *Streams) renew(r *replica) {
	age := r.age + 1
	*r = replica{age: age, incarnation: r.incarnation, disk: r.disk, running: r.running}
	if age > s.age {
		s.age = age
		s.roster = newRoster()
	}
}

// start begins a new life of a replica and checks S3 across the restart. The disk must have at
// least the term and index that this replica had before, unless it is another disk with another
// identity.
func (s *Streams) start(r *replica, e *history.Replica) {
	f := s.found["S3"]
	f.Checked++
	other := e.Disk != "" && r.disk != "" && e.Disk != r.disk
	switch {
	case r.incarnation == 0 || other:
		*r = replica{age: s.age, disk: e.Disk}
	case r.age < s.age: // it comes back to a cluster whose log was replaced
		*r = replica{age: s.age, incarnation: r.incarnation, disk: r.disk}
	}
	if e.Term != 0 && e.Term < r.term {
		f.fail(e.NS, []Link{{NS: r.termNS, Lane: e.ID, Text: fmt.Sprintf("%s is in term %d", e.ID, r.term)},
			link(e, "%s starts in term %d", e.ID, e.Term)},
			"%s starts in term %d, but was in term %d before", e.ID, e.Term, r.term)
	}
	if e.Index != 0 && e.Index < r.everApplied {
		f.fail(e.NS, []Link{{NS: r.everNS, Lane: e.ID, Index: r.everApplied,
			Text: fmt.Sprintf("%s applies index %d", e.ID, r.everApplied)},
			link(e, "%s starts with a log that ends at index %d", e.ID, e.Index)},
			"%s starts with a log that ends at index %d, but had applied index %d", e.ID, e.Index, r.everApplied)
	}
	r.incarnation, r.running, r.applied, r.leads = max(e.Incarnation, r.incarnation+1), true, 0, 0
	r.origin = []Link{link(e, "%s starts (life %d)", e.ID, r.incarnation)}
	if e.Disk != "" {
		r.disk = e.Disk
	}
	s.current(r, e)
}

// current checks that a replica's term does not go back: S3.
func (s *Streams) current(r *replica, e *history.Replica) {
	if e.Term == 0 {
		return
	}
	f := s.found["S3"]
	f.Checked++
	f.Unit = "events"
	if e.Term < r.term {
		f.fail(e.NS, []Link{{NS: r.termNS, Lane: e.ID, Text: fmt.Sprintf("%s is in term %d", e.ID, r.term)},
			link(e, "%s: %s in term %d", e.ID, e.Kind, e.Term)},
			"%s goes back from term %d to %d (%s)", e.ID, r.term, e.Term, e.Kind)
		return
	}
	if e.Term > r.term {
		r.term, r.termNS = e.Term, e.NS
	}
}

// apply compares digests at one index: S1. It checks that indexes ascend within a life: S3.
func (s *Streams) apply(r *replica, e *history.Replica) {
	f := s.found["S3"]
	f.Checked++
	if e.Index <= r.applied {
		f.fail(e.NS, []Link{link(e, "%s applies index %d after %d", e.ID, e.Index, r.applied)},
			"%s applies index %d after %d", e.ID, e.Index, r.applied)
	}
	s.reach(r, e)
	s.compareDigest(r, e, "applies")
}

func (s *Streams) reach(r *replica, e *history.Replica) {
	r.applied = e.Index
	if e.Index > r.everApplied {
		r.everApplied, r.everNS = e.Index, e.NS
	}
	s.highest = max(s.highest, e.Index)
}

// compareDigest compares a digest (and the term of an entry) with those of the first replica at
// that index: S1.
func (s *Streams) compareDigest(r *replica, e *history.Replica, verb string) {
	f := s.found["S1"]
	f.Checked++
	f.Unit = "digests"
	k := position{r.age, e.Index}
	have, ok := s.applied[k]
	if !ok {
		if e.Kind == history.Apply {
			s.applied[k] = statement{who: e.ID, life: r.incarnation, term: e.Term, digest: e.Digest, ns: e.NS}
		}
		return
	}
	term := e.Kind == history.Apply && have.term != e.Term
	if have.digest == e.Digest && !term {
		return
	}
	f.fail(e.NS, s.divergence(r, e, have, verb), "at index %d %s has digest %016x (term %d), %s has %016x (term %d)",
		e.Index, have.who, have.digest, have.term, e.ID, e.Digest, e.Term)
}

// divergence returns the chain that leads to two digests of one index: how both states began, who
// led, and the digests.
func (s *Streams) divergence(r *replica, e *history.Replica, have statement, verb string) []Link {
	chain := slices.Clone(r.origin)
	if o := s.replicas[have.who]; o != nil && o != r {
		chain = append(chain, o.origin...)
	}
	for _, term := range slices.Compact([]uint64{have.term, e.Term}) {
		if l, ok := s.leaders[position{r.age, term}]; ok {
			chain = append(chain, l.link(0, "%s leads term %d", l.who, term))
		}
	}
	if verb == "applies" {
		chain = append(chain, link(e, "%s applies index %d of term %d: digest %016x", e.ID, e.Index, e.Term, e.Digest))
	}
	chain = append(chain, have.link(e.Index, "%s applies index %d of term %d: digest %016x", have.who, e.Index,
		have.term, have.digest))
	slices.SortStableFunc(chain, func(a, b Link) int { return cmp.Compare(a.NS, b.NS) })
	return chain
}

// snapshot records the digest of a snapshot. restore compares the restored state with it: S15.
func (s *Streams) snapshot(r *replica, e *history.Replica) {
	if e.Digest == 0 {
		return
	}
	k := position{r.age, e.Index}
	if _, ok := s.snaps[k]; !ok {
		s.snaps[k] = statement{who: e.ID, digest: e.Digest, ns: e.NS}
	}
}

func (s *Streams) restore(r *replica, e *history.Replica) {
	if f := s.found["S3"]; e.Index < r.applied {
		f.fail(e.NS, []Link{link(e, "%s restores a snapshot of index %d after index %d", e.ID, e.Index, r.applied)},
			"%s goes back from index %d to %d by a snapshot", e.ID, r.applied, e.Index)
	}
	s.reach(r, e)
	r.origin = append(r.origin[:min(len(r.origin), 1)],
		link(e, "%s takes its state from the snapshot of index %d: digest %016x", e.ID, e.Index, e.Digest))
	if e.Digest == 0 {
		return
	}
	s.compareDigest(r, e, "restores")
	f := s.found["S15"]
	f.Checked++
	f.Unit = "restores"
	have, ok := s.snaps[position{r.age, e.Index}]
	if !ok {
		have, ok = s.applied[position{r.age, e.Index}]
	}
	if ok && have.digest != e.Digest {
		f.fail(e.NS, []Link{have.link(e.Index, "%s makes a snapshot at index %d of digest %016x", have.who,
			e.Index, have.digest),
			link(e, "%s restores it and has digest %016x", e.ID, e.Digest)},
			"the snapshot of index %d has digest %016x, restored on %s %016x", e.Index, have.digest, e.ID, e.Digest)
	}
}

// lead checks that a term has one leader: S2.
func (s *Streams) lead(r *replica, e *history.Replica) {
	s.current(r, e)
	f := s.found["S2"]
	f.Unit = "terms"
	k := position{r.age, e.Term}
	have, ok := s.leaders[k]
	if !ok {
		f.Checked++
		s.leaders[k] = statement{who: e.ID, life: r.incarnation, term: e.Term, ns: e.NS}
	} else if have.who != e.ID {
		f.fail(e.NS, []Link{have.link(0, "%s leads term %d", have.who, e.Term),
			link(e, "%s: %s in term %d", e.ID, e.Kind, e.Term)},
			"term %d has two leaders: %s and %s", e.Term, have.who, e.ID)
	}
	if e.Kind == history.Lead {
		r.leads = e.Term
		s.elections = append(s.elections, election{e.ID, e.Term, e.NS, r.age})
	}
}
