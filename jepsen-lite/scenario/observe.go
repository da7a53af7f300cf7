package scenario

import (
	"context"
	"strconv"
	"sync"
	"time"

	"rmd/api"
	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// observer polls the state of every replica and records it as the replica's stream. If possible,
// its requests bypass the links with faults.
type observer struct {
	cluster *harness.Cluster
	rec     *history.Recorder
	every   time.Duration
	wg      sync.WaitGroup

	mu      sync.Mutex
	applied map[string]sight // last observation of each replica
}

// sight is an observation of a replica.
type sight struct {
	id      string
	applied uint64
	leads   bool
}

// sights returns the last observation of each replica.
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

// look limits the time of one request.
const look = 2 * time.Second

func observe(ctx context.Context, c *harness.Cluster, rec *history.Recorder, every time.Duration) *observer {
	o := &observer{cluster: c, rec: rec, every: every, applied: map[string]sight{}}
	for _, r := range c.Replicas {
		o.wg.Go(func() { o.watch(ctx, r) })
	}
	return o
}

// replicaStatus is what the observer remembers about a replica.
type replicaStatus struct {
	run   int
	index uint64
	lead  uint64 // last recorded term of a leadership
	maybe uint64 // term in which the replica said once that it leads
	exits int
	disk  string
}

func (o *observer) watch(ctx context.Context, r *harness.Replica) {
	var s replicaStatus
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		o.recordExits(r, &s)
		if r.Awake() {
			o.poll(ctx, r, &s)
		}
	}
}

// recordExits records how processes ended.
func (o *observer) recordExits(r *harness.Replica, s *replicaStatus) {
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

// poll makes one request. It ignores the answer if the replica restarted meanwhile.
func (o *observer) poll(ctx context.Context, r *harness.Replica, s *replicaStatus) {
	run := r.Runs()
	ctx, cancel := context.WithTimeout(ctx, look)
	defer cancel()
	doc, err := o.cluster.Facts(ctx, r)
	if err != nil || r.Runs() != run || len(r.Exits()) >= run || doc.Index == 0 {
		return
	}
	disk := diskOf(doc, r.ID)
	if run != s.run || disk != s.disk && disk != "" {
		*s = replicaStatus{run: run, exits: s.exits, disk: disk}
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

// diskOf returns the incarnation of a replica, from its list of members; "" if it is not a member.
func diskOf(doc api.Cluster, id string) string {
	for _, m := range doc.Members {
		if m.ID == id {
			return m.Incarnation
		}
	}
	return ""
}

// digestOf returns the digest in a document, or 0 if it has none.
func digestOf(doc api.Cluster) uint64 {
	d, _ := strconv.ParseUint(doc.Digest, 16, 64) // 0 if empty
	return d
}

// leads records a leadership that two consecutive answers show. Role and term of one answer may
// belong to different moments.
func (o *observer) leads(r *harness.Replica, s *replicaStatus, role string, term uint64) {
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
