package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/api"
)

// honest are callers that continue while others attack: a client that submits and lists over REST,
// a NodeManager and an AM. It records how long their calls take, by window. Nobody attacks in
// windows with an odd number, nor in window 0.
type honest struct {
	a       *attack
	node    *nodeManager
	master  *master
	client  http.Client
	stopped chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
	// submitted is the last application that is not killed yet. It is nil if there is none.
	submitted atomic.Pointer[string]

	mu     sync.Mutex
	window int
	took   map[string][][]time.Duration // by kind, by window
	failed []error
}

// pace is the pause between two calls of one caller.
const pace = 10 * time.Millisecond

func (a *attack) behaveWell() *honest {
	h := &honest{a: a, stopped: make(chan struct{}), took: map[string][][]time.Duration{},
		client: http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	lead := a.index(a.leader())
	h.node = a.node((lead+1)%3, "127.0.0.9")
	h.node.took.Store(new(func(d time.Duration) { h.keep("heartbeat", d) }))
	h.master = a.registered(lead, "ann", "a", h.node)
	h.master.until(1, wants(1, 1, 1024, "")...)
	n := 0
	h.loop("allocate", func() error { _, err := h.master.allocate(); return err })
	h.loop("submit", func() error {
		n++
		b, err := h.rest(a.all[n%3], http.MethodPost, "/v1/apps",
			fmt.Sprintf(`{"name":"honest-%d","queue":"root.b","unmanaged":true}`, n), http.StatusCreated)
		var doc api.Submitted
		if err == nil {
			err = json.Unmarshal(b, &doc)
		}
		h.submitted.Store(&doc.ID)
		return err
	})
	h.loop("kill", func() error { // keep the queue from becoming full
		id := h.submitted.Swap(nil)
		if id == nil {
			return nil
		}
		_, err := h.rest(a.all[0], http.MethodPost, "/v1/apps/"+*id+":kill", "{}", http.StatusOK)
		return err
	})
	h.loop("list", func() error {
		n := time.Now().Nanosecond()
		_, err := h.rest(a.all[n%3], http.MethodGet, "/v1/apps?user=honest&limit=20", "", http.StatusOK)
		return err
	})
	a.Cleanup(h.stop)
	return h
}

func (h *honest) rest(p *process, method, path, body string, want int) ([]byte, error) {
	req, err := http.NewRequest(method, "http://"+p.http+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set(api.HeaderToken, h.a.secret["honest"])
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(b))
	}
	return b, err
}

// loop repeats call until stop, and records how long each call took.
func (h *honest) loop(kind string, call func() error) {
	h.wg.Go(func() {
		for {
			select {
			case <-h.stopped:
				return
			case <-time.After(pace):
			}
			began := time.Now()
			if err := call(); err != nil {
				h.mu.Lock()
				h.failed = append(h.failed, fmt.Errorf("%s: %w", kind, err))
				h.mu.Unlock()
				continue
			}
			h.keep(kind, time.Since(began))
		}
	})
}

func (h *honest) keep(kind string, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.took[kind]) <= h.window {
		h.took[kind] = append(h.took[kind], nil)
	}
	h.took[kind][h.window] = append(h.took[kind][h.window], took)
}

func (h *honest) next() {
	h.mu.Lock()
	h.window++
	h.mu.Unlock()
}

// quiet is a window in which nobody attacks.
func (h *honest) quiet(d time.Duration) {
	time.Sleep(d)
	h.next()
}

// hostile is a window in which assault runs, at least for d and until it has sent every input once.
func (h *honest) hostile(assault func(over <-chan struct{}), d time.Duration) {
	over := make(chan struct{})
	time.AfterFunc(d, func() { close(over) })
	assault(over)
	h.next()
}

func (h *honest) stop() {
	h.once.Do(func() { close(h.stopped) })
	h.wg.Wait()
}

// judge checks that every honest call was served, and that calls under attack were not much slower
// than in the quiet windows: it averages the ratios of the p99 over the kinds of calls. Few or
// short windows are not conclusive, so in that case it only logs the ratio.
func (h *honest) judge(t *testing.T, window time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.failed) > 0 {
		t.Errorf("honest callers were refused %d times: %v", len(h.failed), h.failed[0])
	}
	sum := 0.0
	for kind, windows := range h.took {
		ratio, quiet, hostile, ok := slowdown(windows)
		if !ok {
			t.Errorf("%s: there is nothing to compare", kind)
			continue
		}
		t.Logf("%s: %d calls, p99 %s in the quiet and %s under attack: %.2f times as long, but for other load", kind,
			len(quiet)+len(hostile),
			p99(quiet).Round(10*time.Microsecond), p99(hostile).Round(10*time.Microsecond), ratio)
		sum += math.Log(ratio)
	}
	if mean := math.Exp(sum / float64(max(len(h.took), 1))); mean > attackDelay && h.window > 10 &&
		window >= attackWindow {
		t.Errorf("an honest caller waits %.2f times as long under attack (p99)", mean)
	} else {
		t.Logf("an honest caller waits %.2f times as long under attack (p99)", mean)
	}
}

// slowdown compares the windows under attack with the quiet windows. It computes the ratio of each
// to the two windows around it, and takes the median. If the ratio of all windows together is
// smaller, it takes that one: one window in which the machine was busy with something else must not
// count.
func slowdown(windows [][]time.Duration) (ratio float64, quiet, hostile []time.Duration, ok bool) {
	var ratios []float64
	for i := 1; i < len(windows); i++ { // window 0 is the warm-up
		if i%2 == 1 {
			quiet = append(quiet, windows[i]...)
			continue
		}
		hostile = append(hostile, windows[i]...)
		if i+1 < len(windows) && len(windows[i]) > 0 {
			if around := slices.Concat(windows[i-1], windows[i+1]); len(around) > 0 {
				ratios = append(ratios, float64(p99(windows[i]))/float64(p99(around)))
			}
		}
	}
	if len(ratios) == 0 {
		return 0, quiet, hostile, false
	}
	slices.Sort(ratios)
	return min(ratios[len(ratios)/2], float64(p99(hostile))/float64(p99(quiet))), quiet, hostile, true
}
