package server

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/config"
	"rmd/internal/certificate"
	"rmd/internal/portblock"
	"rmd/scheduler/input"
	"rmd/transport/peer"
	"rmd/yarn"
)

const portTimeout = time.Minute

// authority is a certificate authority in its own directory.
type authority struct {
	t   *testing.T
	dir string
	ca  *certificate.Authority
}

func newAuthority(t *testing.T, cluster string) authority {
	t.Helper()
	dir := t.TempDir()
	ca, _, err := certificate.Open(dir, cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return authority{t, dir, ca}
}

// issue issues a certificate into a new directory, so that one id may have several.
func (a authority) issue(cluster, id string) config.TLS {
	a.t.Helper()
	dir := a.t.TempDir()
	f, err := a.ca.Issue(dir, cluster, id, nil, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	return config.TLS{CA: filepath.Join(a.dir, "ca.pem"), Cert: f.Cert, Key: f.Key}
}

// openTLS starts a replica whose peer port requires certificates.
func openTLS(t *testing.T, a authority, id string) *Replica {
	t.Helper()
	k := config.Default()
	k.ID, k.Cluster, k.Data = id, "prod", t.TempDir()
	if err := os.Chmod(k.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	k.Raft.Listen, k.HTTP.Listen, k.TLS = portblock.Loopback(portblock.Open(t).Take()), "", a.issue("prod", id)
	r, err := Open(Options{Config: k, Version: "test", Logger: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// soon waits until a condition holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(portTimeout); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", portTimeout, what)
		}
	}
}

// intruder is a program that has a certificate and speaks the peer protocol.
type intruder struct {
	*peer.Server
	id string
}

func newIntruder(t *testing.T, conf config.TLS, cluster, clusterID, id, incarnation string,
	key ed25519.PrivateKey) intruder {
	t.Helper()
	loaded, err := config.LoadTLS(conf)
	if err != nil {
		t.Fatal(err)
	}
	c := peer.DefaultConfig()
	c.ClusterName, c.ID, c.Listen, c.TLS, c.Logger = cluster, id, "127.0.0.1:0", loaded, hclog.NewNullLogger()
	s, err := peer.Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if key != nil {
		s.SetKey(key)
	}
	s.Identify(incarnation, clusterID)
	return intruder{s, id + "." + incarnation}
}

// drawn generates a key and the incarnation that names it.
func drawn(t *testing.T) (ed25519.PrivateKey, string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(pub)
	return key, hex.EncodeToString(sum[:16])
}

// keyOf reads the key from a replica's data directory.
func keyOf(t *testing.T, dir string) ed25519.PrivateKey {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "trust.json"))
	var kept cluster.Trust
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(kept.Seed)
}

// TestMethodsAreDeclared checks that protocol.Methods lists exactly the methods that a whole replica
// serves, each with its permitted callers.
func TestMethodsAreDeclared(t *testing.T) {
	r := openTLS(t, newAuthority(t, "prod"), "rm1")
	served := r.peer.(*peer.Server).Methods()
	for _, number := range served {
		if !slices.ContainsFunc(protocol.Methods,
			func(m protocol.Method) bool { return m.Number == number && m.Caller != "" && m.Name != "" }) {
			t.Errorf("method %d does not declare in protocol.Methods who may call it", number)
		}
	}
	seen := map[string]bool{}
	for _, m := range protocol.Methods {
		if seen[m.Name] {
			t.Errorf("%s is declared twice", m.Name)
		}
		seen[m.Name] = true
		if m.Number != 0 && !slices.Contains(served, m.Number) && m.Name != "digest" && m.Name != "stop" {
			t.Errorf("%s is declared and not served", m.Name)
		}
	}
	// Raft requests have no registry. These are all that the library's transport interface can
	// send.
	for _, name := range []string{"AppendEntries", "InstallSnapshot", "RequestVote", "RequestPreVote",
		"TimeoutNow", "liveness"} {
		if !seen[name] {
			t.Errorf("%s does not declare in protocol.Methods who may send it", name)
		}
	}
}

// TestPortRefusesWhoIsNoMember calls every method and sends every Raft request with the
// certificates of a removed replica, of a replica that never joined, of one that uses a member's
// name, and of foreign clusters. All of them must be refused.
func TestPortRefusesWhoIsNoMember(t *testing.T) {
	ca := newAuthority(t, "prod")
	rm1, rm2 := openTLS(t, ca, "rm1"), openTLS(t, ca, "rm2")
	if err := rm1.cluster.Init(false); err != nil {
		t.Fatal(err)
	}
	soon(t, "rm1 leads", rm1.cluster.IsLeader)
	joinWithToken(t, rm1, rm2)
	removed := rm2.cluster.Identity()
	certOfRemoved, dirOfRemoved := rm2.opt.Config.TLS, rm2.opt.Config.Data
	soon(t, "rm2 is removed",
		func() bool { return rm1.cluster.Remove("rm2", true) == nil && !rm1.cluster.HasMember("rm2") })
	_ = rm2.Close()

	id := rm1.cluster.Identity()
	drawnKey, drawnName := drawn(t)
	other := newAuthority(t, "prod")
	for name, who := range map[string]intruder{
		"a removed replica": newIntruder(t, certOfRemoved, "prod", id.ClusterID, "rm2",
			removed.Incarnation, keyOf(t, dirOfRemoved)),
		"a removed replica with a new name": newIntruder(t, certOfRemoved, "prod", id.ClusterID, "rm2",
			drawnName, drawnKey),
		"a removed replica with a made-up name": newIntruder(t, certOfRemoved, "prod", id.ClusterID, "rm2",
			"0123456789abcdef", nil),
		"a replica that was never admitted": newIntruder(t, ca.issue("prod", "rm9"), "prod", id.ClusterID, "rm9",
			drawnName, drawnKey),
		"one never admitted, without a proof": newIntruder(t, ca.issue("prod", "rm9"), "prod", id.ClusterID, "rm9",
			drawnName, nil),
		"a member's name with another key": newIntruder(t, ca.issue("prod", "rm1"), "prod", id.ClusterID, "rm1",
			id.Incarnation, drawnKey),
		"a member's name without a key": newIntruder(t, ca.issue("prod", "rm1"), "prod", id.ClusterID, "rm1",
			id.Incarnation, nil),
		"a member's name on another certificate": newIntruder(t, ca.issue("prod", "rm9"), "prod", id.ClusterID, "rm1",
			id.Incarnation, drawnKey),
		"a foreign CA": newIntruder(t, other.issue("prod", "rm1"), "prod", id.ClusterID, "rm1",
			id.Incarnation, drawnKey),
		"the same CA, another cluster": newIntruder(t, ca.issue("test", "rm1"), "test", id.ClusterID, "rm1",
			drawnName, drawnKey),
		"the same CA, another cluster, our words": newIntruder(t, ca.issue("test", "rm1"), "prod", id.ClusterID, "rm1",
			drawnName, drawnKey),
	} {
		t.Run(name, func(t *testing.T) { attack(t, rm1, who) })
	}
}

// joinWithToken makes joiner join the cluster of leader.
func joinWithToken(t *testing.T, leader, joiner *Replica) {
	t.Helper()
	hash := sha256.Sum256([]byte("let me in"))
	soon(t, "a join token is made", func() bool {
		reply, _, err := leader.forwarder.Do(t.Context(),
			input.Request{Input: &input.CreateJoinToken{Hash: hash[:], Voter: true, TTLMillis: time.Hour.Milliseconds()}})
		return err == nil && reply.Refused() == nil
	})
	soon(t, joiner.ID()+" joins", func() bool {
		return joiner.cluster.Join(t.Context(), []string{leader.PeerAddr()}, "let me in", false) == nil ||
			joiner.cluster.ClusterID() != ""
	})
}

// attack makes all calls and checks that the victim neither answers nor changes.
func attack(t *testing.T, victim *Replica, who intruder) {
	ctx, cancel := context.WithTimeout(t.Context(), portTimeout)
	defer cancel()
	term, members := victim.cluster.Term(), len(victim.cluster.Members())
	st, _ := victim.machine.Fork()
	tokens := len(st.Access)
	for _, m := range protocol.Methods {
		if m.Number != 0 {
			b, err := who.Call(ctx, victim.PeerAddr(), m.Number, request(m, who.id))
			if err == nil && !harmless(m, b) {
				t.Errorf("%s is answered: %s", m.Name, b)
			}
		}
	}
	victim.attackRaft(t, who, term+7)
	changed := who.StatusChanged()
	who.Watch(map[string]string{"rm1": victim.PeerAddr()}, func() []byte { return nil }, nil)
	select {
	case <-changed:
		t.Error("it hears where the replica stands")
	case <-time.After(50 * time.Millisecond):
	}
	if leader, _ := victim.cluster.Leader(); victim.cluster.Term() != term || leader != "rm1" ||
		!victim.cluster.IsLeader() {
		t.Errorf("term %d is %d now, the leader %q", term, victim.cluster.Term(), leader)
	}
	if st, _ := victim.machine.Fork(); len(st.Access) != tokens || len(victim.cluster.Members()) != members {
		t.Error("the state or the membership was changed")
	}
	if err := victim.cluster.Failure(); err != nil {
		t.Errorf("the replica stopped: %v", err)
	}
}

// request returns a harmful request for a method.
func request(m protocol.Method, who string) []byte {
	switch m.Name {
	case "input":
		in := &input.SetAccessToken{Name: "mallory", Hash: make([]byte, 32), Role: yarn.RoleAdmin, ExpiresMillis: 1 << 50}
		return input.EncodeRequest([]byte{1}, input.Request{Input: in})
	case "admin":
		return []byte(`{"op":"transfer"}`)
	case "move":
		return fmt.Appendf(nil, `{"server_id":%q,"address":"127.0.0.1:1"}`, who)
	case "question":
		return []byte(`{"op":"about"}`)
	case "role":
		return []byte(`"nonvoter"`)
	case "read index", "term", "committed":
		return nil
	}
	return []byte("{}")
}

// harmless reports whether an answer is from a method that every certificate may call, and reveals
// nothing and changes nothing.
func harmless(m protocol.Method, answer []byte) bool {
	var r struct {
		Refusal *refusal.Refusal `json:"refusal"`
		Body    struct {
			Term    uint64 `json:"term"`
			Leader  string `json:"leader_id"`
			Version string `json:"version"`
		} `json:"body"`
	}
	if m.Caller != protocol.AnyReplica || json.Unmarshal(answer, &r) != nil {
		return false
	}
	return r.Refusal != nil || m.Name == "info" && r.Body.Term == 0 && r.Body.Leader == "" && r.Body.Version == ""
}

// attackRaft sends each Raft request, in the intruder's name and in the leader's.
func (r *Replica) attackRaft(t *testing.T, who intruder, term uint64) {
	trans := who.Transport(portTimeout, hclog.NewNullLogger())
	defer func() { _ = trans.(raft.WithClose).Close() }()
	self := r.cluster.Identity().ServerID()
	to := raft.ServerAddress(r.PeerAddr())
	for _, name := range []string{who.id, string(self)} {
		h := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(name), Addr: []byte(who.Addr())}
		for what, err := range map[string]error{
			"AppendEntries": trans.AppendEntries(self, to, &raft.AppendEntriesRequest{RPCHeader: h, Term: term},
				&raft.AppendEntriesResponse{}),
			"RequestVote": trans.RequestVote(self, to,
				&raft.RequestVoteRequest{RPCHeader: h, Term: term, LastLogIndex: 1 << 40, LastLogTerm: term},
				&raft.RequestVoteResponse{}),
			"RequestPreVote": trans.(raft.WithPreVote).RequestPreVote(self, to,
				&raft.RequestPreVoteRequest{RPCHeader: h, Term: term, LastLogIndex: 1 << 40, LastLogTerm: term},
				&raft.RequestPreVoteResponse{}),
			"TimeoutNow": trans.TimeoutNow(self, to, &raft.TimeoutNowRequest{RPCHeader: h}, &raft.TimeoutNowResponse{}),
			"InstallSnapshot": trans.InstallSnapshot(self, to,
				&raft.InstallSnapshotRequest{RPCHeader: h, Term: term, SnapshotVersion: 1, LastLogIndex: 1 << 40,
					LastLogTerm: term, Size: 4},
				&raft.InstallSnapshotResponse{}, strings.NewReader("RMDS")),
		} {
			if err == nil {
				t.Errorf("%s in the name of %s is answered", what, name)
			}
		}
	}
}

// TestRevokedAndRenewed checks that a revoked certificate ends a member's connections and prevents
// new ones, and that a renewed certificate with another key pair works for the same member.
func TestRevokedAndRenewed(t *testing.T) {
	ca := newAuthority(t, "prod")
	rm1, rm2 := openTLS(t, ca, "rm1"), openTLS(t, ca, "rm2")
	if err := rm1.cluster.Init(false); err != nil {
		t.Fatal(err)
	}
	joinWithToken(t, rm1, rm2)
	const term = 6 // the number of a method that only members may call
	asks := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := rm2.peer.Call(ctx, rm1.PeerAddr(), term, nil)
		return err
	}
	soon(t, "rm2 is answered", func() bool { return asks() == nil })

	files := rm2.opt.Config.TLS
	serial, err := certificate.SerialOf(files.Cert)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if added, err := ca.ca.Revoke(ca.dir, serial, time.Now()); added != want || err != nil {
			t.Fatalf("revoked the %d. time: %v, %v", i+1, added, err)
		}
	}
	if err := rm1.ReloadCertificates(); err != nil {
		t.Fatal(err)
	}
	soon(t, "the open connection ends", func() bool { return asks() != nil })
	if err := asks(); err == nil {
		t.Error("a revoked certificate makes a new connection")
	}

	renewed := ca.issue("prod", "rm2")
	for from, to := range map[string]string{renewed.Cert: files.Cert, renewed.Key: files.Key} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := rm2.ReloadCertificates(); err != nil {
		t.Fatal(err)
	}
	soon(t, "the renewed certificate is taken", func() bool { return asks() == nil })

	if err := os.WriteFile(filepath.Join(ca.dir, certificate.RevocationFile), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rm1.ReloadCertificates(); err == nil || !rm1.certs.Revoked(serial.Text(16)) {
		t.Errorf("a damaged list takes the place of the good one: %v", err)
	}
}
