package work

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/yarn"
)

// AppVerbs returns the commands of applications.
func AppVerbs() verb.Verb {
	return verb.Noun("app", "submit, inspect, move and end applications",
		appSubmit(), appList(), appStatus(), appExplain(), appForecast(),
		appWait(), appKill(), appMove(), appPriority(), appGang(),
		appAttempts(), appContainers(), appHistory())
}

// appPath returns the REST path of the application in the first argument.
func appPath(c *verb.Call, tail string) (string, error) {
	if _, short := yarn.ParseApplicationNumber(c.Arg(0)); !short {
		if _, err := yarn.ParseApplicationID(c.Arg(0)); err != nil {
			return "", clierr.Usagef("see rmd app list; the number at the end of an id is enough", "%v", err)
		}
	}
	return "/v1/apps/" + url.PathEscape(c.Arg(0)) + tail, nil
}

// appID returns the whole id of the application that the first argument names. A change says which
// application it changed: the number at the end of an id does not tell.
func appID(c *verb.Call) (string, error) {
	if _, err := appPath(c, ""); err != nil {
		return "", err
	}
	if _, short := yarn.ParseApplicationNumber(c.Arg(0)); !short {
		return c.Arg(0), nil
	}
	cl, err := c.Client()
	if err != nil {
		return "", err
	}
	a, err := cl.App(c.Ctx(), c.Arg(0))
	if err != nil {
		return "", err
	}
	return a.ID, nil
}

// whyLeast is the width at which a reason can be told from others.
const whyLeast = 32

// appColumns are the columns of applications. The reason is what people look for: a narrow terminal
// shows the number of an application, which commands take as its id, and the reason's code.
var appColumns = output.List[api.App]{
	Name:  func(a api.App) string { return a.ID },
	Empty: "no applications match",
	Columns: []output.Column[api.App]{
		{Head: "ID", Text: func(a api.App) string { return a.ID }, Short: verb.ShortApp(func(a api.App) string {
			return a.ID
		})},
		{Head: "STATE", Text: func(a api.App) string { return a.State }},
		verb.QueueColumn(func(a api.App) string { return a.Queue }),
		{Head: "USER", Text: func(a api.App) string { return a.User }, Shrink: true, Spare: 2},
		{Head: "LIVE", Text: func(a api.App) string {
			return output.Number(a.Containers)
		}, Key: func(a api.App) float64 { return float64(a.Containers) }, Right: true},
		{Head: "ASKS", Text: func(a api.App) string {
			return output.Number(a.Outstanding)
		}, Key: func(a api.App) float64 { return float64(a.Outstanding) }, Right: true, Spare: 1},
		{Head: "WAIT", Text: waitedText, Key: func(a api.App) float64 { return float64(a.WaitingMillis) }, Right: true},
		{Head: "NAME", Text: func(a api.App) string { return a.Name }, Shrink: true, Spare: 3},
		{Head: "WHY", Text: func(a api.App) string { return a.WhyText }, Shrink: true, End: true, Least: whyLeast,
			Short: func([]api.App) func(api.App) string { return codeFirst }},
		{Head: "TYPE", Wide: true, Text: func(a api.App) string { return a.Type }},
		{Head: "PRIORITY", Wide: true, Text: func(a api.App) string {
			return output.Number(a.Priority)
		}, Key: func(a api.App) float64 { return float64(a.Priority) }, Right: true},
		{Head: "FINAL", Wide: true, Text: func(a api.App) string { return a.FinalStatus }},
		{Head: "ATTEMPT", Wide: true, Text: func(a api.App) string { return a.AttemptState }},
		{Head: "USED", Wide: true, Text: func(a api.App) string { return a.Used.String() }, Key: func(a api.App) float64 {
			return float64(a.Used[api.MemoryMB])
		}},
		{Head: "RESERVED", Wide: true, Text: func(a api.App) string {
			return a.Reserved.String()
		}, Key: func(a api.App) float64 {
			return float64(a.Reserved[api.MemoryMB])
		}},
		{Head: "PENDING", Wide: true, Text: func(a api.App) string {
			return a.Pending.String()
		}, Key: func(a api.App) float64 {
			return float64(a.Pending[api.MemoryMB])
		}},
		{Head: "RESERVATIONS", Wide: true, Text: func(a api.App) string {
			return output.Number(a.Reservations)
		}, Key: func(a api.App) float64 { return float64(a.Reservations) }, Right: true},
		{Head: "SUBMITTED", Wide: true, Text: func(a api.App) string {
			return output.Time(a.SubmittedMillis)
		}, Key: func(a api.App) float64 { return float64(a.SubmittedMillis) }},
		{Head: "TAGS", Wide: true, Text: func(a api.App) string { return strings.Join(a.Tags, ",") }},
	},
}

// codeFirst returns why an application waits, with the code first: the end of the sentence may be cut.
func codeFirst(a api.App) string {
	if a.Why == "" {
		return a.WhyText
	}
	return a.Why + ": " + a.WhyText
}

// waitedText returns how long an application has been waiting, or "-" if that is not known.
func waitedText(a api.App) string {
	if a.WaitingMillis == 0 {
		return "-"
	}
	return output.Millis(a.WaitingMillis)
}

func appList() verb.Verb {
	return verb.Verb{
		Name: "list", Aliases: []string{"ls"},
		Usage: "list applications; without --all or --state, those that have not ended",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "include ended applications"},
			verb.ManyOf(&cli.StringSliceFlag{Name: "state"}, verb.Named(yarn.ApplicationStates())...),
			verb.Fill(verb.Queues, &cli.StringFlag{Name: "queue", Usage: "only in this queue or below it"}),
			&cli.StringFlag{Name: "user", Usage: "only of this user"},
			&cli.StringFlag{Name: "type", Usage: "only of this type"},
			&cli.StringFlag{Name: "name", Usage: "only with this name"},
			&cli.StringFlag{Name: "tag", Usage: "only with this tag"},
			verb.Number{IntFlag: &cli.IntFlag{Name: "limit", Usage: "maximum number of results", DefaultText: "all"}},
			&cli.BoolFlag{Name: "newest", Usage: "newest first"},
		}, verb.ListFlags(appColumns)...),
		Examples: []string{"rmd app list --queue root.train --sort -wait", "rmd app list --all --state FAILED -o wide",
			"rmd app list --filter user=ann -o name"},
		Run: func(c *verb.Call) error {
			q := url.Values{}
			for _, name := range []string{"queue", "user", "type", "name", "tag"} {
				if v := c.String(name); v != "" {
					q.Set(name, v)
				}
			}
			chosen, err := c.Chosen("state")
			if err != nil {
				return err
			}
			states := strings.Join(chosen, ",")
			if states != "" && c.Bool("all") {
				return clierr.Usagef("use one of them", "--all and --state contradict each other")
			}
			if states == "" && !c.Bool("all") {
				states = "SUBMITTED,ACCEPTED,RUNNING"
			}
			if states != "" {
				q.Set("state", states)
			}
			list := appColumns
			if len(chosen) == 0 && !c.Bool("all") && len(q) == 1 && !c.IsSet("filter") {
				list.Empty = "no application is unfinished; --all shows those that have ended"
			}
			if c.Bool("newest") {
				q.Set("order", "newest")
			}
			if c.IsSet("limit") && c.Int("limit") < 1 {
				return clierr.Usagef("write --limit 100", "--limit must be at least 1")
			}
			return verb.ShowList(c, list, func(ctx context.Context) (verb.Fetched[api.App], error) {
				return verb.Pages(ctx, c, "/v1/apps", "apps", q, c.Int("limit"), func(b []byte) ([]api.App, string, error) {
					var d api.Apps
					err := json.Unmarshal(b, &d)
					return d.Apps, d.Next, err
				})
			})
		},
	}
}

func appStatus() verb.Verb {
	return verb.Verb{Name: "status", Usage: "show the details of an application", Args: "ID", Min: 1, Max: 1,
		Flags: verb.WatchFlags(),
		Examples: []string{"rmd app status application_1780000000000_0107",
			"rmd app status application_1780000000000_0107 -o yaml"},
		Complete: []verb.Source{verb.Apps},
		Run: func(c *verb.Call) error {
			path, err := appPath(c, "")
			if err != nil {
				return err
			}
			return verb.ShowFacts(c, func() string { return c.Arg(0) },
				func(ctx context.Context) ([]byte, []output.Fact, error) {
					var a api.App
					doc, err := c.Get(ctx, path, nil, &a)
					return doc, appFacts(a), err
				})
		}}
}

func appFacts(a api.App) []output.Fact {
	facts := []output.Fact{
		{Name: "id", Value: a.ID}, {Name: "name", Value: a.Name}, {Name: "user", Value: a.User},
		{Name: "queue", Value: a.Queue}, {Name: "type", Value: a.Type},
		{Name: "tags", Value: strings.Join(a.Tags, ", ")}, {Name: "state", Value: a.State},
		{Name: "final status", Value: a.FinalStatus},
		{Name: "priority", Value: output.Number(a.Priority)}, {Name: "label", Value: a.Label},
		{Name: "AM label", Value: a.AMLabel},
		{Name: "attempt", Value: strings.TrimSpace(a.Attempt + " " + a.AttemptState)},
		{Name: "attempts", Value: output.Number(a.Failures) + " failed of " + output.Number(a.MaxAttempts)},
		{Name: "submitted", Value: output.Time(a.SubmittedMillis)}, {Name: "started", Value: output.Time(a.StartedMillis)},
		{Name: "ended", Value: output.Time(a.EndedMillis)},
		{Name: "waited", Value: output.Millis(a.WaitMillis) + " for its AM"}, {Name: "waiting", Value: waitingFact(a)},
		{Name: "used", Value: a.Used.String() + " in " + output.Number(a.Containers) + " containers"},
	}
	if a.Reservations > 0 {
		facts = append(facts, output.Fact{Name: "reserved",
			Value: a.Reserved.String() + " in " + output.Number(a.Reservations) + " reservations"})
	}
	if a.Outstanding > 0 {
		facts = append(facts, output.Fact{Name: "pending",
			Value: a.Pending.String() + " in " + output.Number(a.Outstanding) + " containers"})
	}
	if a.LifetimeMillis > 0 {
		facts = append(facts, output.Fact{Name: "lifetime", Value: output.Millis(a.LifetimeMillis)})
	}
	return append(facts,
		output.Fact{Name: "AM size", Value: a.AM.String()}, output.Fact{Name: "AM host", Value: a.Host},
		output.Fact{Name: "tracking URL", Value: a.TrackingURL},
		output.Fact{Name: "blacklist", Value: strings.Join(a.Blacklist, ", ")},
		output.Fact{Name: "diagnostics", Value: a.Diagnostics})
}

// waitingFact returns what an application waits for, and for how long.
func waitingFact(a api.App) string {
	if a.WaitingMillis == 0 {
		return a.WhyText
	}
	return output.Millis(a.WaitingMillis) + ": " + a.WhyText
}

var attemptColumns = output.List[api.Attempt]{
	Name:  func(a api.Attempt) string { return a.ID },
	Empty: "no attempts",
	Columns: []output.Column[api.Attempt]{
		{Head: "ID", Text: func(a api.Attempt) string { return a.ID }},
		{Head: "STATE", Text: func(a api.Attempt) string { return a.State }},
		{Head: "LIVE", Text: func(a api.Attempt) string { return output.Number(a.Containers) }, Right: true},
		{Head: "STARTED", Text: func(a api.Attempt) string {
			return output.Time(a.StartedMillis)
		}, Key: func(a api.Attempt) float64 { return float64(a.StartedMillis) }},
		{Head: "FINAL", Wide: true, Text: func(a api.Attempt) string { return a.FinalStatus }},
		{Head: "AM-NODE", Wide: true, Text: func(a api.Attempt) string { return a.AMNode }},
		{Head: "AM-CONTAINER", Wide: true, Text: func(a api.Attempt) string { return a.AMContainer }},
		{Head: "DIAGNOSTICS", Wide: true, Text: func(a api.Attempt) string { return a.Diagnostics }, Shrink: true},
	},
}

func appAttempts() verb.Verb {
	return verb.Verb{Name: "attempts", Usage: "list the attempts of an application", Args: "ID", Min: 1, Max: 1,
		Flags:    verb.ListFlags(attemptColumns),
		Examples: []string{"rmd app attempts application_1780000000000_0107 -o wide"},
		Complete: []verb.Source{verb.Apps},
		Run: func(c *verb.Call) error {
			path, err := appPath(c, "/attempts")
			if err != nil {
				return err
			}
			return verb.ShowList(c, attemptColumns, func(ctx context.Context) (f verb.Fetched[api.Attempt], err error) {
				var d api.Attempts
				f.Doc, err = c.Get(ctx, path, nil, &d)
				f.Things = d.Attempts
				return f, err
			})
		}}
}

var containerColumns = output.List[api.Container]{
	Name:  func(k api.Container) string { return k.ID },
	Empty: "no containers",
	Columns: []output.Column[api.Container]{
		{Head: "ID", Text: func(k api.Container) string { return k.ID }},
		verb.NodeColumn("NODE", func(k api.Container) string { return k.Node }),
		{Head: "STATE", Text: func(k api.Container) string { return k.State }},
		{Head: "SIZE", Text: func(k api.Container) string { return k.Size.String() }, Key: func(k api.Container) float64 {
			return float64(k.Size[api.MemoryMB])
		}},
		{Head: "PRIORITY", Wide: true, Text: func(k api.Container) string { return output.Number(k.Priority) }, Right: true},
		{Head: "LOCALITY", Wide: true, Text: func(k api.Container) string { return k.Locality }},
		{Head: "AM", Wide: true, Text: func(k api.Container) string { return output.YesNo(k.AM) }},
		{Head: "ALLOCATED", Wide: true, Text: func(k api.Container) string {
			return output.Time(k.AllocatedMillis)
		}, Key: func(k api.Container) float64 { return float64(k.AllocatedMillis) }},
	},
}

func appContainers() verb.Verb {
	return verb.Verb{Name: "containers", Usage: "list the containers of an application", Args: "ID", Min: 1, Max: 1,
		Flags:    verb.ListFlags(containerColumns),
		Examples: []string{"rmd app containers application_1780000000000_0107 --sort -size"},
		Complete: []verb.Source{verb.Apps},
		Run: func(c *verb.Call) error {
			path, err := appPath(c, "/containers")
			if err != nil {
				return err
			}
			return verb.ShowList(c, containerColumns, func(ctx context.Context) (verb.Fetched[api.Container], error) {
				return verb.Pages(ctx, c, path, "containers", url.Values{}, 0, func(b []byte) ([]api.Container, string, error) {
					var d api.Containers
					err := json.Unmarshal(b, &d)
					return d.Containers, d.Next, err
				})
			})
		}}
}
