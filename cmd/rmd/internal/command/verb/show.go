package verb

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

// Fetched is an answer to show: the unchanged document, and its objects.
type Fetched[T any] struct {
	Doc    []byte
	Things []T
	Verify func() error // returns the error for the exit code; nil: none
	Head   string       // a line above the table
}

// ShowList fetches and prints a list, repeatedly with --watch.
func ShowList[T any](c *Call, l output.List[T], fetch func(context.Context) (Fetched[T], error)) error {
	o, err := c.Options()
	if err != nil {
		return err
	}
	return c.Repeat(func(ctx context.Context, w io.Writer) error {
		f, err := fetch(ctx)
		if err != nil {
			return err
		}
		o := o
		o.Note = func(text string) { c.note(w, text) }
		if o.Format.Machine() {
			err = output.WriteDocument(w, o.Format, f.Doc)
		} else {
			if f.Head != "" && (o.Format == output.Table || o.Format == output.Wide) && !o.Quiet {
				fmt.Fprintln(w, f.Head)
			}
			if len(f.Things) == 0 && l.Empty != "" && o.Format != output.JSONL {
				o.Note(l.Empty)
				if o.Format == output.Table || o.Format == output.Wide {
					o.Quiet = o.Quiet || f.Head != ""
				}
			}
			err = l.Write(w, f.Things, o)
		}
		if err == nil && f.Verify != nil {
			err = f.Verify()
		}
		return err
	})
}

// note prints a message below what a command shows. With --watch it goes to the screen, which is
// cleared of all that is written elsewhere.
func (c *Call) note(w io.Writer, text string) {
	if c.Bool("watch") && c.Program.OutTerminal && !c.Quiet() {
		fmt.Fprintln(w, output.Printable(text))
		return
	}
	c.PrintMessage("%s", text)
}

// ShowFacts fetches and prints one object as facts.
func ShowFacts(c *Call, name func() string, fetch func(context.Context) ([]byte, []output.Fact, error),
	then ...func(io.Writer) error) error {
	return c.Repeat(func(ctx context.Context, w io.Writer) error {
		doc, facts, err := fetch(ctx)
		if err != nil {
			return err
		}
		if done, err := writeOne(w, c.Format(), doc); done {
			return err
		}
		if c.Format() == output.Name {
			_, err := fmt.Fprintln(w, name())
			return err
		}
		err = output.WriteFacts(w, facts, c.Cut())
		for _, write := range then {
			if err == nil {
				err = write(w)
			}
		}
		return err
	})
}

// ShowText fetches and prints one object as text.
func ShowText(c *Call, fetch func(context.Context) ([]byte, func(io.Writer) error, error)) error {
	return c.Repeat(func(ctx context.Context, w io.Writer) error {
		doc, print, err := fetch(ctx)
		if err != nil {
			return err
		}
		if done, err := writeOne(w, c.Format(), doc); done {
			return err
		}
		return print(w)
	})
}

// ShowDone prints the result of a write: the document for machine formats, the name of the object
// for -o name, otherwise a sentence.
func ShowDone(c *Call, a *client.Answer, name, format string, args ...any) error {
	if done, err := writeOne(c.Program.Out, c.Format(), a.Body); done {
		return err
	}
	if c.Format() == output.Name {
		_, err := fmt.Fprintln(c.Program.Out, name)
		return err
	}
	if c.Quiet() {
		return nil
	}
	_, err := fmt.Fprintf(c.Program.Out, format+"\n", args...)
	return err
}

// writeOne prints the document of one object if the format is a machine's, and reports whether it is.
func writeOne(w io.Writer, f output.Format, doc []byte) (done bool, err error) {
	switch f {
	case output.JSON, output.YAML:
		return true, output.WriteDocument(w, f, doc)
	case output.JSONL:
		return true, WriteCompact(w, doc)
	}
	return false, nil
}

// WriteCompact prints a document on one line.
func WriteCompact(w io.Writer, doc []byte) error {
	var b bytes.Buffer
	if err := compact(&b, doc); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// Options reads the flags that control how a list is shown.
func (c *Call) Options() (output.Options, error) {
	o := output.Options{Format: c.Format(), Columns: c.StringSlice("columns"), Sort: c.String("sort"),
		Filters: c.StringSlice("filter"), Quiet: c.Quiet()}
	if c.Program.OutTerminal {
		o.Width = c.Program.Width
	}
	o.Note = func(text string) { c.PrintMessage("%s", text) }
	if o.Format.Machine() && o.Shaped() {
		return o, clierr.Usagef("use -o table, wide, name or jsonl with them",
			"--columns, --sort and --filter do not go with -o %s, which is the REST document unchanged", o.Format)
	}
	if (o.Format == output.Name || o.Format == output.JSONL) && len(o.Columns) > 0 {
		return o, clierr.Usagef("use -o table or wide", "--columns does not go with -o %s", o.Format)
	}
	return o, nil
}

// Repeat runs print once, or with --watch until Ctrl-C. With --watch an answer is printed only when
// it is complete, and an error does not end the loop, because the cluster may be electing a leader.
func (c *Call) Repeat(print func(context.Context, io.Writer) error) error {
	if !c.Bool("watch") {
		return print(c.Ctx(), c.Program.Out)
	}
	every := max(c.Span("every"), 100*time.Millisecond)
	for {
		var b bytes.Buffer
		err := print(c.Ctx(), &b)
		switch {
		case c.Ctx().Err() != nil:
			return nil
		case err != nil && clierr.Code(err) == exitcode.Usage:
			return err
		case err != nil && !errors.Is(err, ErrQuietExit):
			clierr.Write(&b, err)
		case c.age != "":
			c.note(&b, c.age)
		}
		if c.Program.OutTerminal {
			fmt.Fprint(c.Program.Out, "\x1b[H\x1b[2J")
		}
		if _, err := c.Program.Out.Write(b.Bytes()); err != nil {
			return err
		}
		if !sleep.For(c.Ctx(), every) {
			return nil
		}
		if !c.Program.OutTerminal {
			fmt.Fprintln(c.Program.Out)
		}
	}
}
