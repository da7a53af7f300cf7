package command

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
)

func metricsVerb() verb {
	return verb{
		name: "metrics", usage: "show the Prometheus metrics of a replica", args: "[WORD]", max: 1, flags: watchFlags(),
		long:     "With WORD: only metrics whose name contains it, without comments. A metric without a value is not shown.",
		examples: []string{"rmd metrics raft", "rmd metrics --addr rm2:8088"},
		run: func(c *call) error {
			if f := c.format(); f != output.Table && f != output.Wide {
				return clierr.Usagef("omit -o", "metrics have only the Prometheus format")
			}
			cl, err := c.client()
			if err != nil {
				return err
			}
			return c.repeat(func(ctx context.Context, w io.Writer) error {
				a, err := cl.Plain(ctx, "/metrics")
				if err != nil {
					return err
				}
				return writeMetrics(w, a.Body, c.arg(0))
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
	return clierr.New("NO_SUCH_METRIC", "\"rmd metrics\" shows them all", "no metric with %q in its name has a value on this replica", word)
}
