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
	"rmd/scheduler/input"
	"rmd/transport/forward"
	"rmd/yarn"
)

// An intruder is a program with a replica's certificate that is not a member: a replica that was
// never admitted, a member's id with another incarnation, or a removed replica with all of its
// disk. It calls everything that the peer port serves. No replica may answer (S14).

const intruderWait = 2 * time.Second

// intruder attacks every replica up to three times, each time under another name.
func (d *driver) intruder() {
	h := d.w.net.host("intruder", owner{})
	defer d.w.net.crash(h)
	for n := range 1 + d.rng.Intn(3) {
		name := d.intruderName(n)
		key := sha256.Sum256([]byte(name)) // as replicas in memory derive it
		h.mu.Lock()
		h.server, h.key = name, ed25519.NewKeyFromSeed(key[:])
		h.mu.Unlock()
		d.note("%s attacks", name)
		for _, r := range d.w.members() {
			l, up := r.currentProcess()
			if !up {
				continue
			}
			if slices.Contains(l.cluster.Identity().RemovedPeers, name) || !d.wasMember(name) {
				d.w.check.achieved("intruder")
				h.attack(d.w, l)
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

// wasMember reports whether any replica knows that the member with a name was removed. Others may
// not know this yet.
func (d *driver) wasMember(name string) bool {
	for _, r := range d.w.members() {
		l, _ := r.currentProcess()
		if slices.Contains(l.cluster.Identity().RemovedPeers, name) {
			return true
		}
	}
	return false
}

// attack calls everything that one replica serves.
func (h *host) attack(w *world, l *process) {
	to := l.r.id
	_, clusterID := l.host.identity()
	h.mu.Lock()
	h.cluster = clusterID
	h.mu.Unlock()
	term, leader := l.cluster.Term(), string(l.cluster.Identity().ServerID())
	for _, m := range protocol.Methods {
		if m.Number == 0 || l.host.handlerOf(m.Number) == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(h.running, intruderWait)
		b, err := h.Call(ctx, to, m.Number, intruderRequest(m.Number))
		cancel()
		if err == nil && !refuses(m, b) && l.alive() {
			w.check.fail("S14: %s answers %s, who is no member, to %s: %s", to, h.server, m.Name, b)
		}
	}
	for _, name := range []string{h.server, leader} {
		head := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(name), Addr: []byte(h.id)}
		h.attackRaft(w, l, head, term+5)
	}
}

// attackRaft sends Raft's requests.
func (h *host) attackRaft(w *world, l *process, head raft.RPCHeader, term uint64) {
	to, id := raft.ServerAddress(l.r.id), l.cluster.Identity().ServerID()
	last := l.cluster.LastIndex()
	bad := &raft.Log{Index: last + 1, Term: term, Data: []byte("nonsense")}
	for _, try := range []struct {
		what string
		send func() error
	}{
		{"AppendEntries", func() error {
			return h.AppendEntries(id, to, &raft.AppendEntriesRequest{RPCHeader: head, Term: term, PrevLogEntry: last, PrevLogTerm: term - 5, Entries: []*raft.Log{bad}, LeaderCommitIndex: last + 1}, &raft.AppendEntriesResponse{})
		}},
		{"RequestVote", func() error {
			return h.RequestVote(id, to, &raft.RequestVoteRequest{RPCHeader: head, Term: term, LastLogIndex: last + 9, LastLogTerm: term}, &raft.RequestVoteResponse{})
		}},
		{"RequestPreVote", func() error {
			return h.RequestPreVote(id, to, &raft.RequestPreVoteRequest{RPCHeader: head, Term: term, LastLogIndex: last + 9, LastLogTerm: term}, &raft.RequestPreVoteResponse{})
		}},
		{"TimeoutNow", func() error {
			return h.TimeoutNow(id, to, &raft.TimeoutNowRequest{RPCHeader: head}, &raft.TimeoutNowResponse{})
		}},
		{"InstallSnapshot", func() error {
			q := &raft.InstallSnapshotRequest{RPCHeader: head, Term: term, SnapshotVersion: raft.SnapshotVersionMax, LastLogIndex: last + 9, LastLogTerm: term}
			return h.ask(l.r.id, q, new(raft.InstallSnapshotRequest), &raft.InstallSnapshotResponse{}, []byte("RMDS"))
		}},
	} {
		if err := try.send(); err == nil && l.alive() {
			w.check.fail("S14: %s answers %s of %s, who is no member, in the name of %s", l.r.id, try.what, h.server, head.ID)
		}
	}
}

// handlerOf returns the handler of a method, or nil.
func (h *host) handlerOf(method byte) handler {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.handlers[method]
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
