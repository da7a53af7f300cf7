package door

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

// Door brings inputs to a cluster. It may be used by many goroutines.
type Door struct {
	cfg    Config
	log    hclog.Logger
	urls   []string
	http   *http.Client
	client string // this door's name in idempotency keys
	serial atomic.Uint64
	queue  chan *call
	ctx    context.Context
	stop   context.CancelFunc
	lanes  sync.WaitGroup
	counts counters
	broken error // what is wrong with the configuration, for New
}

// Stats are a door's counts since it was opened.
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

// New opens a door to the replicas at addrs with the default configuration. What is wrong with addrs is told by Do.
func New(addrs []string) *Door {
	cfg := DefaultConfig()
	cfg.Addrs = addrs
	d, err := Open(cfg)
	if err != nil {
		return &Door{broken: err}
	}
	return d
}

// Open opens a door. Close must be called.
func Open(cfg Config) (*Door, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	name := make([]byte, 8)
	if _, err := rand.Read(name); err != nil {
		return nil, fmt.Errorf("door: name for idempotency keys: %w", err)
	}
	log := cfg.Logger
	if log == nil {
		log = hclog.NewNullLogger()
	}
	d := &Door{cfg: cfg, log: log.Named("door"), client: "workload-" + hex.EncodeToString(name), queue: make(chan *call, cfg.Queue)}
	for _, a := range cfg.Addrs {
		u, _ := inputsURL(a)
		d.urls = append(d.urls, u)
	}
	d.http = &http.Client{Transport: &http.Transport{TLSClientConfig: cfg.TLS, MaxConnsPerHost: cfg.Connections,
		MaxIdleConnsPerHost: cfg.Connections, IdleConnTimeout: time.Minute, DisableCompression: true}}
	d.ctx, d.stop = context.WithCancel(context.Background())
	for i := range cfg.Connections {
		l := &lane{door: d, at: i % len(d.urls)}
		d.lanes.Go(l.run)
	}
	return d, nil
}

// Do brings one input to the cluster and waits for its reply. It repeats the input at the next address when a replica
// does not answer, until ctx ends. The reply may hold a refusal; an error says that there is no reply.
func (d *Door) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	if d.broken != nil {
		return nil, d.broken
	}
	c := &call{ctx: ctx, in: in, frame: input.EncodeRequest(nil, d.request(in)), done: make(chan outcome, 1)}
	if err := d.ctx.Err(); err != nil {
		return nil, ErrClosed
	}
	select {
	case d.queue <- c:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-d.ctx.Done():
		return nil, ErrClosed
	}
	select {
	case o := <-c.done:
		return o.reply, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-d.ctx.Done():
		return nil, ErrClosed
	}
}

// request gives an input the idempotency key that makes its repetition harmless, where it has nothing of its own.
func (d *Door) request(in input.Input) input.Request {
	r := input.Request{Input: in}
	if s, ok := in.(*input.SubmitApplication); ok && s.ID == (yarn.ApplicationID{}) {
		c := codec.NewEncoder(nil)
		in.Code(c)
		h := fnv.New64a()
		h.Write(c.Bytes())
		r.Key = fmt.Sprintf("%s/%d", d.client, d.serial.Add(1))
		r.BodyHash = h.Sum64()
	}
	return r
}

// Stats gives the counts so far.
func (d *Door) Stats() Stats {
	c := &d.counts
	return Stats{Inputs: c.inputs.Load(), Bodies: c.bodies.Load(), Repeats: c.repeats.Load(),
		Failovers: c.failovers.Load(), LongestGap: time.Duration(c.gap.Load())}
}

// Close ends all calls with ErrClosed and waits for the lanes.
func (d *Door) Close() error {
	if d.broken != nil {
		return nil
	}
	d.stop()
	d.lanes.Wait()
	d.http.CloseIdleConnections()
	return nil
}
