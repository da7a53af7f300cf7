package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"rmd/api"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/workload"
	"rmd/workload/report"
)

// summary is the live display of a dev cluster.
type summary struct {
	d     *devCluster
	began time.Time
	drawn int             // lines on the terminal
	above int             // rows over the picture, with the greeting
	pages bool            // show the addresses of the pages
	down  string          // a node without power
	jobs  map[string]bool // applications of such jobs

	mu     sync.Mutex // the fields below are set by the workload and by keys in progress
	work   workload.Progress
	starts []starts  // of the last startsWithin, oldest first
	latest time.Time // when a container was seen to have started
	note   string
	job    *devJob // the large one that a key submitted last, or nil; only loop changes what it points to
	kill   *devKill
	killed time.Time // when that happened
	lost   int64     // containers that the workload had lost before the kill
	due    time.Time // until then lost containers are counted
	busy   bool      // a kill is being measured
}

// lostWithin is the time after a kill in which lost containers belong to it: nodes and
// ApplicationMasters call several times.
const lostWithin = 10 * devHeartbeat

// starts is the number of containers that had started at a time.
type starts struct {
	at    time.Time
	count int64
}

// startsWithin is the time in which the screen counts the containers that started. A slow workload
// starts none for seconds, so it says when the last one was.
const startsWithin = 10 * time.Second

func newSummary(d *devCluster) *summary {
	return &summary{d: d, began: time.Now(), jobs: map[string]bool{}}
}

// progress records the progress of the workload, which calls it.
func (s *summary) progress(p workload.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if p.Granted > s.work.Granted {
		s.latest = now
	}
	s.work = p
	s.starts = append(s.starts, starts{now, p.Granted})
	for len(s.starts) > 1 && now.Sub(s.starts[1].at) >= startsWithin {
		s.starts = s.starts[1:]
	}
	if s.kill != nil && time.Now().Before(s.due) {
		s.kill.lost = p.Lost - s.lost
	}
}

// started says how many containers have started, and how many of them lately or when the last one did.
func (s *summary) started(now time.Time) string {
	all := s.work.Granted
	if all == 0 {
		return "none started yet"
	}
	within, before := min(now.Sub(s.began), startsWithin), int64(0)
	for _, t := range s.starts {
		if now.Sub(t.at) >= within {
			before = t.count
		}
	}
	text := output.Count(all) + " started, "
	if n := all - before; n > 0 {
		return fmt.Sprintf("%s%s in %d s", text, output.Count(n), max(int(within.Seconds()), 1))
	}
	return text + "the last " + output.Span(now.Sub(s.latest).Truncate(time.Second)) + " ago"
}

// workEnded records that a trace has ended. The cluster continues to run.
func (s *summary) workEnded(err error) {
	if err != nil {
		s.say("the workload ended: %v", err)
		return
	}
	s.say("the workload has ended")
}

// say shows a note for the user.
func (s *summary) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note = fmt.Sprintf(format, args...)
}

// loop draws until ctx ends or the user wants to stop. It calls each before every picture.
func (s *summary) loop(ctx context.Context, each func()) error {
	every, live := summaryLive, s.d.c.Program.OutTerminal
	if !live {
		every = summaryPlain
	}
	s.greet()
	var keys <-chan byte
	if live {
		var undo func()
		keys, undo = s.d.c.Program.RawKeys()
		defer func() { undo(); s.d.c.PrintMessage("stopping") }()
	} else {
		defer s.d.c.PrintMessage("stopping")
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		each()
		p, err := s.read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err != nil:
			s.draw([]string{"no answer: " + err.Error()}, live)
		case live:
			s.draw(s.picture(p), true)
		default:
			s.draw([]string{s.line(p)}, false)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		case k, ok := <-keys:
			if !ok {
				keys = nil // stdin has ended; a signal still ends the command
			} else if s.key(ctx, k) {
				return nil
			}
		}
	}
}

// greet prints addresses and hints.
func (s *summary) greet() {
	c := s.d.c
	for _, l := range []string{"log file: " + s.d.logFile.Name(), "pages: http://" + s.d.replicas[0].addr + "/ui/",
		"in another terminal: " + s.hints()[0]} {
		c.PrintMessage("%s", l)
		if c.Program.ErrTerminal && !c.Quiet() {
			w, _ := c.Program.Size()
			s.above += (len([]rune(l)) + w - 1) / w // the terminal folds a long path
		}
	}
}

// hints returns commands to paste into another terminal.
func (s *summary) hints() []string {
	name, at, up := programName(), "", s.d.replicas.up()[0]
	if s.d.c.Int("port") != HTTPPort || up != s.d.replicas[0] {
		at = " --addr " + up.addr
	}
	var out []string
	for _, cmd := range []string{"cluster status", "app list", "reservation list", "events --follow"} {
		out = append(out, name+" "+cmd+at)
	}
	return out
}

// programName returns what a shell needs to start this program again from the same directory.
func programName() string { return strings.TrimPrefix(os.Args[0], "./") }

// picture is the data for one drawing.
type picture struct {
	cluster      api.Cluster
	queues       api.Queues
	reservations api.Reservations
	replicas     string // what each of them is
	down         string // a node without power, or ""
	work         workload.Progress
	started      string
	note         string
	kill         *devKill
	job          *devJob
	pages        []string // addresses and hints; nil: not shown
	up           time.Duration
	speed        float64
	keys         bool
	rows         int // that it may use
}

func (s *summary) read(ctx context.Context) (p picture, err error) {
	// independent reads: the order does not matter
	for path, doc := range map[string]any{"/v1/cluster": &p.cluster, "/v1/queues": &p.queues,
		"/v1/reservations": &p.reservations} {
		a, err := s.d.client.Get(ctx, path, nil)
		if err != nil {
			return p, err
		}
		if err := json.Unmarshal(a.Body, doc); err != nil {
			return p, err
		}
	}
	p.replicas, p.down = s.d.replicas.line(p.cluster), s.down
	s.mu.Lock()
	p.job = s.job
	s.mu.Unlock()
	if p.job != nil {
		if err := s.d.follow(ctx, p.job, s.jobs); err != nil {
			return p, err
		}
		p.job.reserved(p.reservations.Reservations)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.work, p.started, p.note = s.work, s.started(time.Now()), s.note
	if s.kill != nil {
		k := *s.kill
		k.ago = time.Since(s.killed).Truncate(time.Second)
		if k.leader == "" && k.led > 0 && p.cluster.Leader != k.victim { // until the kill has asked for its name
			k.leader = p.cluster.Leader
		}
		p.kill = &k
	}
	if s.pages {
		for _, a := range s.d.replicas.up().addrs() {
			p.pages = append(p.pages, "http://"+a+"/ui/")
		}
		p.pages = append(p.pages, s.hints()...)
	}
	_, height := s.d.c.Program.Size()
	p.rows = rowsFor(height, s.above)
	p.up, p.speed, p.keys = time.Since(s.began).Truncate(time.Second), s.d.work.Speed, s.d.c.Program.InTerminal
	return p, nil
}

// draw writes the lines. On a terminal they replace the previous lines.
func (s *summary) draw(lines []string, live bool) {
	var b strings.Builder
	end := "\n"
	if live {
		end = "\x1b[K\r\n" // the terminal is raw
		if s.drawn > 0 {
			fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", s.drawn)
		}
	}
	for _, l := range lines {
		if live {
			w, _ := s.d.c.Program.Size()
			l = output.Cut(l, min(summaryWidth, max(w, 20)))
		}
		b.WriteString(l + end)
	}
	s.drawn = len(lines)
	fmt.Fprint(s.d.c.Program.Out, b.String())
}

// devKeys are the keys of the screen.
var devKeys = []string{
	"k kill -9 the leader   b bring it back   n a node loses power, and back",
	"j a job that needs a whole node   w addresses   q quit",
}

// devKeysPages is the second line of the keys while the addresses are shown.
const devKeysPages = "j a job that needs a whole node   w or Esc closes the addresses   q quit"

// rowsFor returns the rows of a picture: one less than the terminal has, as the cursor is below it, and
// without those of the greeting, so that this stays. A low terminal shows the picture alone.
func rowsFor(height, above int) int {
	if rows := height - 1 - above; rows >= leastRows {
		return rows
	}
	return max(height-1, 1)
}

// rank says how important a row of the screen is. Rows of a high rank are left out first.
type rank int

const (
	rankVital rank = iota // the health of the cluster, and what the keys do and did
	rankFigures
	rankReservations
	rankApps
	rankWork
	rankBlank
)

type row struct {
	text string
	rank rank
}

// rows are some rows of the screen, from top to bottom.
type rows []row

func (r *rows) add(k rank, texts ...string) {
	for _, t := range texts {
		*r = append(*r, row{t, k})
	}
}

// leaveOut leaves out rows of a rank, from the top, until there are at most so many.
func (r rows) leaveOut(k rank, most int) rows {
	over := len(r) - most
	return slices.DeleteFunc(r, func(x row) bool {
		if over <= 0 || x.rank != k {
			return false
		}
		over--
		return true
	})
}

// The screen shows usualQueues rows about queues, if there are so many, until rows that are less
// important have been left out, and then leastQueues. From leastRows on the greeting stays.
const (
	usualQueues = 6
	leastQueues = 2
	leastRows   = 14
)

// picture returns the lines, each of at most 80 columns, and not more than the picture may use.
func (s *summary) picture(p picture) []string {
	queues := []string{fmt.Sprintf("%-16s %s  used  rsvd  apps wait", "queue", queueLegend)}
	for _, q := range verb.Flatten(p.queues.Root, 0) {
		queues = append(queues, queueLine(q, p.cluster.Totals))
	}
	head, foot := p.head(), p.foot()
	shown := atMost(queues, max(p.rows-len(head)-len(foot), usualQueues))
	for k := rankBlank; k > rankVital; k-- {
		if k == rankFigures {
			shown = atMost(queues, max(p.rows-len(head)-len(foot), leastQueues))
		}
		head = head.leaveOut(k, p.rows-len(shown)-len(foot))
		foot = foot.leaveOut(k, p.rows-len(shown)-len(head))
	}
	shown = atMost(queues, max(p.rows-len(head)-len(foot), 0))
	lines := slices.Concat(head.texts(), shown, foot.texts())
	return lines[:min(len(lines), p.rows)]
}

func (r rows) texts() (out []string) {
	for _, x := range r {
		out = append(out, x.text)
	}
	return out
}

// head returns the rows over those of the queues.
func (p *picture) head() (out rows) {
	v := p.cluster.Verdict
	out.add(rankVital, fmt.Sprintf("%s   leader %s (term %d)   %d of %d in step  can lose %d  up %s", v.Status,
		dash(p.cluster.Leader), p.cluster.Term, v.InStep, len(p.cluster.Members), v.CanLose, output.Span(p.up)), "replicas      "+p.replicas)
	if p.down != "" {
		out.add(rankVital, "nodes         "+p.down+" off"+stillAlive(p.cluster.Totals))
	}
	out.add(rankBlank, "")
	return out
}

// foot returns the rows below those of the queues.
func (p *picture) foot() (out rows) {
	t := p.cluster.Totals
	out.add(rankBlank, "")
	if p.pages != nil {
		out.add(rankFigures, p.pages...)
	} else {
		out.add(rankReservations, "reservations  "+reservationLine(p.reservations))
		out.add(rankFigures, fmt.Sprintf("containers    %s, %s, %s", output.Count(t.Containers), verb.NodesAlive(t),
			p.started))
		out.add(rankApps, fmt.Sprintf("applications  %d running, %d waiting, %s ended", t.Running, t.Waiting,
			output.Count(t.Ended)))
		out.add(rankWork, "workload      "+workLine(*p))
	}
	if p.kill != nil || p.job != nil || p.note != "" {
		out.add(rankBlank, "")
	}
	if p.kill != nil {
		out.add(rankVital, p.kill.lines()...)
	}
	if p.job != nil {
		out.add(rankVital, p.job.line())
	}
	if p.note != "" {
		out.add(rankVital, p.note)
	}
	if p.keys {
		out.add(rankBlank, "")
		out.add(rankVital, devKeys[0])
		if p.pages == nil {
			out.add(rankVital, devKeys[1])
		} else {
			out.add(rankVital, devKeysPages)
		}
	}
	return out
}

// atMost cuts the rows about queues, and says how many queues are left out.
func atMost(queues []string, most int) []string {
	switch {
	case len(queues) <= most:
		return queues
	case most < leastQueues:
		return nil
	}
	return append(queues[:most-1:most-1], fmt.Sprintf("… %d more queues", len(queues)-most+1))
}

// reservationLine describes the oldest reservation, and counts all.
func reservationLine(d api.Reservations) string {
	gone := uint64(0)
	for _, n := range d.Cancelled { // a sum: the order does not matter
		gone += n
	}
	s := fmt.Sprintf("%d now, %s fulfilled, %s cancelled", len(d.Reservations), output.Count(d.Fulfilled),
		output.Count(gone))
	if len(d.Reservations) > 0 {
		r := d.Reservations[0]
		host, _, _ := strings.Cut(r.Node, ":")
		s += fmt.Sprintf("; %s keeps %s %s", r.ID, host, output.Span(time.Duration(r.AgeMillis)*time.Millisecond))
	}
	return s
}

// workLine returns the progress of the workload.
func workLine(p picture) string {
	s := fmt.Sprintf("%s replayed, %gx, %d containers wait", report.Duration(p.work.Virtual.Milliseconds()), p.speed,
		p.work.Waiting)
	if p.work.Errors > 0 {
		s += fmt.Sprintf(", %d errors", p.work.Errors)
	}
	return s
}

// line returns the summary in one line, for an output that is not a terminal.
func (s *summary) line(p picture) string {
	t := p.cluster.Totals
	text := fmt.Sprintf(
		"%s leader=%s term=%d apps run=%d wait=%d ended=%d containers=%d started=%d reservations: %s workload: %s",
		p.cluster.Verdict.Status, dash(p.cluster.Leader), p.cluster.Term, t.Running, t.Waiting, t.Ended, t.Containers,
		p.work.Granted, reservationLine(p.reservations), workLine(p))
	if p.note != "" {
		text += " " + p.note
	}
	return text
}

// queueLegend explains the bars of queues, which are as long.
const queueLegend = "used # reserved = pending - guaranteed |"

// queueLine returns the bar and the numbers of a queue.
func queueLine(q verb.FlatQueue, t api.Totals) string {
	held, pending := share(q.Reserved, t.Total), share(q.Pending, t.Total)
	used := max(share(q.Used, t.Total)-held, 0)
	name := output.Cut(strings.Repeat(" ", q.Depth)+q.Name, 16)
	return fmt.Sprintf("%s%s %s %4.0f%% %4.0f%% %5d %4d", name, strings.Repeat(" ", 16-len([]rune(name))),
		verb.Bar(len(queueLegend)-2, used, held, pending, q.AbsCapacity/100),
		used*100, held*100, q.Apps, q.PendingApps+q.NonRunnableApps)
}

// share returns the largest ratio of r to of over all kinds of resources.
func share(r, of api.Resource) float64 {
	most := 0.0
	for kind, n := range r { // a maximum: the order does not matter
		if all := of[kind]; all > 0 {
			most = max(most, float64(n)/float64(all))
		}
	}
	return most
}

// Intervals and widths of the summary of `rmd dev`: summaryLive on a terminal, summaryPlain
// elsewhere.
const (
	summaryLive  = 500 * time.Millisecond
	summaryPlain = 5 * time.Second
	summaryWidth = 80
)

func dash(s string) string { return cmp.Or(s, "none") }
