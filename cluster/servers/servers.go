// Package servers looks for servers in memberships.
package servers

import (
	"slices"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

// Union returns a membership plus the servers of an older one whose id is not in it.
func Union(latest, older raft.Configuration) raft.Configuration {
	all := latest.Clone()
	for _, s := range older.Servers {
		id, _ := identity.Split(s.ID)
		if _, ok := Find(latest, id); !ok {
			all.Servers = append(all.Servers, s)
		}
	}
	return all
}

// Contains reports whether a membership has a server with this address and suffrage.
func Contains(conf raft.Configuration, s raft.Server) bool { return slices.Contains(conf.Servers, s) }

// Votes reports whether a server is a voter of a membership.
func Votes(conf raft.Configuration, id raft.ServerID) bool {
	return slices.ContainsFunc(conf.Servers, func(s raft.Server) bool { return s.ID == id && s.Suffrage == raft.Voter })
}

// Find returns the server with a name, which is ID or ID.INCARNATION.
func Find(conf raft.Configuration, name string) (raft.Server, bool) {
	for _, s := range conf.Servers {
		if identity.Matches(s.ID, name) {
			return s, true
		}
	}
	return raft.Server{}, false
}

// Voters returns the voters of a membership.
func Voters(conf raft.Configuration) []raft.Server {
	var out []raft.Server
	for _, s := range conf.Servers {
		if s.Suffrage == raft.Voter {
			out = append(out, s)
		}
	}
	return out
}

// At returns the member with an address.
func At(conf raft.Configuration, addr string) (raft.Server, bool) {
	i := slices.IndexFunc(conf.Servers, func(s raft.Server) bool { return string(s.Address) == addr })
	if i < 0 {
		return raft.Server{}, false
	}
	return conf.Servers[i], true
}
