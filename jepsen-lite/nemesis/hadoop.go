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
	// beatsWithin is how long a node that behaves may wait for an answer beside strangers.
	beatsWithin = 10 * time.Second
	// beatsAfter is waited for at the end, so that who is held up is seen.
	beatsAfter = 500 * time.Millisecond
)

// hadoopNoise treats Hadoop's ports of one replica badly, while nodes use that of
// NodeManagers. It must stay up, its memory bounded, nobody let in who has no right,
// and no node unheard.
func hadoopNoise(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.on("%s", []*harness.Replica{r}, r.ID)
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
		return e.back(ctx, r)
	}, nil
}

// hadoopSlow has many callers of Hadoop's ports that are never done.
func hadoopSlow(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.on("%s", []*harness.Replica{r}, r.ID)
	before, began := memory(r), time.Now()
	stops := callers(ctx, r.Place.Hadoop.All(), hadoopSentences(), halfOpen)
	drips := callers(ctx, r.Place.Hadoop.All(), hadoopSentences(), drip)
	return func(ctx context.Context) error {
		e.servedBeside(ctx, r)
		stops()
		drips()
		e.judgeMemory(r, before)
		e.judgeBeats(ctx, began)
		return e.back(ctx, r)
	}, nil
}

// judgeBeats holds that every node that behaves was answered all the time.
func (e *Env) judgeBeats(ctx context.Context, from time.Time) {
	if e.BeatGap == nil {
		return
	}
	sleep(ctx, beatsAfter)
	gap := e.BeatGap(from, time.Now())
	if gap > beatsWithin {
		e.violated("hostile", "a node waited %s for the answer to a heartbeat beside %s", gap.Round(time.Millisecond), e.moment.Fault)
	}
	e.moment.Text += fmt.Sprintf("; nodes waited %s at most", gap.Round(time.Millisecond))
	e.Note("  %s", e.moment.Text)
}

// helloHadoop is a caller's that is taken at its word.
func helloHadoop(protocol string) []byte {
	return append(hadoop.Preamble(hadoop.AuthNone), hadoop.Context("eve", protocol)...)
}

// announced is the beginning of a frame of so many bytes.
func announced(n uint32, begin ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, n), begin...)
}

// negotiate asks what a port takes, and chosen takes it up with a proof.
func negotiate() []byte { return hadoop.Sasl(hadoop.Number(nil, 2, 1)) }

func chosen(proof []byte) []byte {
	way := hadoop.Text(hadoop.Text(nil, 1, "TOKEN"), 2, "DIGEST-MD5")
	way = hadoop.Text(hadoop.Text(way, 3, ""), 4, "default")
	return hadoop.Sasl(hadoop.Bytes(hadoop.Bytes(hadoop.Number(nil, 2, 2), 3, proof), 4, way))
}

// hadoopSentences are good beginnings, at one of the ports at least.
func hadoopSentences() [][]byte {
	sasl := hadoop.Preamble(hadoop.AuthSasl)
	tracker := helloHadoop(hadoop.TrackerProtocol)
	beat := hadoop.Request(0, hadoop.TrackerProtocol, "nodeHeartbeat", make([]byte, 200))
	return [][]byte{hadoop.Preamble(hadoop.AuthNone)[:5], tracker, slices.Concat(tracker, beat[:len(beat)/2]), slices.Concat(tracker, announced(3<<20, 1, 2, 3)),
		sasl, slices.Concat(sasl, negotiate()), slices.Concat(sasl, negotiate(), chosen(nil)[:20]),
		slices.Concat(helloHadoop(hadoop.ClientProtocol), slices.Repeat(hadoop.Request(1, hadoop.ClientProtocol, "getClusterNodes", nil), 20))}
}

// badFrames sends what is no sentence: cut at every length, too long, of another
// version, and drawn.
func badFrames(ctx context.Context, address string, rng *rand.Rand) {
	whole := slices.Concat(helloHadoop(hadoop.ClientProtocol), hadoop.Request(0, hadoop.ClientProtocol, "getClusterMetrics", nil))
	hi := helloHadoop(hadoop.ClientProtocol)
	bad := [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n"), []byte("hrpc\x04\x00\x00"), []byte("hrpc\x09\x00\x55"),
		slices.Concat([]byte("hrpc\x09\x00\x00"), announced(0x7fffffff)), slices.Concat([]byte("hrpc\x09\x00\xdf"), announced(0xffffffff)),
		slices.Concat(hi, announced(256<<20)), slices.Concat(hi, announced(4<<20-1, make([]byte, 1<<20)...)), slices.Concat(hi, announced(2, 0xff, 0xff)),
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
		stranger(address, b, i%4 == 0)
	}
}

// stranger says something, hears what comes in a moment, if at all, and is gone.
func stranger(address string, b []byte, listens bool) {
	c, err := dial(address)
	if err != nil {
		return // it may be full of the crowd
	}
	defer c.Close()
	_, _ = c.Write(b) // it may be cut off already
	if listens {
		_ = c.SetDeadline(time.Now().Add(200 * time.Millisecond))
		_, _ = io.CopyN(io.Discard, c, 64)
	}
}

// wrongCalls calls at one port what the other ports serve, and what nobody does. What
// changes something must not be taken from who does not say who it is.
func (e *Env) wrongCalls(ctx context.Context, address string) {
	for range 20 {
		for _, call := range [][2]string{{hadoop.MasterProtocol, "allocate"}, {hadoop.MasterProtocol, "finishApplicationMaster"}, {hadoop.AdminProtocol, "shutDown"},
			{"java.lang.Runtime", "exec"}, {hadoop.TrackerProtocol, "shutDown"}, {hadoop.ClientProtocol, "exec"}} {
			if ctx.Err() != nil {
				return
			}
			c, err := hadoop.Dial(ctx, address, "eve", call[0])
			if err != nil {
				continue
			}
			b, err := c.Call(ctx, servedSoon, call[1], nil)
			_ = c.Close() // it may have ended
			if err == nil {
				e.violated("hostile", "%s of %s is answered at %s with %d bytes", call[1], call[0], address, len(b))
			}
		}
	}
}

// forgedTokens shows tokens that nobody gave at the ports that take them: of attempts
// and delegations that there may be, with guessed passwords.
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

// stamp is the timestamp in the ids of the cluster's applications; 0 when there are
// none yet.
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

// forged goes through a negotiation with a token that was not given.
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

// prove answers a port's challenge with a guess. It returns nil when that is believed.
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

// nonceOf finds the nonce of the challenge in an offer.
func nonceOf(offer []byte) string {
	var nonce string
	_ = hadoop.Each(offer, func(field int, _ int64, way []byte) { // what cannot be read has none
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
