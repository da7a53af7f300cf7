package planner

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestScenarios runs the scenario files. Each line of a directive is a verb with arguments, and the
// expected output contains the numbers of the specification. -rewrite rewrites the outputs; compare
// the difference with the specification.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	seen, left := seenSections{}, len(files)
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { runScenario(t, path, seen); left-- })
	}
	for _, sec := range state.Sections() {
		if left == 0 && !seen[sec.Name] && ownSections[sec.Name] == "" {
			t.Errorf("no scenario fills %s", sec.Name)
		}
	}
}

// runScenario runs a scenario file. Then all work ends, and nothing of it may be left in the state.
func runScenario(t *testing.T, path string, seen seenSections) {
	w := newWorld(t)
	w.seen = seen
	datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
		w.t = t
		var out strings.Builder
		w.line(&out, td.Cmd, td.CmdArgs)
		for _, text := range strings.Split(td.Input, "\n") {
			cmd, args, err := datadriven.ParseLine(text)
			if err != nil {
				td.Fatalf(t, "%v", err)
			}
			if cmd != "" {
				w.line(&out, cmd, args)
			}
		}
		if out.Len() == 0 {
			return "ok\n"
		}
		return out.String()
	})
	w.endAll()
	w.finish()
	leavesNothing(t, w.p.st)
}

// partC lists the scenarios of the specification's part C that do not need preemption.
func partC() []string {
	list := []string{"45a", "45b"}
	for _, span := range [][2]int{{1, 54}, {72, 75}} {
		for n := span[0]; n <= span[1]; n++ {
			list = append(list, fmt.Sprint(n))
		}
	}
	return list
}

func TestEveryScenarioOfTheSpecificationHasItsFile(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]string{}
	for _, f := range files {
		m := regexp.MustCompile(`^0*(\d+[ab]?)_`).FindStringSubmatch(filepath.Base(f))
		if m == nil {
			continue // a scenario of our own
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# "+m[1]+". ") {
			t.Errorf("%s does not begin with \"# %s. \" and its story", f, m[1])
		}
		if strings.Count(string(text), "\n----\n") < 1 {
			t.Errorf("%s shows nothing", f)
		}
		covered[m[1]] = f
	}
	for _, n := range partC() {
		if covered[n] == "" {
			t.Errorf("scenario %s has no file", n)
		}
	}
}

// world runs one scenario. It has a planner, its twins, and the names in the scenario.
type world struct {
	t      testing.TB
	p      *Planner
	twins  []*Planner // planners from before a failover, which must decide the same
	eager  bool
	now    int64
	props  []input.Property
	apps   map[string]yarn.ApplicationID
	names  map[uint32]string // application by sequence number
	nodes  map[string]yarn.NodeID
	log    []event.Event
	events []event.Event // of the last input
	held   map[string]scheduler.Proposal
	before *state.State // before the last input
	seen   seenSections
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, now: 1_000_000, apps: map[string]yarn.ApplicationID{}, names: map[uint32]string{},
		nodes: map[string]yarn.NodeID{}, held: map[string]scheduler.Proposal{}}
	w.p = must(New(state.New(), Options{}))
	return w
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// args are the arguments of one verb.
type args struct {
	w    *world
	list []datadriven.CmdArg
}

func (a args) get(key, def string) string {
	for _, x := range a.list {
		if x.Key == key && len(x.Vals) > 0 {
			return strings.Join(x.Vals, ",")
		}
	}
	return def
}

func (a args) has(key string) bool {
	return slices.ContainsFunc(a.list, func(x datadriven.CmdArg) bool { return x.Key == key })
}

// word returns the i-th argument without a value, or "".
func (a args) word(i int) string {
	for _, x := range a.list {
		if len(x.Vals) == 0 {
			if i == 0 {
				return x.Key
			}
			i--
		}
	}
	return ""
}

func (a args) need(i int) string {
	s := a.word(i)
	if s == "" {
		a.w.t.Fatalf("word %d is missing in %v", i+1, a.list)
	}
	return s
}

func (w *world) line(out *strings.Builder, verb string, list []datadriven.CmdArg) {
	do := verbs()[verb]
	if do == nil {
		w.t.Fatalf("unknown verb %q", verb)
	}
	do(w, args{w, list}, out)
	if err := w.p.State().Check(); err != nil {
		w.t.Fatalf("after %s %v: %v", verb, list, err)
	}
}

type verb func(w *world, a args, out *strings.Builder)

// verbs returns the language of the scenarios, one file per group. The comment of each function
// begins with the syntax of its verb.
func verbs() map[string]verb {
	return map[string]verb{
		"conf": doConf, "queues": doQueues, "stop": doStop, // scenario_cluster_test.go
		"node": doNode, "mode": doMode,
		// scenario_app_test.go
		"app": doApp, "ask": doAsk, "launch": doLaunch, "release": doRelease, "kill": doKill, "move": doMove,
		"complete": doComplete, "pull": doPull, "fail": doFail, "blacklist": doBlacklist, "finish": doFinish,
		"priority": doPriority, "register": doRegister,
		"hb": doHeartbeat, "pass": doPass, // scenario_pass_test.go
		"queue": doQueue, "key": doKey, "res": doRes, "headroom": doHeadroom, "users": doUsers, // scenario_show_test.go
		"userlimit": doUserLimit, "amlimit": doAMLimit, "counters": doCounters, "explain": doExplain,
		"pendinglimit": doPendingLimit,
		// scenario_unit_test.go
		"check": doCheck, "victim": doVictim, "mayhold": doMayHold, "propose": doPropose, "commit": doCommit,
		"apply": doApply, "cancel": doCancel, "rawsize": doRawSize,
		"update": doUpdate, "sized": doSized, "had": doHad, "orders": doOrders, "expire": doExpire, // scenario_resize_test.go
		"label": doLabel, "use": doUse, // scenario_label_test.go
		"warn": doWarn, "preempt": doPreempt, "lost": doLost, // scenario_preemption_test.go
		"round": doRound, "wait": doWait, "fill": doFill, "ended": doEnded, // scenario_round_test.go
		"idle": doIdle, "refresh": doRefresh, "adopt": doAdopt, "manage": doManage, // scenario_dynamicqueue_test.go
		"gang":     doGang,                       // scenario_gang_test.go
		"failover": doFailover, "steps": doSteps, // scenario_failover_test.go
		"tokens": doTokens, // scenario_token_test.go
	}
}

// plan runs an input on the planner and on its twins, which must give the same result.
func (w *world) plan(in input.Input) input.Reply { return w.request(input.Request{Input: in}) }

func (w *world) request(req input.Request) input.Reply {
	w.now += 10
	w.before = w.p.st.Fork()
	reply, events := w.p.Plan(w.now, req)
	w.note(events)
	for _, twin := range w.twins {
		again, same := twin.Plan(w.now, req)
		w.alike(events, same)
		if string(input.EncodeReply(nil, again)) != string(input.EncodeReply(nil, reply)) {
			w.t.Fatalf("a rebuilt planner answers %T otherwise: %+v, not %+v", req.Input, again, reply)
		}
	}
	return reply
}

func (w *world) alike(events, same []event.Event) {
	if string(bytesOf(events)) != string(bytesOf(same)) {
		w.t.Fatalf("a rebuilt planner decides otherwise:\n%s\nnot\n%s", w.tell(same), w.tell(events))
	}
}

func bytesOf(events []event.Event) []byte {
	return (&event.Batch{Level: event.Level, Events: events}).Encode()
}

// direct runs a part of the planner as if an input had called it.
func (w *world) direct(f func(p *Planner)) {
	w.now += 10
	run := func(p *Planner) []event.Event {
		p.sched.Begin(w.now)
		f(p)
		p.sched.RunEagerPasses()
		return p.sched.Events()
	}
	w.note(run(w.p))
	for _, twin := range w.twins {
		w.alike(w.events, run(twin))
	}
}

func (w *world) note(events []event.Event) {
	w.events = slices.Clone(events)
	w.log = append(w.log, events...)
	if w.seen != nil {
		w.seen.look(w.p.st)
	}
}

// finish replays the whole log on an empty state and compares the digests.
func (w *world) finish() {
	st := state.New()
	for _, e := range w.log {
		if err := st.Apply(e); err != nil {
			w.t.Fatalf("replay: %v", err)
		}
	}
	if st.Digest() != w.p.State().Digest() {
		w.t.Errorf("the log replayed gives another digest")
	}
}

func (w *world) refused(out *strings.Builder, r input.Reply) bool {
	f := r.Refused()
	if f != nil {
		fmt.Fprintf(out, "refused: %s\n", f.Reason)
		for _, d := range f.Details {
			fmt.Fprintf(out, "  %s\n", d)
		}
	}
	return f != nil
}
