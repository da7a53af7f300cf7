package command

import "github.com/urfave/cli/v2"

// tree returns all commands in the order of the help.
func (p *program) tree() []*cli.Command {
	var all []*cli.Command
	group := func(category string, verbs ...verb) []*cli.Command {
		var out []*cli.Command
		for _, v := range verbs {
			c := p.command(v)
			c.Category = category
			out = append(out, c)
		}
		return out
	}
	all = append(all, group("Run",
		devVerb(), serverVerb(), initVerb(), replayVerb(), benchVerbs())...)
	all = append(all, group("Scheduling",
		appVerbs(), nodeVerbs(), labelVerbs(), queueVerbs(), reservationVerbs(), appTokenVerbs(), preemptVerb(), forecastVerbs(), confVerbs(), shadowVerbs(), topVerb(), eventsVerb())...)
	all = append(all, group("Cluster",
		clusterVerbs(), accessVerbs(), autopilotVerbs(), snapshotVerbs(), upgradeVerbs(), logVerbs(), auditVerbs(), metricsVerb())...)
	all = append(all, group("Offline", checkVerb(), recoverVerb(), importVerbs())...)
	all = append(all, group("Other", versionVerb(), completionVerb())...)
	all = append(all, p.complete(), p.command(docsVerbs()))
	return all
}
