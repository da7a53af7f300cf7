package admin

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
)

// UpgradeVerbs returns the commands of versions and the feature level.
func UpgradeVerbs() verb.Verb {
	return verb.Noun("upgrade", "program versions and the feature level", upgradeStatus(), upgradeFinalize())
}

func upgradeStatus() verb.Verb {
	return verb.Verb{Name: "status", Usage: "show versions and feature level", Flags: verb.WatchFlags(),
		Examples: []string{"rmd upgrade status"},
		Run: func(c *verb.Call) error {
			return verb.ShowFacts(c, func() string { return "upgrade" },
				func(ctx context.Context) ([]byte, []output.Fact, error) {
					var d api.Upgrade
					doc, err := c.Get(ctx, "/v1/upgrade", nil, &d)
					facts := []output.Fact{{Name: "level in force", Value: output.Number(d.Level)},
						{Name: "all voters know", Value: output.Number(d.Available)}}
					for _, id := range verb.Sorted(d.Versions) {
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

func upgradeFinalize() verb.Verb {
	return verb.Verb{
		Name: "finalize", Usage: "raise the feature level; after that, older versions can no longer join",
		Flags:    []cli.Flag{verb.DryRunFlag(), verb.YesFlag()},
		Examples: []string{"rmd upgrade finalize"},
		Run: func(c *verb.Call) error {
			cl, err := c.Client()
			if err != nil {
				return err
			}
			a, err := cl.Get(c.Ctx(), "/v1/upgrade", nil)
			if err != nil {
				return err
			}
			var d api.Upgrade
			if err := a.Decode(&d); err != nil {
				return err
			}
			if d.Available <= d.Level {
				return verb.ShowDone(c, a, "upgrade", "level %d is in force; the voters know no higher level", d.Level)
			}
			if c.Bool("dry-run") {
				return verb.ShowDone(c, a, "upgrade", "level %d would become %d", d.Level, d.Available)
			}
			if err := c.Confirm("finalize", "raise level %d to %d, after which older versions can no longer join", d.Level,
				d.Available); err != nil {
				return err
			}
			if a, err = cl.Post(c.Ctx(), "/v1/upgrade:finalize", nil); err != nil {
				return err
			}
			return verb.ShowDone(c, a, "upgrade", "level %d is in force", d.Available)
		},
	}
}
