package sim

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/jepsen-lite/sim/network"
	"rmd/jepsen-lite/sim/owner"
	"rmd/scheduler/input"
	"rmd/transport/forward"
	"rmd/yarn"
)

// An intruder is a program with a replica's certificate that is not a member: a replica that was
// never admitted, a member's id with another incarnation, or a removed replica with all of its
// disk. It calls everything that the peer port serves. No replica may answer (S14).

const intruderWait = 2 * time.Second

// intruder attacks the replicas of a cluster from a host of its own.
type intruder struct {
	w    *world
	host *network.Host
	name string // the server that it says it is
}

// intruder attacks every replica up to three times, each time under another name.
func (d *driver) intruder() {
	x := &intruder{w: d.w, host: d.w.net.Connect("intruder", owner.Mark{})}
	defer d.w.net.Crash(x.host)
	for n := range 1 + d.rng.Intn(3) {
		x.name = d.intruderName(n)
		d.note("%s attacks", x.name)
		for _, r := range d.w.members() {
			l, up := r.currentProcess()
			if !up {
				continue
			}
			if slices.Contains(l.cluster.Identity().RemovedPeers, x.name) || !x.wasMember() {
				d.w.check.Achieved("intruder")
				x.attack(l)
			}
		}
	}
}

// intruderName returns the name under which the intruder attacks.
func (d *driver) intruderName(n int) string {
	l, _ := d.leading().currentProcess()
	if gone := l.cluster.Identity().RemovedPeers; len(gone) > 0 && n > 0 {
		return gone[d.rng.Intn(len(gone))]
	}
	if d.oneIn(2) {
		return d.randomMember().id + ".stranger"
	}
	return fmt.Sprintf("intruder.%d", d.rng.Intn(100))
}

// wasMember reports whether any replica knows that the member with the name was removed. Others may
// not know this yet.
func (x *intruder) wasMember() bool {
	for _, r := range x.w.members() {
		l, _ := r.currentProcess()
		if slices.Contains(l.cluster.Identity().RemovedPeers, x.name) {
			return true
		}
	}
	return false
}

// attack calls everything that one replica serves.
func (x *intruder) attack(l *process) {
	key := sha256.Sum256([]byte(x.name)) // as replicas in memory derive it
	x.host.Impersonate(x.name, ed25519.NewKeyFromSeed(key[:]), l.host)
	to := l.r.id
	term, leader := l.cluster.Term(), string(l.cluster.Identity().ServerID())
	for _, m := range protocol.Methods {
		if m.Number == 0 || !l.host.Serves(m.Number) {
			continue
		}
		ctx, cancel := context.WithTimeout(x.host.Lifetime(), intruderWait)
		b, err := x.host.Call(ctx, to, m.Number, intruderRequest(m.Number))
		cancel()
		if err == nil && !refuses(m, b) && l.alive() {
			x.w.check.Fail("S14: %s answers %s, who is no member, to %s: %s", to, x.name, m.Name, b)
		}
	}
	for _, name := range []string{x.name, leader} {
		head := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(name), Addr: []byte(x.host.Addr())}
		x.attackRaft(l, head, term+5)
	}
}

// attackRaft sends Raft's requests.
func (x *intruder) attackRaft(l *process, head raft.RPCHeader, term uint64) {
	to, id := raft.ServerAddress(l.r.id), l.cluster.Identity().ServerID()
	last := l.cluster.LastIndex()
	bad := &raft.Log{Index: last + 1, Term: term, Data: []byte("nonsense")}
	for _, try := range []struct {
		what string
		send func() error
	}{
		{"AppendEntries", func() error {
			return x.host.AppendEntries(id, to, &raft.AppendEntriesRequest{RPCHeader: head, Term: term, PrevLogEntry: last,
				PrevLogTerm: term - 5, Entries: []*raft.Log{bad}, LeaderCommitIndex: last + 1}, &raft.AppendEntriesResponse{})
		}},
		{"RequestVote", func() error {
			return x.host.RequestVote(id, to, &raft.RequestVoteRequest{RPCHeader: head, Term: term, LastLogIndex: last + 9,
				LastLogTerm: term}, &raft.RequestVoteResponse{})
		}},
		{"RequestPreVote", func() error {
			return x.host.RequestPreVote(id, to, &raft.RequestPreVoteRequest{RPCHeader: head, Term: term, LastLogIndex: last + 9,
				LastLogTerm: term}, &raft.RequestPreVoteResponse{})
		}},
		{"TimeoutNow", func() error {
			return x.host.TimeoutNow(id, to, &raft.TimeoutNowRequest{RPCHeader: head}, &raft.TimeoutNowResponse{})
		}},
		{"InstallSnapshot", func() error {
			q := &raft.InstallSnapshotRequest{RPCHeader: head, Term: term, SnapshotVersion: raft.SnapshotVersionMax,
				LastLogIndex: last + 9, LastLogTerm: term}
			return x.host.OfferSnapshot(l.r.id, q, []byte("RMDS"))
		}},
	} {
		if err := try.send(); err == nil && l.alive() {
			x.w.check.Fail("S14: %s answers %s of %s, who is no member, in the name of %s", l.r.id, try.what, x.name, head.ID)
		}
	}
}

// intruderRequest returns the request for a method.
func intruderRequest(method byte) []byte {
	if method == forward.MethodInput {
		in := &input.SetAccessToken{Name: "mallory", Hash: make([]byte, 32), Role: yarn.RoleAdmin, ExpiresMillis: 1 << 50}
		return input.EncodeRequest([]byte{1}, input.Request{Input: in})
	}
	return []byte(`{"op":"transfer"}`)
}

// refuses reports whether an answer is a refusal, or reveals only what every holder of a
// certificate may know.
func refuses(m protocol.Method, answer []byte) bool {
	var r struct {
		Refusal *refusal.Refusal      `json:"refusal"`
		Body    struct{ Term uint64 } `json:"body"`
	}
	return m.Caller == protocol.AnyReplica && json.Unmarshal(answer, &r) == nil && (r.Refusal != nil || r.Body.Term == 0)
}
