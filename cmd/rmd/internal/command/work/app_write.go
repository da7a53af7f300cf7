package work

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
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/thousands"
)

func appSubmit() verb.Verb {
	return verb.Verb{
		Name: "submit", Usage: "submit an application", Flags: []cli.Flag{
			&cli.StringFlag{Name: "id", Usage: "preallocated id (default: assigned)"},
			&cli.StringFlag{Name: "name", Usage: "name"},
			&cli.StringFlag{Name: "user", Usage: "owner", DefaultText: "the caller"},
			verb.Fill(verb.LeafQueues, &cli.StringFlag{Name: "queue", Usage: "leaf queue",
				DefaultText: "from the cluster's queue mappings"}),
			&cli.StringFlag{Name: "type", Usage: "type", DefaultText: "YARN"},
			&cli.StringSliceFlag{Name: "tag", Usage: "tag; repeatable"},
			&cli.IntFlag{Name: "priority", Usage: "priority; higher goes first"},
			&cli.StringFlag{Name: "am", Usage: "size of the AM", Value: "memory-mb=1024,vcores=1"},
			verb.Fill(verb.Labels, &cli.StringFlag{Name: "label", Usage: "node label of requests that name none",
				DefaultText: "the queue's"}),
			verb.Fill(verb.Labels, &cli.StringFlag{Name: "am-label", Usage: "node label of the AM",
				DefaultText: "the cluster's for AMs, or --label"}),
			&cli.BoolFlag{Name: "unmanaged", Usage: "the AM runs outside of the cluster"},
			&cli.BoolFlag{Name: "keep-containers", Usage: "containers survive a failed attempt"},
			&cli.UintFlag{Name: "max-attempts", Usage: "maximum number of attempts", DefaultText: "the cluster's setting"},
			verb.SpanFlag("lifetime", "maximum lifetime", 0),
			verb.Fill(verb.Files, &cli.StringFlag{Name: "context", Usage: "file with the launch context of the AM"}),
			&cli.BoolFlag{Name: "dry-run", Usage: "change nothing; predict the result"},
		},
		Changes: true,
		Examples: []string{"rmd app submit --queue root.batch --name nightly",
			"rmd app submit --queue root.train --am 4GiB,2vc --dry-run"},
		Run: runSubmit,
	}
}

func runSubmit(c *verb.Call) error {
	s := api.Submit{
		ID: c.String("id"), Name: c.String("name"), User: c.String("user"), Queue: c.String("queue"), Type: c.String("type"),
		Tags: c.StringSlice("tag"), Unmanaged: c.Bool("unmanaged"), KeepContainers: c.Bool("keep-containers"),
		MaxAttempts: uint32(c.Uint("max-attempts")), LifetimeMillis: c.Span("lifetime").Milliseconds(),
		Label: c.String("label"), AMLabel: c.String("am-label"), DryRun: c.Bool("dry-run"),
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
		if s.Context, err = verb.ReadFile(file, verb.BodyMax); err != nil {
			return err
		}
	}
	cl, err := c.Client()
	if err != nil {
		return err
	}
	a, err := cl.Post(c.Ctx(), "/v1/apps", s)
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
	if f := c.Format(); f.Machine() || f == output.JSONL || f == output.Name {
		return verb.ShowDone(c, a, d.ID, "")
	}
	if !d.DryRun {
		fmt.Fprintln(c.Program.Out, d.ID)
		c.PrintMessage("submitted to %s, index %d", d.Queue, d.Index)
	} else {
		fmt.Fprintf(c.Program.Out, "would be submitted to %s\n", d.Queue)
	}
	if !s.Unmanaged && len(s.Context) == 0 {
		c.PrintMessage("without --context there is nothing to launch: only simulated nodes run its AM")
	}
	if d.Explain != nil && !c.Quiet() {
		return writeExplanation(c.Program.Err, *d.Explain, "", c.Cut())
	}
	return nil
}

func appKill() verb.Verb {
	return verb.Verb{
		Name: "kill", Usage: "kill applications by id, or all of a queue or a user that have not ended", Args: "ID…",
		Min: 0, Max: -1,
		Long: "With --queue or --user, or both, the oldest --limit applications that match; the command lists them and asks before it kills any. It reports each, and goes on if one cannot be killed.",
		Flags: []cli.Flag{
			verb.Fill(verb.Queues, &cli.StringFlag{Name: "queue", Usage: "all in this queue or below it"}),
			&cli.StringFlag{Name: "user", Usage: "all of this user"},
			verb.Number{IntFlag: &cli.IntFlag{Name: "limit",
				Usage: "with --queue and --user: maximum number of applications", Value: 1000}},
			&cli.StringFlag{Name: "reason", Usage: "text for the diagnostics"},
			verb.DryRunFlag(), verb.YesFlag(),
		},
		Examples: []string{"rmd app kill application_1780000000000_0107 --reason \"wrong input\""},
		Complete: []verb.Source{verb.LiveApps},
		Run:      runKill,
	}
}

func runKill(c *verb.Call) error {
	byFilter := c.String("queue") != "" || c.String("user") != ""
	switch {
	case byFilter && c.NArg() > 0:
		return clierr.Usagef("use one of them", "ids and --queue or --user contradict each other")
	case !byFilter && c.NArg() == 0:
		return clierr.Usagef("usage: "+c.Usage()+", or --queue or --user", "ID is missing")
	case c.Int("limit") < 1:
		return clierr.Usagef("write --limit 100", "--limit must be at least 1")
	}
	cl, err := c.Client()
	if err != nil {
		return err
	}
	ids := c.Args().Slice()
	if byFilter {
		if ids, err = appsToKill(c, cl); err != nil || len(ids) == 0 {
			return err
		}
	}
	if c.Bool("dry-run") {
		return wouldKill(c, cl, ids)
	}
	if byFilter || len(ids) > 1 {
		if err := c.Confirm("kill", "kill %s", thousands.Count(len(ids), "application")); err != nil {
			return err
		}
	}
	return killAll(c, cl, ids)
}

// appsToKill returns the applications that --queue and --user select, the oldest first, and prints
// them for the confirmation.
func appsToKill(c *verb.Call, cl *client.Client) ([]string, error) {
	q := url.Values{"state": {"SUBMITTED,ACCEPTED,RUNNING"}, "order": {"oldest"}}
	for _, name := range []string{"queue", "user"} {
		if v := c.String(name); v != "" {
			q.Set(name, v)
		}
	}
	var ids []string
	for a, err := range cl.Apps(c.Ctx(), q) {
		if err != nil {
			return nil, err
		}
		if len(ids) == c.Int("limit") {
			c.PrintMessage("more applications match than --limit %d; only the oldest %d are killed", len(ids), len(ids))
			break
		}
		ids = append(ids, a.ID)
		if !c.Bool("yes") && !c.Bool("dry-run") {
			c.PrintMessage("%s  %s  %s  %s  %s", a.ID, a.State, a.Queue, a.User, a.Name)
		}
	}
	if len(ids) == 0 {
		c.PrintMessage("no application that has not ended matches")
	}
	return ids, nil
}

// wouldKill prints which applications a kill would end, and which it could not end.
func wouldKill(c *verb.Call, cl *client.Client, ids []string) error {
	for _, id := range ids {
		a, err := cl.App(c.Ctx(), id)
		if err != nil {
			return err
		}
		what := "would kill"
		if a.EndedMillis > 0 {
			what = "has ended already:"
		}
		if _, err := fmt.Fprintf(c.Program.Out, "%s %s  %s  %s  %s  %s\n", what, a.ID, a.State, a.Queue, a.User,
			output.Printable(a.Name)); err != nil {
			return err
		}
	}
	return nil
}

// killAll kills one application after the other. If one cannot be killed, the command continues
// with the others and fails at the end.
func killAll(c *verb.Call, cl *client.Client, ids []string) error {
	var failed []error
	for _, id := range ids {
		was, err := cl.App(c.Ctx(), id)
		var a *client.Answer
		if err == nil {
			id = was.ID // the number at its end may have been given
			a, err = cl.Post(c.Ctx(), "/v1/apps/"+url.PathEscape(id)+":kill", api.Kill{Diagnostics: c.String("reason")})
		}
		if err != nil && (len(ids) == 1 || c.Ctx().Err() != nil) {
			return err
		}
		if err != nil {
			failed = append(failed, err)
			c.PrintMessage("not killed: %s: %v", id, err)
			continue
		}
		did := "killed " + id
		if was.EndedMillis > 0 { // as in YARN, this is no error
			did = fmt.Sprintf("%s has ended already: %s", id, was.State)
		}
		if err := verb.ShowDone(c, a, id, "%s", did); err != nil {
			return err
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s were not killed, the first because of %w", len(failed),
		thousands.Count(len(ids), "application"), failed[0])
}

func appMove() verb.Verb {
	return verb.Verb{Name: "move", Usage: "move an application to another leaf queue", Args: "ID QUEUE", Min: 2, Max: 2,
		Changes:  true,
		Examples: []string{"rmd app move application_1780000000000_0107 root.adhoc"},
		Complete: []verb.Source{verb.LiveApps, verb.LeafQueues},
		Run: func(c *verb.Call) error {
			id, err := appID(c)
			if err != nil {
				return err
			}
			return c.Post("/v1/apps/"+id+":move", id, api.Move{Queue: c.Arg(1)}, "moved %s to %s", id, c.Arg(1))
		}}
}

func appGang() verb.Verb {
	return verb.Verb{Name: "gang", Usage: "declare containers that start together or not at all, or \"none\"",
		Args: "ID GANG", Min: 2, Max: 2,
		Changes:  true,
		Examples: []string{"rmd app gang application_1780000000000_0107 priority=1,count=4,rack=one"},
		Complete: []verb.Source{verb.LiveApps},
		Run: func(c *verb.Call) error {
			id, err := appID(c)
			if err != nil {
				return err
			}
			gang := strings.TrimPrefix(c.Arg(1), "none")
			return c.Post("/v1/apps/"+id+":gang", id, api.Gang{Gang: &gang}, "%s has the gang %s", id, c.Arg(1))
		}}
}

func appPriority() verb.Verb {
	return verb.Verb{Name: "priority", Usage: "change an application's priority", Args: "ID PRIORITY", Min: 2, Max: 2,
		Changes:  true,
		Examples: []string{"rmd app priority application_1780000000000_0107 5"},
		Complete: []verb.Source{verb.LiveApps},
		Run: func(c *verb.Call) error {
			n, err := strconv.ParseInt(c.Arg(1), 10, 32)
			if err != nil {
				return clierr.Usagef("write a whole number", "%q is not a priority", c.Arg(1))
			}
			id, err := appID(c)
			if err != nil {
				return err
			}
			cl, err := c.Client()
			if err != nil {
				return err
			}
			a, err := cl.Post(c.Ctx(), "/v1/apps/"+id+":priority", api.Priority{Priority: int32(n)})
			if err != nil {
				return err
			}
			var d api.Priority
			if err := a.Decode(&d); err != nil {
				return err
			}
			if int64(d.Priority) != n {
				c.PrintMessage("the cluster's maximum is %d", d.Priority)
			}
			return verb.ShowDone(c, a, id, "%s has priority %d", id, d.Priority)
		}}
}
