package scenario

import (
	"context"
	"strconv"
	"sync"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
	"rmd/transport/http/v1/api"
)

// observer asks every replica all the time how it stands, past the faults of
// links where there is a way past them, and notes it as the replica's stream.
type observer struct {
	cluster *harness.Cluster
	rec     *history.Recorder
	every   time.Duration
	wg      sync.WaitGroup

	mu      sync.Mutex
	applied map[string]sight // how each was seen last
}

// sight is how a replica was seen.
type sight struct {
	id      string
	applied uint64
	leads   bool
}

// sights are how replicas were seen last.
func (o *observer) sights() []sight {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []sight
	for _, r := range o.cluster.Replicas {
		if s, ok := o.applied[r.ID]; ok {
			out = append(out, s)
		}
	}
	return out
}

// look bounds one question.
const look = 2 * time.Second

func observe(ctx context.Context, c *harness.Cluster, rec *history.Recorder, every time.Duration) *observer {
	o := &observer{cluster: c, rec: rec, every: every, applied: map[string]sight{}}
	for _, r := range c.Replicas {
		o.wg.Go(func() { o.watch(ctx, r) })
	}
	return o
}

// seen is what a replica's watcher remembers.
type seen struct {
	run   int
	index uint64
	lead  uint64 // the term that it was last noted to lead
	maybe uint64 // the term that it said to lead, once
	exits int
	disk  string
}

func (o *observer) watch(ctx context.Context, r *harness.Replica) {
	var s seen
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		o.ends(r, &s)
		if r.Awake() {
			o.look(ctx, r, &s)
		}
	}
}

// ends notes how runs ended.
func (o *observer) ends(r *harness.Replica, s *seen) {
	all := r.Exits()
	for _, x := range all[s.exits:] {
		code := x.Code
		if x.Signal != "" {
			code = 0
		}
		o.rec.Note(&history.Replica{ID: r.ID, Kind: history.Stop, Incarnation: s.run, Code: code, Text: x.Signal})
	}
	s.exits = len(all)
}

// look asks once. An answer that a restart lies in is of no use.
func (o *observer) look(ctx context.Context, r *harness.Replica, s *seen) {
	run := r.Runs()
	ctx, cancel := context.WithTimeout(ctx, look)
	defer cancel()
	doc, err := o.cluster.Facts(ctx, r)
	if err != nil || r.Runs() != run || len(r.Exits()) >= run || doc.Index == 0 {
		return
	}
	disk := diskOf(doc, r.ID)
	if run != s.run || disk != s.disk && disk != "" {
		*s = seen{run: run, exits: s.exits, disk: disk}
		o.rec.Note(&history.Replica{ID: r.ID, Kind: history.Start, Incarnation: run, Disk: disk})
	}
	if doc.Index > s.index {
		s.index = doc.Index
		o.rec.Note(&history.Replica{ID: r.ID, Kind: history.Apply, Incarnation: run, Index: doc.Index, Digest: digestOf(doc)})
	}
	o.mu.Lock()
	o.applied[r.ID] = sight{r.ID, doc.Index, doc.Role == "leader"}
	o.mu.Unlock()
	o.leads(r, s, doc.Role, doc.Term)
}

// diskOf is the identity of a replica's disk, as the members tell it.
func diskOf(doc api.Cluster, id string) string {
	for _, m := range doc.Members {
		if m.ID == id {
			return m.Incarnation
		}
	}
	return ""
}

// digestOf is 0 where none is told.
func digestOf(doc api.Cluster) uint64 {
	d, _ := strconv.ParseUint(doc.Digest, 16, 64) // absent is 0
	return d
}

// leads notes a leadership that a replica told of twice: role and term of one
// answer may be of two moments.
func (o *observer) leads(r *harness.Replica, s *seen, role string, term uint64) {
	switch {
	case role != "leader":
		s.maybe = 0
	case s.maybe != term:
		s.maybe = term
	case s.lead != term:
		s.lead = term
		o.rec.Note(&history.Replica{ID: r.ID, Kind: history.Lead, Incarnation: s.run, Term: term})
	}
}
