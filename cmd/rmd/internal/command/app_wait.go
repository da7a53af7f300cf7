package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/internal/exitcode"
)

const (
	waitFirst = 100 * time.Millisecond
	waitMost  = time.Second
)

func appWait() verb {
	return verb{
		name: "wait", usage: "wait until an application runs or has ended", args: "ID", min: 1, max: 1,
		long: "Exit 0: it runs, or finished successfully. 4: it ended FAILED or KILLED. 6: --timeout expired.\nWithout --timeout it waits forever.",
		flags: []cli.Flag{
			oneOf(&cli.StringFlag{Name: "for", Value: "finished"}, plainWords("running", "finished")...),
		},
		examples: []string{"rmd app wait application_1780000000000_0107 --for running --timeout 5m"},
		complete: []source{apps},
		run:      runWait,
	}
}

func runWait(c *call) error {
	path, err := c.appPath("")
	if err != nil {
		return err
	}
	goal := c.String("for")
	ctx := c.ctx()
	if c.IsSet("timeout") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.span("timeout").Duration)
		defer cancel()
	}
	pause, last := waitFirst, ""
	for {
		var a api.App
		doc, err := c.get(ctx, path, nil, &a)
		switch {
		case ctx.Err() != nil && c.ctx().Err() == nil:
			return clierr.New(clierr.CodeTimedOut, "raise --timeout", "%s is %s after %s", c.arg(0), stateText(last), c.span("timeout"))
		case err != nil && clierr.Code(err) != exitcode.NoLeader:
			return err
		case err == nil:
			if a.State != last {
				last = a.State
				c.printMessage("%s is %s", a.ID, a.State)
			}
			if done, err := reached(a, goal); done {
				return errors.Join(c.printApp(doc, a), err)
			}
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, waitMost)
		case <-ctx.Done():
		}
		if c.ctx().Err() != nil {
			return c.ctx().Err()
		}
	}
}

// reached reports whether the wait is over. The error says that the application failed.
func reached(a api.App, goal string) (bool, error) {
	switch a.State {
	case "FAILED", "KILLED":
		return true, &clierr.Error{Code: "ENDED_" + a.State, What: a.ID + " ended " + a.State + reasonSuffix(a.Diagnostics), Exit: exitcode.Ended}
	case "FINISHED":
		if a.FinalStatus == "FAILED" || a.FinalStatus == "KILLED" {
			return true, &clierr.Error{Code: "ENDED_" + a.FinalStatus, What: a.ID + " finished with status " + a.FinalStatus + reasonSuffix(a.Diagnostics), Exit: exitcode.Ended}
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

func (c *call) printApp(doc []byte, a api.App) error {
	switch f := c.format(); f {
	case output.JSON, output.YAML:
		return output.WriteDocument(c.p.Out, f, doc)
	case output.JSONL:
		return writeCompact(c.p.Out, doc)
	case output.Name:
		_, err := fmt.Fprintln(c.p.Out, a.ID)
		return err
	}
	_, err := fmt.Fprintln(c.p.Out, a.State)
	return err
}
