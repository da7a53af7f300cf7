package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/internal/growth"
	"rmd/internal/quantile"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// The size of the cluster for BenchmarkViewers, and the duration of its measurements.
const (
	viewedNodes   = 10_000
	viewedApps    = 100_000
	viewedBusy    = 1_000 // applications that ask for containers; the others wait for their AM
	viewedLeaves  = 100
	viewers       = 50
	viewedLatency = 12 * time.Second
	viewedWindow  = time.Second
	viewedRounds  = 7
	// viewedIdle is the time without any viewer before a cold page is opened. It is longer than the
	// replica keeps the data of pages for viewers.
	viewedIdle = 35 * time.Second
)

// coldFirst are the pages that are opened first after a time without viewers, each on another
// replica.
var coldFirst = []string{"/ui/", "/ui/apps", "/ui/decisions"}

// cold opens every page after a time without viewers, on one replica after the other. On each
// replica it begins with another page.
func (w *viewed) cold(b *testing.B) {
	time.Sleep(viewedIdle)
	var firsts, all []time.Duration
	for i, first := range coldFirst {
		replica := (w.lead + i) % len(w.c.Replicas)
		pages := append([]string{first}, slices.DeleteFunc(w.pages(), func(p string) bool { return p == first })...)
		for k, path := range pages {
			began := time.Now()
			if err := w.get(b.Context(), w.client, replica, path, false, nil); err != nil {
				b.Error(err)
				return
			}
			took := time.Since(began)
			if all = append(all, took); k == 0 {
				firsts = append(firsts, took)
			}
			b.Logf("cold, replica %d (%d leads): %-40s %7.1f ms", replica, w.lead, path, ms(took))
			time.Sleep(5 * time.Millisecond)
		}
	}
	b.Logf("%-44s %s", "first page after a while", spread(firsts))
	b.Logf("%-44s %s", "every page after a while", spread(all))
	b.ReportMetric(ms(quantile.Of(all, 0.99)), "cold-p99-ms")
	b.ReportMetric(ms(quantile.Of(firsts, 1)), "cold-first-max-ms")
}

// BenchmarkViewers measures the web pages of a cluster with 10,000 nodes and 100,000 applications
// that schedules at full rate, as in BenchmarkDecisions. Budgets: each page and list takes less
// than 50 ms at the 99th percentile, also after a time without viewers, and 50 viewers cost at most
// 5 % of the throughput. The viewers and all three replicas share the machine, so the measured cost
// of viewers of followers is an upper bound.
func BenchmarkViewers(b *testing.B) {
	w := newViewed(b)
	halt := w.schedule()
	defer halt()
	b.ResetTimer()
	w.cold(b)
	w.latency(b)
	w.loss(b)
}

// viewed is a large busy cluster.
type viewed struct {
	c      *Cluster
	do     func(in input.Input) input.Reply
	lead   int
	app    string // an application that waits
	queue  string
	client *http.Client // for requests of programs
}

// clientAt returns a client with its own source address, so that limits per address do not matter.
func clientAt(address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 2,
		DisableCompression: true}}
}

func newViewed(b *testing.B) *viewed {
	b.Helper()
	var paths []string
	for i := range viewedLeaves {
		paths = append(paths, fmt.Sprintf("root.p%d.q%03d", i/10, i))
	}
	queues := append(preset.QueuesFor(paths),
		capacity.Property{Name: "yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments", Value: "100"},
		capacity.Property{Name: "yarn.scheduler.capacity.maximum-applications", Value: "100000000"},
		capacity.Property{Name: "yarn.scheduler.capacity.resource-calculator",
			Value: "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"})
	for _, p := range paths {
		queues = append(queues, capacity.Property{Name: "yarn.scheduler.capacity." + p + ".user-limit-factor", Value: "100"})
	}
	c, do := bench(b, queues)
	w := &viewed{c: c, do: do, lead: c.Leader(), queue: paths[0], client: clientAt("127.0.0.2")}
	b.Cleanup(w.client.CloseIdleConnections)
	together(viewedNodes, func(i int) {
		do(&input.RegisterNode{ID: nodeID(i), Rack: fmt.Sprintf("/r%03d", i/40), Total: yarn.NewResource(8*1024, 8)})
	})
	together(viewedBusy, func(i int) {
		id := yarn.AttemptID{App: w.submit(i, paths), Attempt: 1}
		do(&input.RegisterAttempt{Attempt: id})
		do(&input.Allocate{Attempt: id, Asks: []input.Ask{
			{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1_000_000, Size: yarn.NewResource(1024, 1),
				Relax: true}}})
	})
	together(viewedApps-viewedBusy, func(i int) {
		if id := w.submit(i, paths); i == 0 {
			w.app = id.String()
		}
	})
	together(viewedNodes, func(i int) { do(&input.NodeHeartbeat{ID: nodeID(i)}) })
	return w
}

func (w *viewed) submit(i int, paths []string) yarn.ApplicationID {
	in := &input.SubmitApplication{User: fmt.Sprint("u", i%50), Queue: paths[i%len(paths)], Name: fmt.Sprint("job-", i),
		Unmanaged: true}
	return w.do(in).(*input.SubmitApplicationReply).ID
}

// together calls do for 0 to n-1, 256 at a time.
func together(n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 256 {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				do(int(i) - 1)
			}
		})
	}
	wg.Wait()
}

// schedule sends heartbeats as fast as they are answered. Each reports the completion of the node's
// containers. The function that it returns stops them.
func (w *viewed) schedule() (halt func()) {
	machine := w.c.Replicas[w.lead].Machine()
	var next atomic.Uint64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 256 {
		wg.Go(func() {
			for !stop.Load() {
				id := nodeID(int(next.Add(1) % viewedNodes))
				st, _ := machine.Fork()
				var ended []input.ContainerStatus
				for _, c := range st.Containers.On(st.Nodes.Get(st.Nodes.Find(id))) {
					ended = append(ended, input.ContainerStatus{Container: st.Apps.ContainerID(c), State: yarn.ContainerCompleted})
				}
				w.do(&input.NodeHeartbeat{ID: id, Statuses: ended})
			}
		})
	}
	return func() { stop.Store(true); wg.Wait() }
}

// decisions returns how many containers were allocated or completed so far.
func (w *viewed) decisions() uint64 {
	st, _ := w.c.Replicas[w.lead].Machine().Fork()
	return st.Meta.Allocated + st.Meta.Completed
}

// rate measures the decisions in a window: per second, and per second of this process's processor
// time. Other load on the machine changes the first much more than the second.
func (w *viewed) rate(b *testing.B) rate {
	began, before, cpu := time.Now(), w.decisions(), growth.ProcessorTime()
	time.Sleep(viewedWindow)
	n := float64(w.decisions() - before)
	return rate{n / time.Since(began).Seconds(), n / (growth.ProcessorTime() - cpu).Seconds()}
}

// rate is a throughput: decisions per second of time and of processor time.
type rate struct{ wall, cpu float64 }

// pages returns the pages that the viewers open.
func (w *viewed) pages() []string {
	return []string{"/ui/", "/ui/apps", "/ui/apps/" + w.app, "/ui/queues", "/ui/queues/" + w.queue, "/ui/nodes",
		"/ui/nodes/n00001:45454",
		"/ui/reservations", "/ui/cluster", "/ui/decisions", "/ui/conf"}
}

// lists returns the REST lists that programs read.
func (w *viewed) lists() []string {
	return []string{"/v1/apps?limit=100", "/v1/nodes?limit=100", "/v1/queues", "/v1/cluster",
		"/ws/v1/cluster/apps?limit=100", "/ws/v1/cluster/metrics", "/ws/v1/cluster/scheduler"}
}

// whole returns answers about the whole state: a plan of all waiting, and lists without a limit.
// They are not counted with the others.
func (w *viewed) whole() []string {
	return []string{"/v1/apps/" + w.app + "/explain", "/ws/v1/cluster/nodes"}
}

// get reads the whole answer of one address of a replica.
func (w *viewed) get(ctx context.Context, client *http.Client, replica int, path string, live bool, tag *string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.c.Replicas[replica].HTTPAddr()+path, nil)
	if err != nil {
		return err
	}
	if live {
		req.Header.Set("X-Rmd-Live", "1")
		req.Header.Set("If-None-Match", *tag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if live && resp.Header.Get("ETag") != "" {
		*tag = resp.Header.Get("ETag")
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	return nil
}

// floor is a page without work for the replica. Its latency is that of the machine.
const floor = "/ui/static/icon.svg"

// latency requests all addresses in turn, until viewedLatency has passed.
func (w *viewed) latency(b *testing.B) {
	some := append(w.pages(), w.lists()...)
	all := append(append([]string{floor}, some...), w.whole()...)
	took := map[string][]time.Duration{}
	for began := time.Now(); time.Since(began) < viewedLatency; {
		for _, path := range all {
			began := time.Now()
			if err := w.get(b.Context(), w.client, w.lead, path, false, nil); err != nil {
				b.Error(err)
				return
			}
			took[path] = append(took[path], time.Since(began))
			time.Sleep(5 * time.Millisecond) // users do not send all requests at once
		}
	}
	var pages []time.Duration
	for _, path := range all {
		b.Logf("%-44s %s", path, spread(took[path]))
		if slices.Contains(some, path) {
			pages = append(pages, took[path]...)
		}
	}
	b.Logf("%-44s %s, %d times each", "pages and lists", spread(pages), len(took[floor]))
	slices.Sort(pages)
	b.ReportMetric(ms(quantile.Of(pages, 0.5)), "page-p50-ms")
	b.ReportMetric(ms(quantile.Of(pages, 0.99)), "page-p99-ms")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func spread(d []time.Duration) string {
	slices.Sort(d)
	return fmt.Sprintf("p50 %7.1f ms  p99 %7.1f ms  max %7.1f ms", ms(quantile.Of(d, 0.5)), ms(quantile.Of(d, 0.99)),
		ms(quantile.Of(d, 1)))
}

// loss compares the throughput with viewers of the leader, and of a follower, with the throughput
// just before and after, because other load on the machine changes slowly. It reports the medians
// of the rounds.
func (w *viewed) loss(b *testing.B) {
	follower := (w.lead + 1) % len(w.c.Replicas)
	var alone, byCPU []float64
	wall, cpu := map[int][]float64{}, map[int][]float64{}
	var looks []time.Duration
	before := w.rate(b)
	for range viewedRounds {
		for _, replica := range []int{w.lead, follower} {
			took, leave := w.look(b, replica)
			with := w.rate(b)
			leave()
			after := w.rate(b)
			looks, alone, byCPU = append(looks, *took...), append(alone, after.wall), append(byCPU, after.cpu)
			wall[replica] = append(wall[replica], 100*(1-2*with.wall/(before.wall+after.wall)))
			cpu[replica] = append(cpu[replica], 100*(1-2*with.cpu/(before.cpu+after.cpu)))
			before = after
		}
	}
	if len(looks) == 0 {
		b.Fatal("no viewer saw anything")
	}
	b.Logf("%d looks of viewers: %s", len(looks), spread(looks))
	b.Logf("without viewers: decisions/s %.0f, decisions a second of processor %.0f", alone, byCPU)
	for _, replica := range []int{w.lead, follower} {
		b.Logf("percent lost with viewers of replica %d (%d leads): %.0f, of processor time %.0f", replica, w.lead,
			wall[replica], cpu[replica])
	}
	b.ReportMetric(median(alone), "decisions/s")
	b.ReportMetric(ms(quantile.Of(looks, 0.99)), "live-p99-ms")
	b.ReportMetric(median(wall[w.lead]), "%lost-leader")
	b.ReportMetric(median(wall[follower]), "%lost-follower")
	b.ReportMetric(median(cpu[w.lead]), "%cpu-leader")
	b.ReportMetric(median(cpu[follower]), "%cpu-follower")
}

func median(v []float64) float64 {
	return quantile.Of(slices.Sorted(slices.Values(v)), 0.5)
}

// look opens the pages of all viewers. leave closes them and waits for the end. Each viewer has the
// page's stream, and fetches the page again at every message, as the page's script does.
func (w *viewed) look(b *testing.B, replica int) (took *[]time.Duration, leave func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var mu sync.Mutex
	var wg sync.WaitGroup
	took = &[]time.Duration{}
	pages := w.pages()
	var opened sync.WaitGroup
	for i := range viewers {
		opened.Add(1)
		wg.Go(func() {
			path, tag, client := pages[i%len(pages)], "", clientAt(fmt.Sprintf("127.0.1.%d", 1+i))
			defer client.CloseIdleConnections()
			err := w.get(ctx, client, replica, path, false, nil)
			opened.Done()
			for err == nil {
				err = w.follow(ctx, client, replica, func() error {
					began := time.Now()
					err := w.get(ctx, client, replica, path, true, &tag)
					mu.Lock()
					defer mu.Unlock()
					*took = append(*took, time.Since(began))
					return err
				})
			}
			if ctx.Err() == nil {
				b.Error(err)
			}
		})
	}
	opened.Wait()
	return took, func() { cancel(); wg.Wait() }
}

// follow reads a live stream and calls renew for each message.
func (w *viewed) follow(ctx context.Context, client *http.Client, replica int, renew func() error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.c.Replicas[replica].HTTPAddr()+"/ui/live", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data:") {
			if err := renew(); err != nil {
				return err
			}
		}
	}
	return io.ErrUnexpectedEOF
}
