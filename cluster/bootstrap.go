package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/leading"
	"rmd/cluster/local"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
)

// formation makes a new cluster.
type formation struct {
	*local.Replica
	lead   *leading.Watch
	survey *survey
}

// Init makes a new cluster with this replica as its only voter. It is refused if this replica or a
// reachable replica in Config.Join has state. With dry it only checks.
func (f *formation) Init(dry bool) error { return f.InitAs("", dry) }

// InitAs is Init with a given cluster id. If clusterID is empty, it generates one.
func (f *formation) InitAs(clusterID string, dry bool) error {
	switch {
	case clusterID == "":
		clusterID = randomHex(16)
	case !local.ValidID(clusterID):
		return refusal.New(refusal.OutOfRange, "use 1 to 64 letters, digits, '_', '-', '.'",
			"invalid cluster id %q", clusterID)
	}
	if f.IsMember() {
		return refusal.New(refusal.AlreadyInitialized,
			"keep its data; if there is no leader, start the other replicas, and see \"rmd cluster status\"",
			"replica %s is a member of cluster %s", f.Config.ID, f.ClusterID())
	}
	if n := f.Config.BootstrapExpect; n > 1 { // after the loss of its disk, this replica would make a second cluster
		return refusal.New(refusal.AlreadyInitialized,
			fmt.Sprintf("start the others; if this replica lost its disk, \"rmd cluster remove %s\" at another one, then \"rmd cluster join\" here", f.Config.ID),
			"raft.bootstrap_expect is %d: the replicas in raft.join create the cluster, or have one already", n)
	}
	ctx, cancel := context.WithTimeout(f.Context, 2*time.Second)
	defer cancel()
	for _, addr := range f.Config.Join {
		if addr == f.Addr() || f.Peer == nil {
			continue
		}
		i, err := protocol.Ask[info](ctx, f.Peer, addr, protocol.Info, protocol.None{})
		if err != nil {
			f.Log.Warn("a listed peer does not answer", "address", addr, "error", err)
			continue
		}
		if !i.Empty {
			return refusal.New(refusal.AlreadyInitialized, "join that cluster, or take the address out of raft.join",
				"replica %s at %s already belongs to cluster %s", i.Identity.ID, addr, i.Identity.ClusterID)
		}
	}
	if dry {
		return nil
	}
	if err := f.SetCluster(clusterID, 0, identity.RoleVoter, nil, nil); err != nil {
		return err
	}
	return f.bootstrapAndLead(raft.Configuration{
		Servers: []raft.Server{{ID: f.Identity().ServerID(), Address: raft.ServerAddress(f.Addr())}}})
}

// bootstrapAndLead writes the first membership, which no other replica has, and campaigns at once:
// raft's timers would only let the new cluster wait.
func (f *formation) bootstrapAndLead(conf raft.Configuration) error {
	if err := f.Bootstrap(conf); err != nil {
		return err
	}
	f.lead.Succession.Campaign()
	return nil
}

// Bootstrap writes the first membership. One or all of the replicas in it may call it, with the
// same membership.
func (f *formation) Bootstrap(conf raft.Configuration) error {
	in := f.Current()
	err := in.Await(f.Context, in.Raft.BootstrapCluster(conf))
	if errors.Is(err, raft.ErrCantBootstrap) {
		return refusal.New(refusal.AlreadyInitialized, "", "replica %s already has state", f.Config.ID)
	}
	if err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	f.lead.WatchPeers()
	f.Log.Info("cluster initialized", "cluster_id", f.ClusterID(), "voters", len(conf.Servers))
	return nil
}

// adoptRequest asks an empty replica to take over a cluster id. The expected replica with the
// lowest id sends it to the others.
type adoptRequest struct {
	ClusterID string   `json:"cluster_id"`
	Known     []string `json:"known,omitempty"` // the servers of the first membership
}

// adopt stores the cluster id of an adoptRequest. It refuses if this replica has state or another
// cluster id.
func (f *formation) adopt(ctx context.Context, from string, q adoptRequest) error {
	have := f.ClusterID()
	if have == q.ClusterID {
		return nil
	}
	if have != "" || f.HasState() || f.Config.BootstrapExpect == 0 {
		return refusal.New(refusal.AlreadyInitialized, "",
			"replica %s already has state, or its raft.bootstrap_expect is not set", f.Config.ID)
	}
	if !f.expects(ctx, from) {
		return refusal.New(refusal.NoSuchReplica, "list its address in raft.join",
			"%s is at none of the addresses in raft.join of replica %s", from, f.Config.ID)
	}
	return f.SetCluster(q.ClusterID, 0, identity.RoleVoter, q.Known, nil)
}

// expects reports whether the replica with the server id from answers at an address in Config.Join.
func (f *formation) expects(ctx context.Context, from string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, addr := range f.Config.Join {
		if addr == f.Addr() {
			continue
		}
		if i, err := protocol.Ask[info](ctx, f.Peer, addr, protocol.Info, protocol.None{}); err == nil &&
			string(i.Identity.ServerID()) == from {
			return true
		}
	}
	return false
}

// expectPause is the time between two attempts to find the expected replicas.
const expectPause = 300 * time.Millisecond

// expect implements bootstrap_expect. It tries until this replica has state.
func (f *formation) expect() {
	t := time.NewTicker(expectPause)
	defer t.Stop()
	defer f.survey.awaits.Store("")
	for {
		if f.HasState() || f.InMembership() {
			return
		}
		wait := f.tryExpect()
		if wait != "" && wait != f.survey.Awaits() {
			f.Log.Info("waiting for the expected replicas", "bootstrap_expect", f.Config.BootstrapExpect, "why", wait)
			f.survey.awaits.Store(wait)
		}
		select {
		case <-t.C:
		case <-f.Context.Done():
			return
		}
	}
}

// Awaits returns what this replica waits for before it creates a cluster with those that it expects,
// or "" if it does not wait.
func (s *survey) Awaits() string {
	why, _ := s.awaits.Load().(string)
	return why
}

// tryExpect asks all replicas in Config.Join. If exactly the expected number of empty replicas
// agree and this one has the lowest id, it initializes the cluster. It returns what is missing, or
// "" if it has initialized the cluster.
func (f *formation) tryExpect() string {
	ctx, cancel := context.WithTimeout(f.Context, 2*time.Second)
	defer cancel()
	all := []info{f.survey.info()}
	for _, addr := range f.Config.Join {
		if addr == f.Addr() {
			continue
		}
		i, err := protocol.Ask[info](ctx, f.Peer, addr, protocol.Info, protocol.None{})
		if err != nil {
			return "no answer from " + addr
		}
		all = append(all, i)
	}
	if why := disagreement(all, f.Config.BootstrapExpect); why != "" {
		return why
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Identity.ID < all[j].Identity.ID })
	if all[0].Identity.ID != f.Config.ID {
		return "replica " + all[0].Identity.ID + " will initialize the cluster"
	}
	var known []string
	for _, i := range all {
		known = append(known, string(i.Identity.ServerID()))
	}
	id := f.ClusterID()
	if id == "" {
		id = randomHex(16)
		if err := f.SetCluster(id, 0, identity.RoleVoter, known, nil); err != nil {
			return err.Error()
		}
	}
	conf := raft.Configuration{}
	for _, i := range all {
		if i.Identity.ID != f.Config.ID {
			if _, err := protocol.Ask[protocol.None](ctx, f.Peer, i.Address, protocol.Adopt,
				adoptRequest{id, known}); err != nil {
				return fmt.Sprintf("replica %s refuses: %v", i.Identity.ID, err)
			}
		}
		conf.Servers = append(conf.Servers, raft.Server{ID: i.Identity.ServerID(), Address: raft.ServerAddress(i.Address)})
	}
	if err := f.bootstrapAndLead(conf); err != nil {
		return err.Error()
	}
	return ""
}

// disagreement returns why the replicas cannot form the expected cluster, or "" if they can: all of
// them must be empty and have the same configuration.
func disagreement(all []info, expect int) string {
	if len(all) != expect {
		return fmt.Sprintf("found %d replicas, raft.bootstrap_expect is %d", len(all), expect)
	}
	var cluster string
	list := sortedList(all[0].Join)
	for n, i := range all {
		same := slices.IndexFunc(all[:n], func(o info) bool { return identity.SameID(o.Identity.ID, i.Identity.ID) })
		switch {
		case !i.Empty:
			return fmt.Sprintf("replica %s has state of cluster %s", i.Identity.ID, i.Identity.ClusterID)
		case i.Identity.ClusterName != all[0].Identity.ClusterName:
			return fmt.Sprintf("replica %s has the cluster name %s", i.Identity.ID, i.Identity.ClusterName)
		case i.Expect != expect || sortedList(i.Join) != list:
			return fmt.Sprintf("replica %s has another configuration: raft.bootstrap_expect %d, raft.join [%s]", i.Identity.ID,
				i.Expect, sortedList(i.Join))
		case same >= 0:
			return fmt.Sprintf("two replicas have the id %s, or ids that differ only in case: %s at %s, %s at %s", i.Identity.ID,
				all[same].Identity.ID, all[same].Address, i.Identity.ID, i.Address)
		case i.Identity.ClusterID != "" && cluster != "" && i.Identity.ClusterID != cluster:
			return "the replicas belong to different clusters"
		}
		if i.Identity.ClusterID != "" {
			cluster = i.Identity.ClusterID
		}
	}
	return ""
}

// sortedList returns the sorted addresses as one string, to compare two lists.
func sortedList(l []string) string {
	l = slices.Clone(l)
	slices.Sort(l)
	return strings.Join(l, " ")
}

// randomHex returns n random bytes in hex.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // crypto/rand never fails
	return hex.EncodeToString(b)
}

// RecoveryNoted clears Identity.Recovered, after the audit log has recorded the recovery.
func (c *Cluster) RecoveryNoted() error {
	return c.core.Dir.Update(func(i *identity.Identity) { i.Recovered = nil })
}
