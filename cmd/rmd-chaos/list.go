package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/nemesis"
	"rmd/jepsen-lite/scenario"
)

const listHelp = `rmd-chaos list: list the scenarios, the faults and what this machine supports

Usage: rmd-chaos list
`

func list(_ context.Context, c *call) error {
	if err := c.parse(0); err != nil {
		return err
	}
	offer, err := probe()
	if err != nil {
		return err
	}
	var b strings.Builder
	err = errors.Join(
		table(&b, "SCENARIO\tDURATION\tDESCRIPTION", func(t io.Writer) {
			for _, s := range scenario.All() {
				fmt.Fprintf(t, "%s\t%s\t%s\n", s.Name, short(s.Duration), s.Text)
			}
		}),
		table(&b, "\nFAULT\tREQUIRES\tDESCRIPTION", func(t io.Writer) {
			for _, f := range nemesis.All() {
				fmt.Fprintf(t, "%s\t%s\t%s\n", f.Name, f.Kind, f.Text)
			}
		}),
		table(&b, "\nREQUIREMENT\tSUPPORTED\tDETAILS", func(t io.Writer) {
			for _, o := range offer.All {
				fmt.Fprintf(t, "%s\t%s\t%s\n", o.Fault, o.Answer, strings.ReplaceAll(o.Why, "\n", "; "))
			}
		}))
	if err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(c.out, fold(strings.TrimRight(line, " \n"), 80)); err != nil {
			return err
		}
	}
	return nil
}

// probe checks which faults this machine can inject.
func probe() (harness.Offer, error) {
	dir, err := os.MkdirTemp("", "rmd-chaos-*")
	if err != nil {
		return harness.Offer{}, err
	}
	defer os.RemoveAll(dir)
	cfg := harness.DefaultConfig()
	cfg.Dir = dir
	return harness.Probe(cfg, true)
}

func table(w io.Writer, head string, rows func(io.Writer)) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, head)
	rows(t)
	return t.Flush()
}

// short formats 3m0s as 3m.
func short(d time.Duration) string {
	text := d.String()
	for _, whole := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, whole) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// fold breaks a line of a table at spaces. The continuation lines are indented to the line's last
// column.
func fold(line string, most int) string {
	indent := 0
	if i := strings.LastIndex(line, "  "); i >= 0 && i+2 < most/2 {
		indent = utf8.RuneCountInString(line[:i+2])
	}
	var out []string
	rest := []rune(line)
	for len(rest) > most {
		cut := most
		for cut > indent && rest[cut] != ' ' {
			cut--
		}
		if cut <= indent {
			break // one long word
		}
		out = append(out, string(rest[:cut]))
		rest = []rune(strings.Repeat(" ", indent) + strings.TrimLeft(string(rest[cut:]), " "))
	}
	return strings.Join(append(out, string(rest)), "\n")
}
