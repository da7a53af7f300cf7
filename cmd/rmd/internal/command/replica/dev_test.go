package replica

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/workload"
	"rmd/workload/mixed"
	"rmd/workload/trace"
)

// rewrite makes TestDevPictureIsCurrent write the picture.
var rewrite = flag.Bool("rewrite", false, "write the picture again")

// devPicture is the data of a screen: a demonstration after the leader was killed.
func devPicture() picture {
	resource := func(gpus int64) api.Resource {
		return api.Resource{"memory-mb": gpus * 40960, "vcores": gpus * 11, "yarn.io/gpu": gpus}
	}
	queue := func(name string, share float64, used, held, pending int64, apps, waiting int32) api.Queue {
		q := api.Queue{Path: "root." + name, Name: name, Leaf: true, Apps: apps, PendingApps: waiting}
		q.AbsCapacity, q.Used, q.Reserved, q.Pending = share, resource(used+held), resource(held), resource(pending)
		return q
	}
	p := picture{rows: 23, speed: 300, up: 71 * time.Second, keys: true,
		work:    workload.Progress{Virtual: 5*time.Hour + 55*time.Minute, Waiting: 3, Granted: 214},
		started: "214 started, 41 in 10 s", replicas: "rm1 dead  rm2  rm3 leader",
		kill: &devKill{victim: "rm1", leader: "rm3", led: 9 * time.Millisecond, gap: 31 * time.Millisecond, reserved: 1,
			kept: 1, running: 29, ago: 4 * time.Second}}
	p.cluster.Verdict = api.Verdict{Status: "degraded", InStep: 2, CanLose: 0}
	p.cluster.Leader, p.cluster.Term, p.cluster.Members = "rm3", 3, make([]api.Member, 3)
	p.cluster.Totals = api.Totals{Running: 11, Waiting: 2, Ended: 85, Nodes: 4, UsableNodes: 4, Containers: 29,
		Reservations: 1, Figures: api.Figures{Total: resource(32)}}
	p.reservations = api.Reservations{Reservations: []api.Reservation{{ID: "r12", Node: "sim-04:45454", AgeMillis: 2300}},
		Fulfilled: 8, Cancelled: map[string]uint64{"ask-gone": 3}}
	p.queues.Root = &api.Queue{Path: "root", Name: "root", Apps: 13, Children: []api.Queue{
		queue("adhoc", 10, 2, 0, 0, 2, 0), queue("batch", 20, 5, 0, 1, 3, 0), queue("online", 40, 10, 0, 2, 5, 1),
		queue("train", 30, 6, 2, 8, 3, 1)}}
	p.queues.Root.AbsCapacity, p.queues.Root.Used, p.queues.Root.Reserved, p.queues.Root.Pending = 100, resource(25),
		resource(2), resource(11)
	return p
}

// TestDevFitsTerminal checks that a terminal of 80 by 24 shows every picture of rmd dev without
// folding a line or scrolling, and that a lower one leaves out what is less important.
func TestDevFitsTerminal(t *testing.T) {
	s := newSummary(&devCluster{})
	many, large, page, failed := devPicture(), devPicture(), devPicture(), devPicture()
	for i := range 60 {
		many.queues.Root.Children = append(many.queues.Root.Children,
			api.Queue{Name: fmt.Sprint("a-queue-with-a-long-name-", i)})
	}
	large.kill = &devKill{victim: "rm7", leader: "rm7", led: 59_999 * time.Millisecond, gap: 59_999 * time.Millisecond,
		reserved: 1000, kept: 1000, lost: 99_999, running: 99_999}
	large.cluster.Term, large.up, large.cluster.Totals.Containers, large.started = 12345, 99*time.Hour, 123_456,
		"123,456,789 started, 99,999 in 10 s"
	large.cluster.Totals.Ended, large.note = 12_345_678,
		"sim-04 has no power: lost after 10s without a heartbeat; n: power on"
	large.job = &devJob{queue: "root.train", id: "application_1_1", began: true, ended: true, waited: 99 * time.Hour}
	large.cluster.Verdict.Status, large.down = "not-initialized", "sim-04"
	large.replicas = "rm1 starts  rm2 starts  rm3 starts  rm4  rm5  rm6  rm7 leader"
	page.pages = []string{"http://127.0.0.1:28088/ui/", "http://127.0.0.1:28188/ui/", "http://127.0.0.1:28288/ui/",
		"bin/rmd cluster status --addr 127.0.0.1:28088", "bin/rmd app list --addr 127.0.0.1:28088",
		"bin/rmd reservation list --addr 127.0.0.1:28088", "bin/rmd events --follow --addr 127.0.0.1:28088"}
	failed.kill = &devKill{victim: "rm1", err: fmt.Errorf("no container within %s", killPatience)}
	for name, p := range map[string]picture{"usual": devPicture(), "many queues": many, "large numbers": large,
		"addresses": page, "failed": failed} {
		lines := s.picture(p)
		for p.rows = 23; p.rows > 0; p.rows-- {
			low := s.picture(p)
			text := strings.Join(low, "\n")
			if len(low) > p.rows {
				t.Errorf("%s: %d lines, want at most %d:\n%s", name, len(low), p.rows, text)
			}
			if p.rows >= 20 && len(p.pages) == 0 && !strings.Contains(text, "reservations ") {
				t.Errorf("%s: %d lines do not say how many reservations there are:\n%s", name, p.rows, text)
			}
			if p.rows >= 12 && strings.Contains(text, "\nnodes         sim-04 off, counted as alive until it is lost\n") != (p.down != "") {
				t.Errorf("%s: %d lines do not say which node is off:\n%s", name, p.rows, text)
			}
			if p.rows >= 10 && (!strings.HasSuffix(text, " quit") || !strings.Contains(text, "\nkill -9")) {
				t.Errorf("%s: %d lines are without the kill or the keys:\n%s", name, p.rows, text)
			}
		}
		for _, l := range lines {
			if n := len([]rune(l)); n > summaryWidth {
				t.Errorf("%s: %d columns, want at most %d: %q", name, n, summaryWidth, l)
			}
		}
	}
}

// TestDevQueueColumns checks that the numbers of a queue are below their titles, and that the legend
// names each sign of its bar.
func TestDevQueueColumns(t *testing.T) {
	lines := newSummary(&devCluster{}).picture(devPicture())
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "queue ") })
	title, line := lines[i], lines[i+5]
	for _, column := range []string{"used  rsvd", "rsvd", "apps", "wait"} {
		end := strings.Index(title, column) + 4
		if line[end-1] == ' ' || len(line) > end && line[end] != ' ' {
			t.Errorf("no number ends below %q:\n%s\n%s", column[:4], title, line)
		}
	}
	for _, sign := range "#=-|" {
		if !strings.ContainsRune(title, sign) || !strings.ContainsRune(line, sign) {
			t.Errorf("%c is not in both lines:\n%s\n%s", sign, title, line)
		}
	}
}

// TestDevKeepsGreeting checks that the rows over the picture stay on the terminal, unless it is so low
// that the picture needs all of it.
func TestDevKeepsGreeting(t *testing.T) {
	for _, x := range []struct{ height, above, want int }{{24, 3, 20}, {24, 4, 19}, {40, 0, 39}, {18, 3, 14}, {17, 3, 16},
		{1, 3, 1}} {
		if got := rowsFor(x.height, x.above); got != x.want {
			t.Errorf("%d rows below %d on a terminal of %d, want %d", got, x.above, x.height, x.want)
		}
	}
}

// TestDevReplicas checks what the screen says of each replica.
func TestDevReplicas(t *testing.T) {
	rs := devReplicas{{id: "rm1"}, {id: "rm2", cmd: &exec.Cmd{}}, {id: "rm3", cmd: &exec.Cmd{}},
		{id: "rm4", cmd: &exec.Cmd{}}, {id: "rm5", cmd: &exec.Cmd{}}}
	d := api.Cluster{Leader: "rm1", Members: []api.Member{{ID: "rm1", State: "alive"}, {ID: "rm2", State: "alive"},
		{ID: "rm3", State: "alive"}, {ID: "rm4", State: "unreachable"}}}
	if got := rs.line(d); got != "rm1 dead  rm2  rm3  rm4 starts  rm5 starts" {
		t.Errorf("just after the kill: %q", got)
	}
	if got := rs.up(); len(got) != 4 || got[0].id != "rm2" { // the hints name one that runs
		t.Errorf("%d run, first %s", len(got), got[0].id)
	}
	if got := stillAlive(api.Totals{Nodes: 4, UsableNodes: 3}); got != "" {
		t.Errorf("a node that the cluster has lost: %q", got)
	}
	d.Leader = "rm3"
	if got := rs.line(d); got != "rm1 dead  rm2  rm3 leader  rm4 starts  rm5 starts" {
		t.Errorf("with the next leader: %q", got)
	}
}

// TestDevStarted checks what the screen says of started containers: at the beginning, while they start,
// and when none has started for longer than it counts.
func TestDevStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSummary(&devCluster{})
		says := func(want string) {
			t.Helper()
			if got := s.started(time.Now()); got != want {
				t.Errorf("after %s: %q, want %q", time.Since(s.began), got, want)
			}
		}
		told := func(after time.Duration, granted int64) {
			time.Sleep(after)
			s.progress(workload.Progress{Granted: granted})
		}
		says("none started yet")
		told(time.Second, 0)
		says("none started yet")
		told(2*time.Second, 3)
		says("3 started, 3 in 3 s")
		for i := range int64(20) {
			told(time.Second, 3+i)
		}
		says("22 started, 10 in 10 s")
		for range 30 {
			told(time.Second, 22)
		}
		says("22 started, the last 30s ago")
		told(time.Second, 23)
		says("23 started, 1 in 10 s")
	})
}

// TestDevKillLines checks what a kill says as long as it is not complete, and when something is lost.
func TestDevKillLines(t *testing.T) {
	k := devKill{victim: "rm1", reserved: 2, running: 29}
	if got := strings.Join(k.lines(), "|"); got != "kill -9 rm1: no leader yet|" {
		t.Errorf("before there is a leader: %q", got)
	}
	k.leader, k.led = "rm2", 12*time.Millisecond
	if got := strings.Join(k.lines(), "|"); got != "kill -9 rm1: rm2 leads after 12 ms; waiting for the next container|" {
		t.Errorf("with a leader, before its first container: %q", got)
	}
	k.leader, k.led, k.gap, k.kept, k.lost = "rm2", 12*time.Millisecond, 1500*time.Millisecond, 1, 3
	want := "kill -9 rm1: rm2 leads after 12 ms, next container after 1500 ms|             reservations kept 1 of 2, containers lost 3 of 29|             12s ago; a busy machine or a slow disk takes longer"
	k.ago = 12 * time.Second
	if got := strings.Join(k.lines(), "|"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	k.reserved, k.kept = 0, 0
	if got := k.lines()[1]; got != "             reservations: none to keep, containers lost 3 of 29" {
		t.Errorf("without reservations: %q", got)
	}
}

// TestDevKillStays checks that a refused kill takes neither the line of the last one nor its losses.
func TestDevKillStays(t *testing.T) {
	s := newSummary(&devCluster{})
	s.work.Lost = 5
	s.told(devKill{victim: "rm1"})
	s.work.Lost = 7
	s.told(devKill{victim: "rm1", led: 1, gap: 2})
	s.killLeader(t.Context()) // refused: there are no replicas
	for over := false; !over; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		over = !s.busy
		s.mu.Unlock()
	}
	if s.kill == nil || s.kill.lost != 2 || s.kill.gap != 2 || !strings.HasPrefix(s.note, "not killed: ") {
		t.Errorf("kill %+v, note %q; want the last kill with 2 lost containers, and a refusal", s.kill, s.note)
	}
}

// TestDevPortsTaken checks that the error of a taken port names the ports that must be free, and that
// no other error points to a log that is removed.
func TestDevPortsTaken(t *testing.T) {
	r := &devReplica{id: "rm2"}
	if got := r.replicaError(nil, 21000, false).(*clierr.Error).Do; strings.Contains(got, "see rmd.log") {
		t.Errorf("without --data: %q", got)
	}
	_, _ = r.said.Write([]byte("rmd: listen tcp 127.0.0.1:21100: bind: address already in use\n"))
	if got := r.replicaError(nil, 21000, false).(*clierr.Error).Do; !strings.Contains(got, "uses 21000 + 100·(i − 1)") {
		t.Errorf("with a taken port: %q", got)
	}
}

// TestDevJobFollows checks what the line of a job says from its submission to its end.
func TestDevJobFollows(t *testing.T) {
	j := devJob{queue: "root.train"}
	says := func(want string) {
		t.Helper()
		if got := j.line(); got != "job whole-node in root.train: "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	says("is submitted")
	j.id = "a2"
	j.reserved([]api.Reservation{{ID: "r11", App: "a1", Node: "sim-01:45454"},
		{ID: "r13", App: "a2", Node: "sim-02:45454", AM: true}})
	says("waits for a node, or to reserve one")
	j.reserved([]api.Reservation{{ID: "r12", App: "a2", Node: "sim-04:45454"}})
	says("reserved sim-04 (r12)")
	j.reserved(nil)
	j.allocated(api.App{SubmittedMillis: 1000}, []api.Container{{AM: true, AllocatedMillis: 1500}})
	says("waits for a node, or to reserve one")
	j.allocated(api.App{SubmittedMillis: 1000},
		[]api.Container{{AM: true, AllocatedMillis: 1500}, {AllocatedMillis: 4100}})
	says("started after 3.1 s")
	j.ended = true
	says("started after 3.1 s, has ended")
	j.began = false
	says("has ended")
}

// TestDevPictureIsCurrent checks that docs/dev.svg is a picture of the screen as it is now. With
// -rewrite it writes the picture.
func TestDevPictureIsCurrent(t *testing.T) {
	name := filepath.Join("..", "..", "..", "..", "..", "docs", "dev.svg")
	want := terminalPicture("rmd dev, after the key k: the leader is killed, and the next container follows",
		append([]string{"$ make dev", ""}, newSummary(&devCluster{}).picture(devPicture())...))
	if *rewrite {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(name); err != nil || string(have) != want {
		t.Errorf(
			"%s is not a picture of the screen (%v): go test ./cmd/rmd/internal/command/replica -run TestDevPicture -rewrite",
			name, err)
	}
}

// terminalPicture draws lines of text as a terminal, in SVG.
func terminalPicture(title string, lines []string) string {
	const row, column, left, top = 18, 8.4, 16, 48
	var b strings.Builder
	fmt.Fprintf(
		&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">
<title>%s</title>
<rect width="100%%" height="100%%" rx="8" fill="#14171c"/>
<circle cx="18" cy="16" r="5" fill="#e5706b"/><circle cx="36" cy="16" r="5" fill="#e0b64f"/><circle cx="54" cy="16" r="5" fill="#6cc26f"/>
`, 2*left+int(summaryWidth*column), top+row*len(lines), html.EscapeString(title))
	bright := regexp.MustCompile(
		`(next container after [\d,]+ ms|reservations kept \d+ of \d+|containers lost \d+ of \d+)`)
	for i, l := range lines {
		if l == "" {
			continue
		}
		color := "#c9d1d9"
		if strings.HasPrefix(l, "$") || strings.HasPrefix(l, "queue ") || strings.HasPrefix(l, devKeys[0]) ||
			strings.HasPrefix(l, devKeys[1]) {
			color = "#8b949e"
		}
		text := bright.ReplaceAllString(html.EscapeString(l), `<tspan fill="#6cc26f">$1</tspan>`)
		fmt.Fprintf(&b,
			`<text x="%d" y="%d" xml:space="preserve" textLength="%.1f" lengthAdjust="spacingAndGlyphs" fill="%s">%s</text>`+
				"\n",
			left, top+row*i, float64(len([]rune(l)))*column, color, text)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// plannerAlone is a cluster without replicas, in virtual time.
type plannerAlone struct {
	*planner.Planner
	now int64
}

func (p *plannerAlone) Do(_ context.Context, in input.Input) (input.Reply, error) {
	reply, _ := p.Plan(p.now, input.Request{Input: in})
	return reply, nil
}

// TestDevWorkloadStaysAlive plays the workload of rmd dev in virtual time with twice the work that the
// cluster can do, as on a machine where everything takes longer. No long line may form, and in each
// hour applications must end.
func TestDevWorkloadStaysAlive(t *testing.T) {
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	rm := &plannerAlone{p, time.Hour.Milliseconds()}
	in := &input.InitCluster{ClusterID: "dev", ClusterTimestamp: rm.now}
	for _, k := range (&devCluster{trace: &trace.Trace{}}).queues() {
		in.Properties = append(in.Properties, input.Property{Name: k.Name, Value: k.Value})
	}
	if reply, _ := rm.Do(t.Context(), in); reply.Refused() != nil {
		t.Fatal(reply.Refused())
	}
	w := workload.DefaultConfig()
	w.Nodes, w.Submitter, w.Limit = mixed.Nodes(4), rm, 400
	w.Heartbeat, w.ProgressEvery = time.Minute, time.Hour
	w.Advance = func(to time.Duration) { rm.now = (time.Hour + to).Milliseconds() }
	if err := mixedWork(&w, 1, 2*devLoad); err != nil {
		t.Fatal(err)
	}
	most, ended, idle := int64(0), int64(0), 0
	w.OnProgress = func(p workload.Progress) {
		most = max(most, p.Running)
		if p.Running > 0 && p.Finished == ended {
			idle++
		}
		ended = p.Finished
	}
	if _, err := workload.Simulate(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if most > int64(devAppsPerNode*len(w.Nodes)) || ended != 400 || idle > 0 {
		t.Errorf("at most %d live applications, %d of 400 ended, none in %d hours; want at most %d live ones, and some to end in every hour",
			most, ended, idle, devAppsPerNode*len(w.Nodes))
	}
	t.Logf("at most %d live applications", most)
}

// TestDevKillCounts gives the log and the state of the survivors to a kill. A container of the old
// leader that arrives late ends no gap, a reservation that was decided meanwhile is kept, and one that
// vanished without a decision is not.
func TestDevKillCounts(t *testing.T) {
	var index uint64
	survivor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderIndex, strconv.FormatUint(index, 10))
		if r.URL.Path == "/v1/cluster" {
			_, _ = w.Write([]byte(`{"leader":"rm2","term":3}`))
			return
		}
		_, _ = w.Write([]byte(`{"reservations":[{"id":"r2"},{"id":"r9"}]}`))
	}))
	defer survivor.Close()
	cl, err := client.New(client.Config{Addrs: []string{survivor.URL}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var told []devKill
	k := &killed{tell: func(k devKill) {
		told = append(told, k)
	}, cl: cl, term: 2, before: map[string]bool{"r1": true, "r2": true, "r3": true, "r4": true}}
	allocated, fulfilled, cancelled := api.Event{Kind: "ContainerAllocated"},
		api.Event{Kind: "ReservationFulfilled", Reservation: "r1"}, api.Event{Kind: "ReservationCancelled", Reservation: "r3"}
	entry := func(at, term uint64, e ...api.Event) error {
		return k.entry(t.Context(), api.EventBatch{Index: at, Term: term, Events: e})
	}
	index = 14
	if err := entry(10, 3, allocated); err != nil || k.gap != 0 {
		t.Errorf("before the kill: gap %s, %v", k.gap, err)
	}
	at := time.Now().Add(-time.Second)
	k.at.Store(&at)
	if err := entry(11, 2, fulfilled, allocated); err != nil || k.gap != 0 || k.led != 0 {
		t.Errorf("an entry of the old leader: gap %s, led %s, %v", k.gap, k.led, err)
	}
	if err := entry(12, 3, api.Event{Kind: "NodeHeard"}); err != nil || k.led < time.Second || k.gap != 0 {
		t.Errorf("the first entry of the next leader: gap %s, led %s, %v", k.gap, k.led, err)
	}
	if len(told) != 1 || told[0].led != k.led || told[0].gap != 0 {
		t.Errorf("told of the next leader: %+v; want one after %s, without a gap", told, k.led)
	}
	if err := entry(13, 3, allocated); err != nil || k.gap < k.led || k.leader != "rm2" {
		t.Errorf("its first container: gap %s, led %s by %q, %v", k.gap, k.led, k.leader, err)
	}
	if err := entry(14, 3, cancelled); !errors.Is(err, client.Stop()) {
		t.Errorf("the entry with the state that was read: %v, want the end", err)
	}
	if k.kept != 3 || len(k.before) != 1 || !k.before["r4"] {
		t.Errorf("%d kept, not accounted for %v; want 3 and r4: r1 and r3 were decided, r2 stands", k.kept, k.before)
	}
}

// TestFollowParent checks that a replica of rmd dev gets the token, and stops when rmd dev has ended,
// however that ended.
func TestFollowParent(t *testing.T) {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	defer signal.Stop(stopped)
	r, w := io.Pipe()
	go func() { _, _ = io.WriteString(w, "secret\n") }() // the test fails if the token does not arrive
	token, err := followParent(r)
	if err != nil || token != "secret" {
		t.Fatalf("followParent: %q, %v; want the token", token, err)
	}
	select {
	case <-stopped:
		t.Error("it stops while rmd dev runs")
	default:
	}
	_ = w.Close()
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Error("it does not stop after rmd dev")
	}
	if _, err := followParent(strings.NewReader("")); err == nil {
		t.Error("followParent without a token: nil, want an error")
	}
}
