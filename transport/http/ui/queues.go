package ui

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/transport/http/ui/amounts"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/download"
	"rmd/transport/http/ui/format"
	"rmd/transport/http/ui/plots"
	"rmd/transport/http/ui/siblings"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// queueRow is a row in the tree of queues.
type queueRow struct {
	api.Queue
	Depth int
	Bar   bar.Bar
	// Percentages of the cluster, for the kind with the largest use.
	UsedPct, ReservedPct, PendingPct float64
	Kind                             string       // that kind; empty if nothing is used
	Alone                            api.Resource // what it uses, without what is reserved
	AMPct                            float64      // of the limit for AMs
	Running, Waiting                 int          // applications in the subtree
	below                            []api.Queue
}

var queueColumns = []sortable[queueRow]{
	{title: "Queue", name: "queue", compare: func(a, b queueRow) int { return strings.Compare(a.Path, b.Path) }},
	{title: "Share of the cluster"},
	{title: "Used", name: "used", number: true, compare: func(a, b queueRow) int {
		return cmp.Compare(a.UsedPct, b.UsedPct)
	}},
	{title: "Guaranteed", name: "guaranteed", number: true, compare: func(a, b queueRow) int {
		return cmp.Compare(a.AbsCapacity, b.AbsCapacity)
	}},
	{title: "Pending", name: "pending", number: true, compare: func(a, b queueRow) int {
		return cmp.Compare(a.PendingPct, b.PendingPct)
	}},
	{title: "Waiting", name: "waiting", number: true, compare: func(a, b queueRow) int {
		return cmp.Compare(a.Waiting, b.Waiting)
	}},
	{title: "Running", name: "running", number: true, compare: func(a, b queueRow) int {
		return cmp.Compare(a.Running, b.Running)
	}},
	{title: "Maximum", name: "maximum", number: true, compare: func(a, b queueRow) int {
		return cmp.Compare(a.AbsMax, b.AbsMax)
	}},
	{title: "Reserved", name: "reserved", number: true, compare: func(a, b queueRow) int {
		return cmp.Compare(a.ReservedPct, b.ReservedPct)
	}},
	{title: "For AMs", name: "ams", number: true, compare: func(a, b queueRow) int {
		return cmp.Compare(a.AMPct, b.AMPct)
	}},
	{title: "Active users", hint: activeUsers, name: "users", number: true, compare: func(a, b queueRow) int {
		return cmp.Compare(a.ActiveUsers, b.ActiveUsers)
	}},
}

// activeUsers explains a column: somebody whose applications have all that they want is not counted.
const activeUsers = "Users with an application that waits for containers. They share the user limit."

// queueRows lists a tree from its root, with bars relative to the whole cluster. Children come
// after their parent, in the order of compare.
func (q *query) queueRows(root *api.Queue, total api.Resource, compare func(a, b queueRow) int) []queueRow {
	counts := q.v.Summary().Tree()
	row := func(k *api.Queue, depth int) queueRow {
		r := newQueueRow(k, depth, total)
		t := &counts[q.v.State.Queues.Find(k.Path)]
		r.Running, r.Waiting = int(t.ByState[yarn.AppRunning]), t.ForAM()
		r.below = k.Children
		return r
	}
	var out []queueRow
	var walk func(r queueRow)
	walk = func(r queueRow) {
		out = append(out, r)
		var children []queueRow
		for i := range r.below {
			children = append(children, row(&r.below[i], r.Depth+1))
		}
		slices.SortStableFunc(children, compare)
		for _, c := range children {
			walk(c)
		}
	}
	walk(row(root, 0))
	return out
}

// asConfigured keeps the order of the configuration.
func asConfigured(queueRow, queueRow) int { return 0 }

// wholeCluster is the length of the bars of queues, which stands for the whole cluster.
const wholeCluster = 100_000

func newQueueRow(k *api.Queue, depth int, total api.Resource) queueRow {
	r := queueRow{Queue: *k, Depth: depth}
	r.Children = nil
	_, kind := bar.Share(k.Used, total)
	r.Kind = kind
	part := func(x api.Resource) float64 {
		if kind == "" || total[kind] <= 0 {
			return 0
		}
		return float64(x[kind]) / float64(total[kind])
	}
	r.Alone = amounts.Sub(k.Used, k.Reserved)
	used, reserved, pending := part(r.Alone), part(k.Reserved), part(k.Pending)
	r.UsedPct, r.ReservedPct, r.PendingPct = used*100, reserved*100, pending*100
	if f, kind := bar.Share(k.AMUsed, k.AMLimit); kind != "" {
		r.AMPct = f * 100
	}
	b := bar.New(wholeCluster)
	b.Add(int64(used*wholeCluster), "used", format.Percent(r.UsedPct)+" used")
	b.Add(int64(reserved*wholeCluster), "reserved", format.Percent(r.ReservedPct)+" reserved")
	b.Add(int64(pending*wholeCluster), "pending", format.Percent(r.PendingPct)+" pending")
	b.Limit(int64(k.AbsCapacity/100*wholeCluster), "guaranteed", format.Percent(k.AbsCapacity)+" guaranteed")
	if k.AbsMax < 100 {
		b.Limit(int64(k.AbsMax/100*wholeCluster), "most", "at most "+format.Percent(k.AbsMax))
	}
	r.Bar = b.Done(format.Sentence(k.Path+": "+format.Percent(r.UsedPct)+" used",
		format.Percent(r.ReservedPct)+" reserved",
		format.Percent(r.PendingPct)+" pending", format.Percent(k.AbsCapacity)+" guaranteed",
		"at most "+format.Percent(k.AbsMax)))
	return r
}

type queuesData struct {
	Index   uint64
	Version uint64
	Heads   []column
	Rows    []queueRow
	Labels  []choice      // empty if the cluster has no labels
	Label   string        // the label whose nodes are shown
	Waits   template.HTML // a plot; empty without applications
	File    string        // address of the tree as a file
}

func queues(q *query) (any, error) {
	some := view.SomeQueues
	if q.file != nil {
		some = view.AllQueues
	}
	doc := q.v.Queues(some)
	d := queuesData{Index: q.v.Index, Version: doc.Version, Waits: plots.Waits(q.v), File: q.fileLink()}
	heads, compare, err := orderOf(q, "queue", queueColumns)
	if err != nil {
		return nil, err
	}
	part, _, err := q.chosenPartition()
	if err != nil {
		return nil, err
	}
	d.Label = part.Name()
	d.Labels = q.labelChoices(cmp.Or(d.Label, noLabel))
	if doc.Root != nil {
		root := *doc.Root
		if part.Label != 0 {
			root = ofLabel(root, d.Label)
		}
		if d.Labels != nil {
			heads[1].Title = "Share of these nodes"
		}
		d.Heads, d.Rows = heads, q.queueRows(&root, q.v.Size(q.v.State.PartitionTotal(part.Label)), compare)
	}
	if q.file != nil {
		kinds := q.kinds()
		fileOf(q, len(d.Rows), func(i int) queueRow { return d.Rows[i] },
			func(r queueRow) download.Row { return download.Queue(&r.Queue, r.Running, r.Waiting, kinds) })
	}
	return d, nil
}

type queueData struct {
	Index    uint64
	Version  uint64
	Queue    queueRow
	Below    []queueRow
	Dynamic  dynamicQueues // its dynamic children, if there are many
	Heads    []column      // of the table of users
	Usages   []queueUsage
	Labels   []labelShareRow
	Labelled bool // the cluster has labels
	Hour     hourData
	Settings []setting
	Siblings *siblings.Form // nil if it has no children in the configuration
	Apps     []appRow
	More     bool
	// Loses sums up the warned containers of its own applications, Gains those of other queues'
	// applications whose room it gets.
	Loses, Gains warnings
}

var queueUserColumns = []sortable[api.User]{
	{title: "User", name: "user", compare: func(a, b api.User) int { return strings.Compare(a.Name, b.Name) }},
	{title: "Uses", name: "used", compare: func(a, b api.User) int { return amounts.Compare(a.Used, b.Used) }},
	{title: "Limit", name: "limit", compare: func(a, b api.User) int { return amounts.Compare(a.Limit, b.Limit) }},
	{title: "For AMs", name: "ams", compare: func(a, b api.User) int { return amounts.Compare(a.AMUsed, b.AMUsed) }},
	{title: "Active applications", name: "active", number: true, compare: func(a, b api.User) int {
		return cmp.Compare(a.ActiveApps, b.ActiveApps)
	}},
	{title: "Waiting applications", name: "waiting", number: true, compare: func(a, b api.User) int {
		return cmp.Compare(a.PendingApps, b.PendingApps)
	}},
	{title: "Active user", hint: activeUsers},
}

// queueUsage is a queue's use of one kind.
type queueUsage struct {
	Kind                                   string
	Used, Reserved, Pending, Own, Most, AM int64
	AMLimit                                int64
	Bar                                    bar.Bar
}

func queue(q *query) (any, error) {
	slot, err := q.v.FindQueue(q.r.PathValue("path"))
	if err != nil {
		return nil, err
	}
	of := q.v.Queue(slot, view.SomeQueues)
	k := &of
	total := q.v.Size(q.v.State.PartitionTotal(0))
	d := queueData{Index: q.v.Index, Version: q.v.State.Versions.Current().Version, Queue: newQueueRow(k, 0, total)}
	q.title = k.Path
	if k.MoreDynamic > 0 {
		if d.Dynamic, err = q.dynamicBelow(slot, total); err != nil {
			return nil, err
		}
		k.Children = slices.DeleteFunc(k.Children, func(c api.Queue) bool { return c.Dynamic() })
	}
	if len(k.Children) > 0 {
		d.Below = q.queueRows(k, total, asConfigured)[1:]
	}
	for _, kind := range format.KindsThere(total) {
		d.Usages = append(d.Usages, newQueueUsage(k, kind, total[kind]))
	}
	if len(d.Dynamic.Heads) == 0 { // otherwise ?sort is for the dynamic queues, and only leaf queues have users
		if d.Heads, err = sortTable(q, "-used", queueUserColumns, d.Queue.Users); err != nil {
			return nil, err
		}
	}
	d.Labelled, d.Labels = len(q.v.Partitions()) > 1, q.labelShares(k)
	d.Settings, d.Siblings = q.settings(k), siblings.Of(q.v, k, d.Version)
	d.Apps, d.More = q.appsOf(slot)
	d.Loses, d.Gains = q.warnedOf(k.Path)
	d.Hour, err = q.lastHour(k.Path, "")
	return d, err
}

func newQueueUsage(k *api.Queue, kind string, total int64) queueUsage {
	u := queueUsage{Kind: kind, Used: k.Used[kind] - k.Reserved[kind], Reserved: k.Reserved[kind],
		Pending: k.Pending[kind],
		Own:     k.Guaranteed[kind], Most: k.Max[kind], AM: k.AMUsed[kind], AMLimit: k.AMLimit[kind]}
	b := bar.New(total).Add(u.Used, "used", format.KindValue(kind, u.Used)+" used").Add(u.Reserved, "reserved",
		format.KindValue(kind, u.Reserved)+" reserved").
		Add(u.Pending, "pending", format.KindValue(kind, u.Pending)+" pending").Limit(u.Own, "guaranteed",
		format.KindValue(kind, u.Own)+" guaranteed")
	if u.Most < total {
		b.Limit(u.Most, "most", "at most "+format.KindValue(kind, u.Most))
	}
	u.Bar = b.Done(format.KindName(kind) + ": " +
		format.Sentence(format.KindValue(kind, u.Used)+" used", format.KindValue(kind, u.Reserved)+" reserved",
			format.KindValue(kind, u.Own)+" guaranteed"))
	return u
}

// queueApps is the number of applications on the page of a queue.
const queueApps = 15

// appsOf returns the applications of a leaf queue that have not ended: first those that wait, then
// the others, each in the order of submission.
func (q *query) appsOf(slot state.QueueSlot) ([]appRow, bool) {
	t := top[state.AppSlot]{most: queueApps}
	q.v.Summary().Each(false, func(a *summary.App) bool {
		if a.Queue == slot && !a.State.Ended() {
			key := int64(1)
			if a.Waits() {
				key = 0
			}
			t.add(position{key: key, id: uint64(a.Seq)}, a.Slot, cursor{})
		}
		return true
	})
	return q.appRows(&t)
}
