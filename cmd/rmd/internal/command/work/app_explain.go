package work

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"rmd/api"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
)

func appExplain() verb.Verb {
	return verb.Verb{Name: "explain", Usage: "explain why an application waits", Args: "ID", Min: 1, Max: 1,
		Flags: verb.WatchFlags(),
		Long: "Shows the asks of the application, its limits, the verdict of its queue and nodes, " +
			"its reservation and the containers that must end first, the applications before " +
			"and after it in the queue, and what-if results. rmd computes this on request.",
		Examples: []string{"rmd app explain application_1780000000000_0107",
			"rmd app explain application_1780000000000_0107 --watch"},
		Complete: []verb.Source{verb.Apps},
		Run: func(c *verb.Call) error {
			path, err := appPath(c, "/explain")
			if err != nil {
				return err
			}
			forecastPath, err := appPath(c, "/forecast")
			if err != nil {
				return err
			}
			return verb.ShowText(c, func(ctx context.Context) ([]byte, func(io.Writer) error, error) {
				var x api.Explanation
				doc, err := c.Get(ctx, path, nil, &x)
				starts := ""
				if err == nil && x.Waiting && c.Format() == output.Table {
					starts = forecastLine(c, ctx, forecastPath)
				}
				return doc, func(w io.Writer) error { return writeExplanation(w, x, starts, c.Cut()) }, err
			})
		}}
}

// writeExplanation prints the whole document and the line starts, which says when the application
// starts. With width 0 it does not fold.
func writeExplanation(w io.Writer, x api.Explanation, starts string, width int) error {
	l := &verb.Labelled{Width: width}
	if x.Waiting {
		l.Fold("WAITING  ", fmt.Sprintf("%s in %s%s", output.Millis(x.WaitingMillis), x.Queue, queuePosition(x)))
	} else {
		l.Fold(x.State+"  ", "in "+x.Queue)
	}
	if p := x.Placed; p != nil {
		l.Line("placed", "%s", placedText(p))
	}
	if x.Reason != "" {
		l.Line("reason", "%s%s", x.Reason, map[bool]string{true: " (never fits)"}[x.Never])
	}
	for i, text := range []string{x.Text, x.Diagnostic} {
		if text != "" {
			l.Line("", "%s%s", []string{"", "in YARN: "}[i], text)
		}
	}
	if starts != "" {
		l.Line("starts", "%s", starts)
	}
	verb.List(l, "asks", x.Asks, askText)
	verb.List(l, "limits", x.Limits, func(m api.ExplainedLimit) string { return limitText(m, x.Text) })
	verb.List(l, "nodes", x.Nodes, nodesText)
	explainReservations(l, x)
	explainPreemption(l, x.Preemption)
	verb.List(l, "leases", x.Leases, leaseText)
	verb.List(l, "tokens", x.Tokens, func(t api.ExplainedToken) string { return t.Text })
	if x.Waiting && x.Of > 0 {
		l.Line("ahead", "%s", neighbors(x.Ahead, x.Position-1))
		l.Line("behind", "%s", neighbors(x.Behind, x.Of-x.Position))
	}
	verb.List(l, "what if", x.WhatIf, alternativeText)
	_, err := io.WriteString(w, l.B.String())
	return err
}

func leaseText(x api.ExplainedLease) string {
	if x.Lends {
		return fmt.Sprintf("%s on %s has room that reservation %s has lent: %s", x.Container, x.Node, x.Reservation, x.Text)
	}
	return fmt.Sprintf("%s on %s borrows room of reservation %s: %s", x.Container, x.Node, x.Reservation, x.Text)
}

func placedText(p *api.ExplainedPlacement) string {
	s := fmt.Sprintf("by rule %d: %s", p.Rule, p.Text)
	if p.For != "" {
		s += ", for " + p.For + ", whom a tag names"
	}
	if p.Why != "" {
		s += "; it fell back to %default: " + p.Why
	}
	return s
}

func askText(a api.ExplainedAsk) string {
	s := fmt.Sprintf("%d × %s, %s, priority %d", a.Count, a.Size, a.Where, a.Priority)
	if a.AllocationID != 0 {
		s += fmt.Sprintf(", allocation id %d", a.AllocationID)
	}
	if a.AM {
		s += ", its AM"
	}
	if a.Reason != "" {
		s += ": " + a.Reason
	}
	return s
}

// limitText returns a limit. It leaves out by how much the next ask would exceed it if the text of the
// reason says so.
func limitText(m api.ExplainedLimit, reason string) string {
	state := map[bool]string{true: "at its limit", false: "ok"}[m.Binds]
	if m.Over != "" && !strings.Contains(reason, m.Over) {
		state += ": with it " + m.Over
	}
	return fmt.Sprintf("%s: %s of %s, %s", m.Name, m.Used, m.Most, state)
}

func nodesText(n api.ExplainedNodes) string {
	s := fmt.Sprintf("%d: %s, for instance %s", n.Count, n.Verdict, n.Example)
	if n.Reason != "" && n.Reason != "NO_REASON" {
		s += " (" + n.Reason + ")"
	}
	return s
}

// explainReservations prints the reservations of the application, and the containers that must end.
func explainReservations(l *verb.Labelled, x api.Explanation) {
	for i, r := range x.Reserved {
		l.Line([]string{"reserved", ""}[min(i, 1)], "%s on %s since %s: needs %s, free %s", r.ID, r.Node,
			output.Millis(r.AgeMillis), r.Needs, r.Free)
		if len(r.WaitsFor) > 0 {
			l.Line("", "waits until one or more of %d containers end: %s", len(r.WaitsFor), firstNames(r.WaitsFor, 10))
		}
	}
	if e := x.MustEnd; e != nil {
		l.Line("must end", "on %s (%s is missing): %s", e.Node, e.Missing, firstNames(e.Containers, 10))
	}
}

func explainPreemption(l *verb.Labelled, p *api.AppPreemption) {
	if p == nil {
		return
	}
	if p.Text != "" {
		l.Line("preempt", "%s", p.Text)
	}
	if p.Dear != nil && p.Dear.EndsMillis > 0 {
		l.Line("", "that is at %s", output.Time(p.Dear.EndsMillis))
	}
	for _, s := range p.Gains {
		l.Line("preempt", "%d containers on %s are warned for it; they end at %s", len(s.Containers), s.Node,
			output.Time(s.DeadlineMillis))
		l.Line("", "%s", s.Text)
	}
	for _, s := range p.Loses {
		l.Line("warned", "for %s, until %s: %s", cmp.Or(s.App, s.Queue), output.Time(s.DeadlineMillis), s.Text)
		for _, c := range s.Containers {
			l.Line("", "%s", PreemptionContainerText(c))
		}
	}
}

func alternativeText(f api.ExplainedAlternative) string {
	s := f.If + ": "
	switch {
	case f.Then != "":
		s += f.Then
	case f.Now:
		s += "now"
	default:
		s += "not sooner"
	}
	if f.Reason != "" && !f.Now {
		s += " (" + f.Reason + ")"
	}
	return s
}

func queuePosition(x api.Explanation) string {
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

// neighbors returns the names, and how many more there are of all.
func neighbors(names []string, all int) string {
	s := firstNames(names, len(names))
	if more := all - len(names); more > 0 && len(names) > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// firstNames returns the first few names of a list.
func firstNames(names []string, most int) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) <= most:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// PreemptionContainerText describes a container that preemption has chosen.
func PreemptionContainerText(c api.PreemptionContainer) string {
	s := fmt.Sprintf("%s of %s: %s, has run for %s", c.ID, c.Queue, c.Size, output.Millis(c.RunMillis))
	if c.AM {
		s += ", an AM"
	}
	return s
}
