package command

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/cmd/rmd/internal/exit"
	"rmd/cmd/rmd/internal/output"
	"rmd/transport/rest/api"
)

var entryColumns = output.List[api.LogEntry]{
	Name:  func(e api.LogEntry) string { return output.Number(e.Index) },
	Empty: "there are no entries there",
	Columns: []output.Column[api.LogEntry]{
		{Head: "INDEX", Text: func(e api.LogEntry) string { return output.Number(e.Index) }, Key: func(e api.LogEntry) float64 { return float64(e.Index) }, Right: true},
		{Head: "TERM", Text: func(e api.LogEntry) string { return output.Number(e.Term) }, Key: func(e api.LogEntry) float64 { return float64(e.Term) }, Right: true},
		{Head: "TIME", Text: func(e api.LogEntry) string { return clockText(e.AtMillis) }},
		{Head: "BYTES", Text: func(e api.LogEntry) string { return output.Number(e.Bytes) }, Key: func(e api.LogEntry) float64 { return float64(e.Bytes) }, Right: true},
		{Head: "WHAT", Text: entryText, Shrink: true},
	},
}

func clockText(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	return time.UnixMilli(ms).Local().Format("15:04:05.000")
}

// entryText counts the events of an entry by kind.
func entryText(e api.LogEntry) string {
	if e.Error != "" {
		return e.Type + ": " + e.Error
	}
	if len(e.Events) == 0 {
		return e.Type
	}
	var order []string
	count := map[string]int{}
	for _, v := range e.Events {
		if count[v.Kind] == 0 {
			order = append(order, v.Kind)
		}
		count[v.Kind]++
	}
	for i, k := range order {
		if n := count[k]; n > 1 {
			order[i] = fmt.Sprintf("%d×%s", n, k)
		}
	}
	return strings.Join(order, " ")
}

func (p *program) logShow() verb {
	return verb{
		name: "show", usage: "show the replicated log, decoded, secrets masked", flags: append([]cli.Flag{
			&cli.Uint64Flag{Name: "from", Usage: "the first index", DefaultText: "the last --count entries"},
			&cli.IntFlag{Name: "count", Usage: "how many entries", Value: 20},
			&cli.BoolFlag{Name: "events", Usage: "every event on a line of its own"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on with new entries"},
		}, listFlags()[:3]...),
		run: runLogShow,
	}
}

func runLogShow(c *call) error {
	count := c.Int("count")
	if count < 1 {
		return exit.Usagef("write --count 20", "--count must be at least 1")
	}
	if c.Bool("follow") && (c.String("sort") != "" || c.format().Machine()) {
		return exit.Usagef("use -o jsonl with --follow", "--follow prints entry after entry, and this form is of all of them")
	}
	from := c.Uint64("from")
	if from == 0 {
		d, _, err := c.entries(c.ctx(), 0, 1)
		if err != nil {
			return err
		}
		from = max(d.First, d.Last-min(d.Last, uint64(count)-1))
	}
	for first := true; ; first = false {
		d, doc, err := c.entries(c.ctx(), from, count)
		if err != nil {
			return err
		}
		if first || len(d.Entries) > 0 {
			if err := c.showEntries(d, doc, first); err != nil {
				return err
			}
		}
		if !c.Bool("follow") {
			return nil
		}
		if n := len(d.Entries); n > 0 {
			from = d.Entries[n-1].Index + 1
			if n == count {
				continue
			}
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-c.ctx().Done():
			return nil
		}
	}
}

// entries reads a stretch of the log. Following it, one is asked for beyond its
// end, which is no error.
func (c *call) entries(ctx context.Context, from uint64, count int) (d api.Log, doc []byte, err error) {
	return c.stretch(ctx, from, count, false)
}

// stretch is entries, with why their events were decided.
func (c *call) stretch(ctx context.Context, from uint64, count int, why bool) (d api.Log, doc []byte, err error) {
	q := url.Values{"count": {strconv.Itoa(min(count, 1000))}}
	if from > 0 {
		q.Set("from", strconv.FormatUint(from, 10))
	}
	if why {
		q.Set("why", "true")
	}
	doc, err = c.get(ctx, "/v1/log", q, &d)
	return d, doc, err
}

func (c *call) showEntries(d api.Log, doc []byte, first bool) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if o.Format.Machine() {
		return output.WriteDocument(c.p.Out, o.Format, doc)
	}
	o.Quiet = o.Quiet || !first
	if c.Bool("events") && (o.Format == output.Table || o.Format == output.Wide) {
		for _, e := range d.Entries {
			if err := c.printBatch(api.EventBatch{Index: e.Index, Term: e.Term, NowMillis: e.AtMillis, Events: e.Events}); err != nil {
				return err
			}
		}
		return nil
	}
	return entryColumns.Write(c.p.Out, d.Entries, o)
}

func (p *program) log() *cli.Command {
	return noun("log", "the replicated log", p.command(p.logShow()))
}

func (p *program) audit() *cli.Command {
	return noun("audit", "what administrators did", p.command(p.auditTail()))
}

func (p *program) auditTail() verb {
	return verb{
		name: "tail", usage: "show administrators' actions: who, from where, what, result", flags: []cli.Flag{
			&cli.IntFlag{Name: "count", Aliases: []string{"n"}, Usage: "the last so many that the log still holds", Value: 20},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on with new ones"},
		},
		run: runAudit,
	}
}

// auditKinds are the events that an administrator's action leaves.
const auditKind = "Audited"

func runAudit(c *call) error {
	if c.format().Machine() {
		return exit.Usagef("use -o jsonl", "actions are told one after the other, and -o %s is one document", c.format())
	}
	var found []api.EventBatch
	d, _, err := c.entries(c.ctx(), 0, 1)
	if err != nil {
		return err
	}
	first, last, end := d.First, d.Last, d.Last
	const step = 1000
	for n := 0; end >= first && end > 0 && n < c.Int("count"); {
		from := max(first, end-min(end, step-1))
		d, _, err := c.entries(c.ctx(), from, step)
		if err != nil {
			return err
		}
		var part []api.EventBatch
		for _, e := range d.Entries {
			if b := audited(e); e.Index <= end && len(b.Events) > 0 {
				part, n = append(part, b), n+len(b.Events)
			}
		}
		found = append(part, found...)
		if from <= 1 || from == first {
			break
		}
		end = from - 1
	}
	c.printAudit(found, c.Int("count"))
	if !c.Bool("follow") {
		return nil
	}
	return c.follow(url.Values{"kind": {auditKind}}, last, func(b api.EventBatch) error {
		c.printAudit([]api.EventBatch{b}, len(b.Events))
		return nil
	})
}

// audited keeps an entry's actions.
func audited(e api.LogEntry) api.EventBatch {
	b := api.EventBatch{Index: e.Index, Term: e.Term, NowMillis: e.AtMillis}
	for _, v := range e.Events {
		if v.Kind == auditKind {
			b.Events = append(b.Events, v)
		}
	}
	return b
}

func (c *call) printAudit(batches []api.EventBatch, most int) {
	total := 0
	for _, b := range batches {
		total += len(b.Events)
	}
	for _, b := range batches {
		for _, v := range b.Events {
			if total--; total >= most {
				continue
			}
			if c.format() == output.JSONL {
				_ = output.WriteLine(c.p.Out, map[string]any{"index": b.Index, "at_ms": b.NowMillis, "action": v.Data})
				continue
			}
			field := func(name string) string { return fmt.Sprint(orDash(v.Data[name])) }
			fmt.Fprintf(c.p.Out, "%s  %-8d %s from %s: %s %s: %s\n", output.Time(b.NowMillis), b.Index, field("who"), field("from"), field("action"), field("target"), field("result"))
		}
	}
}

func orDash(v any) any {
	if v == nil || v == "" {
		return "-"
	}
	return v
}
