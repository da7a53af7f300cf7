package work

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/thousands"
)

// LabelVerbs returns the commands of node labels.
func LabelVerbs() verb.Verb {
	return verb.Noun("label", "node labels, which reserve nodes for some queues and requests",
		labelList(), labelStatus(), labelNodes(), labelAdd(), labelRemove(), labelMap())
}

// noLabel is shown for an empty label.
const noLabel = "-"

func labelText(name string) string {
	if name == "" {
		return noLabel
	}
	return name
}

var labelColumns = output.List[api.Label]{
	Name:  func(l api.Label) string { return l.Name },
	Empty: "no labels",
	Columns: []output.Column[api.Label]{
		{Head: "LABEL", Text: func(l api.Label) string { return labelText(l.Name) }, Shrink: true},
		{Head: "EXCLUSIVE", Text: exclusiveText, Spare: 1},
		{Head: "NODES", Text: func(l api.Label) string {
			return output.Number(l.Nodes)
		}, Key: func(l api.Label) float64 { return float64(l.Nodes) }, Right: true},
		{Head: "USED", Text: func(l api.Label) string {
			return l.Used.String()
		}, Key: memoryOf(func(l api.Label) api.Resource { return l.Used }),
			Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "FREE", Text: func(l api.Label) string {
			return l.Free.String()
		}, Key: memoryOf(func(l api.Label) api.Resource { return l.Free }),
			Shrink: true, End: true, Least: output.AmountLeast},
		{Head: "WAIT", Text: func(l api.Label) string {
			return output.Number(l.WaitingApps)
		}, Key: func(l api.Label) float64 { return float64(l.WaitingApps) }, Right: true},
		{Head: "QUEUES", Wide: true, Text: func(l api.Label) string { return output.Number(l.Queues) }, Right: true},
		{Head: "USABLE-NODES", Wide: true, Text: func(l api.Label) string {
			return output.Number(l.UsableNodes)
		}, Right: true},
		{Head: "TOTAL", Wide: true, Text: func(l api.Label) string {
			return l.Total.String()
		}, Key: memoryOf(func(l api.Label) api.Resource { return l.Total })},
		{Head: "HELD", Wide: true, Text: func(l api.Label) string {
			return l.HeldFree.String()
		}, Key: memoryOf(func(l api.Label) api.Resource { return l.HeldFree })},
		{Head: "USABLE", Wide: true, Text: func(l api.Label) string {
			return l.Usable.String()
		}, Key: memoryOf(func(l api.Label) api.Resource { return l.Figures.Usable })},
		{Head: "RESERVED", Wide: true, Text: func(l api.Label) string {
			return l.Reserved.String()
		}, Key: memoryOf(func(l api.Label) api.Resource { return l.Reserved })},
		{Head: "EMPTY", Wide: true, Text: func(l api.Label) string {
			return output.Number(l.EmptyNodes)
		}, Key: func(l api.Label) float64 { return float64(l.EmptyNodes) }, Right: true},
		{Head: "LARGEST", Wide: true, Text: func(l api.Label) string { return largestText(&l.Room) }},
		{Head: "PENDING", Wide: true, Text: func(l api.Label) string {
			return l.Pending.String()
		}, Key: memoryOf(func(l api.Label) api.Resource { return l.Pending })},
	},
}

// memoryOf returns a sort key: the memory of an amount.
func memoryOf[T any](amount func(T) api.Resource) func(T) float64 {
	return func(t T) float64 { return float64(amount(t)[api.MemoryMB]) }
}

func exclusiveText(l api.Label) string {
	switch {
	case l.Name == "":
		return ""
	case l.Removed:
		return "removed"
	case l.Exclusive:
		return "yes"
	}
	return "no"
}

func labelList() verb.Verb {
	return verb.Verb{Name: "list", Aliases: []string{"ls"},
		Usage: "list the labels; the first line is the nodes without a label", Flags: verb.ListFlags(labelColumns),
		Examples: []string{"rmd label list", "rmd label list -o wide --sort -wait"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, labelColumns, func(ctx context.Context) (verb.Fetched[api.Label], error) {
				var d api.Labels
				doc, err := c.Get(ctx, "/v1/labels", nil, &d)
				if err == nil && !d.Enabled {
					c.PrintMessage("node labels are off: yarn.node-labels.enabled is not true")
				}
				if c.Format() == output.Name && len(d.Labels) > 0 {
					d.Labels = d.Labels[1:] // the row of nodes without a label has no name
				}
				return verb.Fetched[api.Label]{Doc: doc, Things: d.Labels}, err
			})
		}}
}

func labelStatus() verb.Verb {
	return verb.Verb{Name: "status", Usage: "show the details of a label: its queues, and what waits for it",
		Args: "LABEL", Min: 1, Max: 1, Flags: verb.WatchFlags(),
		Examples: []string{"rmd label status gpu"},
		Complete: []verb.Source{verb.Labels},
		Run: func(c *verb.Call) error {
			return verb.ShowFacts(c, func() string { return c.Arg(0) },
				func(ctx context.Context) ([]byte, []output.Fact, error) {
					var d api.LabelDetails
					doc, err := c.Get(ctx, "/v1/labels/"+url.PathEscape(c.Arg(0)), nil, &d)
					return doc, labelFacts(d), err
				})
		}}
}

func labelFacts(d api.LabelDetails) []output.Fact {
	facts := []output.Fact{
		{Name: "label", Value: d.Name}, {Name: "exclusive", Value: exclusiveText(d.Label)},
		{Name: "nodes", Value: fmt.Sprintf("%d, %d usable", d.Nodes, d.UsableNodes)},
		{Name: "total", Value: d.Total.String()}, {Name: "used", Value: d.Used.String()},
		{Name: "free", Value: d.Free.String()},
		{Name: "held free", Value: d.HeldFree.String()}, {Name: "usable", Value: d.Usable.String()},
		{Name: "reserved", Value: d.Reserved.String()}, {Name: "pending", Value: d.Pending.String()},
		{Name: "empty", Value: fmt.Sprintf("%d of %s", d.EmptyNodes, thousands.Count(d.ServingNodes, "node"))},
	}
	facts = append(facts, factsOf("largest free", d.Largest,
		func(l api.LargestRoom) string { return l.Free.String() + " on " + l.Node })...)
	if len(d.Blocked) > 0 {
		facts = append(facts, output.Fact{Name: "blocked", Value: d.Blocked.String() + " by reservations on other nodes"})
	}
	return append(append(facts, factsOf("queues", d.Shares, shareText)...), factsOf("waiting", d.Apps, waitText)...)
}

// factsOf returns one fact per object. Only the first has a name.
func factsOf[T any](name string, list []T, text func(T) string) (facts []output.Fact) {
	for _, t := range list {
		facts = append(facts, output.Fact{Name: name, Value: text(t)})
		name = ""
	}
	return facts
}

func shareText(s api.LabelShare) string {
	text := fmt.Sprintf("%s: %s used, %s guaranteed, at most %s", s.Queue, output.Percent(s.AbsUsed),
		output.Percent(s.AbsCapacity), output.Percent(s.AbsMax))
	if !s.Accessible {
		text += ", may not use it"
	}
	if s.Default {
		text += ", its default"
	}
	return text
}

func waitText(a api.LabelApp) string {
	text := fmt.Sprintf("%s of %s in %s: %s", a.ID, a.User, a.Queue, thousands.Count(int(a.Outstanding), "container"))
	if a.WaitingMillis > 0 {
		text += ", for " + output.Millis(a.WaitingMillis)
	}
	return text
}

var mappedColumns = output.List[api.MappedNode]{
	Name:  func(n api.MappedNode) string { return n.Node },
	Empty: "no host has a label",
	Columns: []output.Column[api.MappedNode]{
		verb.NodeColumn("NODE", func(n api.MappedNode) string { return n.Node }),
		{Head: "LABEL", Text: func(n api.MappedNode) string { return labelText(n.Label) }},
		{Head: "REGISTERED", Text: func(n api.MappedNode) string {
			return output.Number(n.Registered)
		}, Key: func(n api.MappedNode) float64 { return float64(n.Registered) }, Right: true},
	},
}

func labelNodes() verb.Verb {
	return verb.Verb{Name: "nodes", Usage: "list the hosts and NodeManagers that are mapped to labels, registered or not",
		Long: "A host stands for all its NodeManagers. A NodeManager (HOST:PORT) is listed if its label is not its host's. " +
			"REGISTERED is the number of NodeManagers that have the label from this line.",
		Flags: append([]cli.Flag{
			verb.Fill(verb.Labels, &cli.StringFlag{Name: "label", Usage: "only with this label"}),
			verb.Number{IntFlag: &cli.IntFlag{Name: "limit", Usage: "maximum number of results", DefaultText: "all"}},
		}, verb.ListFlags(mappedColumns)...),
		Examples: []string{"rmd label nodes --label gpu"},
		Run: func(c *verb.Call) error {
			return verb.ShowList(c, mappedColumns, func(ctx context.Context) (verb.Fetched[api.MappedNode], error) {
				return verb.Pages(ctx, c, "/v1/labels:map", "nodes", labelQuery(c), c.Int("limit"),
					func(b []byte) ([]api.MappedNode, string, error) {
						var d api.LabelMap
						err := json.Unmarshal(b, &d)
						return d.Nodes, d.Next, err
					})
			})
		}}
}

// labelQuery returns the filter of --label.
func labelQuery(c *verb.Call) url.Values {
	q := url.Values{}
	if c.IsSet("label") {
		q.Set("label", labelFlag(c))
	}
	return q
}

// labelFlag returns the label of --label. It is "" for noLabel.
func labelFlag(c *verb.Call) string {
	if name := c.String("label"); name != noLabel {
		return name
	}
	return ""
}

func labelAdd() verb.Verb {
	return verb.Verb{Name: "add", Usage: "add labels to the cluster, or change whether they are exclusive", Args: "LABEL…",
		Min: 1, Max: -1,
		Long: "An exclusive label keeps its nodes for requests that name it. Nodes with a label that is not exclusive also run containers of requests without a label while they are idle. " +
			"A label that exists keeps its exclusivity, unless --change is given. Running containers go on.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "non-exclusive", Usage: "lend idle nodes to requests without a label"},
			&cli.BoolFlag{Name: "change", Usage: "change the exclusivity of labels that exist"},
			verb.DryRunFlag(),
		},
		Changes:  true,
		Examples: []string{"rmd label add gpu", "rmd label add spot --non-exclusive"},
		Run: func(c *verb.Call) error {
			exclusive, names := !c.Bool("non-exclusive"), c.Args().Slice()
			body := api.AddLabels{Change: c.Bool("change"), DryRun: c.Bool("dry-run")}
			for _, name := range names {
				body.Labels = append(body.Labels, api.NewLabel{Name: name, Exclusive: &exclusive})
			}
			kind := "exclusive"
			if !exclusive {
				kind = "not exclusive"
			}
			return changeLabels(c, "/v1/labels:add", body, body.DryRun, names, "labels of the cluster: %s (%s)",
				strings.Join(names, ", "), kind)
		}}
}

func labelRemove() verb.Verb {
	return verb.Verb{Name: "remove", Aliases: []string{"rm"}, Usage: "remove labels from the cluster and from its nodes",
		Args: "LABEL…", Min: 1, Max: -1,
		Long: "Nodes with the label have no label then, and running containers go on. Requests for the label wait until it is added again. " +
			"A label that a queue lists in accessible-node-labels cannot be removed: change the queue first.",
		Flags:    []cli.Flag{verb.DryRunFlag(), verb.YesFlag()},
		Examples: []string{"rmd label remove gpu --dry-run"},
		Complete: []verb.Source{verb.Labels},
		Run: func(c *verb.Call) error {
			names := c.Args().Slice()
			if !c.Bool("dry-run") {
				check := c.Accepted("/v1/labels:remove", api.RemoveLabels{Names: names, DryRun: true})
				if err := c.ConfirmIf(check, names[0], "remove %s, with the map of its nodes",
					strings.Join(names, ", ")); err != nil {
					return err
				}
			}
			return changeLabels(c, "/v1/labels:remove", api.RemoveLabels{Names: names, DryRun: c.Bool("dry-run")},
				c.Bool("dry-run"), names, "removed %s", strings.Join(names, ", "))
		}}
}

func labelMap() verb.Verb {
	return verb.Verb{Name: "map", Usage: "give nodes a label, or take it away", Args: "NODE[=LABEL]…", Min: 0, Max: -1,
		Long: "NODE is a host with all its NodeManagers, or one NodeManager (HOST:PORT). NODE= takes the label away. Hosts need not be registered. " +
			"The command changes all nodes or none, also 10,000 at once. A node has one label.\n" +
			"Containers that run on a node go on, and count in its new label. A reservation of the node is cancelled.",
		Flags: []cli.Flag{
			verb.Fill(verb.Labels, &cli.StringFlag{Name: "label", Usage: "label of nodes given without =LABEL; - for none"}),
			verb.Fill(verb.Files, &cli.StringFlag{Name: "file",
				Usage: "file with one NODE[=LABEL] a line; - for standard input"}),
			&cli.BoolFlag{Name: "known-only", Usage: "refuse hosts that never registered"},
			verb.DryRunFlag(),
		},
		Changes: true,
		Examples: []string{"rmd label map worker-1=gpu worker-2:8041=gpu", "rmd label map worker-1= --dry-run",
			"rmd label map --label gpu --file nodes.txt"},
		Complete: []verb.Source{verb.NodesAssigned},
		Run:      runLabelMap}
}

func runLabelMap(c *verb.Call) error {
	words := c.Args().Slice()
	if file := c.String("file"); file != "" {
		more, err := lines(c, file)
		if err != nil {
			return err
		}
		words = append(words, more...)
	}
	if len(words) == 0 {
		return clierr.Usagef("usage: "+c.Usage(), "NODE is missing")
	}
	body := api.MapLabels{KnownOnly: c.Bool("known-only"), DryRun: c.Bool("dry-run")}
	var names []string
	for _, w := range words {
		node, label, ok := strings.Cut(w, "=")
		if !ok {
			if !c.IsSet("label") {
				return clierr.Usagef("write NODE=LABEL, or give --label", "%q names no label", w)
			}
			label = labelFlag(c)
		}
		body.Nodes, names = append(body.Nodes, api.NodeLabel{Node: node, Label: label}), append(names, node)
	}
	return changeLabels(c, "/v1/labels:map", body, body.DryRun, names, "labelled %s", thousands.Count(len(names), "node"))
}

// mostLabelLines is the maximum size of a file of nodes in bytes.
const mostLabelLines = 16 << 20

// lines reads the lines of a file that are neither empty nor comments.
func lines(c *verb.Call, file string) (out []string, err error) {
	in := c.Program.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // the file was only read
		in = io.Reader(f)
	}
	text, err := verb.ReadAll(in, mostLabelLines)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out, err
}

var relabelColumns = output.List[api.NodeRelabel]{
	Name:  func(n api.NodeRelabel) string { return n.Node },
	Empty: "no registered node gets another label",
	Columns: []output.Column[api.NodeRelabel]{
		verb.NodeColumn("NODE", func(n api.NodeRelabel) string { return n.Node }),
		{Head: "FROM", Text: func(n api.NodeRelabel) string { return labelText(n.From) }},
		{Head: "TO", Text: func(n api.NodeRelabel) string { return labelText(n.To) }},
		{Head: "LIVE", Text: func(n api.NodeRelabel) string { return output.Number(n.Containers) }, Right: true},
		{Head: "USED", Text: func(n api.NodeRelabel) string { return n.Used.String() },
			Shrink: true, End: true, Least: output.AmountLeast},
	},
}

// changeLabels sends a change of labels and says what it did, or would do.
func changeLabels(c *verb.Call, path string, body any, dryRun bool, names []string, format string, args ...any) error {
	cl, err := c.Client()
	if err != nil {
		return err
	}
	a, err := cl.Post(c.Ctx(), path, body)
	if err != nil {
		return err
	}
	var d api.LabelChange
	if err := a.Decode(&d); err != nil {
		return err
	}
	if len(d.Unregistered) > 0 {
		c.PrintMessage("not registered yet: %s", strings.Join(d.Unregistered, ", "))
	}
	if !dryRun || c.Format().Machine() {
		return verb.ShowDone(c, a, strings.Join(names, "\n"), format, args...)
	}
	o, err := c.Options()
	if err != nil {
		return err
	}
	if err := relabelColumns.Write(c.Program.Out, d.Nodes, o); err != nil {
		return err
	}
	c.PrintMessage("nothing is changed; %s would get another label, %s there would go on, %s would be cancelled",
		thousands.Count(d.Relabelled, "node"), thousands.Count(int(d.Containers), "container"),
		thousands.Count(d.Reservations, "reservation"))
	return nil
}
