package work

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/fsm/event"
	"rmd/internal/thousands"
)

// EventsVerb returns the command that shows events.
func EventsVerb() verb.Verb {
	return verb.Verb{
		Name: "events", Usage: "show committed events", Flags: []cli.Flag{
			verb.Fill(verb.Apps, &cli.StringFlag{Name: "app", Usage: "only of this application"}),
			verb.Fill(verb.Nodes, &cli.StringFlag{Name: "node", Usage: "only on this node"}),
			verb.Fill(verb.Queues, &cli.StringFlag{Name: "queue", Usage: "only in this queue or below it"}),
			verb.ManyOf(&cli.StringSliceFlag{Name: "kind", Usage: "only of this kind, for instance ReservationMade; repeatable"},
				verb.Named(event.Kinds())...),
			&cli.BoolFlag{Name: "decisions",
				Usage:       "only the decisions that the page of decisions shows; --decisions=false shows every event",
				DefaultText: "with --follow and without --kind"},
			&cli.StringFlag{Name: "since", Usage: "start at this age (10m) or time (15:04, 2006-01-02T15:04:05Z)"},
			&cli.Uint64Flag{Name: "after", Usage: "start after this log index", DefaultText: "now"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"},
				Usage: "show new events until Ctrl-C; otherwise show the last entries of the log"},
			verb.Number{IntFlag: &cli.IntFlag{Name: "count",
				Usage: "without --follow and --since: number of log entries to read", Value: 200}},
			&cli.BoolFlag{Name: "why", Usage: "show the cause of each decision, from the state just before it", Value: true},
		},
		Long: "Each line is one event: time, log index, kind, subject, and after \"because\" the cause " +
			"of the decision. On a terminal that is too narrow, lines below the kind continue it, except with -o wide. " +
			"A field of more than 120 characters is cut, except with -o wide and in documents. --why=false omits causes. A busy replica gives only some causes.\n" +
			"With --follow it shows decisions only: what was granted, reserved, preempted, submitted, ended or changed. --decisions=false also shows reports, such as heartbeats.\n" +
			"Only -o wide shows events that merely advance the clock.\n" +
			"-o jsonl prints one line for each log entry.\n" +
			"-o json and yaml, without --follow, print one document.\n" +
			"With --follow, if the replica fails, the command continues at another replica of --addr after the last entry seen. It loses and repeats no entry.",
		Examples: []string{"rmd events --follow --app application_1780000000000_0107",
			"rmd events --since 10m --kind ReservationMade -o jsonl", "rmd events --follow --queue root.train --since 15:00"},
		Run: runEvents,
	}
}

// eventFilter selects the events to show. query returns it as parameters of the event stream and of
// the log.
type eventFilter struct {
	app, node, queue string
	kinds            []string
	why              bool
}

func runEvents(c *verb.Call) error {
	f, err := filterOf(c)
	if err != nil {
		return err
	}
	since, err := c.Since()
	if err != nil {
		return err
	}
	follow := c.Bool("follow")
	switch {
	case follow && c.Format() == output.YAML:
		return clierr.Usagef("use -o jsonl with --follow", "--follow prints a stream, but -o yaml is one document")
	case since > 0 && c.IsSet("after"):
		return clierr.Usagef("use one of them", "--since and --after contradict each other")
	case since > 0 && c.IsSet("count"):
		return clierr.Usagef("use one of them", "--since and --count contradict each other")
	case follow && c.IsSet("count"):
		return clierr.Usagef("leave --count out", "--follow has no end")
	}
	if follow {
		return followEvents(c, f, since)
	}
	var all []api.EventBatch
	print := func(b api.EventBatch) error { return printBatch(c, b) }
	if c.Format().Machine() {
		all = []api.EventBatch{}
		print = func(b api.EventBatch) error { all = append(all, b); return nil }
	}
	found := 0
	tally := func(b api.EventBatch) error { found++; return print(b) }
	span, err := pastEvents(c, c.Ctx(), f, since, tally)
	if err != nil {
		return err
	}
	sayMissing(c, span, since, found)
	if all == nil {
		return nil
	}
	doc, err := json.Marshal(map[string]any{"batches": all})
	if err != nil {
		return err
	}
	return output.WriteDocument(c.Program.Out, c.Format(), doc)
}

// filterOf reads the flags.
func filterOf(c *verb.Call) (f eventFilter, err error) {
	f = eventFilter{app: c.String("app"), node: c.String("node"), queue: c.String("queue"), why: c.Bool("why")}
	f.kinds, err = c.Chosen("kind")
	decisions := c.Bool("decisions")
	switch {
	case err != nil:
		return f, err
	case decisions && f.kinds != nil:
		return f, clierr.Usagef("use one of them", "--decisions and --kind contradict each other")
	case !c.IsSet("decisions"):
		decisions = c.Bool("follow") && f.kinds == nil
	}
	if decisions {
		for _, k := range event.Kinds() {
			if k.Told() {
				f.kinds = append(f.kinds, k.String())
			}
		}
	}
	return f, nil
}

// query returns the filter as URL parameters.
func (f eventFilter) query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"app": f.app, "node": f.node, "queue": f.queue} { // url.Values sorts
		if v != "" {
			q.Set(name, v)
		}
	}
	for _, k := range f.kinds {
		q.Add("kind", k)
	}
	if f.why {
		q.Set("why", "true")
	}
	return q
}

// batchOf converts a log entry to the form of the event stream.
func batchOf(e api.LogEntry) api.EventBatch {
	return api.EventBatch{Index: e.Index, Term: e.Term, NowMillis: e.AtMillis, Events: e.Events}
}

// searched is the range of the log that was searched, and the range of the log that the replica
// has.
type searched struct {
	from, to    uint64
	first, last uint64
}

// sayMissing says which part of the log was not searched, if no event was found or if the log
// begins too late.
func sayMissing(c *verb.Call, s searched, since int64, found int) {
	switch {
	case s.from > s.last:
		c.PrintMessage("nothing to show: the log ends at entry %d", s.last)
	case since > 0 && s.from == s.first && s.first > 1:
		c.PrintMessage("the log begins at entry %d; what was before is no longer in it, only in a snapshot", s.first)
	case found > 0:
	case s.from > s.first:
		c.PrintMessage("no event matches in entries %d to %d; entries %d to %d were not searched, use --count or --since",
			s.from, s.to, s.first, s.from-1)
	case s.first > 1:
		c.PrintMessage("no event matches in entries %d to %d; entries before %d are no longer in the log, only in a snapshot",
			s.from, s.to, s.first)
	default:
		c.PrintMessage("no event matches in entries %d to %d, which is the whole log", s.from, s.to)
	}
}

// pastEvents prints the matching events at the end of the log, and returns the range that it
// searched.
func pastEvents(c *verb.Call, ctx context.Context, f eventFilter, since int64,
	print func(api.EventBatch) error) (s searched, err error) {
	d, _, err := entries(c, ctx, 0, 1)
	if err != nil {
		return s, err
	}
	last := d.Last
	count := uint64(min(max(c.Int("count"), 1), 100_000))
	from := max(d.First, last-min(last, count-1), 1)
	switch {
	case since > 0:
		if from, err = firstSince(c, ctx, d, since); err != nil {
			return s, err
		}
	case c.IsSet("after"):
		from = c.Uint64("after") + 1
		if !c.Bool("follow") {
			last = min(last, from+count-1)
		}
	}
	s = searched{from: from, to: last, first: d.First, last: d.Last}
	return s, readRange(c, ctx, from, last, f.query(), func(e api.LogEntry) error {
		if e.AtMillis < since {
			return nil
		}
		if len(e.Events) > 0 {
			return print(batchOf(e))
		}
		return nil
	})
}

// logStep is the number of entries per request.
const logStep = 1000

// whySlow is how long one request with causes may take. If it takes longer, the rest is read
// without causes.
const whySlow = 3 * time.Second

// readRange reads a range of the log, with the events that pass a filter.
func readRange(c *verb.Call, ctx context.Context, from, to uint64, filter url.Values,
	each func(api.LogEntry) error) error {
	for from <= to {
		began := time.Now()
		d, _, err := stretch(c, ctx, from, int(min(to-from+1, logStep)), filter)
		if err != nil || len(d.Entries) == 0 {
			return err
		}
		if filter.Has("why") && time.Since(began) > whySlow {
			c.PrintMessage("the replica needs too long for the causes of entries from %d on; they are shown without causes",
				from)
			filter = maps.Clone(filter)
			filter.Del("why")
		}
		for _, e := range d.Entries {
			if err := each(e); err != nil {
				return err
			}
		}
		from = d.Entries[len(d.Entries)-1].Index + 1
	}
	return nil
}

// firstSince finds the first entry that is not older than a time. It searches backwards from the
// end.
func firstSince(c *verb.Call, ctx context.Context, d api.Log, since int64) (uint64, error) {
	for end := d.Last; ; {
		from := max(d.First, end-min(end, logStep-1), 1)
		part, _, err := entries(c, ctx, from, logStep)
		if err != nil {
			return 0, err
		}
		for _, e := range part.Entries {
			if e.AtMillis > 0 && e.AtMillis < since {
				return e.Index + 1, nil // all entries before are older
			}
			if e.AtMillis >= since {
				break
			}
		}
		if from <= max(d.First, 1) {
			return from, nil
		}
		end = from - 1
	}
}

// followEvents prints the events since a time, then new events.
func followEvents(c *verb.Call, f eventFilter, since int64) error {
	print := func(b api.EventBatch) error { return printBatch(c, b) }
	after := c.Uint64("after")
	if since > 0 {
		s, err := pastEvents(c, c.Ctx(), f, since, print)
		if err != nil {
			return err
		}
		after = s.to
	}
	return follow(c, f.query(), after, print)
}

// follow prints the stream of committed entries. If the replica goes away, another one continues
// without loss. Entries that are too old for the stream come from the log.
func follow(c *verb.Call, q url.Values, after uint64, print func(api.EventBatch) error) error {
	cl, err := c.Client()
	if err != nil {
		return err
	}
	for {
		err := cl.Watch(c.Ctx(), q, after, print, func(index uint64) { after = max(after, index) })
		if after == 0 || client.CodeOf(err) != api.CodeTooOld {
			return err
		}
		if after, err = catchUp(c, q, after, print); err != nil {
			return err
		}
	}
}

// catchUp reads from the log the entries that are no longer in the stream. It says which of them
// are not in the log either.
func catchUp(c *verb.Call, q url.Values, after uint64, print func(api.EventBatch) error) (uint64, error) {
	d, _, err := entries(c, c.Ctx(), 0, 1)
	if err != nil {
		return after, err
	}
	if d.First > after+1 {
		c.PrintMessage("entries %d to %d are no longer in the log, only in a snapshot", after+1, d.First-1)
		after = d.First - 1
	}
	err = readRange(c, c.Ctx(), after+1, d.Last, q, func(e api.LogEntry) error {
		after = e.Index
		if len(e.Events) > 0 {
			return print(batchOf(e))
		}
		return nil
	})
	return after, err
}

// clerical reports whether events of a kind are of no interest by themselves. They are shown only
// with -o wide.
func clerical(kind string) bool {
	c := event.KindNamed(kind).Class()
	return c == event.Clock || c == event.Receipt
}

// printBatch prints each event of an entry on one line, or the entry as one document.
func printBatch(c *verb.Call, b api.EventBatch) error {
	switch c.Format() {
	case output.JSONL, output.JSON: // with --follow, one document after the other
		return output.WriteLine(c.Program.Out, b)
	case output.Name:
		_, err := fmt.Fprintln(c.Program.Out, b.Index)
		return err
	}
	for _, v := range b.Events {
		if clerical(v.Kind) && c.Format() != output.Wide {
			continue
		}
		w := c.Cut()
		if c.Format() == output.Wide {
			w = 0
		}
		line := eventLine(fmt.Sprintf("%s  %-8d ", clockText(b.NowMillis), b.Index), v, w, c.Format() == output.Wide)
		if _, err := fmt.Fprintln(c.Program.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// eventLine returns an event after its time and index. If it is longer than most, lines below its kind
// continue it, and its cause begins a line.
func eventLine(head string, v api.Event, most int, whole bool) string {
	parts, because := eventParts(v, whole)
	line := head + strings.TrimSuffix(strings.Join(parts, "  ")+"  "+because, "  ")
	if most == 0 || utf8.RuneCountInString(line) <= most {
		return line
	}
	indent := utf8.RuneCountInString(head)
	most = max(most-indent, leastEvent)
	var folded []string
	for _, part := range parts {
		folded = append(folded, wrap(part, most)...)
	}
	lines := strings.Split(verb.Pack(folded, "  ", most), "\n")
	if because != "" {
		lines = append(lines, wrap(because, most)...)
	}
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", indent))
}

// leastEvent is the least width of an event beside its time and index.
const leastEvent = 30

// afterNumber finds the blank before a unit, which stays with its number.
var afterNumber = regexp.MustCompile(`(\d) `)

// wrap breaks a text at its blanks, but not within amounts, and words that are too long.
func wrap(text string, most int) []string {
	const joined = "\x00"
	text = strings.ReplaceAll(afterNumber.ReplaceAllString(text, "$1"+joined), " · ", joined+"·"+joined)
	var words []string
	for _, word := range strings.Fields(text) {
		r := []rune(word)
		for ; len(r) > most; r = r[most:] {
			words = append(words, string(r[:most]))
		}
		words = append(words, string(r))
	}
	return strings.Split(strings.ReplaceAll(verb.Pack(words, " ", most), joined, " "), "\n")
}

// eventParts returns the kind of an event, its objects and its other fields with their names, and the
// cause.
func eventParts(v api.Event, whole bool) (parts []string, because string) {
	parts = append(parts, v.Kind)
	for _, word := range []string{v.Reservation, v.Container, v.App, v.Node, v.Queue} {
		if word != "" && !(word == v.App && v.Container != "") {
			parts = append(parts, output.Printable(word))
		}
	}
	for _, name := range verb.Sorted(v.Data) {
		if name == "node_number" && v.Node != "" || name == "number" && v.Container != "" {
			continue // the objects say it
		}
		text := fieldText(v.Data[name])
		if r := []rune(text); len(r) > fieldMost && !whole {
			text = string(r[:fieldMost-1]) + "…"
			if list, ok := v.Data[name].([]any); ok {
				text = thousands.Count(len(list), "value") + ": " + text
			}
		}
		parts = append(parts, output.Printable(name+"="+text))
	}
	if v.Because != nil {
		because = output.Printable(fmt.Sprintf("because %s: %s", v.Because.Reason, v.Because.Text))
	}
	return parts, because
}

// fieldMost is the width of a field in a table. The configuration of the queues has thousands of characters.
const fieldMost = 120

// fieldText returns a value of a field, and a resource as tables show it.
func fieldText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	var size api.Resource
	if json.Unmarshal(text, &size) == nil && size[api.MemoryMB] > 0 {
		return size.String()
	}
	return strings.Trim(string(text), `"`)
}
