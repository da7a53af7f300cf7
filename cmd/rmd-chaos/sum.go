package main

import (
	"context"

	"rmd/jepsen-lite/scenario"
)

const sumHelp = `rmd-chaos sum: add up the results of several runs

Usage: rmd-chaos sum DIR... [FLAGS]

Each DIR is the --out of a run. The command prints how often each fault was
injected, how long no write was acknowledged after the kill of a leader, and the
result of each check. The exit code is 9 if a run failed.

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
		return usagef("use rmd-chaos sum DIR...", "DIR is missing")
	}
	sum, err := scenario.SumUp(c.args)
	if err != nil {
		return filef("name the --out directories of rmd-chaos run", "%v", err)
	}
	if err := c.write(sum.WriteText, sum); err != nil {
		return err
	}
	if len(sum.Failed) > 0 {
		return failed(exitCheckFailed, "CHECK_FAILED", "read index.html in their directories", "%d of %d runs failed",
			len(sum.Failed), sum.Runs)
	}
	return nil
}
