package tracker

import (
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
)

// TestReplacedTokensReachNodes: a node with an older number gets the new tokens of all applications
// with its heartbeats, until it says that it has them.
func TestReplacedTokensReachNodes(t *testing.T) {
	c, _, n := started(t)
	app := c.must(&input.SubmitApplication{User: "ann", Queue: "default", Unmanaged: true,
		Tokens: input.AppTokens{Fetch: true, DelayMillis: 600_000}}).(*input.SubmitApplicationReply).ID
	c.must(&input.TokensFetched{App: app, Credentials: []byte("HDTS"),
		List: []input.AppToken{{Kind: "HDFS_DELEGATION_TOKEN", Service: "nn", Password: []byte("secret")}}})
	c.took()
	has, keeps := int64(1), false
	n.change = func(r *proto.NodeHeartbeatRequestProto) {
		r.TokenSequenceNo = &has
		if keeps {
			r.NodeStatus.KeepAliveApplications = []*proto.ApplicationIdProto{wire.ApplicationIDProto(app)}
		}
	}
	for range 2 {
		p := n.beat()
		got := p.GetSystemCredentialsForApps()
		if len(got) != 1 || string(got[0].GetCredentialsForApp()) != "HDTS" || p.GetTokenSequenceNo() != 2 {
			t.Fatalf("the heartbeat is answered %v", p)
		}
		if id, err := wire.ApplicationID(got[0].GetAppId()); err != nil || id != app {
			t.Errorf("tokens of %v, %v", id, err)
		}
	}
	has = 2
	if p := n.beat(); len(p.GetSystemCredentialsForApps()) != 0 || p.GetTokenSequenceNo() != 2 {
		t.Fatalf("the next heartbeat is answered %v", p)
	}
	wantInputs(t, c, "")

	keeps = true
	n.beat()
	wantInputs(t, c, "") // nothing is to be released
	c.must(&input.KillApplication{ID: app})
	c.took()
	n.beat()
	wantInputs(t, c, "heartbeat(0) ")
}
