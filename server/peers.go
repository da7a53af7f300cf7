package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"rmd/cluster"
	"rmd/config"
	"rmd/transport/peer"
)

// openPeer opens the port for the other replicas.
func (r *Replica) openPeer() error {
	c := r.opt.Config
	if c.TLS.On() {
		certs, err := config.OpenCertificates(c.TLS, c.Cluster, c.ID)
		if err != nil {
			return err
		}
		r.certs = certs
		r.measureCertificates()
	}
	if r.peer = r.parts.Peer; r.peer != nil {
		return nil
	}
	p := peer.DefaultConfig()
	p.ClusterName, p.ID, p.Listen, p.Advertise, p.Logger = c.Cluster, c.ID, c.Raft.Listen, c.Raft.Advertise,
		r.log.Named("peer")
	p.ConnsMax, p.PendingMax = min(p.ConnsMax, r.files.Members), min(p.PendingMax, r.files.Unknown)
	p.FrameMax = entryMax // an input is smaller than the entry that it causes
	if r.certs != nil {
		p.TLS, p.FreshTLS = r.certs.Peer(), r.certs.Peer
	}
	s, err := peer.Listen(p)
	if err != nil {
		return err
	}
	r.peer = s
	return nil
}

// methodReplica is the number of this package's method between replicas, for small requests that do
// not concern Raft. It is part of the protocol.
const methodReplica byte = 33

// The operations of a question.
const (
	opAbout     = "about"
	opAutopilot = "autopilot"
	opLeads     = "leads"
)

const (
	askTimeout  = 500 * time.Millisecond
	answerFresh = 5 * time.Second
)

type question struct {
	Op string `json:"op"`
}

type answer struct {
	HTTP        string                  `json:"http,omitempty"`
	HTTPS       string                  `json:"https,omitempty"`
	Ports       []string                `json:"ports,omitempty"`        // names of the open ports
	Files       map[string]string       `json:"files,omitempty"`        // digests of Hadoop's files, by name
	Witness     bool                    `json:"witness,omitempty"`      // YARN's ports stay closed
	ClockMillis int64                   `json:"clock_millis,omitempty"` // the wall clock, in milliseconds since 1970
	Led         uint64                  `json:"led,omitempty"`          // the last term that the replica leads or led
	LedMillis   int64                   `json:"led_millis,omitempty"`   // since when, by its clock
	Settings    cluster.AutopilotConfig `json:"settings,omitzero"`
	Health      cluster.Health          `json:"health,omitzero"`
}

// serveQuestions answers requests of other replicas.
func (r *Replica) serveQuestions() {
	r.peer.Handle(methodReplica, func(_ context.Context, _ string, req []byte) ([]byte, error) {
		var q question
		if err := json.Unmarshal(req, &q); err != nil {
			return nil, fmt.Errorf("question: %w", err)
		}
		a, err := r.answer(q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	})
}

func (r *Replica) answer(q question) (answer, error) {
	switch q.Op {
	case opAbout:
		return r.describe(), nil
	case opAutopilot:
		return answer{Settings: r.cluster.AutopilotConfig(), Health: r.cluster.Health()}, nil
	case opLeads:
		r.mu.Lock()
		defer r.mu.Unlock()
		return answer{Led: r.failover.led, LedMillis: millis(r.failover.since)}, nil
	}
	return answer{}, fmt.Errorf("unknown question %q", q.Op)
}

// describe returns what this replica serves, and from which files of Hadoop.
func (r *Replica) describe() answer {
	a := answer{ClockMillis: r.parts.Now().UnixMilli(), Witness: !r.opt.Config.HadoopPorts}
	plain, secure := r.pages()
	if plain != "" {
		a.HTTP, a.Ports = dialable(plain, r.PeerAddr()), append(a.Ports, "REST")
	}
	if secure != "" {
		a.HTTPS, a.Ports = dialable(secure, r.PeerAddr()), append(a.Ports, "REST over TLS")
	}
	if r.hadoop != nil {
		a.Ports, a.Files = append(a.Ports, r.hadoop.Ports()...), r.hadoop.Digests()
	}
	return a
}

// dialable returns the address at which clients reach a port. If the port listens on all addresses,
// the result has the host that the replica advertises.
func dialable(listens, advertised string) string {
	host, port, err := net.SplitHostPort(listens)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return listens
	}
	if host, _, err = net.SplitHostPort(advertised); err != nil {
		return listens
	}
	return net.JoinHostPort(host, port)
}

// ask sends a question to the replica at an address, which may be this replica.
func (r *Replica) ask(ctx context.Context, addr string, q question) (answer, error) {
	if addr == r.PeerAddr() {
		return r.answer(q)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	b, err := r.peer.Call(ctx, addr, methodReplica, req)
	if err != nil {
		return answer{}, err
	}
	var a answer
	return a, json.Unmarshal(b, &a)
}

// answerCache caches the REST addresses of the replicas.
type answerCache struct {
	mu    sync.Mutex
	known map[string]answer
	at    map[string]time.Time
}

// aboutAll returns the REST addresses of the live replicas.
func (r *Replica) aboutAll(ctx context.Context, members []cluster.Member) map[string]answer {
	out := map[string]answer{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range members {
		if m.State != cluster.StateAlive {
			continue
		}
		wg.Go(func() {
			a := r.about(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			out[m.ID] = a
		})
	}
	wg.Wait()
	return out
}

func (r *Replica) about(ctx context.Context, m cluster.Member) answer {
	c := &r.answers
	c.mu.Lock()
	known, fresh := c.known[m.ID], time.Since(c.at[m.ID]) < answerFresh
	c.mu.Unlock()
	if fresh {
		return known
	}
	a, err := r.ask(ctx, m.Address, question{Op: opAbout})
	if err != nil {
		return known
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known, c.at = map[string]answer{}, map[string]time.Time{}
	}
	c.known[m.ID], c.at[m.ID] = a, time.Now()
	return a
}

// isMember reports whether a replica is in the membership that this one knows. A replica that is
// not in a cluster yet knows only itself.
func (r *Replica) isMember(id string) bool {
	if id == r.ID() {
		return true
	}
	return r.cluster.HasMember(id)
}
