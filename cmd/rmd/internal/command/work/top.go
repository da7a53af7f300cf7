package work

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/exitcode"
	"rmd/internal/sleep"
)

// topViews are the views of the lower part, in the order in which the key b selects them.
var topViews = []string{"app", "queue", "node"}

// TopVerb returns the command that shows the cluster on a terminal.
func TopVerb() verb.Verb {
	return verb.Verb{
		Name: "top", Usage: "live view: replicas, usage, and applications, queues or nodes",
		Long: "Keys: q quits, p or space pauses, b switches the view (applications, queues, " +
			"nodes), s sorts by the next column, r reverses the order, + and - change the " +
			"interval. Into a pipe it prints one screen after another, without keys. With " +
			"-o jsonl each screen is a line of JSON.",
		Flags: []cli.Flag{
			verb.OneOf(&cli.StringFlag{Name: "by", Value: topViews[0]}, verb.PlainWords(topViews...)...),
			verb.Fill(verb.ColumnsOf(topHeads, "-"),
				&cli.StringFlag{Name: "sort", Usage: "column to sort by; -COLUMN: descending", DefaultText: "-wait, -used"}),
			verb.SpanFlag("every", "interval between two screens", 2*time.Second),
			&cli.IntFlag{Name: "count", Aliases: []string{"n"}, Usage: "stop after this many screens", DefaultText: "never"},
		},
		Examples: []string{"rmd top", "rmd top --by node --sort -used", "rmd top --by queue --count 1 > queues.txt"},
		Run:      runTop,
	}
}

// topHeads returns the columns of the view that the command line chooses.
func topHeads(l *verb.Lookup) []string {
	by := l.Flags["by"]
	if by == "" {
		by = topViews[0]
	}
	return topTables[by].heads
}

// topScreen is the state of `rmd top` between pictures.
type topScreen struct {
	c      *verb.Call
	client *client.Client
	live   bool
	by     string
	sort   map[string]string // by view
	every  time.Duration
	paused bool
	last   *topPicture
	err    error // of the last read
	index  uint64
	at     time.Time
	rate   float64 // log entries per second
}

func runTop(c *verb.Call) error {
	t := &topScreen{c: c, by: c.String("by"), every: max(c.Span("every"), 200*time.Millisecond),
		live: c.Program.OutTerminal,
		sort: map[string]string{"app": "-wait", "queue": "", "node": "-used"}}
	if s := c.String("sort"); s != "" {
		t.sort[t.by] = s
	}
	if err := topTables[t.by].check(t.sort[t.by]); err != nil {
		return err
	}
	switch f := c.Format(); {
	case f == output.YAML || f == output.Name || f == output.JSON && c.Int("count") != 1:
		return clierr.Usagef("use -o table or jsonl", "rmd top prints a stream, but -o %s is one document", f)
	case f == output.JSON || f == output.JSONL:
		t.live = false
	}
	var err error
	if t.client, err = c.Client(); err != nil {
		return err
	}
	if t.last, err = readTop(c.Ctx(), t.client, t.by); err != nil {
		return err // printed as an error, not on a screen that disappears at once
	}
	if t.live {
		return t.runLive()
	}
	return t.runPlain()
}

// runPlain prints one picture after the other.
func (t *topScreen) runPlain() error {
	for n := 1; ; n++ {
		t.measure()
		if err := t.printPlain(); err != nil {
			return err
		}
		if n == t.c.Int("count") {
			return nil
		}
		if !sleep.For(t.c.Ctx(), t.every) {
			return nil
		}
		p, err := readTop(t.c.Ctx(), t.client, t.by)
		switch {
		case t.c.Ctx().Err() != nil:
			return nil
		case err != nil && clierr.Code(err) == exitcode.Usage:
			return err
		case err != nil:
			clierr.Write(t.c.Program.Err, err) // the cluster may be electing a leader
			n--
		default:
			t.last = p
		}
	}
}

func (t *topScreen) printPlain() error {
	if f := t.c.Format(); f == output.JSON || f == output.JSONL {
		doc, err := t.last.document()
		if err != nil {
			return err
		}
		if f == output.JSONL {
			return verb.WriteCompact(t.c.Program.Out, doc)
		}
		return output.WriteDocument(t.c.Program.Out, f, doc)
	}
	lines, err := t.lines(output.Options{Format: t.c.Format(), Quiet: t.c.Quiet()}, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(t.c.Program.Out, strings.Join(append(lines, ""), "\n"))
	return err
}

// plainWidth is where the head of a picture breaks lines if stdout is not a terminal. Nothing is cut
// then.
const plainWidth = 80

// Escape sequences of a terminal: switch to the alternate screen and hide the cursor, and back.
const (
	screenOn  = "\x1b[?1049h\x1b[?25l"
	screenOff = "\x1b[?25h\x1b[?1049l"
)

// runLive draws on the alternate screen until the key q.
func (t *topScreen) runLive() error {
	keys, undo := t.c.Program.RawKeys()
	fmt.Fprint(t.c.Program.Out, screenOn)
	defer func() {
		fmt.Fprint(t.c.Program.Out, screenOff)
		undo()
	}()
	for n := 1; ; n++ {
		t.measure()
		if err := t.draw(); err != nil {
			return err
		}
		if n == t.c.Int("count") || !t.await(keys) {
			return nil
		}
		p, err := readTop(t.c.Ctx(), t.client, t.by)
		if t.c.Ctx().Err() != nil {
			return nil
		}
		if t.err = err; err == nil {
			t.last = p
		}
	}
}

// await handles keys until the next picture is due. It returns false if the command must end.
func (t *topScreen) await(keys <-chan byte) bool {
	due := time.NewTimer(t.every)
	defer due.Stop()
	for {
		select {
		case <-t.c.Ctx().Done():
			return false
		case <-due.C:
			if !t.paused {
				return true
			}
		case k, ok := <-keys:
			if !ok {
				keys = nil // stdin has ended; Ctrl-C still ends the command
				continue
			}
			again, end := t.key(k)
			if end {
				return false
			}
			if again {
				return true
			}
			if err := t.draw(); err != nil {
				return false
			}
		}
	}
}

// key handles a key. again says to read at once, end to end the command.
func (t *topScreen) key(k byte) (again, end bool) {
	switch k {
	case 'q', 'Q', 3, 4: // in raw mode, Ctrl-C and Ctrl-D arrive as characters
		return false, true
	case 'p', 'P', ' ':
		t.paused = !t.paused
		return !t.paused, false
	case 'b', '\t':
		t.by = nextOf(topViews, t.by)
		return true, false
	case 's':
		t.sort[t.by] = topTables[t.by].next(t.sort[t.by])
	case 'r':
		t.sort[t.by] = reverseOrder(t.sort[t.by])
	case '+':
		t.every = max(t.every/2, 250*time.Millisecond)
		return !t.paused, false
	case '-':
		t.every = min(t.every*2, time.Minute)
	}
	return false, false
}

func reverseOrder(sort string) string {
	if head, down := strings.CutPrefix(sort, "-"); down || sort == "" {
		return head
	}
	return "-" + sort
}

// nextOf returns the word after word in a list. After the last word it returns the first.
func nextOf(list []string, word string) string {
	for i, w := range list {
		if w == word {
			return list[(i+1)%len(list)]
		}
	}
	return list[0]
}

// measure computes the log entries per second since the previous picture.
func (t *topScreen) measure() {
	now, index := time.Now(), t.last.cluster.Index
	if d := now.Sub(t.at).Seconds(); t.index > 0 && d > 0.05 && index >= t.index {
		t.rate = float64(index-t.index) / d
	}
	t.index, t.at = index, now
}

// draw writes the whole screen at once.
func (t *topScreen) draw() error {
	w, h := t.c.Program.Size()
	lines, err := t.lines(output.Options{Format: output.Table, Width: w}, h-2)
	if err != nil {
		return err
	}
	foot := "q quit  p pause  b next view  s sort  r reverse  + - interval " + output.Span(t.every)
	if t.paused {
		foot = "PAUSED, p continues   " + foot
	}
	if t.err != nil {
		foot = "no answer: " + clierr.From(t.err).Error()
	}
	for len(lines) < h-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:max(h-1, 1)], output.Cut(foot, w))
	_, err = fmt.Fprint(t.c.Program.Out, "\x1b[H"+strings.Join(lines, "\x1b[K\r\n")+"\x1b[K\x1b[J")
	return err
}

// lines returns the head and the table, at most most lines (0: all). None is wider than the terminal.
func (t *topScreen) lines(o output.Options, most int) ([]string, error) {
	o.Sort = t.sort[t.by]
	var b bytes.Buffer
	if err := topTables[t.by].write(&b, t.last, o); err != nil {
		return nil, err
	}
	lines := append(t.head(cmp.Or(o.Width, plainWidth)), strings.Split(strings.TrimRight(b.String(), "\n"), "\n")...)
	for i, l := range lines {
		if r := []rune(l); o.Width > 0 && len(r) > o.Width {
			lines[i] = string(r[:o.Width-1]) + "…"
		}
	}
	if most > 0 && len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("… %d more", len(lines)-most+1))
	}
	return lines, nil
}

// head returns the upper part: verdict, counts, a bar for each kind of resource, and a line for each
// label that says how whole the free resources are.
func (t *topScreen) head(width int) []string {
	p, n := t.last, t.last.cluster.Totals
	v := p.cluster.Verdict
	leader := "no leader"
	if p.cluster.Leader != "" {
		leader = "leader " + p.cluster.Leader
	}
	var lines []string
	for _, parts := range [][]string{
		{v.Status, fmt.Sprintf("%s (term %d)", leader, p.cluster.Term),
			fmt.Sprintf("%d of %d in step", v.InStep, len(p.cluster.Members)), fmt.Sprintf("can lose %d", v.CanLose),
			fmt.Sprintf("index %s, %.0f/s", output.Count(p.cluster.Index), t.rate)},
		{fmt.Sprintf("apps %s running, %s waiting, %s ended", output.Count(n.Running), output.Count(n.Waiting),
			output.Count(n.Ended)), "containers " + output.Count(n.Containers),
			verb.NodesAlive(n), fmt.Sprintf("reserved %d", n.Reservations)},
	} {
		lines = append(lines, strings.Split(verb.Pack(parts, "   ", width), "\n")...)
	}
	for _, kind := range verb.Sorted(n.Total) {
		if n.Total[kind] <= 0 {
			continue
		}
		used, held, pending := ratio(n.Used, n.Total, kind), ratio(n.Reserved, n.Total, kind), ratio(n.Pending, n.Total, kind)
		lines = append(lines, fmt.Sprintf("%-12s %s %3.0f%% used %3.0f%% reserved %4.0f%% pending", output.Cut(kind, 12),
			verb.Bar(24, used, held, pending, -1), used*100, held*100, min(pending*100, 9999)))
	}
	lines = append(lines, RoomLines(p.cluster.Rooms, width)...)
	order := t.sort[t.by]
	if order == "" {
		order = "no"
	}
	more := ""
	if p.more {
		more = fmt.Sprintf(", the first %d", topMost)
	}
	return append(lines, fmt.Sprintf("by %s, sorted: %s%s", t.by, order, more))
}

func ratio(r, of api.Resource, kind string) float64 { return float64(r[kind]) / float64(of[kind]) }

// readTop reads the data of one picture.
func readTop(ctx context.Context, cl *client.Client, by string) (*topPicture, error) {
	p := &topPicture{by: by}
	return p, p.read(ctx, cl)
}
