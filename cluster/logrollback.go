package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/rafttransport"
	"rmd/internal/exitcode"
)

// ErrForgetful is why a replica stops that has lost what it acknowledged.
var ErrForgetful = errors.New("this disk has gone back: entries that this replica acknowledged are missing")

// rolledBackPause is how often a replica that has lost what it acknowledged is looked at.
const rolledBackPause = time.Second

// tellForgetful has a follower stop that has lost what it acknowledged, and takes it back once its own disk is back.
func (c *Cluster) tellForgetful(id raft.ServerID, n rafttransport.Rollback) {
	name, _ := identity.Split(id)
	c.log.Error("a replica has lost entries that it acknowledged: its disk has gone back; put its own disk back, or wipe it, remove it and join anew",
		"replica", name, "acknowledged", n.Acknowledged, "last", n.Last)
	if c.peer == nil {
		return
	}
	c.goRun(func() {
		for told := false; c.wire.Serves(id, n.Term); {
			if c.hasItsDiskBack(id, n) {
				c.wire.Readmit(id, n.Term)
				c.log.Info("a replica has all that it acknowledged again: its disk is back", "replica", name, "acknowledged", n.Acknowledged)
				return
			}
			told = c.stopRolledBack(id, n, told)
			if !c.pause(rolledBackPause) {
				return
			}
		}
	})
}

// stopRolledBack tells a replica that it has lost what it acknowledged. It may have to be told again: after a start
// with the same disk nobody else sends it anything.
func (c *Cluster) stopRolledBack(id raft.ServerID, n rafttransport.Rollback, told bool) bool {
	s, ok := find(c.configuration(), string(id))
	if !ok {
		return told
	}
	ctx, cancel := context.WithTimeout(c.ctx, 2*infoTimeout)
	defer cancel()
	if _, err := ask[none](ctx, c.peer, string(s.Address), methodForgot, n); err != nil && !told {
		c.log.Warn("it was not stopped", "replica", id, "error", err)
	}
	return true
}

// hasItsDiskBack says whether a replica has again what it had acknowledged. Its applied entries are committed ones;
// and by the log matching property, all before an entry that both have is the same in both logs.
func (c *Cluster) hasItsDiskBack(id raft.ServerID, n rafttransport.Rollback) bool {
	s, ok := find(c.configuration(), string(id))
	if !ok {
		return false
	}
	i, ok := c.askWithin(infoTimeout, raft.Configuration{Servers: []raft.Server{s}})[id]
	if !ok {
		return false
	}
	return i.Applied >= n.Acknowledged || i.LastIndex >= n.Acknowledged && (i.LastTerm == n.Term || c.stores.Logs.Has(i.LastIndex, i.LastTerm))
}

// forgotHere stops this replica when a leader has proof against its disk. One that was started again with that disk
// hears of no leader but by this.
func (c *Cluster) forgotHere(from string, n rafttransport.Rollback) error {
	if n.ServerID != string(c.Identity().ServerID()) {
		return errors.New("not this replica")
	}
	if _, leader := c.current().raft.LeaderWithID(); leader != "" && leader != raft.ServerID(from) || n.Term < c.Term() {
		return errors.New("not from this term's leader")
	}
	if last := c.LastIndex(); last >= n.Acknowledged {
		return fmt.Errorf("nothing is missing: the log ends at %d", last)
	}
	c.guard.Fail(exitcode.Store, fmt.Errorf("%w: its log ended at %d where %d was acknowledged in term %d: put its own disk back in %s, or wipe it, \"rmd cluster remove %s\", and join anew",
		ErrForgetful, n.Last, n.Acknowledged, n.Term, c.cfg.DataDir, c.cfg.ID))
	return nil
}

// rolledBack describes the replicas that have lost entries which they acknowledged in a term.
func (c *Cluster) rolledBack(term uint64) map[raft.ServerID]string {
	out := map[raft.ServerID]string{}
	for _, r := range c.wire.RolledBack(term) {
		id, _ := identity.Split(raft.ServerID(r.ServerID))
		out[raft.ServerID(r.ServerID)] = fmt.Sprintf("its disk has gone back: its log ended at %d where %d was acknowledged; put its own disk back, or wipe it, \"rmd cluster remove %s\", and join anew", r.Last, r.Acknowledged, id)
	}
	return out
}
