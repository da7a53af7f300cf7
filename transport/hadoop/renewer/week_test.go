package renewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// week is a week of applications with tokens of several name nodes. Name nodes fail and are slow, and
// leaders change. The name nodes judge.
type week struct {
	*cluster
	rng    *rand.Rand
	begun  time.Time
	nodes  nameNodes
	downs  map[*nameNode][]span
	shared []token.Token // of the last application; the next one may use the first
	steps  []step

	books sync.Mutex
	users map[string][]yarn.ApplicationID // by identifier of a token

	submitted, failovers int
}

// span is a time in which a name node is down.
type span struct{ from, to time.Time }

// step is something that happens at a time after the begin.
type step struct {
	at time.Duration
	do func()
}

// nameNodes are services with a name node each.
type nameNodes []*nameNode

func (s nameNodes) of(t token.Token) *nameNode {
	return s[slices.IndexFunc(s, func(n *nameNode) bool { return n.service == t.Service })]
}

// Renew implements Services.
func (s nameNodes) Renew(ctx context.Context, t token.Token, conf []byte) (time.Time, error) {
	return s.of(t).Renew(ctx, t, conf)
}

// Cancel implements Services.
func (s nameNodes) Cancel(ctx context.Context, t token.Token, conf []byte) error {
	return s.of(t).Cancel(ctx, t, conf)
}

// Prepare implements Services.
func (nameNodes) Prepare(context.Context, token.Token, []byte) error { return nil }

// Fetch implements Services.
func (s nameNodes) Fetch(ctx context.Context, user string) ([]token.Token, error) {
	return s[0].Fetch(ctx, user)
}

// TestWeek runs RMD_WEEK_APPS applications in a week of simulated time, RMD_WEEK_SEED with other
// choices. No token may be renewed after its end, twice at a time or more than a tenth later than it
// is due, cancelled twice or before its last application has ended, or lost while its name node could
// renew it.
func TestWeek(t *testing.T) {
	apps, seed := setting(t, "RMD_WEEK_APPS", 250), setting(t, "RMD_WEEK_SEED", 1)
	play(t, nil, func(c *cluster) {
		w := &week{cluster: c, rng: rand.New(rand.NewPCG(uint64(seed), 0)), begun: time.Now(),
			users: map[string][]yarn.ApplicationID{}, downs: map[*nameNode][]span{}}
		c.trusting = apps > 1000
		w.open(5)
		w.plan(apps)
		w.run()
		w.report()
	})
}

func setting(t *testing.T, name string, def int) int {
	text := cmp.Or(os.Getenv(name), strconv.Itoa(def))
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q: a positive number", name, text)
	}
	return n
}

// open starts the name nodes, and a leader that knows them.
func (w *week) open(count int) {
	for i := range count {
		w.nodes = append(w.nodes, &nameNode{T: w.T, service: fmt.Sprintf("nn%d:8020", i), issued: map[string]*issuedToken{},
			uses: w.used})
	}
	w.services = w.nodes
	w.failover(0)
}

// used reports whether an application that uses a token has not ended.
func (w *week) used(id string) bool {
	st := w.Fork()
	w.books.Lock()
	defer w.books.Unlock()
	return slices.ContainsFunc(w.users[id], func(app yarn.ApplicationID) bool { return running(st, app) })
}

func running(st *state.State, id yarn.ApplicationID) bool {
	slot := st.Apps.ByID(id)
	return slot != 0 && !st.Apps.Get(slot).State.Ended()
}

// plan spreads submissions and faults over the week.
func (w *week) plan(apps int) {
	for range apps {
		w.step(w.upTo(7*day), w.submitOne)
	}
	for at := time.Duration(0); at < 7*day; at += w.upTo(4 * time.Hour) {
		w.step(at, w.changeLeader)
	}
	for _, n := range w.nodes {
		for at := w.upTo(day); at < 7*day; at += time.Hour + w.upTo(day) {
			length := w.outage()
			w.step(at, func() { n.set(func() { n.fault = errDown }) })
			w.step(at+length, func() { n.set(func() { n.fault = nil }) })
			w.downs[n] = append(w.downs[n], span{w.begun.Add(at), w.begun.Add(at + length)})
			at += length
		}
		for at := w.upTo(day); at < 7*day; at += w.upTo(day) {
			slow := w.upTo(10 * time.Second)
			w.step(at, func() { n.set(func() { n.slow = slow }) })
		}
	}
	slices.SortStableFunc(w.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
}

func (w *week) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) + 1 }

// outage returns how long a name node is down: some minutes, or for some tokens longer than their
// life.
func (w *week) outage() time.Duration {
	if w.rng.IntN(8) == 0 {
		return w.upTo(4 * time.Hour)
	}
	return w.upTo(5 * time.Minute)
}

func (w *week) step(at time.Duration, do func()) { w.steps = append(w.steps, step{at, do}) }

// later adds a step while the steps are done.
func (w *week) later(after time.Duration, do func()) {
	s := step{time.Since(w.begun) + after, do}
	i, _ := slices.BinarySearchFunc(w.steps, s, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	w.steps = slices.Insert(w.steps, i, s)
}

// run does all steps, and then waits until the last cancellations had their tries.
func (w *week) run() {
	for len(w.steps) > 0 {
		s := w.steps[0]
		w.steps = w.steps[1:]
		time.Sleep(s.at - time.Since(w.begun))
		s.do()
	}
	w.pass(day)
}

// triesOfSubmission is how often the token of a submission may be tried after its end: three times,
// and as often if leaders change before the results are committed.
const triesOfSubmission = 2 * 3

// submitOne submits an application with up to three tokens: new ones, and one of the application before.
func (w *week) submitOne() {
	var tokens []token.Token
	if w.rng.IntN(4) == 0 && len(w.shared) > 0 && w.used(string(w.shared[0].Identifier)) {
		tokens = append(tokens, w.shared[0])
		n := w.nodes.of(w.shared[0])
		n.set(func() { n.issued[string(w.shared[0].Identifier)].again = triesOfSubmission })
	}
	for range w.rng.IntN(3) {
		// Most tokens are renewed each day, some each hour.
		every := []time.Duration{day, day, time.Hour}[w.rng.IntN(3)]
		n := w.nodes[w.rng.IntN(len(w.nodes))]
		tokens = append(tokens, n.issue("ann", "yarn", every, 7*day))
	}
	id := w.send(submission{tokens: tokens})
	w.submitted++
	w.shared = tokens
	w.books.Lock()
	defer w.books.Unlock()
	for _, t := range tokens {
		w.users[string(t.Identifier)] = append(w.users[string(t.Identifier)], id)
	}
	w.later(w.lives(), func() { w.endOne(id, tokens) })
}

// lives returns how long an application lives: hours, or up to three days.
func (w *week) lives() time.Duration {
	if w.rng.IntN(20) == 0 {
		return w.upTo(3 * day)
	}
	return w.upTo(6 * time.Hour)
}

// enough is the time before the end of a token in which its name node must be there for a renewal. The
// leader may change once meanwhile.
const enough = 3 * time.Minute

// lasted reports whether a name node was not down in a time.
func (w *week) lasted(n *nameNode, from, to time.Time) bool {
	return !slices.ContainsFunc(w.downs[n], func(s span) bool { return s.from.Before(to) && s.to.After(from) })
}

// endOne ends an application, unless its tokens could not be renewed at the begin. None of them may be
// overdue, or lost without need.
func (w *week) endOne(id yarn.ApplicationID, tokens []token.Token) {
	runs := running(w.Fork(), id)
	for _, t := range tokens {
		n := w.nodes.of(t)
		n.set(func() {
			k := n.issued[string(t.Identifier)]
			if runs && k.late(time.Now()) > mostLate {
				w.Errorf("token %s was not renewed", t.Identifier)
			}
			if runs && !k.end.IsZero() && k.end.Before(time.Now()) && w.lasted(n, k.end.Add(-enough), k.end) {
				w.Errorf("token %s was lost while its name node could renew it", t.Identifier)
			}
		})
	}
	if runs {
		w.do(&input.KillApplication{ID: id, User: "ann"})
	}
}

func (w *week) changeLeader() {
	w.failovers++
	w.failover(w.upTo(time.Minute))
}

var errDown = errors.New("connection refused")

// report checks that the week was what it is there for.
func (w *week) report() {
	issued, renewals, cancelled, outages, latest := 0, 0, 0, 0, 0.0
	for _, n := range w.nodes {
		outages += len(w.downs[n])
		issued, renewals, latest = issued+len(n.issued), renewals+len(n.renewals), max(latest, n.latest)
		for _, k := range n.issued {
			cancelled += k.cancelled
		}
	}
	w.Logf("%d applications, %d tokens, %d calls to renew them, the latest %.1f %% late, %d cancelled; %d leaders, %d outages of name nodes",
		w.submitted, issued, renewals, 100*latest, cancelled, w.failovers, outages)
	if left := len(w.phases()); left != 0 || cancelled < issued*8/10 || renewals < issued || w.failovers < 20 ||
		outages < 10 {
		w.Errorf("the week is not what it is there for, or tokens are left: %q", w.phases())
	}
}
