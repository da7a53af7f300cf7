package cluster

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/hashicorp/raft"

	"rmd/cluster/local"
	"rmd/cluster/protocol"
)

// Work-around W7: leadership that non-voters confirm (v1.8.0, raft.go: verifyLeader;
// replication.go: heartbeat).
//
// Library: VerifyLeader counts non-voters. It also counts answers to heartbeats that were sent
// before it was called.
// Guard: this replica asks the voters for their term over the peer transport. If a majority is
// still in this term, no later leader had been elected when the question was sent.
// Test: TestVerifyNeedsMajority; S3 of jepsen-lite/sim.
// Delete when: VerifyLeader counts only voters, and only answers to later heartbeats.

// VerifyLeader returns nil if the voters confirm that this replica still leads.
func (r *reads) VerifyLeader() error {
	ctx, cancel := context.WithTimeout(r.Context, r.EnqueueTimeout())
	defer cancel()
	in := r.Current()
	return r.verify(ctx, in, in.Raft.CurrentTerm())
}

// verify returns nil if no later leader was elected before this call. Without a peer, in
// simulations, it uses the library's VerifyLeader, or a barrier if there are non-voters.
func (r *reads) verify(ctx context.Context, in *local.Instance, term uint64) error {
	if in.Raft.State() != raft.Leader || in.Raft.CurrentTerm() != term {
		return ErrNotLeader
	}
	conf := in.Raft.GetConfiguration().Configuration()
	if r.Peer != nil {
		return r.verifyTerm(ctx, in, conf, term)
	}
	for _, s := range conf.Servers {
		if s.Suffrage != raft.Voter {
			f := in.Raft.Barrier(r.EnqueueTimeout())
			return r.mapVerify(in.Await(ctx, f))
		}
	}
	return r.mapVerify(in.Await(ctx, in.Raft.VerifyLeader()))
}

func (r *reads) mapVerify(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	return nil
}

// verifyTerm asks the voters for their term. It returns nil if a majority is still in term.
func (r *reads) verifyTerm(ctx context.Context, in *local.Instance, conf raft.Configuration, term uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	self := r.Identity().ServerID()
	votes, voters, asked := 0, 0, 0
	answers := make(chan bool, len(conf.Servers))
	for _, s := range conf.Servers {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		if s.ID == self {
			votes++
			continue
		}
		asked++
		go func() { // ends with ctx
			b, err := r.Peer.Call(ctx, string(s.Address), protocol.Term, nil)
			answers <- err == nil && len(b) == 8 && binary.BigEndian.Uint64(b) == term
		}()
	}
	for ; votes <= voters/2 && asked > 0; asked-- {
		if <-answers {
			votes++
		}
	}
	if votes <= voters/2 {
		return fmt.Errorf("%w: %d of %d voters are in term %d", ErrNotLeader, votes, voters, term)
	}
	if in.Raft.State() != raft.Leader || in.Raft.CurrentTerm() != term {
		return ErrNotLeader
	}
	return nil
}
