package command

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/output"
)

func upgradeVerbs() verb {
	return noun("upgrade", "program versions and the feature level", upgradeStatus(), upgradeFinalize())
}

func upgradeStatus() verb {
	return verb{name: "status", usage: "show versions and feature level", flags: watchFlags(),
		examples: []string{"rmd upgrade status"},
		run: func(c *call) error {
			return showFacts(c, func() string { return "upgrade" }, func(ctx context.Context) ([]byte, []output.Fact, error) {
				var d api.Upgrade
				doc, err := c.get(ctx, "/v1/upgrade", nil, &d)
				facts := []output.Fact{{Name: "level in force", Value: output.Number(d.Level)}, {Name: "all voters know", Value: output.Number(d.Available)}}
				for _, id := range sorted(d.Versions) {
					facts = append(facts, output.Fact{Name: "version of " + id, Value: d.Versions[id]})
				}
				turns := strings.Join(d.TurnsOn, "\n")
				if turns == "" {
					turns = "nothing"
				}
				return doc, append(facts, output.Fact{Name: "finalize turns on", Value: turns}), err
			})
		}}
}

func upgradeFinalize() verb {
	return verb{
		name: "finalize", usage: "raise the feature level; after that, older versions can no longer join", flags: []cli.Flag{dryRunFlag(), yesFlag()},
		examples: []string{"rmd upgrade finalize"},
		run: func(c *call) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			a, err := cl.Get(c.ctx(), "/v1/upgrade", nil)
			if err != nil {
				return err
			}
			var d api.Upgrade
			if err := a.Decode(&d); err != nil {
				return err
			}
			if d.Available <= d.Level {
				return showDone(c, a, "upgrade", "level %d is in force; the voters know no higher level", d.Level)
			}
			if c.Bool("dry-run") {
				return showDone(c, a, "upgrade", "level %d would become %d", d.Level, d.Available)
			}
			if err := c.confirm("finalize", "raise level %d to %d, after which older versions can no longer join", d.Level, d.Available); err != nil {
				return err
			}
			if a, err = cl.Post(c.ctx(), "/v1/upgrade:finalize", nil); err != nil {
				return err
			}
			return showDone(c, a, "upgrade", "level %d is in force", d.Available)
		},
	}
}
