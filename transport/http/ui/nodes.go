package ui

import (
	"cmp"
	"slices"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/ui/amounts"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/download"
	"rmd/transport/http/ui/eventlog"
	"rmd/transport/http/ui/format"
	"rmd/transport/http/ui/nodemap"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// nodeRow is a row in the list of nodes.
type nodeRow struct {
	api.Node
	Bar  bar.Bar // for Kind
	Most float64
	Kind string // its fullest kind
}

func (q *query) nodeRow(n *state.Node) nodeRow {
	r := nodeRow{Node: q.v.Node(n)}
	f, kind := bar.Share(r.Used, r.Total)
	r.Most, r.Kind = f*100, kind
	b := bar.New(r.Total[kind]).Add(r.Used[kind], "used", format.KindValue(kind, r.Used[kind])+" used")
	if r.Reservation != "" {
		b.Add(r.Total[kind]-r.Used[kind], "reserved", "free, kept for "+r.Reservation)
	}
	r.Bar = b.Done(format.KindName(kind) + ": " + format.KindValue(kind, r.Used[kind]) + " of " +
		format.KindValue(kind, r.Total[kind]) + " used")
	return r
}

type nodesData struct {
	Index  uint64
	States []choice
	Racks  []choice
	Labels []choice // empty if the cluster has no labels
	Find   string
	Heads  []column
	Rows   []nodeRow
	Pager  pager
	Counts []stateCount
	Filter bool
	Map    nodemap.Map
	Shapes []nodemap.Shape
}

// nodeKeys are the keys by which a list of nodes can be sorted. By default it is sorted by name.
var nodeKeys = []string{"name", "containers", "free", "used"}

func nodeKey(name string, n *state.Node) int64 {
	switch name {
	case "containers":
		return int64(n.Count)
	case "free":
		return n.Unallocated()[yarn.Memory]
	case "used":
		return n.Allocated[yarn.Memory]
	}
	return 0
}

func nodes(q *query) (any, error) {
	states, err := q.words("state", view.NodeStates)
	if err != nil {
		return nil, err
	}
	sorted, desc, err := q.sorting(nodeKeys, "name")
	if err != nil {
		return nil, err
	}
	after, err := q.cursor()
	if err != nil {
		return nil, err
	}
	part, filtered, err := q.chosenPartition()
	if err != nil {
		return nil, err
	}
	d := nodesData{Index: q.v.Index, Labels: q.labelChoices(q.q.Get("label")), Find: strings.TrimSpace(q.q.Get("find"))}
	rack, find := q.q.Get("rack"), strings.ToLower(d.Find)
	counts := map[string]int{}
	list := q.v.ListedNodes(func(n *state.Node) bool {
		if filtered && n.Label != part.Label || rack != "" && n.Rack != rack ||
			find != "" && !strings.Contains(strings.ToLower(n.ID.Host), find) {
			return false
		}
		name := n.State.String()
		counts[name]++
		return states == nil || states[name]
	})
	t := top[int]{most: q.most(), desc: desc}
	for place, n := range list { // the order by name breaks ties
		t.add(position{key: nodeKey(sorted, n), id: uint64(place) + 1}, place, after)
	}
	rows, next := t.page()
	if q.file != nil {
		kinds := q.kinds()
		fileOf(q, len(rows), func(i int) api.Node { return q.v.Node(list[rows[i].item]) },
			func(n api.Node) download.Row { return download.Node(&n, kinds) })
		return nil, nil
	}
	for _, r := range rows {
		d.Rows = append(d.Rows, q.nodeRow(list[r.item]))
	}
	d.Pager, d.Filter = q.pager("node", t.all, len(rows), next), states != nil || rack != "" || find != "" || filtered
	d.Heads, d.Pager.File = q.nodeHeads(sorted, desc, len(d.Labels) > 0), q.fileLink()
	d.Map, d.Shapes = nodemap.New(list), nodemap.ShapesOf(q.v, list)
	for _, s := range view.NodeStates {
		if counts[s] > 0 || states[s] {
			base := &query{r: q.r, q: without(q.q, "after")}
			d.Counts = append(d.Counts, stateCount{State: s, N: counts[s], Link: base.with("state", s), Chosen: states[s]})
		}
		d.States = append(d.States, choice{Value: s, Text: strings.ToLower(s), Chosen: states[s]})
	}
	racks := q.v.Summary().Racks()
	d.Racks = choices(racks[:min(len(racks), mostRacks)], rack)
	return d, nil
}

// mostRacks is the largest number of racks in the filter.
const mostRacks = 500

func (q *query) nodeHeads(sorted string, desc, labels bool) []column {
	c := func(title, name string, number bool) column { return q.column(title, name, sorted, desc, number) }
	heads := []column{c("Node", "name", false), c("State", "", false)}
	if labels {
		heads = append(heads, c("Label", "", false))
	}
	return append(heads, c("Fullest kind", "", false), c("Uses", "used", true), c("Free", "free", true),
		c("Total", "", true), c("Containers", "containers", true), c("Version", "", false))
}

type nodeData struct {
	Index       uint64
	Node        nodeRow
	Unknown     bool // a listed host that never registered
	Lines       []bar.Usage
	Containers  []containerRow
	Heads       []column // of the table of containers
	More        int
	Reservation *reservationRow
	Warned      warnings
	NowMillis   int64
	Decisions   []decisionRow
	Hour        hourData
}

var nodeContainerColumns = []sortable[containerRow]{
	{title: "Container", name: "container", compare: func(a, b containerRow) int { return strings.Compare(a.ID, b.ID) }},
	{title: "Application", name: "app", compare: func(a, b containerRow) int { return strings.Compare(a.App, b.App) }},
	{title: "State", name: "state", compare: func(a, b containerRow) int { return strings.Compare(a.State, b.State) }},
	{title: "Size", name: "size", compare: func(a, b containerRow) int { return amounts.Compare(a.Size, b.Size) }},
	{title: "Locality", name: "locality", compare: func(a, b containerRow) int {
		return strings.Compare(a.Locality, b.Locality)
	}},
	{title: "Granted", name: "granted", number: true, compare: func(a, b containerRow) int {
		return cmp.Compare(a.AllocatedMillis, b.AllocatedMillis)
	}},
	{title: "Log"},
}

// nodeContainers is the number of containers on the page of a node.
const nodeContainers = 200

func node(q *query) (any, error) {
	n, err := q.v.ListedNode(q.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	st := q.v.State
	d := nodeData{Index: q.v.Index, Node: q.nodeRow(n), NowMillis: q.v.NowMillis}
	q.title = d.Node.ID
	if d.Unknown = n.NeverRegistered(); d.Unknown {
		return d, nil
	}
	for slot := range st.Containers.On(n) {
		d.Containers = append(d.Containers, q.containerRow(slot))
	}
	slices.SortFunc(d.Containers,
		func(a, b containerRow) int {
			return cmp.Or(amounts.Compare(b.Size, a.Size), strings.Compare(a.ID, b.ID))
		})
	d.Warned = q.warnings(func(c *state.Container, _ *state.Preemption) bool { return st.Nodes.Get(c.Node) == n })
	if n.Reservation != 0 {
		r := q.reservationRow(n.Reservation)
		d.Reservation = &r
	}
	for _, kind := range format.KindsThere(d.Node.Total) {
		d.Lines = append(d.Lines, nodeLine(&d, kind))
	}
	if d.Heads, err = sortTable(q, "-size", nodeContainerColumns, d.Containers); err != nil {
		return nil, err
	}
	if len(d.Containers) > nodeContainers {
		d.More, d.Containers = len(d.Containers)-nodeContainers, d.Containers[:nodeContainers]
	}
	if events, err := q.decisions(decisionFilter{node: d.Node.ID}, eventlog.Position{}, overviewDecisions); err == nil {
		d.Decisions = events.Rows
	}
	d.Hour, err = q.lastHour("", d.Node.ID)
	return d, err
}

// nodeLine returns a bar with the containers of a node to scale, and its reserved room.
func nodeLine(d *nodeData, kind string) bar.Usage {
	u := bar.Usage{Kind: kind, Used: d.Node.Used[kind], Most: d.Node.Total[kind], Free: max(d.Node.Free[kind], 0)}
	b := bar.New(u.Most)
	for i, c := range d.Containers {
		class := "used"
		if i%2 == 1 {
			class = "used odd"
		}
		if c.AM {
			class += " am"
		}
		b.Add(c.Size[kind], class, format.ContainerShort(c.ID)+" "+
			format.KindValue(kind, c.Size[kind])).Link("/ui/apps/" + c.App)
	}
	text := format.KindName(kind) + ": " + format.KindValue(kind, u.Used) + " of " +
		format.KindValue(kind, u.Most) + " used"
	if d.Reservation != nil {
		u.Reserved = d.Reservation.Size[kind]
		b.Add(u.Free, "reserved", "free, kept for "+d.Reservation.ID).Link("/ui/reservations/" + d.Reservation.ID)
		b.Limit(u.Most-u.Reserved, "needs", d.Reservation.ID+" needs "+format.KindValue(kind, u.Reserved))
		text += ", " + format.KindValue(kind, u.Free) + " kept free for " + d.Reservation.ID + ", which needs " +
			format.KindValue(kind, u.Reserved)
	}
	u.Bar = b.Done(text)
	return u
}
