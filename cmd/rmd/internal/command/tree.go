package command

import (
	"github.com/urfave/cli/v2"

	"rmd/cmd/rmd/internal/command/admin"
	"rmd/cmd/rmd/internal/command/conf"
	"rmd/cmd/rmd/internal/command/replica"
	"rmd/cmd/rmd/internal/command/trial"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/cmd/rmd/internal/command/work"
)

// tree returns all commands in the order of the help.
func tree(p *verb.Program) []*cli.Command {
	var all []*cli.Command
	group := func(category string, verbs ...verb.Verb) []*cli.Command {
		var out []*cli.Command
		for _, v := range verbs {
			c := p.Command(v)
			c.Category = category
			out = append(out, c)
		}
		return out
	}
	all = append(all, group("Run",
		replica.DevVerb(), replica.ServerVerb(), replica.InitVerb(), trial.ReplayVerb(), trial.BenchVerbs())...)
	all = append(all, group("Scheduling",
		work.AppVerbs(), work.NodeVerbs(), work.LabelVerbs(), work.QueueVerbs(), work.ReservationVerbs(),
		work.AppTokenVerbs(), trial.PreemptVerb(), work.ForecastVerbs(), conf.ConfVerbs(), trial.ShadowVerbs(),
		work.TopVerb(), work.EventsVerb())...)
	all = append(all, group("Cluster",
		admin.ClusterVerbs(), admin.AccessVerbs(), admin.AutopilotVerbs(), admin.SnapshotVerbs(), admin.UpgradeVerbs(),
		work.LogVerbs(), work.AuditVerbs(), work.MetricsVerb())...)
	all = append(all, group("Offline", replica.CheckVerb(), replica.RecoverVerb(), replica.ImportVerbs())...)
	all = append(all, group("Other", versionVerb(), completionVerb())...)
	all = append(all, complete(p), p.Command(docsVerbs()))
	return all
}
