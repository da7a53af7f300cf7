package report

import (
	_ "embed" // for the parts of the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"rmd/jepsen-lite/check"
	"rmd/jepsen-lite/history"
)

// Page is the report of one run.
type Page struct {
	Title   string // such as "tier1 native, seed 1411"
	Lead    string // commit, Go version, settings
	Again   string // the command that repeats the run
	History *history.History
	Verdict *check.Verdict
	// Totals are those of the run, which the terminal also prints. If nil, the page counts what the
	// history has.
	Totals *Summary
	// Lanes limits how many agents, and how many clients, have their own lane; 0 means 16. The
	// others share one.
	Lanes int
	// Ticks limits how many events the timeline shows; 0 means 40,000. It shows those nearest to
	// the first violation. Without a violation, it prefers refused and unknown operations and takes
	// an even sample of the others.
	Ticks int
}

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(pageStyle) },
	"script": func() template.JS { return template.JS(pageScript) },
	"lower":  strings.ToLower,
	"number": func(n uint64) string { return number(int64(n)) },
}).Parse(pageText))

// view is the input of the template.
type view struct {
	Title, Lead, Again string
	Fails              bool
	Head               string // the verdict in a sentence
	Keys               []figure
	First              *broken
	Others             []check.Finding
	Findings           []check.Finding
	Differ             *differ
	Notes              []string
	Shown              string // which events the timeline leaves out
	Data               template.JS
}

// figure is a number at the top of the page.
type figure struct{ Name, Value, Note string }

// broken is the first violation and its chain.
type broken struct {
	check.Finding
	Steps []chained
}

// chained is an event of the chain.
type chained struct {
	At    string // seconds since the start
	Milli string // milliseconds, for the slider
	Lane  string
	Index string
	Text  string
}

// WritePage writes index.html.
func WritePage(w io.Writer, p Page) error {
	if p.Lanes == 0 {
		p.Lanes = 16
	}
	if p.Ticks == 0 {
		p.Ticks = 40_000
	}
	from := startTime(p.History)
	v := view{Title: p.Title, Lead: p.Lead, Again: p.Again, Findings: p.Verdict.Findings, Notes: p.Verdict.Notes,
		Keys: keys(p), Differ: findDiffer(p.History)}
	failed := p.Verdict.Failed()
	v.Fails, v.Head = verdictText(p.Verdict, failed)
	if len(failed) > 0 {
		v.First = &broken{Finding: failed[0], Steps: steps(failed[0].Chain, from)}
		v.Others = failed[1:]
	}
	t := newTimeline(p, from, failed)
	v.Shown = t.shown
	data, err := json.Marshal(t.Data)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	v.Data = template.JS(strings.ReplaceAll(string(data), "</", `<\/`))
	return pageTemplate.Execute(w, v)
}

func verdictText(v *check.Verdict, failed []check.Finding) (fails bool, text string) {
	var held, skipped, undecided []string
	for _, f := range v.Findings {
		switch f.Status {
		case check.OK:
			held = append(held, f.ID)
		case check.Undecided:
			undecided = append(undecided, f.ID)
		case check.Skipped:
			skipped = append(skipped, f.ID)
		}
	}
	switch {
	case len(failed) > 0:
		var ids []string
		for _, f := range failed {
			ids = append(ids, f.ID)
		}
		text = "Violated: " + strings.Join(ids, ", ") + ". "
	case len(undecided) > 0:
		text = "Undecided: " + strings.Join(undecided, ", ") + ". "
	default:
		text = "No violations. "
	}
	text += fmt.Sprintf("%d invariants hold", len(held))
	if len(skipped) > 0 {
		text += ", skipped: " + strings.Join(skipped, ", ")
	}
	return len(failed) > 0 || len(undecided) > 0, text + "."
}

func keys(p Page) []figure {
	s := p.Totals
	if s == nil {
		s = &Summary{}
		s.Add(p.History, &check.Verdict{})
	}
	lives, terms := 0, map[uint64]bool{}
	for _, e := range p.History.Replicas {
		switch e.Kind {
		case history.Start:
			lives++
		case history.Lead:
			terms[e.Term] = true
		}
	}
	return []figure{
		{"cluster time", span(s.ClusterTime), fmt.Sprintf("%s leaderships, %s starts", number(int64(len(terms))),
			number(int64(lives)))},
		{"operations", number(s.Operations), fmt.Sprintf("acked %s, refused %s, unknown %s", unbroken(s.Acked),
			unbroken(s.Refused), unbroken(s.Unknown))},
		{"faults", number(s.faultTotal()), kindsOf(len(s.Faults))},
		{"log", number(int64(len(p.History.Entries))), "entries replayed by the checker's own model"},
	}
}

// unbroken formats a number without places for a line break.
func unbroken(n int64) string { return strings.ReplaceAll(number(n), " ", "\u00a0") }

func kindsOf(n int) string {
	if n == 1 {
		return "of one kind"
	}
	return fmt.Sprintf("of %d kinds", n)
}

func steps(chain []check.Link, from int64) []chained {
	var out []chained
	for _, l := range chain {
		c := chained{Lane: l.Lane, Text: l.Text}
		if l.NS != 0 {
			c.At = fmt.Sprintf("%.3f s", time.Duration(l.NS-from).Seconds())
			c.Milli = fmt.Sprintf("%.3f", float64(l.NS-from)/1e6)
		}
		if l.Index != 0 {
			c.Index = fmt.Sprint(l.Index)
		}
		out = append(out, c)
	}
	return out
}
