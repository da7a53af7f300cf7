package command

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/internal/thousands"
)

func appSubmit() verb {
	return verb{
		name: "submit", usage: "submit an application", flags: []cli.Flag{
			&cli.StringFlag{Name: "id", Usage: "preallocated id (default: assigned)"},
			&cli.StringFlag{Name: "name", Usage: "name"},
			&cli.StringFlag{Name: "user", Usage: "owner", DefaultText: "the caller"},
			fill(leafQueues, &cli.StringFlag{Name: "queue", Usage: "leaf queue", DefaultText: "from the cluster's queue mappings"}),
			&cli.StringFlag{Name: "type", Usage: "type", DefaultText: "YARN"},
			&cli.StringSliceFlag{Name: "tag", Usage: "tag; repeatable"},
			&cli.IntFlag{Name: "priority", Usage: "priority; higher goes first"},
			&cli.StringFlag{Name: "am", Usage: "size of the AM", Value: "memory-mb=1024,vcores=1"},
			fill(labels, &cli.StringFlag{Name: "label", Usage: "node label of requests that name none", DefaultText: "the queue's"}),
			fill(labels, &cli.StringFlag{Name: "am-label", Usage: "node label of the AM", DefaultText: "the cluster's for AMs, or --label"}),
			&cli.BoolFlag{Name: "unmanaged", Usage: "the AM runs outside of the cluster"},
			&cli.BoolFlag{Name: "keep-containers", Usage: "containers survive a failed attempt"},
			&cli.UintFlag{Name: "max-attempts", Usage: "maximum number of attempts", DefaultText: "the cluster's setting"},
			spanFlag("lifetime", "maximum lifetime", 0),
			fill(files, &cli.StringFlag{Name: "context", Usage: "file with the launch context of the AM"}),
			&cli.BoolFlag{Name: "dry-run", Usage: "change nothing; predict the result"},
		},
		examples: []string{"rmd app submit --queue root.batch --name nightly", "rmd app submit --queue root.train --am memory=4096,vcores=2 --dry-run"},
		run:      runSubmit,
	}
}

func runSubmit(c *call) error {
	s := api.Submit{
		ID: c.String("id"), Name: c.String("name"), User: c.String("user"), Queue: c.String("queue"), Type: c.String("type"),
		Tags: c.StringSlice("tag"), Unmanaged: c.Bool("unmanaged"), KeepContainers: c.Bool("keep-containers"),
		MaxAttempts: uint32(c.Uint("max-attempts")), LifetimeMillis: c.span("lifetime").Milliseconds(), Label: c.String("label"), AMLabel: c.String("am-label"), DryRun: c.Bool("dry-run"),
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
		if s.Context, err = readFile(file, bodyMax); err != nil {
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
		c.printMessage("submitted to %s, index %d", d.Queue, d.Index)
	} else {
		fmt.Fprintf(c.p.Out, "would be submitted to %s\n", d.Queue)
	}
	if d.Explain != nil && !c.quiet() {
		return writeExplanation(c.p.Err, *d.Explain, "", c.cut())
	}
	return nil
}

func appKill() verb {
	return verb{
		name: "kill", usage: "kill applications by id, or all of a queue or a user that have not ended", args: "ID…", min: 0, max: -1,
		long: "With --queue or --user, or both, the oldest --limit applications that match; the command lists them and asks before it kills any. It reports each, and goes on if one cannot be killed.",
		flags: []cli.Flag{
			fill(queues, &cli.StringFlag{Name: "queue", Usage: "all in this queue or below it"}),
			&cli.StringFlag{Name: "user", Usage: "all of this user"},
			&cli.IntFlag{Name: "limit", Usage: "with --queue and --user: maximum number of applications", Value: 1000},
			&cli.StringFlag{Name: "reason", Usage: "text for the diagnostics"},
			dryRunFlag(), yesFlag(),
		},
		examples: []string{"rmd app kill application_1780000000000_0107 --reason \"wrong input\""},
		complete: []source{liveApps},
		run:      runKill,
	}
}

func runKill(c *call) error {
	byFilter := c.String("queue") != "" || c.String("user") != ""
	switch {
	case byFilter && c.NArg() > 0:
		return clierr.Usagef("use one of them", "ids and --queue or --user contradict each other")
	case !byFilter && c.NArg() == 0:
		return clierr.Usagef("usage: "+c.usage()+", or --queue or --user", "ID is missing")
	case c.Int("limit") < 1:
		return clierr.Usagef("write --limit 100", "--limit must be at least 1")
	}
	cl, err := c.client()
	if err != nil {
		return err
	}
	ids := c.Args().Slice()
	if byFilter {
		if ids, err = c.appsToKill(cl); err != nil || len(ids) == 0 {
			return err
		}
	}
	if c.Bool("dry-run") {
		return c.wouldKill(cl, ids)
	}
	if byFilter || len(ids) > 1 {
		if err := c.confirm("kill", "kill %s", thousands.Count(len(ids), "application")); err != nil {
			return err
		}
	}
	return c.killAll(cl, ids)
}

// appsToKill returns the applications that --queue and --user select, the oldest first, and prints
// them for the confirmation.
func (c *call) appsToKill(cl *client.Client) ([]string, error) {
	q := url.Values{"state": {"SUBMITTED,ACCEPTED,RUNNING"}, "order": {"oldest"}}
	for _, name := range []string{"queue", "user"} {
		if v := c.String(name); v != "" {
			q.Set(name, v)
		}
	}
	var ids []string
	for a, err := range cl.Apps(c.ctx(), q) {
		if err != nil {
			return nil, err
		}
		if len(ids) == c.Int("limit") {
			c.printMessage("more applications match than --limit %d; only the oldest %d are killed", len(ids), len(ids))
			break
		}
		ids = append(ids, a.ID)
		if !c.Bool("yes") && !c.Bool("dry-run") {
			c.printMessage("%s  %s  %s  %s  %s", a.ID, a.State, a.Queue, a.User, a.Name)
		}
	}
	if len(ids) == 0 {
		c.printMessage("no application that has not ended matches")
	}
	return ids, nil
}

// wouldKill prints which applications a kill would end, and which it could not end.
func (c *call) wouldKill(cl *client.Client, ids []string) error {
	for _, id := range ids {
		a, err := cl.App(c.ctx(), id)
		if err != nil {
			return err
		}
		what := "would kill"
		if a.EndedMillis > 0 {
			what = "has ended already:"
		}
		if _, err := fmt.Fprintf(c.p.Out, "%s %s  %s  %s  %s  %s\n", what, a.ID, a.State, a.Queue, a.User, output.Printable(a.Name)); err != nil {
			return err
		}
	}
	return nil
}

// killAll kills one application after the other. If one cannot be killed, the command continues
// with the others and fails at the end.
func (c *call) killAll(cl *client.Client, ids []string) error {
	var failed []error
	for _, id := range ids {
		was, err := cl.App(c.ctx(), id)
		var a *client.Answer
		if err == nil {
			a, err = cl.Post(c.ctx(), "/v1/apps/"+url.PathEscape(id)+":kill", api.Kill{Diagnostics: c.String("reason")})
		}
		if err != nil && (len(ids) == 1 || c.ctx().Err() != nil) {
			return err
		}
		if err != nil {
			failed = append(failed, err)
			c.printMessage("not killed: %s: %v", id, err)
			continue
		}
		did := "killed " + id
		if was.EndedMillis > 0 { // as in YARN, this is no error
			did = fmt.Sprintf("%s has ended already: %s", id, was.State)
		}
		if err := showDone(c, a, id, "%s", did); err != nil {
			return err
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s were not killed, the first because of %w", len(failed), thousands.Count(len(ids), "application"), failed[0])
}

func appMove() verb {
	return verb{name: "move", usage: "move an application to another leaf queue", args: "ID QUEUE", min: 2, max: 2,
		examples: []string{"rmd app move application_1780000000000_0107 root.adhoc"},
		complete: []source{liveApps, leafQueues},
		run: func(c *call) error {
			path, err := c.appPath(":move")
			if err != nil {
				return err
			}
			return c.post(path, c.arg(0), api.Move{Queue: c.arg(1)}, "moved %s to %s", c.arg(0), c.arg(1))
		}}
}

func appGang() verb {
	return verb{name: "gang", usage: "declare containers that start together or not at all, or \"none\"", args: "ID GANG", min: 2, max: 2,
		examples: []string{"rmd app gang application_1780000000000_0107 priority=1,count=4,rack=one"},
		complete: []source{liveApps},
		run: func(c *call) error {
			path, err := c.appPath(":gang")
			if err != nil {
				return err
			}
			gang := strings.TrimPrefix(c.arg(1), "none")
			return c.post(path, c.arg(0), api.Gang{Gang: &gang}, "%s has the gang %s", c.arg(0), c.arg(1))
		}}
}

func appPriority() verb {
	return verb{name: "priority", usage: "change an application's priority", args: "ID PRIORITY", min: 2, max: 2,
		examples: []string{"rmd app priority application_1780000000000_0107 5"},
		complete: []source{liveApps},
		run: func(c *call) error {
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
				c.printMessage("the cluster's maximum is %d", d.Priority)
			}
			return showDone(c, a, c.arg(0), "%s has priority %d", c.arg(0), d.Priority)
		}}
}
