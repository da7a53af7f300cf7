package nemesis

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"rmd/jepsen-lite/harness"
)

// The intruder has everything of a replica except the membership: an id, a certificate if the
// cluster uses them, and the cluster's id. It speaks the replicas' protocol with its own code.

// openMethods are the methods that a replica may call without being a member, to ask about the
// cluster and to join.
var openMethods = map[byte]bool{1: true, 2: true, 3: true, 14: true}

const (
	kindRaft, kindLiveness, kindRPC = 1, 2, 3
	frameReply                      = 2
	methodsMax                      = 64
)

// intruder attacks all voters while the fault lasts.
func intruder(ctx context.Context, e *Env) (Heal, error) {
	leader, voters := e.members(ctx)
	spare := e.spare()
	if leader == nil || spare == nil {
		return nil, ErrNotNow
	}
	conf, err := e.Cluster.AsReplica(spare)
	if err != nil {
		return nil, err
	}
	var about struct {
		ClusterID string `json:"cluster_id"`
	}
	if err := e.Cluster.Get(ctx, leader, "/v1/cluster", &about); err != nil || about.ClusterID == "" {
		return nil, fmt.Errorf("%w: the cluster's id is not told: %v", ErrNotNow, err)
	}
	e.recordVictims("%s", voters, spare.ID)
	attacking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done, tries := make(chan struct{}), 0
	go func() {
		defer close(done)
		for attacking.Err() == nil {
			for _, r := range voters {
				tries += e.intrude(r, conf, spare.ID, about.ClusterID)
			}
			sleep(attacking, 20*time.Millisecond)
		}
	}()
	return func(context.Context) error {
		cancel()
		<-done
		e.moment.Text += fmt.Sprintf("; %d times refused", tries)
		return nil
	}, nil
}

// intrude tries all kinds of connections and methods at one replica once. It returns the number of
// refusals.
func (e *Env) intrude(r *harness.Replica, conf *tls.Config, id, cluster string) (refused int) {
	for _, kind := range []byte{kindRaft, kindLiveness, kindRPC} {
		c, code, err := introduce(r.Place.PeerListen, conf, helloOf(kind, id, cluster))
		switch {
		case err != nil: // the replica is down or closes the connection
		case code != 0:
			refused++
		case kind != kindRPC:
			e.violated("S14", "%s lets %s, which is no member, speak on a connection of kind %d", r.ID, id, kind)
		default:
			n, method := call(c)
			if refused += n; method != 0 {
				e.violated("S14", "%s answers method %d to %s, which is no member", r.ID, method, id)
			}
		}
		if c != nil {
			c.Close()
		}
	}
	return refused
}

// introduce sends a hello and returns the connection and the code of the answer.
func introduce(address string, conf *tls.Config, hello []byte) (net.Conn, byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, 0, err
	}
	if conf != nil {
		c = tls.Client(c, conf)
	}
	if _, err := c.Write(hello); err != nil {
		return c, 0, err
	}
	head := make([]byte, 7)
	if _, err := io.ReadFull(c, head); err != nil {
		return c, 0, err
	}
	body := make([]byte, binary.BigEndian.Uint16(head[5:]))
	if _, err := io.ReadFull(c, body); err != nil || len(body) < 2 {
		return c, 0, fmt.Errorf("answer of %d bytes: %w", len(body), err)
	}
	return c, body[1], nil
}

// call calls every method that is not open. It returns the number of refusals and the first method
// that is answered.
func call(c net.Conn) (refused int, answered byte) {
	for method := byte(1); method <= methodsMax; method++ {
		if openMethods[method] {
			continue
		}
		payload := []byte("{}")
		frame := binary.BigEndian.AppendUint32(nil, uint32(10+len(payload)))
		frame = binary.BigEndian.AppendUint64(append(frame, 1, method), uint64(method))
		if _, err := c.Write(append(frame, payload...)); err != nil {
			return refused, 0
		}
		head := make([]byte, 14)
		if _, err := io.ReadFull(c, head); err != nil {
			return refused, 0
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head))-10); err != nil {
			return refused, 0
		}
		if head[4] == frameReply {
			return refused, method
		}
		refused++
	}
	return refused, 0
}
