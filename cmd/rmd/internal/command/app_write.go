package command

import (
	"encoding/json"
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
			&cli.StringFlag{Name: "id", Usage: "an id got before; without, the cluster gives one"},
			&cli.StringFlag{Name: "name", Usage: "its name"},
			&cli.StringFlag{Name: "user", Usage: "its owner", DefaultText: "who asks"},
			&cli.StringFlag{Name: "queue", Usage: "the leaf queue", DefaultText: "as the cluster maps it"},
			&cli.StringFlag{Name: "type", Usage: "its type", DefaultText: "YARN"},
			&cli.StringSliceFlag{Name: "tag", Usage: "a tag; may be given again"},
			&cli.IntFlag{Name: "priority", Usage: "its priority; higher is served first"},
			&cli.StringFlag{Name: "am", Usage: "the size of its AM", Value: "memory-mb=1024,vcores=1"},
			&cli.BoolFlag{Name: "unmanaged", Usage: "its AM runs outside of the cluster"},
			&cli.BoolFlag{Name: "keep-containers", Usage: "containers stay when an attempt fails"},
			&cli.UintFlag{Name: "max-attempts", Usage: "how many attempts it has", DefaultText: "as the cluster has it"},
			spanFlag("lifetime", "it is ended after so long", 0),
			&cli.StringFlag{Name: "context", Usage: "a file handed to the node that launches the AM"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only check, and explain what would happen"},
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
		fmt.Fprintf(c.p.Out, "would go to %s\n", d.Queue)
	}
	var x api.Explanation
	if len(d.Explain) > 0 && json.Unmarshal(d.Explain, &x) == nil && !c.quiet() {
		return writeExplanation(c.p.Err, x, c.cut())
	}
	return nil
}

func (p *program) appKill() verb {
	return verb{name: "kill", usage: "end applications", args: "ID…", min: 1, max: -1, flags: []cli.Flag{
		&cli.StringFlag{Name: "reason", Usage: "shown in the diagnostics"}, yesFlag(),
	}, run: func(c *call) error {
		if c.NArg() > 1 {
			if err := c.confirm("kill", "%d applications will be killed", c.NArg()); err != nil {
				return err
			}
		}
		for _, id := range c.Args().Slice() {
			if err := c.post("/v1/apps/"+id+":kill", id, api.Kill{Diagnostics: c.String("reason")}, "%s is killed", id); err != nil {
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
		return c.post(path, c.arg(0), api.Move{Queue: c.arg(1)}, "%s is in %s", c.arg(0), c.arg(1))
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
			c.say("the cluster allows no more than %d", d.Priority)
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
