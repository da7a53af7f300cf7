package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
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
	pages bool            // show the addresses of the pages
	down  string          // a node without power
	job   *devJob         // the last one that the key j submitted, or nil
	jobs  map[string]bool // applications of such jobs

	mu     sync.Mutex // the fields below are set by the workload and by keys in progress
	work   workload.Progress
	starts []starts  // of the last startsWithin, oldest first
	latest time.Time // when a container was seen to have started
	note   string
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
	c.PrintMessage("log file: %s", s.d.logFile.Name())
	c.PrintMessage("pages: http://%s/ui/", s.d.replicas[0].addr)
	c.PrintMessage("in another terminal: %s", s.hints()[0])
}

// hints returns commands to paste into another terminal.
func (s *summary) hints() []string {
	c := s.d.c
	name, at := programName(), ""
	if c.Int("port") != HTTPPort {
		at = " --addr " + s.d.replicas[0].addr
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
	work         workload.Progress
	started      string
	note         string
	kill         *devKill
	job          *devJob
	pages        []string // addresses and hints; nil: not shown
	up           time.Duration
	speed        float64
	keys         bool
	height       int
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
	if s.job != nil {
		if err := s.d.follow(ctx, s.job, s.jobs); err != nil {
			return p, err
		}
		s.job.reserved(p.reservations.Reservations)
		p.job = s.job
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
		for _, a := range s.d.replicas.addrs() {
			p.pages = append(p.pages, "http://"+a+"/ui/")
		}
		p.pages = append(p.pages, s.hints()...)
	}
	_, p.height = s.d.c.Program.Size()
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

// picture returns the lines, each of at most 80 columns, and one less than the terminal has rows.
func (s *summary) picture(p picture) []string {
	v, t := p.cluster.Verdict, p.cluster.Totals
	head := []string{fmt.Sprintf("%s   leader %s (term %d)   %d of %d in step  can lose %d  up %s", v.Status,
		dash(p.cluster.Leader), p.cluster.Term,
		v.InStep, len(p.cluster.Members), v.CanLose, output.Span(p.up)), ""}
	var foot []string
	if p.pages != nil {
		foot = append(foot, "")
		foot = append(foot, p.pages...)
	} else {
		foot = append(foot, "",
			"reservations  "+reservationLine(p.reservations),
			fmt.Sprintf("containers    %s, %s, %s", output.Count(t.Containers), verb.NodesAlive(t),
				p.started),
			fmt.Sprintf("applications  %d running, %d waiting, %s ended", t.Running, t.Waiting, output.Count(t.Ended)),
			"workload      "+workLine(p))
	}
	if p.kill != nil || p.job != nil || p.note != "" {
		foot = append(foot, "")
	}
	if p.kill != nil {
		foot = append(foot, p.kill.lines()...)
	}
	if p.job != nil {
		foot = append(foot, p.job.line())
	}
	if p.note != "" {
		foot = append(foot, p.note)
	}
	if p.keys {
		foot = append(foot, "", devKeys[0], devKeys[1])
		if p.pages != nil {
			foot[len(foot)-1] = devKeysPages
		}
	}
	queues := []string{fmt.Sprintf("%-16s %-*s  used  rsvd  apps wait", "queue", verb.BarWidth+2,
		"used #  reserved =  pending -  | share")}
	for _, q := range verb.Flatten(p.queues.Root, 0) {
		queues = append(queues, queueLine(q, t))
	}
	if room := max(p.height-1-len(head)-len(foot), 2); len(queues) > room {
		queues = append(queues[:room-1], fmt.Sprintf("… %d more queues", len(queues)-room+1))
	}
	return append(append(head, queues...), foot...)
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

// queueLine returns the bar and the numbers of a queue.
func queueLine(q verb.FlatQueue, t api.Totals) string {
	held, pending := share(q.Reserved, t.Total), share(q.Pending, t.Total)
	used := max(share(q.Used, t.Total)-held, 0)
	name := output.Cut(strings.Repeat(" ", q.Depth)+q.Name, 16)
	return fmt.Sprintf("%s%s %s %4.0f%% %4.0f%% %5d %4d", name, strings.Repeat(" ", 16-len([]rune(name))),
		verb.Bar(used, held, pending, q.AbsCapacity/100),
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

func dash(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
