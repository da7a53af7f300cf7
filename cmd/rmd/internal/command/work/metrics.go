package work

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
)

// MetricsVerb returns the command that prints metrics.
func MetricsVerb() verb.Verb {
	return verb.Verb{
		Name: "metrics", Usage: "show the Prometheus metrics of a replica", Args: "[WORD]", Max: 1, Flags: verb.WatchFlags(),
		Long:     "With WORD: only metrics whose name contains it, without comments. A metric without a value is not shown.",
		Examples: []string{"rmd metrics raft", "rmd metrics --addr rm2:8088"},
		Run: func(c *verb.Call) error {
			if f := c.Format(); f != output.Table && f != output.Wide {
				return clierr.Usagef("omit -o", "metrics have only the Prometheus format")
			}
			cl, err := c.Client()
			if err != nil {
				return err
			}
			return c.Repeat(func(ctx context.Context, w io.Writer) error {
				a, err := cl.Plain(ctx, "/metrics")
				if err != nil {
					return err
				}
				return writeMetrics(w, a.Body, c.Arg(0))
			})
		},
	}
}

func writeMetrics(w io.Writer, text []byte, word string) error {
	if word == "" {
		_, err := w.Write(text)
		return err
	}
	found := false
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		name, _, _ := strings.Cut(line, " ")
		if strings.HasPrefix(line, "#") || !strings.Contains(name, word) {
			continue
		}
		found = true
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil || found {
		return err
	}
	return clierr.New("NO_SUCH_METRIC", "\"rmd metrics\" shows them all",
		"no metric with %q in its name has a value on this replica", word)
}
