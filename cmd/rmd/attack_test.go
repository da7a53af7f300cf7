package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/quantile"
	"rmd/transport/hadoop/ipc"
)

// TestAttack sends hostile inputs to every port of three replicas while honest callers continue. It
// checks that no replica stops, that their memory stays bounded, that honest callers are served
// nearly as quickly as without an attack, that every input gets the answer of its table row, and
// that hostile inputs do not change the state. RMD_ATTACK is the length of each window of attack.
// If it is not set, the test is skipped. RMD_ATTACK_PORT selects one table.
func TestAttack(t *testing.T) {
	window, err := time.ParseDuration(os.Getenv("RMD_ATTACK"))
	if err != nil {
		t.Skip("RMD_ATTACK is not set: make attack")
	}
	if !t.Run("plain", func(t *testing.T) { newAttack(t, window, nil).run() }) {
		return // so that what failed is at the end of the output
	}
	t.Run("TLS", func(t *testing.T) { newAttack(t, window, newCertificates(t)).run() })
}

// Bounds that must hold under attack.
const (
	attackMemory = 200 << 20       // bytes above the memory that a replica uses in the quiet windows
	attackDelay  = 2.0             // limit of the mean ratio of honest calls' p99 under attack to p99 in the quiet windows
	attackWindow = 2 * time.Second // shorter windows are not conclusive
)

// hostile is one hostile input.
type hostile struct {
	name string                 // what is sent
	want string                 // regular expression for the answer
	send func(a *attack) string // sends the input and returns the answer
}

// attack is one run of all tables.
type attack struct {
	*testing.T
	*hadoopCluster
	certs   *certificates // nil: the ports are plain
	window  time.Duration
	rogue   *ipc.Client // connects from addresses that no honest caller uses
	secret  map[string]string
	honest  *honest
	mallory *master // an application of the attacker
	// incarnation has the incarnation of each replica that is or was a member, by id.
	incarnation map[string]string

	at     *process      // replica that gets the current input; set in the copy of attack that send gets
	pinned net.Addr      // source address of all connections; nil: a new one for each
	source *atomic.Int32 // last part of the source address of the next connection
	mu     *sync.Mutex
	played map[string]*outcome
	order  []string
}

// outcome is the result of one hostile input, over all times that it was sent.
type outcome struct {
	port, name, want, got string
	times                 int
	failed                bool
}

func newAttack(t *testing.T, window time.Duration, certs *certificates) *attack {
	a := &attack{T: t, certs: certs, window: window, secret: map[string]string{}, source: new(atomic.Int32),
		mu: new(sync.Mutex), played: map[string]*outcome{}}
	n := 3
	if certs != nil {
		n = 4 // the fourth joins and is removed
	}
	a.hadoopCluster = newHadoop(t, n, "  connections: 1000\n", "yarn.acl.enable", "true", "yarn.admin.acl", "yarn")
	a.write("capacity-scheduler.xml", append(queuesOf(queueFile), "yarn.scheduler.capacity.root.acl_administer_queue",
		"yarn", "yarn.scheduler.capacity.root.acl_submit_applications", "*")...)
	if certs != nil {
		certs.use(a.hadoopCluster)
		for _, p := range a.all[:3] {
			a.reconfigure(p, "  bootstrap_expect: 4\n", "  bootstrap_expect: 3\n")
			a.reconfigure(p, ", "+a.all[3].peer, "")
		}
		a.reconfigure(a.all[3], "  bootstrap_expect: 4\n", "")
	}
	for _, p := range a.all[:3] {
		p.files = 4096 // floods open more files than the default
		a.processes.start(p)
	}
	a.awaitReady(a.all[:3]...)
	a.incarnation = map[string]string{}
	if certs != nil {
		a.letIn(a.all[3])
	}
	for id, m := range a.members(a.leader()) {
		a.incarnation[id] = m.Incarnation
	}
	if certs != nil {
		a.removeAgain(a.all[3])
	}
	cfg := ipc.DefaultClientConfig()
	cfg.Logger = hclog.NewNullLogger()
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return a.dialer().DialContext(ctx, network, address)
	}
	var err error
	if a.rogue, err = ipc.OpenClient(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.rogue.Close() })
	return a
}

// dialer returns a dialer that connects from one of many addresses of this machine, unless the row
// pinned one: most rows must not depend on the limits of a single address.
func (a *attack) dialer() *net.Dialer {
	if a.pinned != nil {
		return &net.Dialer{Timeout: 10 * time.Second, LocalAddr: a.pinned}
	}
	n := byte(a.source.Add(1))
	return &net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, 1+n/250, 1+n%250)}}
}

// run sends all tables in windows of attack. A quiet window is before and after each.
func (a *attack) run() {
	for _, row := range hostileEarly() {
		for _, p := range a.all {
			b := *a
			b.at = p
			a.note("REST, early", row, p.id, row.send(&b), 0)
		}
	}
	a.makeTokens() // fails if a token exists
	a.honest = a.behaveWell()
	a.mallory = a.registered(0, "mallory", "b")
	before := a.state()
	a.honest.quiet(2 * time.Second) // warm-up of connections and caches
	a.honest.quiet(a.window)
	idle := a.memories()
	heap := a.watchMemory()
	terms := a.term(a.leader())
	for _, table := range attackTables {
		if a.certs == nil && table.secure || a.certs != nil && table.plain {
			continue
		}
		if only := os.Getenv("RMD_ATTACK_PORT"); only != "" && only != table.port {
			continue
		}
		for rows := range slices.Chunk(table.rows(), 24) {
			began := time.Now()
			a.honest.hostile(func(over <-chan struct{}) { a.assault(table.port, rows, table.alone, over) }, a.window)
			a.honest.quiet(min(max(time.Since(began), a.window), 3*a.window))
		}
	}
	most := heap()
	a.honest.stop()
	a.logAnswers()
	a.honest.judge(a.T, a.window)
	a.checkAnswers()
	a.same(before)
	a.checkRunning(idle, most, terms)
}

// assault sends rows, two at a time, until the window is over and each replica got each row. The
// attacker sleeps as long as each input took, because it shares the processors with the replicas.
func (a *attack) assault(port string, rows []hostile, alone bool, over <-chan struct{}) {
	for round := 0; ; round++ {
		var wg sync.WaitGroup
		room := make(chan struct{}, 2)
		if alone {
			room = make(chan struct{}, 1)
		}
		for i, row := range rows {
			room <- struct{}{}
			wg.Go(func() {
				defer func() { <-room }()
				b := *a
				b.at = a.all[(i+round)%len(a.all)]
				began := time.Now()
				a.note(port, row, b.at.id, row.send(&b), time.Since(began))
				time.Sleep(min(max(time.Since(began), 5*time.Millisecond), 100*time.Millisecond))
			})
		}
		wg.Wait()
		select {
		case <-over:
			if round+1 >= len(a.all) {
				return
			}
		default:
		}
	}
}

// note records the answer to an input.
func (a *attack) note(port string, row hostile, at, got string, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := port + "\x00" + row.name
	o := a.played[key]
	if o == nil {
		o = &outcome{port: port, name: row.name, want: row.want, got: got}
		a.played[key], a.order = o, append(a.order, key)
	}
	o.times++
	if !regexp.MustCompile(row.want).MatchString(got) && !o.failed {
		o.failed, o.got = true, fmt.Sprintf("at %s after %s: %s", at, took.Round(time.Millisecond), got)
	}
}

// logAnswers logs all inputs with their answers.
func (a *attack) logAnswers() {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "PORT\tINPUT\tTIMES\tANSWER\n")
	for _, key := range a.order {
		o := a.played[key]
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", o.port, o.name, o.times, oneLine(o.got, 90))
	}
	_ = w.Flush()
	a.Logf("%d hostile inputs\n%s", len(a.order), b.String())
}

// checkAnswers checks that every input got the answer of its table row.
func (a *attack) checkAnswers() {
	for _, key := range a.order {
		if o := a.played[key]; o.failed {
			a.Errorf("%s: %s: must be answered with %s, and was %s", o.port, o.name, o.want, oneLine(o.got, 2000))
		}
	}
}

func oneLine(s string, most int) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

// checkRunning checks that no replica stopped or exceeded its bounds.
func (a *attack) checkRunning(idle, most []int64, term uint64) {
	for i, p := range a.all {
		if p.cmd.ProcessState != nil || strings.Contains(p.logged(), "panic") {
			a.Errorf("%s has stopped, or has panicked", p.id)
		}
		a.Logf("%s: %d MiB in the quiet, %d MiB at most", p.id, idle[i]>>20, most[i]>>20)
		if most[i] > idle[i]+overhead*attackMemory {
			a.Errorf("%s went from %d to %d MiB", p.id, idle[i]>>20, most[i]>>20)
		}
	}
	if now := a.term(a.leader()); now != term {
		a.Errorf("term %d, it was %d before the attack", now, term)
	}
}

func (a *attack) memories() []int64 {
	out := make([]int64, len(a.all))
	for i, p := range a.all {
		out[i] = p.resident()
	}
	return out
}

// watchMemory returns a function that stops watching and returns the maximum memory of each
// replica.
func (a *attack) watchMemory() func() []int64 {
	most, stop := a.memories(), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				for i, n := range a.memories() {
					most[i] = max(most[i], n)
				}
			}
		}
	})
	return func() []int64 { close(stop); wg.Wait(); return most }
}

// p99 returns the 99th percentile of a list that need not be sorted.
func p99(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return quantile.Of(sorted, 0.99)
}
