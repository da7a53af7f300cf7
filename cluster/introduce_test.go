package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/servers"
)

// TestLateFollowerAcceptsUnknownLeader checks a replica that was down while another one joined and
// became leader. The late replica does not know the new leader as a member. It must accept it after
// the introduction.
func TestLateFollowerAcceptsUnknownLeader(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	inStep(t, rs, put(t, rs, 3))
	l := leader(t, rs)
	late, third := without(rs, l)[0], without(rs, l)[1]
	late.kill()
	d := newReplica(t, "rm4", nil).start()
	if err := d.c.Join(t.Context(), []string{l.addr}, "", false); err != nil {
		t.Fatal(err)
	}
	here := []*replica{l, third, d}
	eventually(t, patience, "rm4 votes", func() bool { return len(servers.Voters(l.c.core.Configuration())) == 4 })
	inStep(t, here, put(t, here, 3))
	if err := l.c.Transfer("rm4"); err != nil {
		t.Fatal(err)
	}
	index := put(t, here, 3)

	late.start()
	server := d.c.Identity().ServerID()
	if late.c.HasMember("rm4") {
		t.Fatal("the late one knows it already")
	}
	inStep(t, append(here, late), index)
	if id, _ := late.c.Leader(); id != "rm4" {
		t.Errorf("it follows %q", id)
	}
	eventually(t, patience, "the membership counts and the introduction does not", func() bool {
		return late.c.access.Trusts(server) && !late.c.access.Introduced.Has(server)
	})
}

// TestAdmissionChain checks that a chain is accepted only if each link is signed by the replica
// that it names, and if the chain ends at a member.
func TestAdmissionChain(t *testing.T) {
	t.Parallel()
	rs := trio(t, nil)
	l := leader(t, rs)
	judge := follower(rs, l).c
	// The leader admitted d, and d admitted e.
	d, e, x := newReplica(t, "rm4", nil).start(), newReplica(t, "rm5", nil).start(), newReplica(t, "rm6", nil).start()
	id := func(r *replica) raft.ServerID { return r.c.Identity().ServerID() }
	admit := func(by, who *replica) []identity.Admission {
		err := by.c.core.Dir.Update(func(i *identity.Identity) { i.ClusterID = l.c.ClusterID() })
		if err != nil {
			t.Fatal(err)
		}
		return by.c.access.Admit(id(who))
	}
	first := admit(l, d)
	if err := d.c.core.Dir.Update(func(i *identity.Identity) { i.Trust.Admission = first }); err != nil {
		t.Fatal(err)
	}
	chain := admit(d, e)
	if err := judge.access.Admitted(id(e), chain); err != nil {
		t.Errorf("a good chain: %v", err)
	}
	forged := slices.Clone(chain)
	forged[0].Server = string(id(x))
	elsewhere := newReplica(t, "rm7", nil).start()
	for what, c := range map[string]struct {
		who   raft.ServerID
		chain []identity.Admission
		why   string
	}{
		"no chain":             {id(e), nil, "not admitted by a member"},
		"another's chain":      {id(x), chain, "not admitted by a member"},
		"its end is missing":   {id(e), chain[:1], "not admitted by a member"},
		"another name put in":  {id(x), forged, "not signed"},
		"it lets itself in":    {id(x), admit(x, x), "not admitted by a member"},
		"let in by a stranger": {id(e), admit(x, e), "not admitted by a member"},
		"of another cluster":   {id(d), elsewhere.c.access.Admit(id(d)), "not signed"},
		"a link without its key": {id(d), []identity.Admission{{Server: string(id(d)), By: string(id(l)), Sig: first[0].Sig}},
			"not signed"},
		"another's key": {id(d), []identity.Admission{
			{Server: string(id(d)), By: string(id(l)), Key: admit(x, d)[0].Key, Sig: admit(x, d)[0].Sig}}, "not signed"},
	} {
		if err := judge.access.Admitted(c.who, c.chain); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: admitted = %v, want an error with %q", what, err, c.why)
		}
	}
	if err := judge.core.Dir.Update(func(i *identity.Identity) {
		i.RemovedPeers = append(i.RemovedPeers, string(id(l)))
	}); err != nil {
		t.Fatal(err)
	}
	if err := judge.access.Admitted(id(d), first); err == nil || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("let in by one that was removed: %v", err)
	}
}
