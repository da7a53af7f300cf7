package yarnweb

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/yarn"
)

// In the documents of node labels all values are texts.

// defaultPartition is YARN's name for the nodes without a label.
const defaultPartition = "<DEFAULT_PARTITION>"

func (v *docs) wsLabel(id state.LabelSlot) obj {
	l := v.State.Labels.Get(id)
	return obj{{"name", l.Name}, {"exclusivity", strconv.FormatBool(l.Exclusive)}}
}

// wsPartitionInfo returns the field with the resources of a label's nodes.
func (v *docs) wsPartitionInfo(label state.LabelSlot) field {
	return field{"partitionInfo", obj{{"resourceAvailable", texts(v.wsResource(v.State.PartitionTotal(label)).doc)}}}
}

// listedLabels returns the labels of the cluster, sorted by name.
func (v *docs) listedLabels() []state.LabelSlot {
	var out []state.LabelSlot
	v.State.Labels.Each(func(slot state.LabelSlot, l *state.Label) bool {
		if l.Listed {
			out = append(out, slot)
		}
		return true
	})
	slices.SortFunc(out,
		func(x, y state.LabelSlot) int { return strings.Compare(v.State.Labels.Name(x), v.State.Labels.Name(y)) })
	return out
}

func (s *API) wsLabels(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	var list []obj
	for _, id := range v.listedLabels() {
		list = append(list, append(v.wsLabel(id), v.wsPartitionInfo(id)))
	}
	return s.writeBare(c, "nodeLabelsInfo", filled("nodeLabelInfo", list))
}

// wsPartitions lists the default partition and the labels, each with its number of nodes.
func (s *API) wsPartitions(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	nodes := func(id state.LabelSlot) field { return field{"activeNMs", text(int64(v.State.PartitionNodes(id)))} }
	list := []obj{{{"name", defaultPartition}, {"exclusivity", "true"}, v.wsPartitionInfo(0), nodes(0)}}
	for _, id := range v.listedLabels() {
		list = append(list, append(v.wsLabel(id), v.wsPartitionInfo(id), nodes(id)))
	}
	return s.writeBare(c, "nodeLabelsInfo", filled("nodeLabelInfo", list))
}

// wsNodeToLabels lists the hosts and nodes with a label, each with its label.
func (s *API) wsNodeToLabels(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	var list []obj
	for _, n := range v.State.LabelledNodes() {
		list = append(list, obj{{"key", n.ID.String()}, {"value", obj{{"nodeLabelInfo", []obj{v.wsLabel(n.Label)}}}}})
	}
	return s.writeBare(c, "nodeToLabelsInfo", obj{{"nodeToLabels", javaMap(list)}})
}

// wsLabelMappings lists the labels, or only those in the query, each with its hosts and nodes.
func (s *API) wsLabelMappings(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	asked := c.Query["labels"]
	nodes := map[state.LabelSlot][]string{}
	for _, n := range v.State.LabelledNodes() {
		nodes[n.Label] = append(nodes[n.Label], n.ID.String())
	}
	var list []obj
	for _, id := range v.listedLabels() {
		if len(nodes[id]) > 0 && (len(asked) == 0 || slices.Contains(asked, v.State.Labels.Name(id))) {
			list = append(list, obj{{"key", v.wsLabel(id)},
				{"value", obj{{"nodes", listOrText(nodes[id])}, v.wsPartitionInfo(id)}}})
		}
	}
	return s.writeBare(c, "labelsToNodesInfo", obj{{"labelsToNodes", javaMap(list)}})
}

// listOrText returns a list, or its only text, as Java writes it here.
func listOrText(list []string) any {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// javaMap returns a map as Java writes it: nil, or its entries.
func javaMap(list []obj) any {
	if len(list) == 0 {
		return nil
	}
	return obj{{"entry", list}}
}

// wsNodeLabels shows the label that a host or a node has, or will have when it registers.
func (s *API) wsNodeLabels(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	id, err := parseHost(c.Args["id"])
	if err != nil {
		return err
	}
	var list []obj
	if label := v.State.LabelledHosts.LabelOf(id); label != 0 {
		list = append(list, v.wsLabel(label))
	}
	return s.writeBare(c, "nodeLabelsInfo", filled("nodeLabelInfo", list))
}

// parseHost parses the id of a node, or the name of a host, for which the port is 0.
func parseHost(text string) (yarn.NodeID, error) {
	name := text
	if !strings.Contains(name, ":") {
		name += ":0"
	}
	id, err := yarn.ParseNodeID(name)
	if err != nil {
		return id, wsIllegal("Invalid NodeId [" + text + "]. Expected host:port")
	}
	return id, nil
}

// wsAppUsages returns an application's use of each partition.
func (v *docs) wsAppUsages(a *state.App) obj {
	none := v.wsResource(yarn.Resource{})
	var list []obj
	for label, u := range v.appUses(a) {
		name := v.State.Labels.Name(state.LabelSlot(label))
		if u == (state.Use{}) && label != 0 {
			continue
		}
		list = append(list, obj{{"partitionName", name}, {"used", v.wsResource(u.Used)},
			{"reserved", v.wsResource(u.Reserved)},
			{"pending", v.wsResource(u.Pending)}, {"amUsed", v.wsResource(u.AMUsed)}, {"amLimit", none}, {"userAmLimit", none}})
	}
	return obj{{"resourceUsagesByPartition", list}}
}

// appUses returns an application's use by label. The state has only the sum over all labels.
func (v *docs) appUses(a *state.App) []state.Use {
	uses := make([]state.Use, v.State.Labels.Len()+1) // the numbers of labels have no gaps
	if !a.Unmanaged {
		uses[a.AMLabel].AMUsed = a.AM
	}
	if v.State.Labels.Len() == 0 {
		uses[0].Used, uses[0].Reserved, uses[0].Pending = a.Used.Add(a.Reserved), a.Reserved, a.Pending
		return uses
	}
	for _, k := range v.State.Containers.Of(a) {
		if k.State.Live() {
			u := &uses[v.State.Nodes.Get(k.Node).Label]
			u.Used = u.Used.Add(k.Size)
		}
	}
	for _, r := range v.State.Reservations.Of(a) {
		u := &uses[v.State.Nodes.Get(r.Node).Label]
		u.Used, u.Reserved = u.Used.Add(r.Size), u.Reserved.Add(r.Size)
	}
	for _, k := range v.State.Asks.Of(a) {
		uses[k.Label].Pending = uses[k.Label].Pending.Add(k.Size.Times(k.Count))
	}
	return uses
}
