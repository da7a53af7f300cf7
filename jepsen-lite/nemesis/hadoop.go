package nemesis

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/harness/hadoop"
)

const (
	hadoopCrowd = 300 // connections at each of the four ports
	// beatsWithin is how long a well-behaved node may wait for an answer during the fault.
	beatsWithin = 10 * time.Second
	// beatsAfter is the wait before the measurement, so that it contains a heartbeat that is
	// delayed now.
	beatsAfter = 500 * time.Millisecond
)

// hadoopNoise attacks YARN's ports of one replica while nodes use the port for NodeManagers. The
// replica must stay up with limited memory, accept no caller without rights, and answer every node.
func hadoopNoise(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	before, began := memory(r), time.Now()
	seed := e.Rand.Uint64()
	bad, cancel := context.WithTimeout(ctx, hostileFor)
	defer cancel()
	var all sync.WaitGroup
	for i, address := range r.Place.Hadoop.All() {
		all.Go(func() { badFrames(bad, address, rand.New(rand.NewPCG(seed, uint64(i)))) })
		all.Go(func() { crowd(bad, address, hadoopCrowd) })
		all.Go(func() { e.wrongCalls(bad, address) })
	}
	all.Go(func() { e.forgedTokens(bad, r.Place.Hadoop) })
	all.Wait()
	e.servedBeside(ctx, r)
	e.judgeMemory(r, before)
	return func(ctx context.Context) error {
		e.judgeBeats(ctx, began)
		return e.restart(ctx, r)
	}, nil
}

// hadoopSlow opens many connections to YARN's ports whose calls never end.
func hadoopSlow(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	before, began := memory(r), time.Now()
	stops := callers(ctx, r.Place.Hadoop.All(), hadoopSentences(), halfOpen)
	drips := callers(ctx, r.Place.Hadoop.All(), hadoopSentences(), drip)
	return func(ctx context.Context) error {
		e.servedBeside(ctx, r)
		stops()
		drips()
		e.judgeMemory(r, before)
		e.judgeBeats(ctx, began)
		return e.restart(ctx, r)
	}, nil
}

// judgeBeats reports a violation if a well-behaved node waited too long for an answer.
func (e *Env) judgeBeats(ctx context.Context, from time.Time) {
	if e.BeatGap == nil {
		return
	}
	sleep(ctx, beatsAfter)
	gap := e.BeatGap(from, time.Now())
	if gap > beatsWithin {
		e.violated("hostile", "a node waited %s for the answer to a heartbeat beside %s", gap.Round(time.Millisecond),
			e.moment.Fault)
	}
	e.moment.Text += fmt.Sprintf("; nodes waited %s at most", gap.Round(time.Millisecond))
	e.Note("  %s", e.moment.Text)
}

// helloHadoop returns the start of a connection with a user name that needs no authentication.
func helloHadoop(protocol string) []byte {
	return append(hadoop.Preamble(hadoop.AuthNone), hadoop.Context("eve", protocol)...)
}

// announced returns a frame length n and the first bytes of the frame.
func announced(n uint32, begin ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, n), begin...)
}

// negotiate returns the first message of a SASL negotiation. chosen returns the second, with an
// authentication response.
func negotiate() []byte { return hadoop.Sasl(hadoop.Number(nil, 2, 1)) }

func chosen(proof []byte) []byte {
	way := hadoop.Text(hadoop.Text(nil, 1, "TOKEN"), 2, "DIGEST-MD5")
	way = hadoop.Text(hadoop.Text(way, 3, ""), 4, "default")
	return hadoop.Sasl(hadoop.Bytes(hadoop.Bytes(hadoop.Number(nil, 2, 2), 3, proof), 4, way))
}

// hadoopSentences returns byte sequences with which a correct call begins, at one of the ports at
// least.
func hadoopSentences() [][]byte {
	sasl := hadoop.Preamble(hadoop.AuthSasl)
	tracker := helloHadoop(hadoop.TrackerProtocol)
	beat := hadoop.Request(0, hadoop.TrackerProtocol, "nodeHeartbeat", make([]byte, 200))
	return [][]byte{hadoop.Preamble(hadoop.AuthNone)[:5], tracker, slices.Concat(tracker, beat[:len(beat)/2]),
		slices.Concat(tracker, announced(3<<20, 1, 2, 3)),
		sasl, slices.Concat(sasl, negotiate()), slices.Concat(sasl, negotiate(), chosen(nil)[:20]),
		slices.Concat(helloHadoop(hadoop.ClientProtocol),
			slices.Repeat(hadoop.Request(1, hadoop.ClientProtocol, "getClusterNodes", nil), 20))}
}

// badFrames sends malformed frames: cut at every fifth length, too long, of another version, and
// random.
func badFrames(ctx context.Context, address string, rng *rand.Rand) {
	whole := slices.Concat(helloHadoop(hadoop.ClientProtocol),
		hadoop.Request(0, hadoop.ClientProtocol, "getClusterMetrics", nil))
	hi := helloHadoop(hadoop.ClientProtocol)
	bad := [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n"), []byte("hrpc\x04\x00\x00"), []byte("hrpc\x09\x00\x55"),
		slices.Concat([]byte("hrpc\x09\x00\x00"), announced(0x7fffffff)),
		slices.Concat([]byte("hrpc\x09\x00\xdf"), announced(0xffffffff)),
		slices.Concat(hi, announced(256<<20)), slices.Concat(hi, announced(4<<20-1, make([]byte, 1<<20)...)),
		slices.Concat(hi, announced(2, 0xff, 0xff)),
		slices.Concat(hi, announced(0)), slices.Concat(hi, hi), hello(1)}
	for n := 1; n < len(whole); n += 5 {
		bad = append(bad, whole[:n])
	}
	for i := 0; i < 200 && ctx.Err() == nil; i++ {
		b := make([]byte, 4096)
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		switch {
		case i < len(bad):
			b = bad[i]
		case i%3 == 0:
			b = slices.Concat(hadoop.Preamble(hadoop.AuthNone), announced(uint32(len(b))), b)
		case i%3 == 1:
			b = slices.Concat(hi, announced(uint32(len(b))), b)
		}
		sendGarbage(address, b, i%4 == 0)
	}
}

// sendGarbage sends bytes, reads a few bytes of the answer if listens is true, and closes the
// connection.
func sendGarbage(address string, b []byte, listens bool) {
	c, err := dial(address)
	if err != nil {
		return // the port may be full because of crowd
	}
	defer c.Close()
	_, _ = c.Write(b) // the server may have closed the connection
	if listens {
		_ = c.SetDeadline(time.Now().Add(200 * time.Millisecond))
		_, _ = io.CopyN(io.Discard, c, 64)
	}
}

// wrongCalls calls methods that the port does not serve. No port may execute a call that needs a
// token for a caller without one.
func (e *Env) wrongCalls(ctx context.Context, address string) {
	for range 20 {
		for _, call := range [][2]string{{hadoop.MasterProtocol, "allocate"},
			{hadoop.MasterProtocol, "finishApplicationMaster"}, {hadoop.AdminProtocol, "shutDown"},
			{"java.lang.Runtime", "exec"}, {hadoop.TrackerProtocol, "shutDown"}, {hadoop.ClientProtocol, "exec"}} {
			if ctx.Err() != nil {
				return
			}
			c, err := hadoop.Dial(ctx, address, "eve", call[0])
			if err != nil {
				continue
			}
			b, err := c.Call(ctx, servedSoon, call[1], nil)
			_ = c.Close() // the server may have closed it
			if err == nil {
				e.violated("hostile", "%s of %s is answered at %s with %d bytes", call[1], call[0], address, len(b))
			}
		}
	}
}

// forgedTokens sends forged tokens to the ports that accept tokens: for attempts and delegation
// tokens that may exist, with guessed passwords.
func (e *Env) forgedTokens(ctx context.Context, at harness.Hadoop) {
	stamp := e.stamp(ctx)
	for seq := int64(1); seq <= 60 && ctx.Err() == nil; seq++ {
		app := hadoop.Number(hadoop.Number(nil, 1, seq), 2, stamp)
		attempt := hadoop.Number(hadoop.Bytes(nil, 1, app), 2, 1)
		e.forged(at.Scheduler, hadoop.Number(hadoop.Bytes(nil, 1, attempt), 2, 1+seq%3))
		owner := hadoop.Text(hadoop.Text(nil, 1, "yarn"), 2, "yarn")
		e.forged(at.Client, hadoop.Number(hadoop.Number(owner, 6, seq), 7, 1+seq%3))
		e.forged(at.Client, []byte("no identifier at all"))
	}
}

// stamp returns the timestamp in the ids of the cluster's applications, or 0 if there are none.
func (e *Env) stamp(ctx context.Context) int64 {
	leader := e.Cluster.Leader(ctx)
	if leader == nil {
		return 0
	}
	var page struct {
		Apps []struct {
			ID string `json:"id"`
		} `json:"apps"`
	}
	var stamp, seq int64
	if err := e.Cluster.Get(ctx, leader, "/v1/apps?limit=1", &page); err == nil && len(page.Apps) > 0 {
		_, _ = fmt.Sscanf(page.Apps[0].ID, "application_%d_%d", &stamp, &seq) // else 0
	}
	return stamp
}

// forged authenticates with a forged token. A success is a violation.
func (e *Env) forged(address string, identifier []byte) {
	c, err := dial(address)
	if err != nil {
		return
	}
	defer c.Close()
	if err := prove(c, identifier); err == nil {
		e.violated("hostile", "a forged token is taken at %s", address)
	}
}

// prove answers a port's challenge with a guess. It returns nil if the port accepts the guess.
func prove(c net.Conn, identifier []byte) error {
	if _, err := c.Write(append(hadoop.Preamble(hadoop.AuthSasl), negotiate()...)); err != nil {
		return err
	}
	offer, err := hadoop.ReadReply(c)
	if err != nil {
		return err
	}
	nonce := nonceOf(offer)
	if nonce == "" {
		return fmt.Errorf("no challenge: %w", hadoop.ErrWire)
	}
	guess := fmt.Sprintf(`charset=utf-8,username=%q,realm="default",nonce=%q,nc=00000001,cnonce="QR8n+PVhIYU0pFhPtTfScjYuaTXos3nrdyl5QEi0",digest-uri="/default",maxbuf=65536,response=3027668e241fcb80c3988aeb37d9cabf,qop=auth`,
		base64.StdEncoding.EncodeToString(identifier), nonce)
	if _, err := c.Write(chosen([]byte(guess))); err != nil {
		return err
	}
	_, err = hadoop.ReadReply(c)
	return err
}

// nonceOf returns the nonce of the challenge in a server's offer.
func nonceOf(offer []byte) string {
	var nonce string
	_ = hadoop.Each(offer, func(field int, _ int64, way []byte) { // an unreadable offer has no nonce
		if field != 4 {
			return
		}
		_ = hadoop.Each(way, func(field int, _ int64, challenge []byte) {
			if field == 5 {
				nonce = between(string(challenge), `nonce="`, `"`)
			}
		})
	})
	return nonce
}
