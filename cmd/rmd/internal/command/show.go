package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/internal/exitcode"
	"rmd/internal/sleep"
)

// fetched is an answer to show: the unchanged document, and its objects.
type fetched[T any] struct {
	doc    []byte
	things []T
	verify func() error // returns the error for the exit code; nil: none
	head   string       // a line above the table
}

// showList fetches and prints a list, repeatedly with --watch.
func showList[T any](c *call, l output.List[T], fetch func(context.Context) (fetched[T], error)) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	return c.repeat(func(ctx context.Context, w io.Writer) error {
		f, err := fetch(ctx)
		if err != nil {
			return err
		}
		if o.Format.Machine() {
			err = output.WriteDocument(w, o.Format, f.doc)
		} else {
			if f.head != "" && (o.Format == output.Table || o.Format == output.Wide) && !o.Quiet {
				fmt.Fprintln(w, f.head)
			}
			if len(f.things) == 0 && l.Empty != "" && o.Format != output.JSONL {
				c.printMessage("%s", l.Empty)
				if o.Format == output.Table || o.Format == output.Wide {
					o.Quiet = o.Quiet || f.head != ""
				}
			}
			err = l.Write(w, f.things, o)
		}
		if err == nil && f.verify != nil {
			err = f.verify()
		}
		return err
	})
}

// showFacts fetches and prints one object as facts.
func showFacts(c *call, name func() string, fetch func(context.Context) ([]byte, []output.Fact, error)) error {
	return c.repeat(func(ctx context.Context, w io.Writer) error {
		doc, facts, err := fetch(ctx)
		if err != nil {
			return err
		}
		switch f := c.format(); f {
		case output.JSON, output.YAML:
			return output.WriteDocument(w, f, doc)
		case output.JSONL:
			return writeCompact(w, doc)
		case output.Name:
			_, err := fmt.Fprintln(w, name())
			return err
		}
		return output.WriteFacts(w, facts)
	})
}

// showText fetches and prints one object as text.
func showText(c *call, fetch func(context.Context) ([]byte, func(io.Writer) error, error)) error {
	return c.repeat(func(ctx context.Context, w io.Writer) error {
		doc, print, err := fetch(ctx)
		if err != nil {
			return err
		}
		switch f := c.format(); f {
		case output.JSON, output.YAML:
			return output.WriteDocument(w, f, doc)
		case output.JSONL:
			return writeCompact(w, doc)
		}
		return print(w)
	})
}

// showDone prints the result of a write: the document for machine formats, the name of the object
// for -o name, otherwise a sentence.
func showDone(c *call, a *client.Answer, name, format string, args ...any) error {
	switch f := c.format(); f {
	case output.JSON, output.YAML:
		return output.WriteDocument(c.p.Out, f, a.Body)
	case output.JSONL:
		return writeCompact(c.p.Out, a.Body)
	case output.Name:
		_, err := fmt.Fprintln(c.p.Out, name)
		return err
	}
	if c.quiet() {
		return nil
	}
	_, err := fmt.Fprintf(c.p.Out, format+"\n", args...)
	return err
}

func writeCompact(w io.Writer, doc []byte) error {
	var b bytes.Buffer
	if err := compact(&b, doc); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// options reads the flags that control how a list is shown.
func (c *call) options() (output.Options, error) {
	o := output.Options{Format: c.format(), Columns: c.StringSlice("columns"), Sort: c.String("sort"), Filters: c.StringSlice("filter"), Quiet: c.quiet()}
	if c.p.OutTerminal {
		o.Width = c.p.Width
	}
	if o.Format.Machine() && o.Shaped() {
		return o, clierr.Usagef("use -o table, wide, name or jsonl with them", "--columns, --sort and --filter do not go with -o %s, which is the REST document unchanged", o.Format)
	}
	if (o.Format == output.Name || o.Format == output.JSONL) && len(o.Columns) > 0 {
		return o, clierr.Usagef("use -o table or wide", "--columns does not go with -o %s", o.Format)
	}
	return o, nil
}

// repeat runs print once, or with --watch until Ctrl-C. With --watch an answer is printed only when
// it is complete, and an error does not end the loop, because the cluster may be electing a leader.
func (c *call) repeat(print func(context.Context, io.Writer) error) error {
	if !c.Bool("watch") {
		return print(c.ctx(), c.p.Out)
	}
	every := max(c.span("every").Duration, 100*time.Millisecond)
	for {
		var b bytes.Buffer
		err := print(c.ctx(), &b)
		switch {
		case c.ctx().Err() != nil:
			return nil
		case err != nil && clierr.Code(err) == exitcode.Usage:
			return err
		case err != nil && !errors.Is(err, errQuietExit):
			clierr.Write(&b, err)
		}
		if c.p.OutTerminal {
			fmt.Fprint(c.p.Out, "\x1b[H\x1b[2J")
		}
		if _, err := c.p.Out.Write(b.Bytes()); err != nil {
			return err
		}
		if !sleep.For(c.ctx(), every) {
			return nil
		}
		if !c.p.OutTerminal {
			fmt.Fprintln(c.p.Out)
		}
	}
}
