package trial

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/cmd/rmd/internal/command/work"
)

// PreemptVerb returns the command that shows what preemption does and would do.
func PreemptVerb() verb.Verb {
	return verb.Verb{Name: "preempt",
		Usage: "show what preemption would do now, or would have done, and which warnings stand", Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "dry-run",
				Usage: "what the next round would do; no command preempts, the leader does in its rounds"},
			&cli.StringFlag{Name: "over",
				Usage: "what preemption would have done since this age (24h) or time (15:04, 2006-01-02T15:04:05Z)"},
			&cli.StringFlag{Name: "until", Usage: "with --over: the end, as an age or a time", DefaultText: "now"},
		}, verb.WatchFlags()...),
		Long: "--dry-run shows what each leaf queue is guaranteed, uses and is entitled to, and what the next round may take from it; " +
			"the warnings that stand, with their deadlines; and what a round would decide now: which containers it would warn, for which application, and why. " +
			"The round runs on a copy of the state and changes nothing. It also runs where preemption is off.\n" +
			"--over plays a part of the past again on a copy of the state: what applications asked for then, and how long their containers ran, without preemption, " +
			"with the selector planned, and with YARN's. A replica can go back as far as its log and snapshots do. This needs the role operator.",
		Examples: []string{"rmd preempt --dry-run", "rmd preempt --dry-run --watch", "rmd preempt --over 24h",
			"rmd preempt --over 14:00 --until 15:30 -o json"},
		Run: func(c *verb.Call) error {
			switch over := c.String("over") != ""; {
			case over && (c.Bool("dry-run") || c.Bool("watch")):
				return clierr.Usagef("leave the other flag out", "--over is about the past, --dry-run and --watch are not")
			case over:
				return previewPreemption(c)
			case c.String("until") != "":
				return clierr.Usagef("write --over 24h", "--until is the end of what --over begins")
			case !c.Bool("dry-run"):
				return clierr.Usagef("write rmd preempt --dry-run, or --over 24h",
					"no command preempts: the leader does, if preemption is on")
			}
			o, err := c.Options()
			if err != nil {
				return err
			}
			return verb.ShowText(c, func(ctx context.Context) ([]byte, func(io.Writer) error, error) {
				var d api.Preemption
				doc, err := c.Get(ctx, "/v1/preemption", nil, &d)
				return doc, func(w io.Writer) error { return writePreemption(w, d, o, c.Cut()) }, err
			})
		}}
}

var preemptionColumns = output.List[api.PreemptionQueue]{
	Name: func(q api.PreemptionQueue) string { return q.Path },
	Columns: []output.Column[api.PreemptionQueue]{
		verb.QueueColumn(func(q api.PreemptionQueue) string { return q.Path + inLabel(q.Label) }),
		{Head: "USED", Text: func(q api.PreemptionQueue) string { return q.Used },
			Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "RESERVED", Text: func(q api.PreemptionQueue) string {
			return amountOrDash(q.Reserved, q.ReservedAmount)
		}, Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "GUARANTEED", Text: func(q api.PreemptionQueue) string { return q.Guaranteed },
			Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "ENTITLED", Text: func(q api.PreemptionQueue) string { return q.Entitled },
			Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "PENDING", Wide: true, Text: func(q api.PreemptionQueue) string { return q.Pending },
			Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "GIVES", Text: func(q api.PreemptionQueue) string {
			return amountOrDash(q.Gives, q.GivesAmount)
		}, Shrink: true, End: true, Least: output.AmountLeast},
	},
}

// amountOrDash returns text, or "-" if the amount is zero.
func amountOrDash(text string, amount map[string]int64) string {
	for _, n := range amount { // any non-zero amount: the order does not matter
		if n != 0 {
			return text
		}
	}
	return "-"
}

func inLabel(label string) string {
	if label == "" {
		return ""
	}
	return " (" + label + ")"
}

// writePreemption prints the mode, the queues, the warnings and the next round.
func writePreemption(w io.Writer, d api.Preemption, o output.Options, width int) error {
	if o.Format == output.Name {
		for _, s := range d.Next.Warns {
			for _, c := range s.Containers {
				fmt.Fprintln(w, c.ID)
			}
		}
		return nil
	}
	l := &verb.Labelled{Width: width}
	l.Fold("", d.Text)
	if d.Selector != "" {
		l.Fold("", fmt.Sprintf("selector %s; a round every %s; a container ends %s after its warning", d.Selector,
			output.Millis(d.IntervalMillis), output.Millis(d.MaxWaitMillis)))
	}
	fmt.Fprintln(w, strings.TrimRight(l.B.String(), "\n"))
	if len(d.Queues) > 0 {
		fmt.Fprintln(w)
		if err := preemptionColumns.Write(w, d.Queues, o); err != nil {
			return err
		}
	}
	l = &verb.Labelled{Width: width}
	for _, q := range d.Queues {
		l.Fold("  "+q.Path+inLabel(q.Label)+": ", q.Text)
	}
	l.B.WriteString("\n")
	writeSets(l, "warned, and not ended yet", d.Warnings)
	writeSets(l, "the next round would warn", d.Next.Warns)
	if len(d.Next.Kills) > 0 {
		l.Fold("", "the next round would preempt, as their deadline has passed")
		for _, c := range d.Next.Kills {
			l.Fold("    ", work.PreemptionContainerText(c))
		}
	}
	if len(d.Next.Withdraws) > 0 {
		l.Fold("", "the next round would withdraw the warnings of")
		for _, c := range d.Next.Withdraws {
			l.Fold("    ", work.PreemptionContainerText(c.PreemptionContainer)+": "+c.Cause)
		}
	}
	l.Fold("", "since the cluster began: "+causesText("preempted", d.Totals.Preempted)+"; "+
		causesText("warnings withdrawn", d.Totals.Withdrawn)+"; "+causesText("preempted in vain", d.Totals.Unused))
	_, err := io.WriteString(w, l.B.String())
	return err
}

func writeSets(l *verb.Labelled, title string, sets []api.PreemptionSet) {
	if len(sets) == 0 {
		l.Fold("", title+": nothing")
		return
	}
	l.Fold("", title)
	for _, s := range sets {
		whom := s.Queue
		if s.App != "" {
			whom = s.App + " in " + s.Queue
		}
		text := fmt.Sprintf("on %s for %s", s.Node, whom)
		if s.Needs != "" {
			text += fmt.Sprintf(", which needs %s (reservation %s)", s.Needs, s.Reservation)
		}
		l.Fold("  ", text+"; deadline "+output.Time(s.DeadlineMillis))
		l.Fold("    ", s.Text)
		for _, c := range s.Containers {
			l.Fold("    ", work.PreemptionContainerText(c))
		}
	}
}

// causesText returns the total and the count of each cause.
func causesText(what string, by map[string]uint64) string {
	var sum uint64
	var parts []string
	for _, cause := range verb.Sorted(by) {
		sum += by[cause]
		parts = append(parts, fmt.Sprintf("%s %d", cause, by[cause]))
	}
	if sum == 0 {
		return what + " 0"
	}
	return fmt.Sprintf("%s %d (%s)", what, sum, strings.Join(parts, ", "))
}
