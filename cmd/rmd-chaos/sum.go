package main

import (
	"context"

	"rmd/jepsen-lite/scenario"
)

const sumHelp = `rmd-chaos sum: add up the results of several runs

Usage: rmd-chaos sum DIR... [FLAGS]

Each DIR is the --out of a run. It tells how often every fault was done, how
long no write was acknowledged after a leader was killed, and what was checked.
Exit 9 when one of the runs does not pass.

Flags:
   -o, --output FORMAT    table|json|yaml (default: table)

Example:
   rmd-chaos sum kills night
`

func sumRuns(_ context.Context, c *call) error {
	if err := c.parse(-1); err != nil {
		return err
	}
	if len(c.args) == 0 {
		return usagef("write rmd-chaos sum DIR...", "DIR is missing")
	}
	sum, err := scenario.SumUp(c.args)
	if err != nil {
		return filef("name directories that rmd-chaos run has written", "%v", err)
	}
	if err := c.write(sum.WriteText, sum); err != nil {
		return err
	}
	if len(sum.Failed) > 0 {
		return failed(exitCheckFailed, "CHECK_FAILED", "read the index.html of each", "%d of %d runs do not pass", len(sum.Failed), sum.Runs)
	}
	return nil
}
