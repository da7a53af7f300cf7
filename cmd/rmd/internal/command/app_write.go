package command

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/transport/http/v1/api"
)

func (p *program) appSubmit() verb {
	return verb{
		name: "submit", usage: "submit an application", flags: []cli.Flag{
			&cli.StringFlag{Name: "id", Usage: "preallocated id (default: assigned)"},
			&cli.StringFlag{Name: "name", Usage: "name"},
			&cli.StringFlag{Name: "user", Usage: "owner", DefaultText: "the caller"},
			&cli.StringFlag{Name: "queue", Usage: "leaf queue", DefaultText: "from the cluster's queue mappings"},
			&cli.StringFlag{Name: "type", Usage: "type", DefaultText: "YARN"},
			&cli.StringSliceFlag{Name: "tag", Usage: "tag; repeatable"},
			&cli.IntFlag{Name: "priority", Usage: "priority; higher goes first"},
			&cli.StringFlag{Name: "am", Usage: "size of the AM", Value: "memory-mb=1024,vcores=1"},
			&cli.BoolFlag{Name: "unmanaged", Usage: "the AM runs outside of the cluster"},
			&cli.BoolFlag{Name: "keep-containers", Usage: "containers survive a failed attempt"},
			&cli.UintFlag{Name: "max-attempts", Usage: "maximum number of attempts", DefaultText: "the cluster's setting"},
			spanFlag("lifetime", "maximum lifetime", 0),
			&cli.StringFlag{Name: "context", Usage: "file with the launch context of the AM"},
			&cli.BoolFlag{Name: "dry-run", Usage: "change nothing; predict the result"},
		},
		run: runSubmit,
	}
}

func runSubmit(c *call) error {
	s := api.Submit{
		ID: c.String("id"), Name: c.String("name"), User: c.String("user"), Queue: c.String("queue"), Type: c.String("type"),
		Tags: c.StringSlice("tag"), Unmanaged: c.Bool("unmanaged"), KeepContainers: c.Bool("keep-containers"),
		MaxAttempts: uint32(c.Uint("max-attempts")), LifetimeMillis: c.span("lifetime").Milliseconds(), DryRun: c.Bool("dry-run"),
	}
	if c.IsSet("priority") {
		p := int32(c.Int("priority"))
		s.Priority = &p
	}
	var err error
	if c.String("am") != "" && (!s.Unmanaged || c.IsSet("am")) {
		if s.AM, err = parseResource(c.String("am")); err != nil {
			return err
		}
	}
	if file := c.String("context"); file != "" {
		if s.Context, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	a, err := cl.Post(c.ctx(), "/v1/apps", s)
	if err != nil {
		var doc *api.Error
		if s.Queue == "" && errors.As(err, &doc) && doc.Code == "NO_SUCH_QUEUE" {
			doc.Remedy = "name a leaf with --queue; see \"rmd queue list\""
		}
		return err
	}
	var d api.Submitted
	if err := a.Decode(&d); err != nil {
		return err
	}
	if f := c.format(); f.Machine() || f == output.JSONL || f == output.Name {
		return showDone(c, a, d.ID, "")
	}
	if !d.DryRun {
		fmt.Fprintln(c.p.Out, d.ID)
		c.say("submitted to %s, index %d", d.Queue, d.Index)
	} else {
		fmt.Fprintf(c.p.Out, "would be submitted to %s\n", d.Queue)
	}
	if d.Explain != nil && !c.quiet() {
		return writeExplanation(c.p.Err, *d.Explain, c.cut())
	}
	return nil
}

func (p *program) appKill() verb {
	return verb{name: "kill", usage: "kill applications", args: "ID…", min: 1, max: -1, flags: []cli.Flag{
		&cli.StringFlag{Name: "reason", Usage: "text for the diagnostics"}, yesFlag(),
	}, run: func(c *call) error {
		if c.NArg() > 1 {
			if err := c.confirm("kill", "kill %d applications", c.NArg()); err != nil {
				return err
			}
		}
		for _, id := range c.Args().Slice() {
			if err := c.post("/v1/apps/"+id+":kill", id, api.Kill{Diagnostics: c.String("reason")}, "killed %s", id); err != nil {
				return err
			}
		}
		return nil
	}}
}

func (p *program) appMove() verb {
	return verb{name: "move", usage: "move an application to another leaf queue", args: "ID QUEUE", min: 2, max: 2, run: func(c *call) error {
		path, err := c.appPath(":move")
		if err != nil {
			return err
		}
		return c.post(path, c.arg(0), api.Move{Queue: c.arg(1)}, "moved %s to %s", c.arg(0), c.arg(1))
	}}
}

func (p *program) appPriority() verb {
	return verb{name: "priority", usage: "change an application's priority", args: "ID PRIORITY", min: 2, max: 2, run: func(c *call) error {
		path, err := c.appPath(":priority")
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(c.arg(1), 10, 32)
		if err != nil {
			return clierr.Usagef("write a whole number", "%q is not a priority", c.arg(1))
		}
		cl, err := c.client()
		if err != nil {
			return err
		}
		a, err := cl.Post(c.ctx(), path, api.Priority{Priority: int32(n)})
		if err != nil {
			return err
		}
		var d api.Priority
		if err := a.Decode(&d); err != nil {
			return err
		}
		if int64(d.Priority) != n {
			c.say("the cluster's maximum is %d", d.Priority)
		}
		return showDone(c, a, c.arg(0), "%s has priority %d", c.arg(0), d.Priority)
	}}
}

// post sends a write whose answer is no more than "done".
func (c *call) post(path, name string, body any, format string, args ...any) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	a, err := cl.Post(c.ctx(), path, body)
	if err != nil {
		return err
	}
	return showDone(c, a, name, format, args...)
}
