package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/local"
	"rmd/cluster/protocol"
	"rmd/cluster/rafttransport"
	"rmd/cluster/servers"
	"rmd/internal/exitcode"
)

// ErrLogRolledBack stops a replica that has lost entries that it had acknowledged.
var ErrLogRolledBack = errors.New("log rolled back: entries that this replica acknowledged are missing")

// quarantinePoll is how often the leader checks a replica in quarantine.
const quarantinePoll = time.Second

// rollbacks stops replicas that have lost entries that they had acknowledged.
type rollbacks struct {
	*local.Replica
	survey *survey
}

// quarantine stops a follower that has lost entries that it had acknowledged. It ends the
// quarantine when the follower has these entries again.
func (r *rollbacks) quarantine(id raft.ServerID, n rafttransport.Rollback) {
	name, _ := identity.Split(id)
	r.Log.Error("log rollback: a replica has lost entries that it acknowledged; put its own disk back, or "+Replace(name),
		"replica", name, "acknowledged", n.Acknowledged, "last", n.Last)
	if r.Peer == nil {
		return
	}
	r.Go(func() {
		for told := false; r.Transport.Serves(id, n.Term); {
			if r.isRestored(id, n) {
				r.Transport.Readmit(id, n.Term)
				r.Log.Info("a replica has recovered the entries that it acknowledged", "replica", name, "acknowledged",
					n.Acknowledged)
				return
			}
			told = r.stopQuarantined(id, n, told)
			if !r.Pause(quarantinePoll) {
				return
			}
		}
	})
}

// stopQuarantined tells a replica that it has lost entries that it had acknowledged. The leader
// repeats this: if the replica is started again with the same disk, nothing else is sent to it. told
// is false in the first call, and only then a failure is logged. The result is told for the next
// call.
func (r *rollbacks) stopQuarantined(id raft.ServerID, n rafttransport.Rollback, told bool) bool {
	s, ok := servers.Find(r.Configuration(), string(id))
	if !ok {
		return told
	}
	ctx, cancel := context.WithTimeout(r.Context, 2*protocol.InfoTimeout)
	defer cancel()
	if _, err := protocol.Ask[protocol.None](ctx, r.Peer, string(s.Address), protocol.RolledBack, n); err != nil && !told {
		r.Log.Warn("cannot stop a replica in quarantine", "replica", id, "error", err)
	}
	return true
}

// isRestored reports whether a replica has all entries again that it had acknowledged. Its applied
// entries are committed. If both logs have the replica's last entry, all entries before it are
// equal (log matching property).
func (r *rollbacks) isRestored(id raft.ServerID, n rafttransport.Rollback) bool {
	s, ok := servers.Find(r.Configuration(), string(id))
	if !ok {
		return false
	}
	i, ok := r.survey.askWithin(protocol.InfoTimeout, raft.Configuration{Servers: []raft.Server{s}})[id]
	if !ok {
		return false
	}
	return i.Applied >= n.Acknowledged || i.LastIndex >= n.Acknowledged &&
		(i.LastTerm == n.Term || r.Stores.Logs.Has(i.LastIndex, i.LastTerm))
}

// logRolledBackHere stops this replica after a leader has proved that its log was rolled back. If a
// replica is started again with a rolled-back disk, this message is all that it gets from the
// leader.
func (r *rollbacks) logRolledBackHere(from string, n rafttransport.Rollback) error {
	if n.ServerID != string(r.Identity().ServerID()) {
		return errors.New("not this replica")
	}
	if _, leader := r.Current().Raft.LeaderWithID(); leader != "" && leader != raft.ServerID(from) || n.Term < r.Term() {
		return errors.New("not from this term's leader")
	}
	if last := r.LastIndex(); last >= n.Acknowledged {
		return fmt.Errorf("nothing is missing: the log ends at %d", last)
	}
	r.Guard.Fail(exitcode.Store, fmt.Errorf(
		"%w: its log ended at %d where %d was acknowledged in term %d: put its own disk back in %s, or %s",
		ErrLogRolledBack, n.Last, n.Acknowledged, n.Term, r.Config.DataDir, Replace(r.Config.ID)))
	return nil
}
