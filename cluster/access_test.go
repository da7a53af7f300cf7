package cluster

import (
	"testing"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/protocol"
)

// TestNoStrangerBeforeTheMembership checks whom a replica trusts that has a cluster and does not
// know its membership yet: only those that it was told of. A "cluster init" that ended in the middle
// leaves it without any, and can be repeated.
func TestNoStrangerBeforeTheMembership(t *testing.T) {
	t.Parallel()
	r := newReplica(t, "rm1", nil).start()
	for _, known := range [][]string{nil, {"rm2.1", "rm3.1"}} {
		if err := r.c.core.SetCluster("c", 0, identity.RoleVoter, known, nil); err != nil {
			t.Fatal(err)
		}
		for _, m := range protocol.Methods {
			if err := r.c.access.Allows(m.Caller, "stranger.1"); (err == nil) != (m.Caller == protocol.AnyReplica) {
				t.Errorf("known %v: a stranger calls %s: %v", known, m.Name, err)
			}
		}
		for _, k := range known {
			if err := r.c.access.Allows(protocol.OfMember, raft.ServerID(k)); err != nil {
				t.Errorf("%s was named: %v", k, err)
			}
		}
		if known == nil {
			r.kill()
			r.start()
		}
	}
	if err := r.c.core.SetCluster("c", 0, identity.RoleVoter, nil, nil); err != nil {
		t.Fatal(err)
	}
	leadAlone(t, r)
}
