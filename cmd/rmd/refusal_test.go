package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/snapshot"
)

// TestRefusals sends everything that must be refused, and checks the codes and texts. No refused
// command may change the cluster.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 5, calm, "", "standby_hold: 500ms\n"+quickPilot)
	c.birth(3)
	before := c.members(c.all[0])
	refuseUsage(c)
	refuseBirth(c)
	refuseJoin(c)
	for id, m := range c.members(c.all[0]) {
		if was, ok := before[id]; ok && (m.Incarnation != was.Incarnation || m.Voter != was.Voter) {
			t.Errorf("%s was %+v and is %+v", id, was, m)
		}
	}
	refuseMembers(c)
	refuseSnapshots(c)
	refuseOffline(c)
	refuseSick(c)
}

func refuseUsage(c *processes) {
	for _, x := range []struct {
		code int
		says string
		args []string
	}{
		{2, `USAGE: ID is missing; usage: rmd cluster remove ID`, []string{"cluster", "remove"}},
		{2, `did you mean`, []string{"cluster", "remvoe", "rm1"}},
		{2, `UNKNOWN_FLAG`, []string{"cluster", "members", "--colums", "ID"}},
		{2, `USAGE: "rmd cluster init" acts on one replica, but --addr names 5; name only that replica with --addr`,
			[]string{"cluster", "init"}},
		{2, `USAGE: unknown value "boss" of --role; write voter or nonvoter`,
			[]string{"cluster", "token", "create", "--role", "boss"}},
		{2, `ttl is out of range`, []string{"cluster", "token", "create", "--ttl", "25h"}},
		{2, `unknown setting "clenup"`, []string{"autopilot", "set", "clenup=1"}},
		{2, `needs min_quorum`, []string{"autopilot", "set", "cleanup_dead_servers=true"}},
		{2, `OUT_OF_RANGE: autopilot: thresholds must be positive`, []string{"autopilot", "set", "last_contact_threshold=0"}},
		{2, `USAGE: the data directory is not named; write --data DIR`, []string{"check"}},
		{2, `USAGE: FILE is missing`, []string{"snapshot", "save"}},
		{3, `application_1_0001`, []string{"app", "status", "application_1_0001"}},
		{3, `nowhere`, []string{"node", "status", "nowhere:1"}},
		{3, `root.nothing`, []string{"queue", "status", "root.nothing"}},
		{3, `NO_SUCH_REPLICA: no replica has the id rm9; see "rmd cluster members"`, []string{"cluster", "transfer", "rm9"}},
		{3, `NO_SUCH_REPLICA`, []string{"cluster", "promote", "rm9"}},
		{3, `NO_SUCH_REPLICA`, []string{"cluster", "demote", "rm9"}},
		{3, `NO_SUCH_REPLICA`, []string{"cluster", "remove", "rm9", "--yes"}},
		{5, `NO_REPLICA: no replica reached`, []string{"cluster", "members", "--addr", "127.0.0.1:1"}},
	} {
		c.refused(x.code, x.says, x.args...)
	}
	if out := c.done("upgrade", "finalize", "--yes"); out != "" {
		contains(c.t, "upgrade finalize", out, "the voters know no higher level")
	}
}

func refuseBirth(c *processes) {
	c.start(c.all[3])
	c.awaitUp(c.all[3])
	first, fresh := c.all[0], c.all[3]
	c.refused(8, "ALREADY_INITIALIZED: replica rm1 is a member of cluster ", "cluster", "init", "--addr", first.http)
	c.refused(8, "already belongs to cluster", "cluster", "init", "--addr", fresh.http)
	c.refused(8, "already belongs to cluster", "cluster", "init", "--dry-run", "--addr", fresh.http)
	one := newProcesses(c.t, 1, calm, "", "").all[0]
	c.start(one)
	defer c.kill(one)
	c.awaitUp(one)
	c.refused(2, "OUT_OF_RANGE", "cluster", "init", "--cluster-id", "a b", "--addr", one.http)
	contains(c.t, "dry run", c.done("cluster", "init", "--dry-run", "--addr", one.http), "can create a cluster")
	contains(c.t, "init", c.done("cluster", "init", "--cluster-id", "chosen", "--addr", one.http),
		"created cluster test with rm1 at "+one.peer)
	c.refused(8, "ALREADY_INITIALIZED", "cluster", "join", first.peer, "--addr", one.http, "--token-file",
		c.token("--addr", first.http))
}

func refuseJoin(c *processes) {
	leader, fresh, last := c.all[0], c.all[3], c.all[4]
	to := []string{"--addr", leader.http}
	good := c.token(to...)
	join := func(p *process, token string, more ...string) []string {
		return append([]string{"cluster", "join", leader.peer, "--addr", p.http, "--token-file", token}, more...)
	}
	bogus := filepath.Join(c.t.(*testing.T).TempDir(), "bogus")
	if err := os.WriteFile(bogus, []byte("bogus\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	brief := c.token("--addr", leader.http, "--ttl", "1s")
	began := time.Now()
	c.refused(2, "a join needs a token", "cluster", "join", leader.peer, "--addr", fresh.http)
	c.refused(2, "FILE", join(fresh, "/nonexistent/token")...)
	const again = `; create one with "rmd cluster token create"`
	c.refused(7, "TOKEN_INVALID: the join token is not known, or has expired"+again, join(fresh, bogus)...)
	c.refused(7, "TOKEN_INVALID", join(fresh, bogus, "--dry-run")...)
	c.refused(5, "PEER_UNREACHABLE", "cluster", "join", "127.0.0.1:1", "--addr", fresh.http, "--token-file", good)

	twin := newProcesses(c.t, 1, calm, "", "") // its id is also rm1
	p := twin.all[0]
	c.start(p)
	c.awaitUp(p)
	c.refused(8, "ID_IN_USE: id rm1 is already used by a member at "+leader.peer, join(p, good)...)
	c.kill(p)
	c.wipe(p)
	twin.reconfigure(p, "id: rm1", "id: rm9")
	twin.reconfigure(p, "  heartbeat", "  advertise: "+c.all[1].peer+"\n  heartbeat")
	c.start(p)
	c.awaitUp(p)
	c.refused(8, "ADDRESS_IN_USE: address "+c.all[1].peer+" is already used by member rm2", join(p, good)...)
	c.kill(p)
	c.wipe(p)
	twin.reconfigure(p, "  advertise: "+c.all[1].peer+"\n", "")
	twin.reconfigure(p, "cluster: test", "cluster: other")
	c.start(p)
	c.awaitUp(p)
	c.refused(8, "CLUSTER_NAME_DIFFERS", join(p, good)...)
	c.kill(p)

	time.Sleep(time.Until(began.Add(1100 * time.Millisecond))) // expired tokens are removed later
	c.refused(7, "has expired"+again, join(fresh, brief)...)
	contains(c.t, "dry run", c.done(join(fresh, good, "--dry-run")...), "rm4 can join cluster ")
	c.done(join(fresh, good)...)
	c.start(last)
	c.awaitUp(last)
	c.refused(7, "TOKEN_USED: the join token was used by rm4", join(last, good)...)
	c.refused(7, "TOKEN_USED", join(last, good, "--dry-run")...)
	c.done(join(last, c.token("--addr", leader.http, "--role", "nonvoter"))...)
	c.awaitVoters(c.all[:4]...) // rm4's token was for a voter, rm5's was not
	c.done("cluster", "remove", "rm4", "--yes")
	c.exited(fresh)
}

// refuseMembers tests a cluster of the healthy replicas rm1 to rm3 and the non-voter rm5.
func refuseMembers(c *processes) {
	c.refused(8, "ALREADY_VOTER: replica rm2 is already a voter", "cluster", "promote", "rm2")
	c.refused(8, "NOT_A_VOTER: replica rm5 is not a voter", "cluster", "demote", "rm5")
	c.refused(8, "NOT_A_VOTER: replica rm5 is not a voter; promote it first", "cluster", "transfer", "rm5")
	last := c.all[4]
	c.kill(last)
	c.refused(8, "NOT_HEALTHY: replica rm5 does not answer", "cluster", "promote", "rm5")
	work := c.work(newCaller(c.t.(*testing.T), c.addrs()[:3]), 2)
	from := c.members(c.all[0])["rm1"].LastIndex
	c.await("some hundred entries", patience, func() bool { return c.members(c.all[0])["rm1"].LastIndex > from+400 })
	work.end()
	c.start(last)
	var errs string
	c.await("rm5 answers", patience, func() bool {
		_, said, code := c.rmd("cluster", "promote", "rm5", "--max-lag", "1")
		errs = said
		return code == 0 || !contain(said, "NOT_HEALTHY")
	})
	if errs != "" && !contain(errs, `NOT_CAUGHT_UP: replica rm5 is `) {
		c.t.Errorf("rm5 is behind, and: %s", errs)
	}
	c.await("rm5 is promoted once it has caught up", patience, func() bool {
		_, said, code := c.rmd("cluster", "promote", "rm5")
		return code == 0 || contain(said, "ALREADY_VOTER")
	})
	c.done("cluster", "remove", "rm5", "--yes")
	c.exited(last)
}

// refuseSnapshots runs when the cluster has nodes.
func refuseSnapshots(c *processes) {
	dir := c.t.(*testing.T).TempDir()
	file, damaged := filepath.Join(dir, "state"), filepath.Join(dir, "damaged")
	c.done("snapshot", "save", file)
	c.refused(8, "EXISTS: "+file+" already exists; choose another name, or use --overwrite", "snapshot", "save", file)
	c.done("snapshot", "save", file, "--overwrite")
	b, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(damaged, b, 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.refused(9, "SNAPSHOT_DAMAGED: "+damaged+": ", "snapshot", "inspect", damaged)
	c.refused(9, "SNAPSHOT_DAMAGED: "+damaged+": ", "snapshot", "restore", damaged, "--replace-state", "x", "--yes")
	c.refused(2, "FILE", "snapshot", "inspect", filepath.Join(dir, "none"))
	c.refused(8, "NOT_FRESH: cluster ", "snapshot", "restore", file)
	c.refused(8, "NOT_FRESH: cluster ", "snapshot", "restore", file, "--dry-run")
	c.refused(8, "CLUSTER_ID_DIFFERS: this cluster is ", "snapshot", "restore", file, "--replace-state", "other", "--yes")
	c.refused(2, "NEEDS_YES", "snapshot", "restore", file, "--replace-state", "other")
	newer := filepath.Join(dir, "newer")
	raiseLevel(c, file, newer)
	c.done("snapshot", "inspect", newer)
	c.refused(8, "VERSION_TOO_OLD: the snapshot was written by a newer build: feature level ", "snapshot",
		"restore", newer)
}

// raiseLevel rewrites a snapshot as a program with the next feature level would write it.
func raiseLevel(c *processes, file, newer string) {
	in, err := os.Open(file)
	if err != nil {
		c.t.Fatal(err)
	}
	defer in.Close()
	h, st, err := snapshot.Read(in)
	if err != nil {
		c.t.Fatal(err)
	}
	st.Meta.Level = event.Level + 1
	var b bytes.Buffer
	if err := snapshot.Write(&b, snapshot.HeaderOf(st, h.Index, h.Term, h.Sequence), st); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(newer, b.Bytes(), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// refuseOffline tests commands on data directories. It stops rm3.
func refuseOffline(c *processes) {
	dir := c.t.(*testing.T).TempDir()
	peers := func(text string, args ...any) string {
		file := filepath.Join(dir, "peers.json")
		if err := os.WriteFile(file, fmt.Appendf(nil, text, args...), 0o600); err != nil {
			c.t.Fatal(err)
		}
		return file
	}
	p := c.all[2]
	c.refused(8, "IN_USE: "+p.dir+" is in use by another process; stop rmd first", "check", "--data", p.dir)
	alone := peers(`[{"id":"rm3","address":%q}]`, "127.0.0.1:1")
	c.refused(8, "IN_USE: "+p.dir+" is in use by another process", "recover", "--data", p.dir, "--peers", alone, "--yes")
	if code := c.terminate(p); code != 0 {
		c.t.Fatalf("rm3 ended with %d", code)
	}
	c.done("check", "--data", p.dir)
	c.refused(3, "NO_SUCH_DATA: "+dir+" is not a data directory", "check", "--data", dir)
	c.refused(2, "write --peers FILE", "recover", "--data", p.dir)
	c.refused(2, "INVALID_CONFIG", "recover", "--data", p.dir, "--peers", peers("[]"))
	c.refused(2, "INVALID_CONFIG", "recover", "--data", p.dir, "--peers", peers(`[{"id":"rm3","adress":"x"}]`))
	c.refused(8, "NOT_A_VOTER: replica rm3 owns this data directory", "recover", "--data", p.dir, "--peers",
		peers(`[{"id":"rm8","address":"127.0.0.1:1"}]`), "--yes")
	alone = peers(`[{"id":"rm3","address":%q}]`, p.peer)
	c.refused(8, "LIVE_PEER: replica rm1 still runs at "+c.all[0].peer, "recover", "--data", p.dir, "--peers",
		alone, "--yes")
	c.refused(8, "LIVE_PEER", "recover", "--data", p.dir, "--peers", alone, "--dry-run")
}

// refuseSick tests a cluster that has lost rm3, and then its majority.
func refuseSick(c *processes) {
	leader := c.leader()
	other := c.all[0]
	if other == leader {
		other = c.all[1]
	}
	c.refused(8, "WOULD_LOSE_QUORUM: rm3 does not answer; removing "+other.id+
		" would leave 1 healthy of 2 voters; start or repair that replica first; with --force the cluster may stop for good",
		"cluster", "remove", other.id, "--yes")
	c.refused(8, "WOULD_LOSE_QUORUM", "cluster", "remove", other.id, "--dry-run")
	c.refused(8, "WOULD_LOSE_QUORUM: rm3 does not answer; demoting "+other.id+
		" would leave 1 healthy of 2 voters; wait until the other voters have caught up", "cluster", "demote", other.id)
	c.refused(2, "NEEDS_YES", "cluster", "remove", other.id, "--force")
	c.refused(8, "NOT_HEALTHY: replica rm3 does not answer", "cluster", "transfer", "rm3")
	c.refused(9, "the cluster cannot lose a replica", "cluster", "health")
	c.refused(9, "CHECK_FAILED: rm3 did not report a digest at index ", "cluster", "verify")
	c.kill(other)
	c.await(leader.id+" knows that it does not lead any more", patience,
		func() bool { return !c.get(leader, "/v1/leader?role=leader", nil) })
	for _, args := range [][]string{{"cluster", "transfer"}, {"cluster", "token", "create"}, {"app", "list"},
		{"snapshot", "save", filepath.Join(c.t.(*testing.T).TempDir(), "s")}} {
		c.refused(5, "NO_LEADER", append(args, "--timeout", "1", "--addr", leader.http)...)
	}
	c.refused(9, "there is no leader", "cluster", "health", "--addr", leader.http)
	c.done("cluster", "status", "--addr", leader.http)
	c.done("app", "list", "--stale", "--addr", leader.http)
}
