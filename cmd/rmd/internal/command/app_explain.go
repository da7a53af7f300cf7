package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"rmd/cmd/rmd/internal/output"
)

// explanation is the planner's document, as far as it is printed.
type explanation struct {
	ID            string `json:"id"`
	State         string `json:"state"`
	Queue         string `json:"queue"`
	Waiting       bool   `json:"waiting"`
	WaitingMillis int64  `json:"waitingMillis"`
	Position      int    `json:"position"`
	Of            int    `json:"of"`
	Reason        string `json:"reason"`
	Never         bool   `json:"never"`
	Text          string `json:"text"`
	Asks          []struct {
		Priority int32  `json:"priority"`
		Count    int64  `json:"count"`
		Size     string `json:"size"`
		Where    string `json:"where"`
		AM       bool   `json:"am"`
	} `json:"asks"`
	Limits []struct {
		Name  string `json:"name"`
		Used  string `json:"used"`
		Most  string `json:"most"`
		Binds bool   `json:"binds"`
	} `json:"limits"`
	Nodes []struct {
		Verdict string `json:"verdict"`
		Count   int    `json:"count"`
		Example string `json:"example"`
	} `json:"nodes"`
	Reserved []struct {
		ID        string   `json:"id"`
		Node      string   `json:"node"`
		Needs     string   `json:"needs"`
		Free      string   `json:"free"`
		AgeMillis int64    `json:"ageMillis"`
		WaitsFor  []string `json:"waitsFor"`
	} `json:"reserved"`
	Ahead  []string `json:"ahead"`
	Behind []string `json:"behind"`
}

func (p *program) appExplain() verb {
	return verb{name: "explain", usage: "tell why an application waits", args: "ID", min: 1, max: 1, flags: watchFlags(), run: func(c *call) error {
		path, err := c.appPath("/explain")
		if err != nil {
			return err
		}
		return showText(c, func(ctx context.Context) ([]byte, func(io.Writer) error, error) {
			var x explanation
			doc, err := c.get(ctx, path, nil, &x)
			return doc, func(w io.Writer) error { return x.write(w, c.cut()) }, err
		})
	}}
}

// cut is the width that text is cut to: the terminal's, or 0 for never.
func (c *call) cut() int {
	if c.p.OutTerminal {
		return c.p.Width
	}
	return 0
}

// write prints the explanation; width 0 cuts nothing.
func (x explanation) write(w io.Writer, width int) error {
	var b strings.Builder
	line := func(format string, args ...any) {
		s := fmt.Sprintf(format, args...)
		if width > 0 {
			s = output.Cut(s, width)
		}
		b.WriteString(s + "\n")
	}
	switch {
	case !x.Waiting:
		line("%s  in %s", x.State, x.Queue)
	default:
		line("WAITING  %s in %s%s", output.Millis(x.WaitingMillis), x.Queue, x.place())
	}
	if x.Reason != "" {
		never := ""
		if x.Never {
			never = " (never fits)"
		}
		line("  reason    %s%s", x.Reason, never)
	}
	if x.Text != "" {
		line("            %s", x.Text)
	}
	label := "asks"
	for _, a := range x.Asks {
		am := ""
		if a.AM {
			am = ", its AM"
		}
		line("  %-9s %d × %s, %s, priority %d%s", label, a.Count, a.Size, a.Where, a.Priority, am)
		label = ""
	}
	label = "limits"
	for _, l := range x.Limits {
		verdict := "ok"
		if l.Binds {
			verdict = "BINDS"
		}
		line("  %-9s %s: %s of %s, %s", label, l.Name, l.Used, l.Most, verdict)
		label = ""
	}
	label = "nodes"
	for _, n := range x.Nodes {
		line("  %-9s %d %s (%s)", label, n.Count, n.Verdict, n.Example)
		label = ""
	}
	label = "reserved"
	for _, r := range x.Reserved {
		line("  %-9s %s on %s since %s: needs %s, free %s", label, r.ID, r.Node, output.Millis(r.AgeMillis), r.Needs, r.Free)
		label = ""
		if len(r.WaitsFor) > 0 {
			line("            waits for one or more of %d containers to end: %s", len(r.WaitsFor), some(r.WaitsFor, 2))
		}
	}
	if x.Waiting && x.Of > 0 {
		line("  ahead     %s", some(x.Ahead, 2))
		line("  behind    %s", some(x.Behind, 2))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (x explanation) place() string {
	if x.Position == 0 {
		return ""
	}
	return fmt.Sprintf(", %s of %d in the queue", ordinal(x.Position), x.Of)
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// some names the first few of a list.
func some(names []string, most int) string {
	switch {
	case len(names) == 0:
		return "nobody"
	case len(names) <= most:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
