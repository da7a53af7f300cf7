package nemesis

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// Strangers returns the faults by callers that attack replicas or are very slow.
func Strangers() []Fault {
	return []Fault{
		{Name: "hostile-peers", Kind: harness.Hostile,
			Text: "strangers on every port: noise, half sentences, endless ones, and a crowd", Inject: hostile},
		{Name: "intruder", Kind: harness.Hostile,
			Text: "a program with the certificate of a replica that is no member tries everything that the replicas' port serves", Hold: seconds(2, 6), Inject: intruder},
		{Name: "hadoop-noise", Kind: harness.Hostile,
			Text:   "strangers on Hadoop's ports: noise, sentences cut, endless or of another port, and forged tokens",
			Inject: hadoopNoise},
		{Name: "hadoop-slow", Kind: harness.Hostile,
			Text: "callers of Hadoop's ports that stop in mid-sentence, or say a byte now and then", Hold: seconds(2, 6),
			Inject: hadoopSlow},
		{Name: "half-open", Kind: harness.Hostile,
			Text: "callers that stop in mid-sentence, or never read what they asked for", Hold: seconds(2, 6),
			Inject: slow(halfOpen)},
		{Name: "slow-writers", Kind: harness.Hostile, Text: "callers that say a byte now and then", Hold: seconds(2, 6),
			Inject: slow(drip)},
		{Name: "replayed-token", Kind: harness.Members, Text: "a join token is used a second time", Inject: replayedToken},
		{Name: "removed-returns", Kind: harness.Members, Text: "a removed replica comes back with the disk that it had",
			Inject: removedReturns},
	}
}

// hello returns the hello of a replica with an id that no replica has: magic, version, length;
// kind, code, boot, and five texts.
func hello(kind byte) []byte { return helloOf(kind, "rm99", "") }

// helloOf returns the hello of a replica with an id and a cluster id. Its incarnation is one that
// no replica has.
func helloOf(kind byte, id, cluster string) []byte {
	body := binary.BigEndian.AppendUint64([]byte{kind, 0}, 7)
	for _, s := range []string{"", harness.ClusterName, id, "deadbeef", cluster} {
		body = append(append(body, byte(len(s))), s...)
	}
	return append(binary.BigEndian.AppendUint16([]byte("RMDP\x01"), uint16(len(body))), body...)
}

// sentences returns byte sequences with which a correct call begins at one of the ports.
func sentences() [][]byte {
	get := []byte("GET /v1/apps?limit=1000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	return [][]byte{hello(1), hello(2), append(hello(3), 0, 0, 0, 200, 1, 1), get,
		slices.Concat(get, get, get, get, get, get, get, get),
		[]byte("PUT /v1/snapshot HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\nRMDS"),
		[]byte("\x16\x03\x01\x02\x00\x01\x00")}
}

const (
	slowCallers = 60 // connections at each port
	servedSoon  = 5 * time.Second
)

// slow opens many slow connections to every port of one replica while the fault lasts. The replica
// must serve others, with limited memory.
func slow(call func(ctx context.Context, c net.Conn, sentence []byte)) func(context.Context, *Env) (Heal, error) {
	return func(ctx context.Context, e *Env) (Heal, error) {
		r, err := e.victim(ctx)
		if err != nil {
			return nil, err
		}
		e.recordVictims("%s", []*harness.Replica{r}, r.ID)
		before := memory(r)
		hangUp := callers(ctx, []string{r.Place.PeerListen, r.Place.HTTPListen}, sentences(), call)
		return func(ctx context.Context) error {
			e.servedBeside(ctx, r)
			hangUp()
			e.judgeMemory(r, before)
			return e.restart(ctx, r)
		}, nil
	}
}

// callers opens connections to each port. hangUp ends them all.
func callers(ctx context.Context, addresses []string, said [][]byte,
	call func(ctx context.Context, c net.Conn, sentence []byte)) (hangUp func()) {
	calling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	for i := range slowCallers {
		for _, address := range addresses {
			all.Go(func() {
				if c, err := dial(address); err == nil {
					defer c.Close()
					_ = c.SetDeadline(time.Time{}) // these callers wait without a limit
					call(calling, c, said[i%len(said)])
				}
			})
		}
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// servedBeside checks that a replica answers others during the attack.
func (e *Env) servedBeside(ctx context.Context, r *harness.Replica) {
	ctx, cancel := context.WithTimeout(ctx, servedSoon)
	defer cancel()
	if err := e.Cluster.Get(ctx, r, "/v1/health", nil); err != nil && r.Running() {
		e.violated("hostile", "%s serves nobody within %s beside %s: %v", r.ID, servedSoon, e.moment.Fault, err)
	}
}

// judgeMemory checks that the attack neither ended a replica nor used too much of its memory.
func (e *Env) judgeMemory(r *harness.Replica, before int64) {
	if !r.Running() {
		e.violated("hostile", "%s ended because of strangers: %s", r.ID, lastLines(r.Said(4000), 5))
	}
	after := memory(r)
	if after > memoryMax {
		e.violated("hostile", "%s holds %d MiB because of strangers; it was %d", r.ID, after>>20, before>>20)
	}
	e.moment.Text += fmt.Sprintf("; memory %d to %d MiB", before>>20, after>>20)
}

// halfOpen sends the beginning of a call and then nothing.
func halfOpen(ctx context.Context, c net.Conn, sentence []byte) {
	_, _ = c.Write(sentence) // the server may have closed the connection
	<-ctx.Done()
}

// drip sends one byte after the other until the connection is closed.
func drip(ctx context.Context, c net.Conn, sentence []byte) {
	for _, b := range sentence {
		if _, err := c.Write([]byte{b}); err != nil || ctx.Err() != nil {
			return
		}
		sleep(ctx, 100*time.Millisecond)
	}
	<-ctx.Done()
}

// replayedToken lets a spare replica join, removes it, and lets it try again with the same token.
func replayedToken(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.prepareJoin(ctx)
	if err != nil {
		return nil, err
	}
	heal := e.takeOut(r)
	if err := e.join(ctx, r); err != nil {
		return heal, err
	}
	r.Expect()
	if err := e.remove(ctx, r); err != nil {
		return heal, err
	}
	if err := r.Kill(); err != nil {
		return heal, err
	}
	if err := r.Wipe(); err != nil {
		return heal, err
	}
	if err := r.Start(); err != nil {
		return heal, err
	}
	if err := e.Cluster.AwaitUp(ctx, r); err != nil {
		return heal, err
	}
	leader := e.Cluster.Leader(ctx)
	if leader == nil {
		return heal, fmt.Errorf("%w: no leader to ask again", ErrNotNow)
	}
	_, err = e.Cluster.CLI(ctx, "--addr", e.Cluster.URL(r, false), "cluster", "join", leader.Place.Peer, "--token-file",
		e.tokenFile())
	if err == nil {
		e.violated("token", "%s was let in with a token that had been used", r.ID)
	} else {
		e.moment.Text += fmt.Sprintf("; refused with exit %d", harness.ExitCode(err))
	}
	return heal, nil
}

// prepareJoin empties a spare replica for a join.
func (e *Env) prepareJoin(ctx context.Context) (*harness.Replica, error) {
	leader, voters := e.members(ctx)
	r := e.spare()
	if leader == nil || len(voters) < 3 || r == nil {
		return nil, ErrNotNow
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	return r, r.Wipe()
}

// removedReturns lets a spare replica join, removes it while it does not run, and starts it again
// with its disk. It must neither take part nor disturb the members.
func removedReturns(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.prepareJoin(ctx)
	if err != nil {
		return nil, err
	}
	heal := func(context.Context) error { return r.Kill() }
	if err := e.join(ctx, r); err != nil {
		return e.takeOut(r), err
	}
	r.Expect()
	if err := r.Kill(); err != nil {
		return e.takeOut(r), err
	}
	if err := e.remove(ctx, r); err != nil {
		return e.takeOut(r), err
	}
	if err := r.Start(); err != nil {
		return heal, err
	}
	r.Expect()
	outcome, err := e.outcome(ctx, r)
	e.moment.Text += ": " + string(outcome)
	_, voters := e.members(ctx)
	if outcome == history.Unread || slices.Contains(voters, r) {
		e.violated("S14", "%s was removed while it did not run, and takes part again with its old disk", r.ID)
	}
	return heal, err
}
