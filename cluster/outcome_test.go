package cluster

import (
	"context"
	"io"
	"sync/atomic"
	"testing"

	"rmd/cluster/identity"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
)

// lossyPeer loses an administrative call or its answer.
type lossyPeer struct {
	Peer
	lose *atomic.Pointer[func(call func())]
}

func (p lossyPeer) Call(ctx context.Context, addr string, method byte, req []byte) ([]byte, error) {
	lose := p.lose.Load()
	if method != protocol.Admin || lose == nil || !p.lose.CompareAndSwap(lose, nil) {
		return p.Peer.Call(ctx, addr, method, req)
	}
	(*lose)(func() { _, _ = p.Peer.Call(ctx, addr, method, req) })
	return nil, io.EOF
}

// TestMembershipChangeLeaderCrash checks that a membership change succeeds if the leader dies
// before or after it makes the change.
func TestMembershipChangeLeaderCrash(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]bool{"before the change": true, "after the change": false} {
		t.Run(name, func(t *testing.T) {
			var lose atomic.Pointer[func(func())]
			rs := trio(t, func(c *Config) {
				c.Peer = lossyPeer{c.Peer, &lose}
				c.CheckToken = func(token, _ string, _ bool) (string, error) {
					if token == identity.RoleNonvoter {
						return identity.RoleNonvoter, nil
					}
					return identity.RoleVoter, nil
				}
			})
			l := leader(t, rs)
			f := without(rs, l)[0]
			guest := newReplica(t, "rm4", nil).start()
			if err := guest.c.Join(t.Context(), []string{l.addr}, identity.RoleNonvoter, false); err != nil {
				t.Fatal(err)
			}
			inStep(t, append(rs, guest), put(t, rs, 2))
			dies := func(call func()) {
				if !before {
					call()
				}
				l.kill()
			}
			lose.Store(&dies)
			if err := f.c.Remove("rm4", false); err != nil {
				t.Fatalf("the outcome: %v", err)
			}
			eventually(t, patience, "it is removed", func() bool { return !f.c.HasMember("rm4") })
			wantRefusal(t, f.c.Remove("rm4", false), refusal.NoSuchReplica)
		})
	}
}
