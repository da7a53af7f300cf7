package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/access"
	"rmd/cluster/identity"
	"rmd/cluster/leading"
	"rmd/cluster/local"
	"rmd/cluster/progress"
	"rmd/cluster/protocol"
	"rmd/cluster/reach"
	"rmd/cluster/servers"
)

// The states of a Member.
const (
	StateAlive       = "alive"
	StateUnreachable = "unreachable"
	StateEmpty       = "empty" // it answers and has no data of the cluster
)

// Member describes one replica. It combines the membership with the replica's own answer.
type Member struct {
	ID          string        `json:"id"`
	Incarnation string        `json:"incarnation"`
	Address     string        `json:"address"`
	Voter       bool          `json:"voter"`
	Pending     bool          `json:"pending"` // a change of this replica is not committed yet
	Leader      bool          `json:"leader"`
	Role        string        `json:"role"`
	State       string        `json:"state"`
	Term        uint64        `json:"term"`
	Commit      uint64        `json:"commit"`
	Applied     uint64        `json:"applied"`
	LastIndex   uint64        `json:"last_index"`
	Lag         uint64        `json:"lag"`          // entries behind the leader's commit
	LastContact time.Duration `json:"last_contact"` // since it heard from the leader; 0 on the leader; -1: never
	Version     string        `json:"version"`
	Level       uint64        `json:"level"`
	DiskFree    uint64        `json:"disk_free"`
	Full        bool          `json:"full"`
	Problem     string        `json:"problem,omitempty"` // a problem that the replica or the leader reports
	Warning     string        `json:"warning,omitempty"` // what will become a problem if nobody acts
	// Stalled says why the replica makes no progress although it answers, or is "".
	Stalled string `json:"stalled,omitempty"`
	// Unreached has the replicas that this one cannot open a new connection to, each with the reason.
	// It could not win their votes.
	Unreached map[string]string `json:"unreached,omitempty"`
}

// info is a replica's description of itself.
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
	Warning     string            `json:"warning,omitempty"`
	Unreached   map[string]string `json:"unreached,omitempty"` // by configured id
	Stalled     string            `json:"stalled,omitempty"`
	// Refusing is set on the leader. It has the configured ids of the followers that answer and do
	// not store its entries, each with the reason.
	Refusing map[string]string `json:"refusing,omitempty"`
	// RolledBack is set on the leader. It describes the problem of each replica that has lost
	// acknowledged entries.
	RolledBack map[raft.ServerID]string `json:"rolled_back,omitempty"`
}

// survey describes this replica and asks the others.
type survey struct {
	*local.Replica
	access   *access.Rules
	lead     *leading.Watch
	progress *progress.Watch
	steps    *stepDowns
	reach    *reach.Watch
	awaits   atomic.Value // string: see Awaits
}

// info describes this replica.
func (s *survey) info() info {
	id, addr := s.lead.Leader()
	_, lastTerm := s.Stores.Logs.Tail()
	i := info{
		Identity: s.Identity(), Address: s.Addr(), Empty: !s.HasState(), Leads: s.IsLeader(), LeaderID: id, LeaderAddr: addr,
		Term: s.Term(), LastTerm: lastTerm, Commit: s.CommitIndex(), Applied: s.AppliedIndex(), LastIndex: s.LastIndex(),
		LastContact: -1, Version: s.Config.Version, Level: s.Config.Level, DiskFree: s.DiskFree.Load(), Full: s.Full.Load(),
		Expect: s.Config.BootstrapExpect, Join: s.Config.Join, Problem: s.problems(), Warning: s.Warning(),
		Unreached: s.reach.Unreached(),
	}
	if i.Leads {
		i.RolledBack = s.rolledBack(i.Term)
	}
	i.Stalled, i.Refusing = s.hindered()
	i.Identity.RemovedPeers, i.Identity.Recovered = nil, nil
	switch at := s.lead.LastContact(); {
	case i.Leads:
		i.LastContact = 0
	case !at.IsZero():
		i.LastContact = time.Since(at)
	}
	return i
}

// hindered says why this replica makes no progress, or "". On a leader it also returns the followers
// that refuse its entries, with the reasons.
func (s *survey) hindered() (why string, refusing map[string]string) {
	p := s.progress.Progress()
	if p.Stalled >= s.progress.StallLimit()/2 {
		why = p.Why
	}
	for _, r := range p.Refusals {
		if refusing == nil {
			refusing = map[string]string{}
		}
		refusing[r.ID] = "it refuses the leader's entries: " + r.Why
	}
	return why, refusing
}

// infoFor returns the part of info that a caller may see. A caller that is not a member learns only
// the identity of this replica, its address and whether it is empty.
func (s *survey) infoFor(from string) info {
	i := s.info()
	if i.Identity.ClusterID == "" || s.access.Trusts(raft.ServerID(from)) {
		return i
	}
	i.Identity.Removed, i.Identity.Role = nil, ""
	return info{Identity: i.Identity, Address: i.Address, Empty: i.Empty}
}

// rolledBack returns, for each replica in quarantine in a term, a text that describes the problem.
func (s *survey) rolledBack(term uint64) map[raft.ServerID]string {
	out := map[raft.ServerID]string{}
	for _, r := range s.Transport.RolledBack(term) {
		id, _ := identity.Split(raft.ServerID(r.ServerID))
		out[raft.ServerID(r.ServerID)] = fmt.Sprintf(
			"log rollback: its log ended at %d where %d was acknowledged; put its own disk back, or %s", r.Last,
			r.Acknowledged, Replace(id))
	}
	return out
}

// Members asks every replica of the membership, each with a short timeout, and returns them sorted
// by id. A change of a replica is pending until it is committed. Until then Voter is set only if
// the replica votes both in the committed membership and in the newest one. So a replica shown as a
// voter counts in every majority, and one that is no longer shown counts in none. Raft itself uses
// the newest membership in its log at once.
func (s *survey) Members() []Member {
	committed := s.FSM.Membership() // read first: a change that is committed in between counts as pending
	latest := s.Configuration()
	if len(committed.Servers) == 0 {
		committed = latest // nothing was applied since the start
	}
	conf := servers.Union(latest, committed)
	answers := s.answers(protocol.InfoTimeout, conf)
	infos := onlyOf(answers)
	var commit, term uint64
	var rolledBack map[raft.ServerID]string
	var refusing map[string]string
	for _, i := range infos { // a term has one leader, and the highest term is the newest
		commit = max(commit, i.Commit)
		if i.Leads && i.Term > term {
			term, rolledBack, refusing = i.Term, i.RolledBack, i.Refusing
		}
	}
	leader, _ := s.lead.Leader()
	out := make([]Member, 0, len(conf.Servers))
	for _, s := range conf.Servers {
		m := Member{Address: string(s.Address), State: StateUnreachable}
		m.Voter = servers.Votes(committed, s.ID) && servers.Votes(latest, s.ID)
		m.Pending = !servers.Contains(committed, s) || !servers.Contains(latest, s)
		m.ID, m.Incarnation = identity.Split(s.ID)
		m.Leader = m.ID == leader
		m.Lag = commit
		if i, ok := infos[s.ID]; ok {
			m.State, m.Role, m.Term, m.Commit, m.Applied, m.LastIndex = StateAlive, i.Identity.Role, i.Term, i.Commit,
				i.Applied, i.LastIndex
			m.LastContact, m.Version, m.Level, m.DiskFree, m.Full = i.LastContact, i.Version, i.Level, i.DiskFree, i.Full
			m.Lag, m.Problem, m.Warning = commit-min(commit, i.Applied), i.Problem, i.Warning
			m.Stalled, m.Unreached = cmp.Or(i.Stalled, refusing[m.ID]), i.Unreached
		} else if i := answers[s.ID]; i.Empty && i.Identity.ID == m.ID {
			m.State, m.Problem = StateEmpty, withoutData(m.ID, leader != "")
		}
		if text := rolledBack[s.ID]; text != "" {
			m.Problem = text
		}
		out = append(out, m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// Absent returns the number of voters, and those that do not answer. It asks them like Members, so that an
// error and the status name the same replicas.
func (c *Cluster) Absent() (voters int, absent []string) {
	for _, m := range c.Members() {
		if !m.Voter {
			continue
		}
		voters++
		if m.State == StateUnreachable {
			absent = append(absent, m.ID)
		}
	}
	return voters, absent
}

// HasMember reports whether the newest membership here has a replica with an id. It calls no other
// replica.
func (c *Cluster) HasMember(id string) bool {
	for _, s := range c.core.Configuration().Servers {
		if have, _ := identity.Split(s.ID); have == id {
			return true
		}
	}
	return false
}

// askAll asks servers for their info. The result lacks those that do not answer within protocol.InfoTimeout.
func (s *survey) askAll(conf raft.Configuration) map[raft.ServerID]info {
	return s.askWithin(protocol.InfoTimeout, conf)
}

// askPatiently is like askAll, with protocol.PatientTimeout. It is for requests that are refused if a server
// does not answer.
func (s *survey) askPatiently(servers ...raft.Server) map[raft.ServerID]info {
	return s.askWithin(protocol.PatientTimeout, raft.Configuration{Servers: servers})
}

// askWithin does the work of askAll and askPatiently.
func (s *survey) askWithin(d time.Duration, conf raft.Configuration) map[raft.ServerID]info {
	return onlyOf(s.answers(d, conf))
}

// onlyOf returns the answers that are of the servers themselves, not of others at their addresses.
func onlyOf(answers map[raft.ServerID]info) map[raft.ServerID]info {
	out := maps.Clone(answers)
	maps.DeleteFunc(out, func(id raft.ServerID, i info) bool { return i.Identity.ServerID() != id })
	return out
}

// answers returns what answers at the addresses of servers within a time.
func (s *survey) answers(d time.Duration, conf raft.Configuration) map[raft.ServerID]info {
	ctx, cancel := context.WithTimeout(s.Context, d)
	defer cancel()
	self := s.Identity().ServerID()
	out := map[raft.ServerID]info{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, v := range conf.Servers {
		if v.ID == self {
			i := s.info()
			mu.Lock()
			out[v.ID] = i
			mu.Unlock()
			continue
		}
		if s.Peer == nil {
			continue
		}
		wg.Go(func() {
			i, err := protocol.Ask[info](ctx, s.Peer, string(v.Address), protocol.Info, protocol.None{})
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[v.ID] = i
		})
	}
	wg.Wait()
	return out
}
