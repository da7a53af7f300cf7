package work

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/yarn"
)

// NodeVerbs returns the commands of nodes.
func NodeVerbs() verb.Verb {
	return verb.Noun("node", "the nodes of the cluster (NodeManagers)",
		nodeList(), nodeStatus(), nodeDrain(), nodeForget(), nodeResource())
}

var nodeColumns = output.List[api.Node]{
	Name:  func(n api.Node) string { return n.ID },
	Empty: "no nodes match",
	Columns: []output.Column[api.Node]{
		verb.NodeColumn("ID", func(n api.Node) string { return n.ID }),
		{Head: "STATE", Text: func(n api.Node) string { return n.Condition(time.Now()) }},
		{Head: "LIVE", Text: func(n api.Node) string {
			return output.Number(n.Containers)
		}, Key: func(n api.Node) float64 { return float64(n.Containers) }, Right: true},
		{Head: "USED", Text: func(n api.Node) string { return n.Used.String() }, Key: func(n api.Node) float64 {
			return float64(n.Used[api.MemoryMB])
		}, Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "FREE", Text: freeText, Key: freeMemory, Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "RESERVED", Text: func(n api.Node) string { return n.Reservation }, Spare: 1},
		{Head: "RACK", Wide: true, Text: func(n api.Node) string { return n.Rack }},
		{Head: "TOTAL", Wide: true, Text: totalText, Key: func(n api.Node) float64 {
			return float64(n.Total[api.MemoryMB])
		}},
		{Head: "VERSION", Wide: true, Text: func(n api.Node) string { return n.Version }},
		{Head: "REGISTERED", Wide: true, Text: func(n api.Node) string {
			return output.Time(n.RegisteredMillis)
		}, Key: func(n api.Node) float64 { return float64(n.RegisteredMillis) }},
		{Head: "REPORT", Wide: true, Text: func(n api.Node) string { return n.Report }, Shrink: true, End: true},
		{Head: "LABEL", Wide: true, Text: func(n api.Node) string { return labelText(n.Label) }},
	},
}

// totalText returns what a node has, or "" if that is unknown.
func totalText(n api.Node) string {
	for _, amount := range n.Total { // the order does not matter
		if amount != 0 {
			return n.Total.String()
		}
	}
	return ""
}

// freeText returns the free resources of a node, or "" if the node is not running.
func freeText(n api.Node) string {
	if n.State != yarn.NodeRunning.String() {
		return ""
	}
	return n.Free.String()
}

func freeMemory(n api.Node) float64 {
	if n.State != yarn.NodeRunning.String() {
		return 0
	}
	return float64(n.Free[api.MemoryMB])
}

func nodeList() verb.Verb {
	return verb.Verb{Name: "list", Aliases: []string{"ls"}, Usage: "list the nodes", Flags: append([]cli.Flag{
		verb.ManyOf(&cli.StringSliceFlag{Name: "state"}, verb.Named(yarn.NodeStates())...),
		&cli.StringFlag{Name: "rack", Usage: "only in this rack"},
		verb.Fill(verb.Labels, &cli.StringFlag{Name: "label", Usage: "only with this label; - for none"}),
		verb.Number{IntFlag: &cli.IntFlag{Name: "limit", Usage: "maximum number of results", DefaultText: "all"}},
	}, verb.ListFlags(nodeColumns)...),
		Examples: []string{"rmd node list --state RUNNING --sort -used", "rmd node list --filter reserved!=- -o name"},
		Run: func(c *verb.Call) error {
			q := labelQuery(c)
			if s, err := c.Chosen("state"); err != nil {
				return err
			} else if len(s) > 0 {
				q.Set("state", strings.Join(s, ","))
			}
			if r := c.String("rack"); r != "" {
				q.Set("rack", r)
			}
			return verb.ShowList(c, nodeColumns, func(ctx context.Context) (verb.Fetched[api.Node], error) {
				return verb.Pages(ctx, c, "/v1/nodes", "nodes", q, c.Int("limit"), func(b []byte) ([]api.Node, string, error) {
					var d api.Nodes
					err := json.Unmarshal(b, &d)
					return d.Nodes, d.Next, err
				})
			})
		}}
}

// nodePath returns the REST path of the node in the first argument.
func nodePath(c *verb.Call, tail string) (string, error) { return nodePathOf(c.Arg(0), tail) }

// nodePathOf returns the REST path of a node with an id, or with a host name with or without its
// domain.
func nodePathOf(id, tail string) (string, error) {
	if _, err := yarn.ParseNodeID(id); err != nil && strings.ContainsAny(strings.TrimSuffix(id, ":-1"), ": /") {
		return "", clierr.Usagef("see rmd node list", "%v", err)
	}
	return "/v1/nodes/" + url.PathEscape(id) + tail, nil
}

func nodeStatus() verb.Verb {
	return verb.Verb{Name: "status", Usage: "show the details of a node and its containers", Args: "ID", Min: 1, Max: 1,
		Flags:    verb.WatchFlags(),
		Examples: []string{"rmd node status sim-03:45454"},
		Complete: []verb.Source{verb.Nodes},
		Run: func(c *verb.Call) error {
			path, err := nodePath(c, "/placement")
			if err != nil {
				return err
			}
			var d api.Placement
			return verb.ShowFacts(c, func() string { return c.Arg(0) },
				func(ctx context.Context) ([]byte, []output.Fact, error) {
					d = api.Placement{}
					doc, err := c.Get(ctx, path, nil, &d)
					return doc, nodeFacts(d), err
				},
				func(w io.Writer) error {
					if len(d.Containers) == 0 {
						return nil
					}
					return nodeContainers.Write(w, d.Containers, output.Options{Format: c.Format(), Width: c.Cut()})
				})
		}}
}

// nodeContainers is containerColumns without the node, which all containers of a node have in common.
var nodeContainers = output.List[api.Container]{Columns: slices.DeleteFunc(slices.Clone(containerColumns.Columns),
	func(k output.Column[api.Container]) bool { return k.Head == "NODE" })}

func nodeFacts(d api.Placement) []output.Fact {
	n := d.Node
	facts := []output.Fact{
		{Name: "id", Value: n.ID}, {Name: "state", Value: n.Condition(time.Now())}, {Name: "rack", Value: n.Rack},
		{Name: "label", Value: n.Label}, {Name: "web address", Value: n.HTTPAddress},
		{Name: "version", Value: n.Version}, {Name: "total", Value: totalText(n)}, {Name: "used", Value: n.Used.String()},
		{Name: "free", Value: freeText(n)},
		{Name: "registered", Value: output.Time(n.RegisteredMillis)},
		{Name: "report", Value: n.Report},
	}
	if n.LastHeardMillis > 0 {
		facts = append(facts, output.Fact{Name: "last heard", Value: output.Time(n.LastHeardMillis)})
	}
	if n.DeadlineMillis > 0 {
		facts = append(facts, output.Fact{Name: "drain until", Value: output.Time(n.DeadlineMillis) +
			" at most; then its containers end and it is decommissioned"})
	}
	if n.Drain != nil {
		facts = append(facts, output.Fact{Name: "drain", Value: n.Drain.String()},
			output.Fact{Name: "expected to end", Value: output.Time(n.Drain.ExpectedMillis)})
	}
	if r := d.Reservation; r != nil {
		facts = append(facts, output.Fact{Name: "reservation",
			Value: r.ID + " for " + r.App + ": needs " + r.Size.String() + ", reserved since " + output.Millis(r.AgeMillis)})
	}
	return facts
}

func nodeDrain() verb.Verb {
	return verb.Verb{
		Name: "drain", Usage: "decommission nodes gracefully", Args: "[ID]", Min: 0, Max: 1,
		Long: "The scheduler places no new containers on the node. The node is decommissioned when its last container has ended and all applications that ran there have ended. " +
			"Until then its NodeManager serves the shuffle data of finished tasks, such as map output, so no task runs again. " +
			"At the deadline the node is decommissioned at once: its containers end, its shuffle data is lost, and running jobs repeat the tasks that produced it. " +
			"Without --deadline there is no limit. On a node that already drains, the command replaces the deadline. " +
			"With --choose N instead of ID, the command drains the N running nodes whose loss costs least, and says why it chose each. " +
			"The cost of a node is the work of its containers and of those that end with its ApplicationMasters, and the work behind the data that running applications left there. " +
			"Work is a share of the cluster times the time, such as 12.500 s of the whole cluster.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "choose", Usage: "drain so many nodes, those whose loss costs least", DefaultText: "none"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what --choose would drain"},
			verb.SpanFlag("deadline", "end containers that still run after this time", 0),
			&cli.BoolFlag{Name: "undo", Usage: "put the node back into service"},
			verb.YesFlag(),
		},
		Examples: []string{"rmd node drain sim-03:45454 --deadline 30m", "rmd node drain sim-03:45454 --undo",
			"rmd node drain --choose 2 --dry-run"},
		Complete: []verb.Source{verb.Nodes},
		Run: func(c *verb.Call) error {
			switch {
			case c.IsSet("choose"):
				return drainChosen(c)
			case c.Bool("dry-run"):
				return clierr.Usagef("write --choose N --dry-run", "--dry-run works only with --choose")
			case c.Arg(0) == "":
				return clierr.Usagef("see rmd node drain --help", "give the ID of a node, or --choose N")
			case c.Bool("undo"):
				return undrain(c)
			}
			return drain(c, c.Arg(0))
		},
	}
}

func undrain(c *verb.Call) error {
	path, err := nodePath(c, ":undrain")
	if err != nil {
		return err
	}
	if c.IsSet("deadline") {
		return clierr.Usagef("use one of them", "--undo and --deadline contradict each other")
	}
	cl, err := c.Client()
	if err != nil {
		return err
	}
	a, err := cl.Post(c.Ctx(), path, nil)
	if err != nil {
		return err
	}
	serves := "it serves when its NodeManager registers"
	var now api.Node
	// If the read fails, the drain has ended all the same.
	if _, err := c.Get(c.Ctx(), strings.TrimSuffix(path, ":undrain"), nil, &now); err == nil &&
		now.State == yarn.NodeRunning.String() {
		serves = "it serves again"
	}
	return verb.ShowDone(c, a, c.Arg(0), "%s is no longer drained: %s", c.Arg(0), serves)
}

// drain drains a node as the flags say.
func drain(c *verb.Call, id string) error {
	path, err := nodePathOf(id, ":drain")
	if err != nil {
		return err
	}
	how, until, err := drainFlags(c, id)
	if err != nil {
		return err
	}
	return c.Post(path, id, how, "draining %s%s", id, until)
}

// drainFlags reads the deadline of a drain, and returns it also as text. A deadline below one
// minute needs confirmation.
func drainFlags(c *verb.Call, name string) (how api.Drain, until string, err error) {
	if !c.IsSet("deadline") {
		return how, "", nil
	}
	d := c.Span("deadline")
	if d < time.Minute {
		err = c.Confirm(name, "drain %s and end its containers after %s", name, d)
	}
	return api.Drain{Timeout: api.Duration(d)}, ", for " + d.String() + " at most", err
}

var choiceColumns = output.List[api.DrainChoice]{
	Name:  func(n api.DrainChoice) string { return n.ID },
	Empty: "no node runs",
	Columns: []output.Column[api.DrainChoice]{
		verb.NodeColumn("ID", func(n api.DrainChoice) string { return n.ID }),
		{Head: "LIVE", Text: func(n api.DrainChoice) string { return output.Number(n.Containers) }, Right: true},
		{Head: "AMS", Text: func(n api.DrainChoice) string { return output.Number(n.AMs) }, Right: true},
		{Head: "APPS", Text: func(n api.DrainChoice) string { return output.Number(n.Applications) }, Right: true},
		{Head: "LOSS", Text: func(n api.DrainChoice) string { return n.Reason }},
	},
}

// drainChosen drains the nodes whose loss costs least, or shows them.
func drainChosen(c *verb.Call) error {
	if c.Arg(0) != "" || c.Bool("undo") {
		return clierr.Usagef("use one of them", "--choose, --undo and the ID of a node contradict each other")
	}
	var chosen api.DrainChoices
	fetch := func(ctx context.Context) (verb.Fetched[api.DrainChoice], error) {
		doc, err := c.Get(ctx, "/v1/nodes:choose", url.Values{"count": {strconv.Itoa(c.Int("choose"))}}, &chosen)
		return verb.Fetched[api.DrainChoice]{Doc: doc, Things: chosen.Nodes}, err
	}
	if c.Bool("dry-run") {
		return verb.ShowList(c, choiceColumns, fetch)
	}
	if _, err := fetch(c.Ctx()); err != nil {
		return err
	}
	if len(chosen.Nodes) == 0 {
		c.PrintMessage(choiceColumns.Empty)
		return nil
	}
	var names, told []string
	for _, n := range chosen.Nodes {
		c.PrintMessage("%s: %s", n.ID, n.Reason)
		names = append(names, n.ID)
	}
	how, until, err := drainFlags(c, strings.Join(names, " "))
	if err != nil {
		return err
	}
	for _, name := range names {
		told = append(told, "draining "+name+until)
	}
	return c.Post("/v1/nodes:drain", strings.Join(names, "\n"), api.DrainNodes{Nodes: names, Drain: how}, "%s",
		strings.Join(told, "\n"))
}

func nodeForget() verb.Verb {
	return verb.Verb{Name: "forget", Usage: "remove an inactive node from the cluster's state", Args: "ID", Min: 1, Max: 1,
		Long: "The node must be DECOMMISSIONED, LOST, SHUTDOWN or REBOOTED. If its NodeManager starts again and the lists of hosts admit it, it registers as a new node. " +
			"Inactive nodes that no list of hosts names are removed without this command, after yarn.resourcemanager.node-removal-untracked.timeout-ms.",
		Flags:    []cli.Flag{verb.YesFlag()},
		Examples: []string{"rmd node forget sim-03:45454"},
		Complete: []verb.Source{verb.Nodes},
		Run: func(c *verb.Call) error {
			path, err := nodePath(c, ":forget")
			if err != nil {
				return err
			}
			if err := c.ConfirmIf(c.Exists(strings.TrimSuffix(path, ":forget")), c.Arg(0), "remove node %s",
				c.Arg(0)); err != nil {
				return err
			}
			return c.Post(path, c.Arg(0), nil, "%s is removed", c.Arg(0))
		}}
}

func nodeResource() verb.Verb {
	return verb.Verb{Name: "resource", Usage: "set the total resources of a node", Args: "ID RESOURCE", Min: 2, Max: 2,
		Long:     "RESOURCE is the whole total, for example 384GiB,96vc,8gpu or memory-mb=393216,vcores=96,yarn.io/gpu=8.\nOf a kind that it does not name the node has nothing.",
		Changes:  true,
		Examples: []string{"rmd node resource sim-03:45454 memory-mb=393216,vcores=96,gpu=8"},
		Complete: []verb.Source{verb.Nodes},
		Run: func(c *verb.Call) error {
			path, err := nodePath(c, ":resource")
			if err != nil {
				return err
			}
			total, err := parseResource(c.Arg(1))
			if err != nil {
				return err
			}
			for _, kind := range []string{api.MemoryMB, api.VCores} {
				if _, ok := total[kind]; !ok { // a missing kind would become 0
					return clierr.Usagef("write for example memory-mb=393216,vcores=96",
						"%s is missing; the total must name every resource of the node", kind)
				}
			}
			return c.Post(path, c.Arg(0), api.NodeResource{Total: total}, "%s now has %s", c.Arg(0), total)
		}}
}
