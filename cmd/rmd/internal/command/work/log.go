package work

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/sleep"
)

var entryColumns = output.List[api.LogEntry]{
	Name:  func(e api.LogEntry) string { return output.Number(e.Index) },
	Empty: "no entries",
	Columns: []output.Column[api.LogEntry]{
		{Head: "INDEX", Text: func(e api.LogEntry) string {
			return output.Number(e.Index)
		}, Key: func(e api.LogEntry) float64 { return float64(e.Index) }, Right: true},
		{Head: "TERM", Text: func(e api.LogEntry) string {
			return output.Number(e.Term)
		}, Key: func(e api.LogEntry) float64 { return float64(e.Term) }, Right: true},
		{Head: "TIME", Text: func(e api.LogEntry) string { return clockText(e.AtMillis) }},
		{Head: "BYTES", Text: func(e api.LogEntry) string {
			return output.Number(e.Bytes)
		}, Key: func(e api.LogEntry) float64 { return float64(e.Bytes) }, Right: true},
		{Head: "WHAT", Text: entryText, Shrink: true, End: true},
	},
}

// entryText returns how many events of each kind an entry has.
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

func logShow() verb.Verb {
	return verb.Verb{
		Name: "show", Usage: "show the entries of the replicated log, decoded, with secrets masked", Flags: append([]cli.Flag{
			&cli.Uint64Flag{Name: "from", Usage: "first index", DefaultText: "the last --count entries"},
			verb.Number{IntFlag: &cli.IntFlag{Name: "count", Usage: "number of entries", Value: 20}},
			&cli.BoolFlag{Name: "events", Usage: "print each event on its own line"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue with new entries until Ctrl-C"},
		}, verb.ListFlags(entryColumns)[:3]...),
		Examples: []string{"rmd log show --count 5 --events", "rmd log show --from 184000 --follow"},
		Run:      runLogShow,
	}
}

func runLogShow(c *verb.Call) error {
	count := c.Int("count")
	if count < 1 {
		return clierr.Usagef("write --count 20", "--count must be at least 1")
	}
	if c.Bool("follow") && (c.String("sort") != "" || c.Format().Machine()) {
		return clierr.Usagef("use -o jsonl with --follow",
			"--follow prints a stream, which cannot be sorted or be one document")
	}
	from := c.Uint64("from")
	if from == 0 {
		d, _, err := entries(c, c.Ctx(), 0, 1)
		if err != nil {
			return err
		}
		from = max(d.First, d.Last-min(d.Last, uint64(count)-1))
	}
	for first := true; ; first = false {
		d, doc, err := entries(c, c.Ctx(), from, count)
		if err != nil {
			return err
		}
		if first && len(d.Entries) == 0 {
			c.PrintMessage("the log has entries %d to %d", d.First, d.Last)
		}
		if first || len(d.Entries) > 0 {
			if err := showEntries(c, d, doc, first); err != nil {
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
		if !sleep.For(c.Ctx(), 500*time.Millisecond) {
			return nil
		}
	}
}

// entries reads a range of the log. A range after the end of the log is not an error, because a
// follower asks for it.
func entries(c *verb.Call, ctx context.Context, from uint64, count int) (d api.Log, doc []byte, err error) {
	return stretch(c, ctx, from, count, nil)
}

// stretch is entries with a filter for the events.
func stretch(c *verb.Call, ctx context.Context, from uint64, count int, filter url.Values) (d api.Log,
	doc []byte, err error) {
	q := url.Values{"count": {strconv.Itoa(min(count, 1000))}}
	maps.Copy(q, filter)
	if from > 0 {
		q.Set("from", strconv.FormatUint(from, 10))
	}
	doc, err = c.Get(ctx, "/v1/log", q, &d)
	return d, doc, err
}

func showEntries(c *verb.Call, d api.Log, doc []byte, first bool) error {
	o, err := c.Options()
	if err != nil {
		return err
	}
	if o.Format.Machine() {
		return output.WriteDocument(c.Program.Out, o.Format, doc)
	}
	o.Quiet = o.Quiet || !first
	if c.Bool("events") && (o.Format == output.Table || o.Format == output.Wide) {
		for _, e := range d.Entries {
			if err := printBatch(c, batchOf(e)); err != nil {
				return err
			}
		}
		return nil
	}
	return entryColumns.Write(c.Program.Out, d.Entries, o)
}

// LogVerbs returns the commands of the replicated log.
func LogVerbs() verb.Verb {
	return verb.Noun("log", "the replicated log", logShow())
}

// AuditVerbs returns the commands of the audit.
func AuditVerbs() verb.Verb {
	return verb.Noun("audit", "the changes that operators made", auditTail())
}

func auditTail() verb.Verb {
	return verb.Verb{
		Name: "tail", Usage: "show operators' changes and refusals: who, from where, what, result",
		Long: "The cluster keeps the newest 10,000 changes and 1,000 refusals.",
		Flags: []cli.Flag{
			verb.Number{IntFlag: &cli.IntFlag{Name: "count", Aliases: []string{"n"}, Usage: "number of last entries",
				Value: 20}},
			&cli.StringFlag{Name: "who", Usage: "only callers whose name contains this"},
			&cli.StringFlag{Name: "action", Usage: "only actions that contain this, for instance kill or conf"},
			&cli.StringFlag{Name: "since", Usage: "only since 10m ago, or since 15:04 or 2006-01-02T15:04:05Z"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue with new entries until Ctrl-C"},
		},
		Examples: []string{"rmd audit tail --who alice --action kill --since 24h", "rmd audit tail --follow -o jsonl"},
		Run:      runAudit,
	}
}

func runAudit(c *verb.Call) error {
	f := c.Format()
	if f.Machine() && c.Bool("follow") {
		return clierr.Usagef("use -o jsonl with --follow", "--follow prints a stream, but -o %s is one document", f)
	}
	if c.Int("count") < 1 {
		return clierr.Usagef("write --count 20", "--count must be at least 1")
	}
	since, err := c.Since()
	if err != nil {
		return err
	}
	q := url.Values{"who": {c.String("who")}, "action": {c.String("action")}, "since": {strconv.FormatInt(since, 10)},
		"limit": {strconv.Itoa(c.Int("count"))}}
	for {
		var d api.Audit
		doc, err := c.Get(c.Ctx(), "/v1/audit", q, &d)
		if err != nil {
			return err
		}
		if f.Machine() {
			return output.WriteDocument(c.Program.Out, f, doc)
		}
		if err := printAudit(c, d.Entries); err != nil || !c.Bool("follow") {
			return err
		}
		q.Set("after", strconv.FormatUint(d.Newest, 10))
		q.Del("limit") // later pages must be complete
		if !sleep.For(c.Ctx(), 500*time.Millisecond) {
			return nil
		}
	}
}

func printAudit(c *verb.Call, entries []api.AuditEntry) error {
	for _, e := range entries {
		if c.Format() == output.JSONL {
			if err := output.WriteLine(c.Program.Out, e); err != nil {
				return err
			}
			continue
		}
		line := auditLine(e)
		if most := c.Cut(); most > 0 {
			line = verb.Fold(line, most)
		}
		if _, err := fmt.Fprintln(c.Program.Out, line); err != nil {
			return err
		}
	}
	return nil
}

func auditLine(e api.AuditEntry) string {
	done := e.Action
	if e.Target != "" {
		done += " " + e.Target
	}
	return output.Printable(fmt.Sprintf("%s  %-6d %v from %v: %s: %s", output.Time(e.AtMillis), e.Number,
		verb.OrDash(e.Who), verb.OrDash(e.From), done, e.Result))
}

func clockText(ms int64) string {
	if ms <= 0 {
		return "-"
	}
	return time.UnixMilli(ms).Local().Format("15:04:05.000")
}
