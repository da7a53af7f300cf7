package command

import "github.com/urfave/cli/v2"

// tree returns all commands in the order of the help.
func (p *program) tree() []*cli.Command {
	group := func(category string, commands ...*cli.Command) []*cli.Command {
		for _, c := range commands {
			c.Category = category
		}
		return commands
	}
	var all []*cli.Command
	all = append(all, group("Run",
		p.command(p.dev()), p.command(p.server()), p.command(p.initFiles()), p.command(p.replay()), p.bench())...)
	all = append(all, group("Scheduling",
		p.applications(), p.nodes(), p.labels(), p.queues(), p.reservations(), p.command(p.preempt()), p.forecasts(), p.conf(), p.shadow(), p.command(p.top()), p.command(p.events()))...)
	all = append(all, group("Cluster",
		p.cluster(), p.access(), p.autopilot(), p.snapshots(), p.upgrade(), p.log(), p.audit(), p.command(p.metrics()))...)
	all = append(all, group("Offline", p.command(p.check()), p.command(p.recover()), p.imports())...)
	all = append(all, group("Other", p.command(p.version()), p.command(p.completion()))...)
	all = append(all, p.complete(), p.docs())
	return all
}
