package submit

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// replica is a fake replica that answers each input with the result of answer.
type replica struct {
	mu     sync.Mutex
	bodies []int // number of inputs of each body
	keys   []string
	under  atomic.Int64
	most   atomic.Int64
	gate   chan struct{} // if not nil, each body receives one value first
	answer func(input.Request) []byte
}

func (r *replica) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	for n := r.under.Add(1); ; {
		if old := r.most.Load(); n <= old || r.most.CompareAndSwap(old, n) {
			break
		}
	}
	defer r.under.Add(-1)
	if r.gate != nil {
		<-r.gate
	}
	body, _ := io.ReadAll(req.Body)
	var out []byte
	inputs := 0
	for ; len(body) > 0; inputs++ {
		size, n := binary.Uvarint(body)
		in, err := input.DecodeRequest(body[n : n+int(size)])
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = body[n+int(size):]
		r.mu.Lock()
		r.keys = append(r.keys, in.Key)
		r.mu.Unlock()
		out = appendFrame(out, r.answer(in))
	}
	r.mu.Lock()
	r.bodies = append(r.bodies, inputs)
	r.mu.Unlock()
	w.Header().Set("Content-Type", ContentType)
	w.Write(out)
}

// echo answers a heartbeat with an order to kill the container in the heartbeat.
func echo(r input.Request) []byte {
	hb, ok := r.Input.(*input.NodeHeartbeat)
	if !ok {
		return input.EncodeReply([]byte{0}, &input.SubmitApplicationReply{Queue: r.Key})
	}
	return input.EncodeReply([]byte{0}, &input.NodeHeartbeatReply{Kill: []yarn.ContainerID{hb.Statuses[0].Container}})
}

func ask(ctx context.Context, d *Client, n uint64) error {
	id := yarn.ContainerID{Attempt: 1, Number: n}
	r,
		err := d.Do(ctx,
		&input.NodeHeartbeat{Statuses: []input.ContainerStatus{{Container: id, State: yarn.ContainerRunning}}})
	if err != nil {
		return err
	}
	if hb, ok := r.(*input.NodeHeartbeatReply); !ok || len(hb.Kill) != 1 || hb.Kill[0] != id {
		return errors.New("got another's answer")
	}
	return nil
}

func open(t *testing.T, change func(*Config), addrs ...string) *Client {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Addrs, cfg.Pause = addrs, time.Millisecond
	if change != nil {
		change(&cfg)
	}
	d, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestCallsBatched(t *testing.T) {
	r := &replica{answer: echo, gate: make(chan struct{}, 100)}
	srv := httptest.NewServer(r)
	defer srv.Close()
	d := open(t, func(c *Config) { c.Connections, c.MaxInputs = 2, 50 }, srv.URL)
	var wg sync.WaitGroup
	for n := range uint64(200) {
		wg.Go(func() {
			if err := ask(t.Context(), d, n); err != nil {
				t.Error(err)
			}
		})
	}
	for r.under.Load() < 2 || len(d.queue) < 100 { // both senders are blocked, and the other calls wait
		time.Sleep(time.Millisecond)
	}
	close(r.gate)
	wg.Wait()
	if r.most.Load() > 2 || len(r.bodies) > 60 {
		t.Errorf("%d bodies at one time, %d in all", r.most.Load(), len(r.bodies))
	}
	for _, n := range r.bodies {
		if n > 50 {
			t.Errorf("a body of %d inputs", n)
		}
	}
	if s := d.Stats(); s.Inputs != 200 || s.Failovers != 0 || s.Repeats != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestKeysMakeSubmissionsRepeatable(t *testing.T) {
	var n atomic.Int64
	r := &replica{}
	r.answer = func(q input.Request) []byte {
		if n.Add(1) == 1 {
			return []byte("\x01UNKNOWN_OUTCOME: the leader went away")
		}
		return echo(q)
	}
	srv := httptest.NewServer(r)
	defer srv.Close()
	d := open(t, nil, srv.URL)
	for range 2 {
		if _, err := d.Do(t.Context(), &input.SubmitApplication{Name: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.keys) != 3 || r.keys[0] == "" || r.keys[0] != r.keys[1] || r.keys[1] == r.keys[2] {
		t.Errorf("keys %q; want the first repeated, then another", r.keys)
	}
	if err := ask(t.Context(), d, 1); err != nil || r.keys[3] != "" {
		t.Errorf("error %v, key %q; want none for a heartbeat", err, r.keys[3])
	}
}

func TestFailOver(t *testing.T) {
	good := &replica{answer: echo}
	srv := httptest.NewServer(good)
	defer srv.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "standby", http.StatusServiceUnavailable)
	}))
	defer busy.Close()
	noLeader := httptest.NewServer(&replica{answer: func(input.Request) []byte { return []byte("\x01NO_LEADER: wait") }})
	defer noLeader.Close()
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte{5, 0}) }))
	defer short.Close()
	hung := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	defer silent.Close()
	defer close(hung)
	for name, bad := range map[string]string{"gone": gone.URL, "503": busy.URL, "no leader": noLeader.URL,
		"short": short.URL, "silent": silent.URL} {
		t.Run(name, func(t *testing.T) {
			d := open(t, func(c *Config) {
				if c.Connections = 1; name == "silent" {
					c.Timeout = 2 * time.Second // a busy machine may need longer for an answer, and fails over again
				}
			}, bad, srv.URL)
			for n := range uint64(3) {
				if err := ask(t.Context(), d, n); err != nil {
					t.Fatal(err)
				}
			}
			s := d.Stats()
			if again := s.Failovers > 1 && name != "silent"; again || s.Failovers == 0 || s.Inputs != 3 || s.LongestGap <= 0 {
				t.Errorf("stats %+v; want one failover", s)
			}
		})
	}
}

func TestPermanentErrorsRejected(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"404":     http.NotFoundHandler(),
		"invalid": &replica{answer: func(input.Request) []byte { return []byte("\x01INVALID_REQUEST: no") }},
		"unnamed": &replica{answer: func(input.Request) []byte { return []byte("\x01") }},
		"garbage": &replica{answer: func(input.Request) []byte { return []byte("\x00\xff\xff\xff") }},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(h)
			defer srv.Close()
			d := open(t, nil, srv.URL)
			if err := ask(t.Context(), d, 1); !errors.Is(err, ErrRejected) {
				t.Errorf("error %v; want ErrRejected", err)
			}
		})
	}
	if _, err := New(nil).Do(t.Context(), &input.Tick{}); err == nil {
		t.Error("a client without addresses let something in")
	}
}

func TestCallerCancellation(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	d := open(t, nil, gone.URL)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := ask(ctx, d, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v; want that of the context", err)
	}
	left := make(chan error)
	go func() { left <- ask(context.Background(), d, 2) }()
	time.Sleep(5 * time.Millisecond)
	d.Close()
	if err := <-left; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v; want ErrClosed", err)
	}
	if err := ask(t.Context(), d, 3); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v; want ErrClosed", err)
	}
}

func FuzzSplitAnswers(f *testing.F) {
	f.Add([]byte{2, 0, 7, 3, 1, 'n', 'o'}, 2)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0}, 1)
	f.Fuzz(func(t *testing.T, data []byte, want int) {
		want &= 15
		if got, err := splitAnswers(data, want); err == nil && len(got) != want {
			t.Errorf("%d answers for %d", len(got), want)
		}
	})
}

// TestTLS checks that inputs reach a replica over TLS with the right authority, and that a replica
// that the client does not trust, or that does not speak TLS, is an error and not awaited.
func TestTLS(t *testing.T) {
	r := &replica{answer: func(in input.Request) []byte {
		return append([]byte{0}, input.EncodeReply(nil, in.Input.NewReply())...)
	}}
	secure, plain := httptest.NewTLSServer(r), httptest.NewServer(r)
	defer secure.Close()
	defer plain.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	trusting := secure.Client().Transport.(*http.Transport).TLSClientConfig
	for _, x := range []struct {
		what, addr string
		conf       *tls.Config
		rejected   bool
	}{
		{"with its authority", secure.URL, trusting, false},
		{"without its authority", secure.URL, nil, true},
		{"without TLS", strings.Replace(plain.URL, "http:", "https:", 1), trusting, true},
	} {
		cfg := DefaultConfig()
		cfg.Addrs, cfg.TLS = []string{x.addr}, x.conf
		cl, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err = cl.Do(ctx, &input.RegisterNode{ID: yarn.NodeID{Host: "n1", Port: 1}, Total: yarn.NewResource(1024, 1)})
		cancel()
		if errors.Is(err, ErrRejected) != x.rejected || !x.rejected && err != nil {
			t.Errorf("%s: %v", x.what, err)
		}
		cl.Close()
	}
}
