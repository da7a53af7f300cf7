package ui

import (
	"net/http"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/format"
	"rmd/transport/http/view"
)

type labelsData struct {
	Index  uint64
	Labels api.Labels
	Rows   []labelRow
}

// labelRow is a row in the list of labels.
type labelRow struct {
	api.Label
	Bar  bar.Bar
	Most float64
	Kind string // the kind of which its nodes have most in use
}

func newLabelRow(l api.Label) labelRow {
	f, kind := bar.Share(l.Used, l.Total)
	b := bar.New(l.Total[kind]).Add(l.Used[kind], "used", format.KindValue(kind, l.Used[kind])+" used").
		Add(l.HeldFree[kind], "reserved", format.KindValue(kind, l.HeldFree[kind])+
			" free, kept for reservations").Add(l.Pending[kind], "pending", format.KindValue(kind, l.Pending[kind])+" pending")
	return labelRow{Label: l, Most: f * 100, Kind: kind,
		Bar: b.Done(format.Sentence(format.KindName(kind)+": "+format.KindValue(kind, l.Used[kind])+" of "+
			format.KindValue(kind, l.Total[kind])+" used",
			format.KindValue(kind, l.Pending[kind])+" pending"))}
}

func labels(q *query) (any, error) {
	d := labelsData{Index: q.v.Index, Labels: q.v.Labels()}
	for _, l := range d.Labels.Labels {
		d.Rows = append(d.Rows, newLabelRow(l))
	}
	return d, nil
}

type labelData struct {
	Index  uint64
	Label  api.LabelDetails
	Usages []bar.Usage
	Rooms  []api.LabelRoom
	Shares []labelShareRow
	Hosts  []api.MappedNode
	More   int // hosts that are not shown
	Fixed  bool
}

// labelShareRow is a queue's share of a label, with a bar.
type labelShareRow struct {
	api.LabelShare
	Bar bar.Bar
	// Percentages of the label's nodes, for the kind with the largest share.
	UsedPct, PendingPct float64
}

// labelHosts is the number of hosts on the page of a label.
const labelHosts = 100

func label(q *query) (any, error) {
	id, err := q.v.FindLabel(q.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	l := q.v.Label(id)
	d := labelData{Index: q.v.Index, Label: l, Usages: bar.Usages(l.Figures),
		Rooms: []api.LabelRoom{{Label: l.Name, Room: l.Room}}, Fixed: q.v.Conf != nil && q.v.Conf.LabelSettings.Distributed()}
	q.title = "Label " + l.Name
	for _, s := range l.Shares {
		d.Shares = append(d.Shares, newLabelShareRow(s, l.Total))
	}
	hosts := q.v.LabelMap(func(h *state.LabelledHost) bool { return h.Label == id })
	for _, h := range hosts[:min(len(hosts), labelHosts)] {
		d.Hosts = append(d.Hosts, q.v.MappedNode(h))
	}
	d.More = len(hosts) - len(d.Hosts)
	return d, nil
}

func newLabelShareRow(s api.LabelShare, total api.Resource) labelShareRow {
	r := newQueueRow(&api.Queue{Path: s.Queue, QueueShare: s.QueueShare}, 0, total)
	return labelShareRow{LabelShare: s, Bar: r.Bar, UsedPct: r.UsedPct + r.ReservedPct, PendingPct: r.PendingPct}
}

// labelShares returns a queue's share of each label.
func (q *query) labelShares(k *api.Queue) (out []labelShareRow) {
	for _, s := range k.Labels {
		out = append(out, newLabelShareRow(s, q.v.Size(q.v.State.PartitionTotal(q.v.State.Labels.Find(s.Label)))))
	}
	return out
}

// labelChoices returns the options of the label filter; "-" is for no label. It returns nil if the
// cluster has no labels.
func (q *query) labelChoices(chosen string) []choice {
	parts := q.v.Partitions()
	if len(parts) == 1 {
		return nil
	}
	out := []choice{{Value: noLabel, Text: "none", Chosen: chosen == noLabel}}
	for _, p := range parts[1:] {
		out = append(out, choice{Value: p.Name(), Text: p.Name(), Chosen: p.Name() == chosen})
	}
	return out
}

// noLabel stands for the nodes without a label in addresses. No label has this name.
const noLabel = "-"

// chosenPartition returns the partition of the label in the address. ok is false if the address has
// no label.
func (q *query) chosenPartition() (p *view.Partition, ok bool, err error) {
	switch name := q.q.Get("label"); name {
	case "":
		return q.v.Partition(0), false, nil
	case noLabel:
		return q.v.Partition(0), true, nil
	default:
		id, err := q.v.FindLabel(name)
		return q.v.Partition(id), true, err
	}
}

// ofLabel returns a queue tree in which QueueShare is each queue's share of a label instead of its
// share of the nodes without a label.
func ofLabel(k api.Queue, label string) api.Queue {
	k.QueueShare = api.QueueShare{}
	for _, s := range k.Labels {
		if s.Label == label {
			k.QueueShare = s.QueueShare
		}
	}
	children := make([]api.Queue, 0, len(k.Children))
	for _, c := range k.Children {
		children = append(children, ofLabel(c, label))
	}
	k.Children = children
	return k
}

func (u *UI) addLabel(w http.ResponseWriter, r *http.Request) error {
	exclusive := r.PostFormValue("exclusive") != "no"
	if err := u.post(r, "/v1/labels:add", api.AddLabels{
		Labels: []api.NewLabel{{Name: strings.TrimSpace(r.PostFormValue("name")), Exclusive: &exclusive}}}); err != nil {
		return err
	}
	done(w, r, "/ui/labels", "label")
	return nil
}

func (u *UI) removeLabel(w http.ResponseWriter, r *http.Request) error {
	if err := u.post(r, "/v1/labels:remove", api.RemoveLabels{Names: []string{r.PathValue("name")}}); err != nil {
		return err
	}
	done(w, r, "/ui/labels", "unlabel")
	return nil
}

// mapLabel gives a label to the nodes in a form, or removes it from them.
func (u *UI) mapLabel(w http.ResponseWriter, r *http.Request) error {
	name, to := r.PathValue("name"), r.PathValue("name")
	if r.PostFormValue("take") != "" {
		to = ""
	}
	body := api.MapLabels{}
	for _, node := range strings.Fields(strings.ReplaceAll(r.PostFormValue("nodes"), ",", " ")) {
		body.Nodes = append(body.Nodes, api.NodeLabel{Node: node, Label: to})
	}
	if len(body.Nodes) == 0 {
		return bad("the form names no node", "write hosts, or host:port for one NodeManager")
	}
	if err := u.post(r, "/v1/labels:map", body); err != nil {
		return err
	}
	done(w, r, "/ui/labels/"+pathSegment(name), "map")
	return nil
}
