package cluster

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// The states of a member.
const (
	StateAlive       = "alive"
	StateUnreachable = "unreachable"
)

// Member is one replica as the others see it.
type Member struct {
	ID          string        `json:"id"`
	Incarnation string        `json:"incarnation"`
	Address     string        `json:"address"`
	Voter       bool          `json:"voter"`
	Pending     bool          `json:"pending"` // being let in, promoted, demoted or removed: not committed yet
	Leader      bool          `json:"leader"`
	Role        string        `json:"role"`
	State       string        `json:"state"`
	Term        uint64        `json:"term"`
	Commit      uint64        `json:"commit"`
	Applied     uint64        `json:"applied"`
	LastIndex   uint64        `json:"last_index"`
	Lag         uint64        `json:"lag"`          // entries behind the leader's commit
	LastContact time.Duration `json:"last_contact"` // since it heard from the leader; 0 on the leader
	Version     string        `json:"version"`
	Level       uint64        `json:"level"`
	DiskFree    uint64        `json:"disk_free"`
	Full        bool          `json:"full"`
	Problem     string        `json:"problem,omitempty"` // what is wrong with it, as it or the leader says
}

// info is what a replica says about itself.
type info struct {
	Identity    identity.Identity `json:"identity"`
	Address     string            `json:"address"`
	Empty       bool              `json:"empty"`
	Leads       bool              `json:"leads"`
	LeaderID    string            `json:"leader_id,omitempty"`
	LeaderAddr  string            `json:"leader_addr,omitempty"`
	Term        uint64            `json:"term"`
	LastTerm    uint64            `json:"last_term"`
	Commit      uint64            `json:"commit"`
	Applied     uint64            `json:"applied"`
	LastIndex   uint64            `json:"last_index"`
	LastContact time.Duration     `json:"last_contact"` // -1: never
	Version     string            `json:"version"`
	Level       uint64            `json:"level"`
	DiskFree    uint64            `json:"disk_free"`
	Full        bool              `json:"full"`
	Expect      int               `json:"expect,omitempty"`
	Join        []string          `json:"join,omitempty"`
	Problem     string            `json:"problem,omitempty"`
	// RolledBack says, on the leader, which replicas have lost what they acknowledged.
	RolledBack map[raft.ServerID]string `json:"rolled_back,omitempty"`
}

// info describes this replica.
func (c *Cluster) info() info {
	id, addr := c.Leader()
	_, lastTerm := c.stores.Logs.Tail()
	i := info{
		Identity: c.Identity(), Address: c.Addr(), Empty: !c.hasState(), Leads: c.IsLeader(), LeaderID: id, LeaderAddr: addr,
		Term: c.Term(), LastTerm: lastTerm, Commit: c.CommitIndex(), Applied: c.AppliedIndex(), LastIndex: c.LastIndex(),
		LastContact: -1, Version: c.cfg.Version, Level: c.cfg.Level, DiskFree: c.diskFree.Load(), Full: c.full.Load(),
		Expect: c.cfg.BootstrapExpect, Join: c.cfg.Join, Problem: c.Problem(),
	}
	if i.Leads {
		i.RolledBack = c.rolledBack(i.Term)
	}
	i.Identity.RemovedPeers, i.Identity.Recovered = nil, nil
	switch at := c.LastContact(); {
	case i.Leads:
		i.LastContact = 0
	case !at.IsZero():
		i.LastContact = time.Since(at)
	}
	return i
}

// infoFor is what a caller may know: one that is no member learns whose replica this is and no
// more.
func (c *Cluster) infoFor(from string) info {
	i := c.info()
	if i.Identity.ClusterID == "" || c.trusts(raft.ServerID(from)) {
		return i
	}
	i.Identity.Removed, i.Identity.Role = nil, ""
	return info{Identity: i.Identity, Address: i.Address, Empty: i.Empty}
}

// hasState says whether raft ever ran here.
func (c *Cluster) hasState() bool {
	empty, err := c.stores.Empty()
	return err != nil || !empty
}

// Members asks every replica of the membership, each with a short timeout. It is sorted by id. What
// a change makes of a replica is told once it is committed: who is seen to vote counts in every
// majority from now on, and who is not seen any more in none. Raft itself goes by the newest
// membership in its log at once.
func (c *Cluster) Members() []Member {
	committed := c.fsm.membership() // first: what is committed meanwhile is pending here
	latest := c.configuration()
	if len(committed.Servers) == 0 {
		committed = latest // nothing was applied since the start
	}
	conf := union(latest, committed)
	infos := c.askAll(conf)
	var commit, term uint64
	var rolledBack map[raft.ServerID]string
	for _, i := range infos { // one leads in a term, and the highest is the newest
		commit = max(commit, i.Commit)
		if i.Leads && i.Term > term {
			term, rolledBack = i.Term, i.RolledBack
		}
	}
	leader, _ := c.Leader()
	out := make([]Member, 0, len(conf.Servers))
	for _, s := range conf.Servers {
		m := Member{Address: string(s.Address), State: StateUnreachable}
		m.Voter = votes(committed, s.ID) && votes(latest, s.ID)
		m.Pending = !contains(committed, s) || !contains(latest, s)
		m.ID, m.Incarnation = identity.Split(s.ID)
		m.Leader = m.ID == leader
		m.Lag = commit
		if i, ok := infos[s.ID]; ok {
			m.State, m.Role, m.Term, m.Commit, m.Applied, m.LastIndex = StateAlive, i.Identity.Role, i.Term, i.Commit, i.Applied, i.LastIndex
			m.LastContact, m.Version, m.Level, m.DiskFree, m.Full = i.LastContact, i.Version, i.Level, i.DiskFree, i.Full
			m.Lag, m.Problem = commit-min(commit, i.Applied), i.Problem
		}
		if text := rolledBack[s.ID]; text != "" {
			m.Problem = text
		}
		out = append(out, m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// union is a membership and the servers of an older one that are not in it.
func union(latest, older raft.Configuration) raft.Configuration {
	all := latest.Clone()
	for _, s := range older.Servers {
		id, _ := identity.Split(s.ID)
		if _, ok := find(latest, id); !ok {
			all.Servers = append(all.Servers, s)
		}
	}
	return all
}

func contains(conf raft.Configuration, s raft.Server) bool { return slices.Contains(conf.Servers, s) }

func votes(conf raft.Configuration, id raft.ServerID) bool {
	return slices.ContainsFunc(conf.Servers, func(s raft.Server) bool { return s.ID == id && s.Suffrage == raft.Voter })
}

// configuration is raft's newest membership.
func (c *Cluster) configuration() raft.Configuration {
	return c.current().raft.GetConfiguration().Configuration()
}

// HasMember says whether a replica is in the membership that this one knows; it asks nobody.
func (c *Cluster) HasMember(id string) bool {
	for _, s := range c.configuration().Servers {
		if have, _ := identity.Split(s.ID); have == id {
			return true
		}
	}
	return false
}

// askAll gathers what the servers say about themselves; those that do not answer are missing.
func (c *Cluster) askAll(conf raft.Configuration) map[raft.ServerID]info {
	return c.askWithin(infoTimeout, conf)
}

// askPatiently is askAll for what is refused when one does not answer.
func (c *Cluster) askPatiently(servers ...raft.Server) map[raft.ServerID]info {
	return c.askWithin(patientTimeout, raft.Configuration{Servers: servers})
}

// askWithin does the work of both.
func (c *Cluster) askWithin(d time.Duration, conf raft.Configuration) map[raft.ServerID]info {
	ctx, cancel := context.WithTimeout(c.ctx, d)
	defer cancel()
	self := c.Identity().ServerID()
	out := map[raft.ServerID]info{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, s := range conf.Servers {
		if s.ID == self {
			i := c.info()
			mu.Lock()
			out[s.ID] = i
			mu.Unlock()
			continue
		}
		if c.peer == nil {
			continue
		}
		wg.Go(func() {
			i, err := ask[info](ctx, c.peer, string(s.Address), methodInfo, none{})
			if err != nil || i.Identity.ServerID() != s.ID {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[s.ID] = i
		})
	}
	wg.Wait()
	return out
}

// find returns the server of a name, ID or ID.INCARNATION.
func find(conf raft.Configuration, name string) (raft.Server, bool) {
	for _, s := range conf.Servers {
		if identity.Matches(s.ID, name) {
			return s, true
		}
	}
	return raft.Server{}, false
}

// voters returns the voters of a membership.
func voters(conf raft.Configuration) []raft.Server {
	var out []raft.Server
	for _, s := range conf.Servers {
		if s.Suffrage == raft.Voter {
			out = append(out, s)
		}
	}
	return out
}
