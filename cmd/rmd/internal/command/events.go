package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/rmd/internal/client"
	"rmd/cmd/rmd/internal/exit"
	"rmd/cmd/rmd/internal/output"
	"rmd/transport/rest/api"
)

func (p *program) events() verb {
	return verb{
		name: "events", usage: "show what happens, as it is committed", flags: []cli.Flag{
			&cli.StringFlag{Name: "app", Usage: "of this application"},
			&cli.StringFlag{Name: "node", Usage: "on this node"},
			&cli.StringFlag{Name: "queue", Usage: "in this queue"},
			&cli.StringFlag{Name: "kind", Usage: "of this kind, for instance ReservationMade"},
			&cli.Uint64Flag{Name: "after", Usage: "begin behind this log index", DefaultText: "now"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on for ever; without, the last entries of the log are shown"},
			&cli.IntFlag{Name: "count", Usage: "without --follow: how many entries of the log are looked at", Value: 200},
		},
		run: runEvents,
	}
}

func runEvents(c *call) error {
	if c.format().Machine() {
		return exit.Usagef("use -o jsonl", "events are told one after the other, and -o %s is one document", c.format())
	}
	q := url.Values{}
	for _, name := range []string{"app", "node", "queue", "kind"} {
		if v := c.String(name); v != "" {
			q.Set(name, v)
		}
	}
	print := func(b api.EventBatch) error {
		if c.format() == output.JSONL {
			return output.WriteLine(c.p.Out, b)
		}
		c.printBatch(b)
		return nil
	}
	if c.Bool("follow") {
		return c.follow(q, c.Uint64("after"), print)
	}
	return c.pastEvents(q, print)
}

// pastEvents shows what the end of the log holds.
func (c *call) pastEvents(q url.Values, print func(api.EventBatch) error) error {
	from, count := c.Uint64("after")+1, min(max(c.Int("count"), 1), 1000)
	if !c.IsSet("after") {
		d, _, err := c.entries(c.ctx(), 0, 1)
		if err != nil {
			return err
		}
		from = max(d.First, d.Last-min(d.Last, uint64(count)-1))
	}
	d, _, err := c.entries(c.ctx(), from, count)
	if err != nil {
		return err
	}
	for _, e := range d.Entries {
		b := api.EventBatch{Index: e.Index, Term: e.Term, NowMillis: e.AtMillis}
		for _, v := range e.Events {
			if match(q.Get("app"), v.App) && match(q.Get("node"), v.Node) && match(q.Get("queue"), v.Queue) && match(q.Get("kind"), v.Kind) {
				b.Events = append(b.Events, v)
			}
		}
		if len(b.Events) == 0 {
			continue
		}
		if err := print(b); err != nil {
			return err
		}
	}
	return nil
}

func match(want, have string) bool { return want == "" || strings.EqualFold(want, have) }

// follow prints the stream of committed entries until Ctrl-C. A replica that
// goes away is replaced by another one without loss.
func (c *call) follow(q url.Values, after uint64, print func(api.EventBatch) error) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	err = cl.Events(c.ctx(), "/v1/events", q, after, func(m client.Message) error {
		if m.Event != "batch" {
			return nil
		}
		var b api.EventBatch
		if err := json.Unmarshal(m.Data, &b); err != nil {
			return fmt.Errorf("event stream: %w", err)
		}
		if len(b.Events) == 0 {
			return nil
		}
		return print(b)
	})
	if errors.Is(err, c.ctx().Err()) && c.ctx().Err() != nil {
		return nil
	}
	return err
}

// clerical are events that tell nothing of their own: they are shown with -o
// wide only.
var clerical = map[string]bool{"TimeAdvanced": true, "RequestRecorded": true}

// printBatch prints each event of an entry on a line.
func (c *call) printBatch(b api.EventBatch) {
	for _, v := range b.Events {
		if clerical[v.Kind] && c.format() != output.Wide {
			continue
		}
		line := fmt.Sprintf("%s  %-8d %s%s", clockText(b.NowMillis), b.Index, v.Kind, eventText(v))
		if w := c.cut(); w > 0 {
			line = output.Cut(line, w)
		}
		fmt.Fprintln(c.p.Out, line)
	}
}

// eventText writes what an event speaks of, then its own fields by name.
func eventText(v api.Event) string {
	var b strings.Builder
	for _, word := range []string{v.Reservation, v.Container, v.App, v.Node, v.Queue} {
		if word != "" && !(word == v.App && v.Container != "") {
			b.WriteString("  " + word)
		}
	}
	for _, name := range sorted(v.Data) {
		text, err := json.Marshal(v.Data[name])
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "  %s=%s", name, strings.Trim(string(text), `"`))
	}
	return b.String()
}
