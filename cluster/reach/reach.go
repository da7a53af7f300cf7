package reach

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/local"
	"rmd/cluster/servers"
)

// Watch knows which members this replica cannot open a new connection to.
type Watch struct {
	*local.Replica
	tries connectionTries
}

// connectionTries has the results of the tries to connect to members.
//
// Old connections outlive what they were opened with: a certificate, a rule of a firewall, a name
// that could be resolved. An election opens new ones. Therefore each replica tries from time to time
// whether it still can, and health counts on those that succeed alone.
type connectionTries struct {
	mu     sync.Mutex
	tried  map[raft.ServerID]time.Time // the end of the last try
	failed map[raft.ServerID]failedTry
	now    chan struct{} // capacity 1; filled to try all members at once
}

// failedTry is a member that the last tries did not reach.
type failedTry struct {
	times int
	why   string
}

// A member is tried every reachPause, or reachAgain after a failed try. It counts as not reached
// after reachTries failures in a row, so that the restart of a replica is none. One try takes
// reachTimeout at most, and one round of tries follows the other.
const (
	reachPause   = 10 * time.Second
	reachAgain   = time.Second
	reachTries   = 2
	reachTimeout = 5 * time.Second
)

// New returns a reach that has tried nothing yet.
func New(c *local.Replica) *Watch { return &Watch{Replica: c, tries: newConnectionTries()} }

func newConnectionTries() connectionTries {
	return connectionTries{tried: map[raft.ServerID]time.Time{}, failed: map[raft.ServerID]failedTry{},
		now: make(chan struct{}, 1)}
}

// Unreached returns the configured ids of the members that this replica cannot open a new connection
// to, each with the reason. It is nil if there are none.
func (r *Watch) Unreached() map[string]string { return r.tries.unreached() }

// TryNow tries at once whether new connections to the other replicas can be opened. It does
// not wait for the result, which Members shows.
func (r *Watch) TryNow() {
	select {
	case r.tries.now <- struct{}{}:
	default:
	}
}

// Run tries to connect to the other members until the cluster closes.
func (r *Watch) Run() {
	t := time.NewTicker(reachAgain)
	defer t.Stop()
	for {
		all := false
		select {
		case <-t.C:
		case <-r.tries.now:
			all = true
		case <-r.Context.Done():
			return
		}
		r.tryMembers(all)
	}
}

// tryMembers tries the members whose turn it is, or all, concurrently.
func (r *Watch) tryMembers(all bool) {
	conf := r.Configuration()
	r.tries.keep(conf)
	var wg sync.WaitGroup
	for _, s := range conf.Servers {
		if s.ID == r.Identity().ServerID() || !all && !r.tries.due(s.ID, time.Now()) {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(r.Context, reachTimeout)
			defer cancel()
			r.tried(s.ID, r.Peer.Reach(ctx, string(s.Address)))
		})
	}
	wg.Wait()
}

// tried records the result of a try, and logs when it changes.
func (r *Watch) tried(id raft.ServerID, err error) {
	if r.Context.Err() != nil {
		return
	}
	switch before, now := r.tries.record(id, err, time.Now()); {
	case now == reachTries && before < now:
		r.Log.Warn("cannot open a new connection to a replica; it does not count for an election", "replica",
			id, "error", err)
	case now == 0 && before >= reachTries:
		r.Log.Info("new connections to a replica can be opened again", "replica", id)
	}
}

// record stores the result of a try. It returns how many tries in a row had failed before and have
// failed now.
func (r *connectionTries) record(id raft.ServerID, err error, at time.Time) (before, now int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried[id] = at
	before = r.failed[id].times
	if err == nil {
		delete(r.failed, id)
		return before, 0
	}
	r.failed[id] = failedTry{before + 1, err.Error()}
	return before, before + 1
}

// due reports whether a member should be tried.
func (r *connectionTries) due(id raft.ServerID, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	pause := reachPause
	if r.failed[id].times > 0 {
		pause = reachAgain
	}
	return now.Sub(r.tried[id]) >= pause
}

// keep forgets replicas that are no longer members.
func (r *connectionTries) keep(conf raft.Configuration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := func(id raft.ServerID) bool { _, ok := servers.Find(conf, string(id)); return !ok }
	maps.DeleteFunc(r.tried, func(id raft.ServerID, _ time.Time) bool { return gone(id) })
	maps.DeleteFunc(r.failed, func(id raft.ServerID, _ failedTry) bool { return gone(id) })
}

// unreached returns the configured ids of the members that this replica cannot open a new connection
// to, each with the reason. It is nil if there are none.
func (r *connectionTries) unreached() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out map[string]string
	for server, f := range r.failed {
		if f.times < reachTries {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		id, _ := identity.Split(server)
		out[id] = f.why
	}
	return out
}
