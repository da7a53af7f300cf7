package submit

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/codec"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Client sends inputs to a cluster. It is safe for concurrent use.
type Client struct {
	cfg     Config
	log     hclog.Logger
	urls    []string
	http    *http.Client
	client  string // name of the client in idempotency keys
	serial  atomic.Uint64
	queue   chan *call
	ctx     context.Context
	stop    context.CancelFunc
	senders sync.WaitGroup
	counts  counters
	broken  error // error of the configuration, for New
}

// Stats are the counts of a client since it was opened.
type Stats struct {
	Inputs     int64         // answered inputs
	Bodies     int64         // answered bodies
	Repeats    int64         // inputs that were sent again
	Failovers  int64         // switches of a sender to another address
	LongestGap time.Duration // the longest time that a sender with open calls got no answer because of failures
}

type counters struct {
	inputs, bodies, repeats, failovers, gap atomic.Int64
}

// call is one call of Do.
type call struct {
	ctx   context.Context
	in    input.Input
	frame []byte
	tries int // failures that may not be temporary
	sent  bool
	done  chan outcome // capacity 1
}

type outcome struct {
	reply input.Reply
	err   error
}

// New opens a client of the replicas at addrs with the default configuration. If addrs is invalid,
// Do returns the error.
func New(addrs []string) *Client {
	cfg := DefaultConfig()
	cfg.Addrs = addrs
	cl, err := Open(cfg)
	if err != nil {
		return &Client{broken: err}
	}
	return cl
}

// Open opens a client. The caller must call Close.
func Open(cfg Config) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	name := make([]byte, 8)
	if _, err := rand.Read(name); err != nil {
		return nil, fmt.Errorf("submit: name for idempotency keys: %w", err)
	}
	log := cfg.Logger
	if log == nil {
		log = hclog.NewNullLogger()
	}
	cl := &Client{cfg: cfg, log: log.Named("submit"), client: "workload-" + hex.EncodeToString(name),
		queue: make(chan *call, cfg.Queue)}
	for _, a := range cfg.Addrs {
		u, _ := inputsURL(a)
		cl.urls = append(cl.urls, u)
	}
	cl.http = &http.Client{Transport: &http.Transport{TLSClientConfig: cfg.TLS, MaxConnsPerHost: cfg.Connections,
		MaxIdleConnsPerHost: cfg.Connections, IdleConnTimeout: time.Minute, DisableCompression: true}}
	cl.ctx, cl.stop = context.WithCancel(context.Background())
	for i := range cfg.Connections {
		l := &sender{client: cl, at: i % len(cl.urls)}
		cl.senders.Go(l.run)
	}
	return cl, nil
}

// Do sends one input to the cluster and waits for its reply. If a replica does not answer, Do
// repeats the input at the next address until ctx ends. The reply may contain a refusal. An error
// means that there is no reply.
func (cl *Client) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	if cl.broken != nil {
		return nil, cl.broken
	}
	c := &call{ctx: ctx, in: in, frame: input.EncodeRequest(nil, cl.request(in)), done: make(chan outcome, 1)}
	if err := cl.ctx.Err(); err != nil {
		return nil, ErrClosed
	}
	select {
	case cl.queue <- c:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-cl.ctx.Done():
		return nil, ErrClosed
	}
	select {
	case o := <-c.done:
		return o.reply, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-cl.ctx.Done():
		return nil, ErrClosed
	}
}

// request adds an idempotency key to an input that is not otherwise safe to repeat.
func (cl *Client) request(in input.Input) input.Request {
	r := input.Request{Input: in}
	if s, ok := in.(*input.SubmitApplication); ok && s.ID == (yarn.ApplicationID{}) {
		c := codec.NewEncoder(nil)
		in.Code(c)
		h := fnv.New64a()
		h.Write(c.Bytes())
		r.Key = fmt.Sprintf("%s/%d", cl.client, cl.serial.Add(1))
		r.BodyHash = h.Sum64()
	}
	return r
}

// Stats returns the counts so far.
func (cl *Client) Stats() Stats {
	c := &cl.counts
	return Stats{Inputs: c.inputs.Load(), Bodies: c.bodies.Load(), Repeats: c.repeats.Load(),
		Failovers: c.failovers.Load(), LongestGap: time.Duration(c.gap.Load())}
}

// Close ends all calls with ErrClosed and waits for the senders.
func (cl *Client) Close() error {
	if cl.broken != nil {
		return nil
	}
	cl.stop()
	cl.senders.Wait()
	cl.http.CloseIdleConnections()
	return nil
}
