package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"rmd/client"
	"rmd/cmd/internal/output"
	"rmd/transport/http/v1/api"
	"rmd/workload"
	"rmd/workload/report"
)

// Intervals and widths of the summary of `rmd dev`: summaryLive on a terminal, summaryPlain
// elsewhere.
const (
	summaryLive  = 500 * time.Millisecond
	summaryPlain = 5 * time.Second
	summaryWidth = 80
	barWidth     = 24
)

// summary is the live display of a dev cluster.
type summary struct {
	d      *devCluster
	client *client.Client
	began  time.Time
	drawn  int // lines on the terminal

	mu   sync.Mutex
	work workload.Progress
	note string

	seen    uint64 // decisions at the previous picture
	seenAt  time.Time
	perSec  float64
	started bool
}

func newSummary(d *devCluster) *summary {
	s := &summary{d: d, began: time.Now()}
	cfg := client.DefaultConfig()
	cfg.Addrs, cfg.Stale, cfg.Timeout, cfg.Version = d.cluster.Addrs(), true, 3*time.Second, Version()
	s.client, _ = client.New(cfg) // the addresses are those of our own listeners, so they are valid
	return s
}

// progress records the progress of the workload, which calls it.
func (s *summary) progress(p workload.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work = p
}

// workEnded records that a trace has ended. The cluster continues to run.
func (s *summary) workEnded(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note = "the workload has ended"
	if err != nil {
		s.note = "the workload ended: " + err.Error()
	}
}

// loop draws until ctx ends. It calls each before every picture.
func (s *summary) loop(ctx context.Context, each func()) error {
	every := summaryLive
	live := s.d.c.p.OutTerminal
	if !live {
		every = summaryPlain
	}
	s.greet()
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		each()
		p, err := s.read(ctx)
		if ctx.Err() != nil {
			break
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
		}
		if ctx.Err() != nil {
			break
		}
	}
	s.d.c.printMessage("stopping")
	return nil
}

// greet prints addresses and hints.
func (s *summary) greet() {
	c := s.d.c
	addrs := s.d.cluster.Addrs()
	c.printMessage("REST and web pages at http://%s", strings.Join(addrs, " http://"))
	c.printMessage("log file: %s", s.d.logFile.Name())
	c.printMessage("in another terminal, try: rmd cluster status, rmd app list, rmd reservation list")
	c.printMessage("Ctrl-C stops the cluster")
}

// picture is the data for one drawing.
type picture struct {
	cluster api.Cluster
	queues  api.Queues
	work    workload.Progress
	note    string
	made    uint64
	done    uint64
	gone    uint64
	decided uint64
}

func (s *summary) read(ctx context.Context) (p picture, err error) {
	for path, doc := range map[string]any{"/v1/cluster": &p.cluster, "/v1/queues": &p.queues} { // two independent reads: the order does not matter
		a, err := s.client.Get(ctx, path, nil)
		if err != nil {
			return p, err
		}
		if err := json.Unmarshal(a.Body, doc); err != nil {
			return p, err
		}
	}
	for _, r := range s.d.cluster.Replicas { // the replica that is furthest ahead
		st, _ := r.Machine().Fork()
		if st.Meta.Decisions() < p.decided {
			continue
		}
		p.decided, p.made, p.done, p.gone = st.Meta.Decisions(), st.Meta.Made, st.Meta.Fulfilled, 0
		for _, n := range st.Meta.Cancelled {
			p.gone += n
		}
	}
	s.mu.Lock()
	p.work, p.note = s.work, s.note
	s.mu.Unlock()
	now := time.Now()
	if s.started {
		s.perSec = float64(p.decided-min(p.decided, s.seen)) / max(now.Sub(s.seenAt).Seconds(), 0.001)
	}
	s.started, s.seen, s.seenAt = true, p.decided, now
	return p, nil
}

// draw writes the lines. On a terminal they replace the previous lines.
func (s *summary) draw(lines []string, live bool) {
	var b strings.Builder
	if live && s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", s.drawn)
	}
	for _, l := range lines {
		if live {
			l = output.Cut(l, min(summaryWidth, max(s.d.c.p.Width, 20)))
		}
		b.WriteString(l + "\n")
	}
	s.drawn = len(lines)
	fmt.Fprint(s.d.c.p.Out, b.String())
}

// picture returns the lines, each of at most 80 columns.
func (s *summary) picture(p picture) []string {
	v, t := p.cluster.Verdict, p.cluster.Totals
	lines := []string{"", fmt.Sprintf("%s   leader %s (term %d)   %d of %d in step   can lose %d   up %s", v.Status, dash(p.cluster.Leader), p.cluster.Term,
		v.InStep, len(p.cluster.Members), v.CanLose, output.Span(time.Since(s.began).Truncate(time.Second)))}
	if f := p.cluster.LastFailover; f != nil && f.OldLeader != "" {
		lines = append(lines, fmt.Sprintf("last failover: %s to %s in %.0f ms", f.OldLeader, f.NewLeader, f.Millis))
	}
	lines = append(lines, "", fmt.Sprintf("%-16s %-*s  used  rsvd  apps wait", "queue", barWidth+2, "used #  reserved =  pending -  | share"))
	for _, q := range flatten(p.queues.Root, 0) {
		lines = append(lines, queueLine(q, t))
	}
	return append(lines, "",
		fmt.Sprintf("reservations  current %d   made %s   fulfilled %s   cancelled %s", t.Reservations, output.Count(p.made), output.Count(p.done), output.Count(p.gone)),
		fmt.Sprintf("decisions     %.0f/s   %s in total   %s containers on %d nodes", s.perSec, output.Count(p.decided), output.Count(t.Containers), t.UsableNodes),
		fmt.Sprintf("applications  %d running, %d waiting, %s ended", t.Running, t.Waiting, output.Count(t.Ended)),
		"workload      "+workLine(p, s.d.work.Speed))
}

func dash(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// workLine returns the progress of the workload.
func workLine(p picture, speed float64) string {
	if p.note != "" {
		return p.note
	}
	s := fmt.Sprintf("%s replayed, %gx, %d containers wait", report.Duration(p.work.Virtual.Milliseconds()), speed, p.work.Waiting)
	if p.work.Errors > 0 {
		s += fmt.Sprintf(", %d errors", p.work.Errors)
	}
	return s
}

// line returns the summary in one line, for an output that is not a terminal.
func (s *summary) line(p picture) string {
	t := p.cluster.Totals
	return fmt.Sprintf("%s leader=%s term=%d apps run=%d wait=%d ended=%d containers=%d reserved=%d made=%d fulfilled=%d cancelled=%d decisions/s=%.0f workload: %s",
		p.cluster.Verdict.Status, dash(p.cluster.Leader), p.cluster.Term, t.Running, t.Waiting, t.Ended, t.Containers, t.Reservations, p.made, p.done, p.gone, s.perSec, workLine(p, s.d.work.Speed))
}

// queueLine returns the bar and the numbers of a queue.
func queueLine(q flatQueue, t api.Totals) string {
	held, pending := share(q.Reserved, t.Total), share(q.Pending, t.Total)
	used := max(share(q.Used, t.Total)-held, 0)
	name := output.Cut(strings.Repeat(" ", q.depth)+q.Name, 16)
	return fmt.Sprintf("%s%s %s %4.0f%% %4.0f%% %5d %4d", name, strings.Repeat(" ", 16-len([]rune(name))), bar(used, held, pending, q.AbsCapacity/100),
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

// bar draws shares of the cluster one after the other, and marks the guarantee. Each share has its
// own character, so no color is needed.
func bar(used, held, pending, guarantee float64) string {
	cells := []rune(strings.Repeat(" ", barWidth))
	at := 0
	for _, part := range []struct {
		size float64
		sign rune
	}{{used, '#'}, {held, '='}, {pending, '-'}} {
		end := min(at+int(part.size*barWidth+0.5), barWidth)
		for ; at < end; at++ {
			cells[at] = part.sign
		}
	}
	if i := int(guarantee * barWidth); i >= 0 && i < barWidth {
		cells[i] = '|'
	}
	return "[" + string(cells) + "]"
}
