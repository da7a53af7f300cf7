package work

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/conf"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/transport/http/view"
)

// QueueVerbs returns the commands of queues.
func QueueVerbs() verb.Verb {
	return verb.Noun("queue", "the queues and their usage",
		queueList("list", "list the queues", false, "--sort -used", "-o wide"),
		queueList("tree", "show the queues as a tree", true, "--watch"),
		queueStatus(), queuePlace(), queueState("stop", "stop a queue: it takes no new applications, running ones continue"),
		queueState("start", "start a queue: it takes applications again"), queueAdopt())
}

func kind(q verb.FlatQueue) string {
	switch {
	case q.Dynamic():
		return "dynamic"
	case q.Leaf:
		return "leaf"
	}
	return "parent"
}

func queueColumns(tree bool) output.List[verb.FlatQueue] {
	name := func(q verb.FlatQueue) string { return q.Path }
	if tree {
		name = func(q verb.FlatQueue) string { return strings.Repeat("  ", q.Depth) + q.Name }
	}
	number := func(f func(verb.FlatQueue) float64) func(verb.FlatQueue) float64 { return f }
	return output.List[verb.FlatQueue]{
		Name:  func(q verb.FlatQueue) string { return q.Path },
		Empty: "no queues yet; see \"rmd cluster status\"",
		Columns: []output.Column[verb.FlatQueue]{
			verb.QueueColumn(name),
			{Head: "STATE", Text: func(q verb.FlatQueue) string { return q.State }},
			{Head: "SHARE", Text: func(q verb.FlatQueue) string {
				return output.Percent(q.AbsCapacity)
			}, Key: number(func(q verb.FlatQueue) float64 { return q.AbsCapacity }), Right: true},
			{Head: "MAX", Text: func(q verb.FlatQueue) string {
				return output.Percent(q.AbsMax)
			}, Key: number(func(q verb.FlatQueue) float64 { return q.AbsMax }), Right: true},
			{Head: "USED", Text: func(q verb.FlatQueue) string {
				return output.Percent(q.AbsUsed)
			}, Key: number(func(q verb.FlatQueue) float64 { return q.AbsUsed }), Right: true},
			{Head: "APPS", Text: func(q verb.FlatQueue) string {
				return output.Number(q.Apps)
			}, Key: number(func(q verb.FlatQueue) float64 { return float64(q.Apps) }), Right: true},
			{Head: "WAIT", Text: func(q verb.FlatQueue) string {
				return output.Number(q.WaitingApps)
			}, Key: number(func(q verb.FlatQueue) float64 { return float64(q.WaitingApps) }), Right: true},
			{Head: "KIND", Text: kind, Spare: 1},
			{Head: "PENDING", Text: func(q verb.FlatQueue) string {
				return q.Pending.String()
			}, Key: number(func(q verb.FlatQueue) float64 { return float64(q.Pending[api.MemoryMB]) }),
				Shrink: true, End: true, Least: output.AmountLeast},
			{Head: "RESERVED", Wide: true, Text: func(q verb.FlatQueue) string {
				return q.Reserved.String()
			}, Key: number(func(q verb.FlatQueue) float64 { return float64(q.Reserved[api.MemoryMB]) })},
			{Head: "GUARANTEED", Wide: true, Text: func(q verb.FlatQueue) string {
				return q.Guaranteed.String()
			}, Key: number(func(q verb.FlatQueue) float64 { return float64(q.Guaranteed[api.MemoryMB]) })},
			{Head: "IN-USE", Wide: true, Text: func(q verb.FlatQueue) string {
				return q.Used.String()
			}, Key: number(func(q verb.FlatQueue) float64 { return float64(q.Used[api.MemoryMB]) })},
			{Head: "LIVE", Wide: true, Text: func(q verb.FlatQueue) string { return output.Number(q.Containers) }, Right: true},
			{Head: "ORDER", Wide: true, Text: func(q verb.FlatQueue) string { return q.Order }},
			{Head: "CONFIGURED", Wide: true, Text: func(q verb.FlatQueue) string { return q.Configured }},
		},
	}
}

func queueList(name, usage string, tree bool, examples ...string) verb.Verb {
	for i := range examples {
		examples[i] = "rmd queue " + name + " " + examples[i]
	}
	long := fmt.Sprintf(
		"Of the dynamic queues below a queue, which submissions created, a table has the %d with the most applications. "+
			"With --all or --filter, and with -o name, jsonl, json or yaml, it has all.", view.SomeQueues)
	flags := append([]cli.Flag{&cli.BoolFlag{Name: "all", Usage: "show all dynamic queues"}},
		verb.ListFlags(queueColumns(tree))...)
	return verb.Verb{Name: name, Usage: usage, Long: long, Flags: flags, Examples: examples,
		Run: func(c *verb.Call) error {
			ask := url.Values{}
			if f := c.Format(); !c.Bool("all") && !c.IsSet("filter") && (f == output.Table || f == output.Wide) {
				ask.Set("dynamic", strconv.Itoa(view.SomeQueues))
			}
			return verb.ShowList(c, queueColumns(tree), func(ctx context.Context) (f verb.Fetched[verb.FlatQueue], err error) {
				var d api.Queues
				f.Doc, err = c.Get(ctx, "/v1/queues", ask, &d)
				f.Things = verb.Flatten(d.Root, 0)
				for _, q := range f.Things {
					if q.MoreDynamic > 0 {
						c.PrintMessage(
							"%s more dynamic queues below %s have no more applications than those that are shown; --all shows them",
							output.Number(q.MoreDynamic), q.Path)
					}
				}
				return f, err
			})
		}}
}

func queueStatus() verb.Verb {
	return verb.Verb{Name: "status", Usage: "show the details of a queue", Args: "QUEUE", Min: 1, Max: 1,
		Flags:    verb.WatchFlags(),
		Examples: []string{"rmd queue status root.train"},
		Complete: []verb.Source{verb.Queues},
		Run: func(c *verb.Call) error {
			return verb.ShowFacts(c, func() string { return c.Arg(0) },
				func(ctx context.Context) ([]byte, []output.Fact, error) {
					var q api.Queue
					doc, err := c.Get(ctx, "/v1/queues/"+url.PathEscape(c.Arg(0)),
						url.Values{"dynamic": {strconv.Itoa(view.SomeQueues)}}, &q)
					return doc, queueFacts(q), err
				})
		}}
}

func queueFacts(q api.Queue) []output.Fact {
	facts := []output.Fact{
		{Name: "queue", Value: q.Path}, {Name: "state", Value: q.State}, {Name: "creation", Value: q.Creation},
		{Name: "creates queues", Value: q.AutoCreate}, {Name: "order", Value: q.Order},
		{Name: "capacity", Value: fmt.Sprintf("%s configured, %s of the cluster: %s", q.Configured,
			output.Percent(q.AbsCapacity), q.Guaranteed)},
		{Name: "maximum", Value: fmt.Sprintf("%s of the cluster: %s", output.Percent(q.AbsMax), q.Max)},
		{Name: "used", Value: fmt.Sprintf("%s of its capacity, %s of the cluster: %s", output.Percent(q.UsedPercent),
			output.Percent(q.AbsUsed), q.Used)},
		{Name: "reserved", Value: q.Reserved.String()}, {Name: "pending", Value: q.Pending.String()},
		{Name: "apps", Value: fmt.Sprintf("%d: %d active, %d pending, %d non-runnable", q.Apps, q.ActiveApps, q.PendingApps,
			q.NonRunnableApps)},
		{Name: "containers", Value: output.Number(q.Containers)}, {Name: "default label", Value: q.DefaultLabel},
	}
	if q.Leaf {
		facts = append(facts, output.Fact{Name: "AM share", Value: fmt.Sprintf("%s of %s", q.AMUsed, q.AMLimit)},
			output.Fact{Name: "user limit", Value: strings.TrimSpace(q.UserLimit + "%, factor " + q.UserLimitFactor)})
	}
	facts = append(facts, factsOf("labels", q.Labels, func(s api.LabelShare) string {
		return fmt.Sprintf("%s: %s used of %s, at most %s, %s pending", s.Label, s.Used, s.Guaranteed, s.Max, s.Pending)
	})...)
	facts = append(facts, factsOf("users", q.Users, func(u api.User) string {
		return fmt.Sprintf("%s: %s of %s, %d apps, %d pending", u.Name, u.Used, u.Limit, u.Apps, u.PendingApps)
	})...)
	facts = append(facts, factsOf("below it", q.Children, func(k api.Queue) string {
		return fmt.Sprintf("%s: %s of the cluster in use", k.Path, output.Percent(k.AbsUsed))
	})...)
	if q.MoreDynamic > 0 {
		facts = append(facts, output.Fact{Name: "more below it",
			Value: output.Number(q.MoreDynamic) + " dynamic queues without more applications"})
	}
	return facts
}

func queueState(name, usage string) verb.Verb {
	long := "The state lasts until the opposite command, or until a new configuration states the queue's state."
	v := verb.Verb{Name: name, Usage: usage, Long: long, Args: "QUEUE", Min: 1, Max: 1, Changes: true,
		Examples: []string{"rmd queue " + name + " root.adhoc"}, Complete: []verb.Source{verb.Queues},
		Run: func(c *verb.Call) error {
			if name == "stop" && c.Arg(0) == "root" {
				if err := c.Confirm("root", "stop root, so that the cluster takes no new applications"); err != nil {
					return err
				}
			}
			done := map[string]string{"stop": "takes no new applications", "start": "takes applications"}[name]
			return c.Post("/v1/queues/"+url.PathEscape(c.Arg(0))+":"+name, c.Arg(0), nil, "%s %s", c.Arg(0), done)
		}}
	if name == "stop" {
		v.Long += " Stopping root needs a confirmation."
		v.Flags = []cli.Flag{verb.YesFlag()}
	}
	return v
}

func queueAdopt() verb.Verb {
	long := "A submission created the queue, and it is removed when it is idle. Adopted, it is in the configuration with the properties that it has now, and stays. " +
		"Dynamic queues above it are adopted with it; those below it stay dynamic."
	return verb.Verb{Name: "adopt", Usage: "make a dynamic queue one of the configuration", Long: long, Args: "QUEUE",
		Min: 1, Max: 1, Flags: conf.ApplyFlags(),
		Changes:  true,
		Examples: []string{"rmd queue adopt root.users.ann --dry-run", "rmd queue adopt root.users.ann"},
		Run: func(c *verb.Call) error {
			cl, err := c.Client()
			if err != nil {
				return err
			}
			q := url.Values{}
			if text := c.String("comment"); text != "" {
				q.Set("comment", text)
			}
			return conf.SendConf(c, cl, client.Request{Method: http.MethodPost,
				Path: "/v1/queues/" + url.PathEscape(c.Arg(0)) + ":adopt", Query: q}, c.Uint64("if-version"))
		}}
}

func queuePlace() verb.Verb {
	return verb.Verb{
		Name: "place", Usage: "show where the placement rules send a submission",
		Long: "It says which rule decides, and which rules matched before it and could not place. " +
			"Nothing is submitted. The limits of the queue, and who may submit to it, are not looked at.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "user", Usage: "user who submits", DefaultText: "who runs the command"},
			&cli.StringFlag{Name: "groups", Usage: "groups of the user, the primary one first, separated by commas"},
			&cli.StringFlag{Name: "name", Usage: "name of the application", Value: "N/A"},
			verb.Fill(verb.Queues, &cli.StringFlag{Name: "queue", Usage: "queue that the client names"}),
			&cli.StringSliceFlag{Name: "tag", Usage: "tag of the application; repeatable"},
			&cli.StringFlag{Name: "tag-groups", Usage: "groups of the user that a tag userid=NAME names"},
			verb.Fill(verb.Files, &cli.StringFlag{Name: "file",
				Usage: "queue configuration to look at, in place of the one in force"}),
		}, verb.WatchFlags()...),
		Examples: []string{"rmd queue place --user ann --groups staff,etl --name nightly",
			"rmd queue place --user ann --file capacity-scheduler.xml"},
		Run: func(c *verb.Call) error {
			ask := api.PlaceInQueue{User: c.String("user"), Groups: commaList(c.String("groups")), Name: c.String("name"),
				Queue: c.String("queue"),
				Tags:  c.StringSlice("tag"), TagGroups: commaList(c.String("tag-groups"))}
			if ask.User == "" {
				ask.User = verb.LoginName()
			}
			if file := c.String("file"); file != "" {
				props, err := conf.ReadProperties(file)
				if err != nil {
					return err
				}
				ask.Properties = conf.AsMap(props)
			}
			var d api.QueuePlacement
			return verb.ShowFacts(c, func() string { return d.Queue }, func(ctx context.Context) ([]byte, []output.Fact, error) {
				cl, err := c.Client()
				if err != nil {
					return nil, nil, err
				}
				a, err := cl.Post(ctx, "/v1/queues:place", ask)
				if err != nil {
					return nil, nil, err
				}
				d = api.QueuePlacement{}
				err = a.Decode(&d)
				return a.Body, placementFacts(d), err
			})
		},
	}
}

func commaList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

func placementFacts(d api.QueuePlacement) []output.Fact {
	by := "the queue that the client named; no rule decided"
	switch {
	case d.NotAsked:
		by = "the queue that the client named; rules do not override it"
	case d.Rule > 0:
		by = fmt.Sprintf("rule %d of %d: %s", d.Rule, d.Rules, d.Text)
	}
	facts := []output.Fact{{Name: "queue", Value: verb.Dashed(d.Queue)}, {Name: "by", Value: by}}
	if d.Create {
		facts = append(facts, output.Fact{Name: "create", Value: "the submission creates the queue"})
	}
	if d.Refused != "" {
		facts = append(facts, output.Fact{Name: "refused", Value: d.Refused})
	}
	if d.TagUser != "" {
		facts = append(facts, output.Fact{Name: "for", Value: d.TagUser + ", whom a tag names"})
	}
	return append(facts, factsOf("matched", d.Steps, stepText)...)
}

func stepText(s api.QueuePlacementStep) string {
	text := fmt.Sprintf("rule %d (%s): ", s.Rule, s.Text)
	switch {
	case s.Result == "set":
		return text + "%default is " + s.Queue + " for the rules behind"
	case s.Why == "" && s.Queue != "":
		return text + "placed in " + s.Queue
	case s.Why == "":
		return text + s.Result
	}
	return text + map[string]string{"skipped": "fell back to the next rule", "rejected": "rejected",
		"default": "fell back to " + s.Queue}[s.Result] + ": " + s.Why
}
