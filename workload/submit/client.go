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

// Client brings inputs to a cluster. It may be used by many goroutines.
type Client struct {
	cfg    Config
	log    hclog.Logger
	urls   []string
	http   *http.Client
	client string // its name in idempotency keys
	serial atomic.Uint64
	queue  chan *call
	ctx    context.Context
	stop   context.CancelFunc
	lanes  sync.WaitGroup
	counts counters
	broken error // what is wrong with the configuration, for New
}

// Stats are a client's counts since it was opened.
type Stats struct {
	Inputs     int64         // answered
	Bodies     int64         // answered
	Repeats    int64         // inputs that were sent again
	Failovers  int64         // times that a lane went to another address
	LongestGap time.Duration // the longest time that a lane had open calls and no answer because of failures
}

type counters struct {
	inputs, bodies, repeats, failovers, gap atomic.Int64
}

// call is one Do.
type call struct {
	ctx   context.Context
	in    input.Input
	frame []byte
	tries int // failures that are not known to pass
	sent  bool
	done  chan outcome // holds one
}

type outcome struct {
	reply input.Reply
	err   error
}

// New opens a client of the replicas at addrs with the default configuration. What is wrong with addrs is told by Do.
func New(addrs []string) *Client {
	cfg := DefaultConfig()
	cfg.Addrs = addrs
	cl, err := Open(cfg)
	if err != nil {
		return &Client{broken: err}
	}
	return cl
}

// Open opens a client. Close must be called.
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
	cl := &Client{cfg: cfg, log: log.Named("submit"), client: "workload-" + hex.EncodeToString(name), queue: make(chan *call, cfg.Queue)}
	for _, a := range cfg.Addrs {
		u, _ := inputsURL(a)
		cl.urls = append(cl.urls, u)
	}
	cl.http = &http.Client{Transport: &http.Transport{TLSClientConfig: cfg.TLS, MaxConnsPerHost: cfg.Connections,
		MaxIdleConnsPerHost: cfg.Connections, IdleConnTimeout: time.Minute, DisableCompression: true}}
	cl.ctx, cl.stop = context.WithCancel(context.Background())
	for i := range cfg.Connections {
		l := &lane{client: cl, at: i % len(cl.urls)}
		cl.lanes.Go(l.run)
	}
	return cl, nil
}

// Do brings one input to the cluster and waits for its reply. It repeats the input at the next address when a replica
// does not answer, until ctx ends. The reply may hold a refusal; an error says that there is no reply.
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

// request gives an input the idempotency key that makes its repetition harmless, where it has nothing of its own.
func (cl *Client) request(in input.Input) input.Request {
	r := input.Request{Input: in}
	if s, ok := in.(*input.SubmitApplication); ok && s.ID == (yarn.ApplicationID{}) {
		c := codec.NewEncoder(nil)
		in.Code(c)
		h := fnv.New64a()
		h.Write(c.Bytes())
		r.Key = fmt.Sprintf("%s/%cl", cl.client, cl.serial.Add(1))
		r.BodyHash = h.Sum64()
	}
	return r
}

// Stats gives the counts so far.
func (cl *Client) Stats() Stats {
	c := &cl.counts
	return Stats{Inputs: c.inputs.Load(), Bodies: c.bodies.Load(), Repeats: c.repeats.Load(),
		Failovers: c.failovers.Load(), LongestGap: time.Duration(c.gap.Load())}
}

// Close ends all calls with ErrClosed and waits for the lanes.
func (cl *Client) Close() error {
	if cl.broken != nil {
		return nil
	}
	cl.stop()
	cl.lanes.Wait()
	cl.http.CloseIdleConnections()
	return nil
}
