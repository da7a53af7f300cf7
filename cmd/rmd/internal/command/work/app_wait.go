package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/exitcode"
)

const (
	waitFirst = 100 * time.Millisecond
	waitMost  = time.Second
)

func appWait() verb.Verb {
	return verb.Verb{
		Name: "wait", Usage: "wait until an application runs or has ended", Args: "ID", Min: 1, Max: 1,
		Long: "Exit 0: it runs, or finished successfully. 4: it ended FAILED or KILLED. 6: --timeout expired.\nWithout --timeout it waits forever.",
		Flags: []cli.Flag{
			verb.OneOf(&cli.StringFlag{Name: "for", Value: "finished"}, verb.PlainWords("running", "finished")...),
		},
		Examples: []string{"rmd app wait application_1780000000000_0107 --for running --timeout 5m"},
		Complete: []verb.Source{verb.Apps},
		Run:      runWait,
	}
}

func runWait(c *verb.Call) error {
	path, err := appPath(c, "")
	if err != nil {
		return err
	}
	goal := c.String("for")
	ctx := c.Ctx()
	if c.IsSet("timeout") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Span("timeout"))
		defer cancel()
	}
	pause, last := waitFirst, ""
	for {
		var a api.App
		doc, err := c.Get(ctx, path, nil, &a)
		switch {
		case ctx.Err() != nil && c.Ctx().Err() == nil:
			return clierr.New(clierr.CodeTimedOut, "raise --timeout", "%s is %s after %s", c.Arg(0), verb.StateText(last),
				output.Span(c.Span("timeout")))
		case err != nil && clierr.Code(err) != exitcode.NoLeader:
			return err
		case err == nil:
			if a.State != last {
				last = a.State
				c.PrintMessage("%s is %s", a.ID, a.State)
			}
			if done, err := reached(a, goal); done {
				return errors.Join(printApp(c, doc, a), err)
			}
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, waitMost)
		case <-ctx.Done():
		}
		if c.Ctx().Err() != nil {
			return c.Ctx().Err()
		}
	}
}

// reached reports whether the wait is over. The error says that the application failed.
func reached(a api.App, goal string) (bool, error) {
	switch a.State {
	case "FAILED", "KILLED":
		return true, &clierr.Error{Code: "ENDED_" + a.State, What: a.ID + " ended " + a.State + reasonSuffix(a.Diagnostics),
			Exit: exitcode.Ended}
	case "FINISHED":
		if a.FinalStatus == "FAILED" || a.FinalStatus == "KILLED" {
			return true, &clierr.Error{Code: "ENDED_" + a.FinalStatus,
				What: a.ID + " finished with status " + a.FinalStatus + reasonSuffix(a.Diagnostics), Exit: exitcode.Ended}
		}
		return true, nil
	case "RUNNING":
		return goal == "running", nil
	}
	return false, nil
}

func reasonSuffix(diagnostics string) string {
	if diagnostics == "" {
		return ""
	}
	return ": " + diagnostics
}

func printApp(c *verb.Call, doc []byte, a api.App) error {
	switch f := c.Format(); f {
	case output.JSON, output.YAML:
		return output.WriteDocument(c.Program.Out, f, doc)
	case output.JSONL:
		return verb.WriteCompact(c.Program.Out, doc)
	case output.Name:
		_, err := fmt.Fprintln(c.Program.Out, a.ID)
		return err
	}
	_, err := fmt.Fprintln(c.Program.Out, a.State)
	return err
}
