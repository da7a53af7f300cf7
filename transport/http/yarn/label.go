package yarnweb

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/yarn"
)

// The documents of node labels: all their values are texts.

// defaultPartition is YARN's name for the nodes without a label.
const defaultPartition = "<DEFAULT_PARTITION>"

func (v *docs) wsLabel(id state.LabelID) obj {
	l := v.State.Labels.Get(uint32(id))
	return obj{{"name", l.Name}, {"exclusivity", strconv.FormatBool(l.Exclusive)}}
}

// wsPartitionInfo is what the nodes of a label have.
func (v *docs) wsPartitionInfo(label state.LabelID) field {
	return field{"partitionInfo", obj{{"resourceAvailable", texts(v.wsResource(v.State.PartitionTotal(label)).doc)}}}
}

// listedLabels are the labels of the cluster, by name.
func (v *docs) listedLabels() []state.LabelID {
	var out []state.LabelID
	v.State.Labels.Each(func(slot uint32, l *state.Label) bool {
		if l.Listed {
			out = append(out, state.LabelID(slot))
		}
		return true
	})
	slices.SortFunc(out, func(x, y state.LabelID) int { return strings.Compare(v.State.LabelName(x), v.State.LabelName(y)) })
	return out
}

// wsLabels lists the labels of the cluster.
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

// wsPartitions lists the default partition and the labels, with the number of their nodes.
func (s *API) wsPartitions(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	nodes := func(id state.LabelID) field { return field{"activeNMs", text(int64(v.State.PartitionNodes(id)))} }
	list := []obj{{{"name", defaultPartition}, {"exclusivity", "true"}, v.wsPartitionInfo(0), nodes(0)}}
	for _, id := range v.listedLabels() {
		list = append(list, append(v.wsLabel(id), v.wsPartitionInfo(id), nodes(id)))
	}
	return s.writeBare(c, "nodeLabelsInfo", filled("nodeLabelInfo", list))
}

// wsNodeToLabels tells of each host and node with a label which it is.
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

// wsLabelMappings tells of each label, or of those asked for, which hosts and nodes have it.
func (s *API) wsLabelMappings(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	asked := c.Query["labels"]
	nodes := map[state.LabelID][]string{}
	for _, n := range v.State.LabelledNodes() {
		nodes[n.Label] = append(nodes[n.Label], n.ID.String())
	}
	var list []obj
	for _, id := range v.listedLabels() {
		if len(nodes[id]) > 0 && (len(asked) == 0 || slices.Contains(asked, v.State.LabelName(id))) {
			list = append(list, obj{{"key", v.wsLabel(id)}, {"value", obj{{"nodes", alone(nodes[id])}, v.wsPartitionInfo(id)}}})
		}
	}
	return s.writeBare(c, "labelsToNodesInfo", obj{{"labelsToNodes", javaMap(list)}})
}

// alone is a list of texts as Java writes it here: a single one by itself.
func alone(list []string) any {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// javaMap is a map as Java writes it: nothing, or its entries.
func javaMap(list []obj) any {
	if len(list) == 0 {
		return nil
	}
	return obj{{"entry", list}}
}

// wsNodeLabels is the label that a host or a node has, or will have when it registers.
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
	if label := v.State.MappedLabel(id); label != 0 {
		list = append(list, v.wsLabel(label))
	}
	return s.writeBare(c, "nodeLabelsInfo", filled("nodeLabelInfo", list))
}

// parseHost reads the name of a node, or of a host, which is one with port 0.
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

// wsAppUsages is what an application has of each partition.
func (v *docs) wsAppUsages(a *state.App) obj {
	none := v.wsResource(yarn.Resource{})
	var list []obj
	for label, u := range v.appUses(a) {
		name := v.State.LabelName(state.LabelID(label))
		if u == (state.Use{}) && label != 0 {
			continue
		}
		list = append(list, obj{{"partitionName", name}, {"used", v.wsResource(u.Used)}, {"reserved", v.wsResource(u.Reserved)},
			{"pending", v.wsResource(u.Pending)}, {"amUsed", v.wsResource(u.AMUsed)}, {"amLimit", none}, {"userAmLimit", none}})
	}
	return obj{{"resourceUsagesByPartition", list}}
}

// appUses sums up what an application has, by label. The state keeps the sum of all labels.
func (v *docs) appUses(a *state.App) []state.Use {
	uses := make([]state.Use, v.State.Labels.Len()+1) // the numbers of labels have no gaps
	if !a.Unmanaged {
		uses[a.AMLabel].AMUsed = a.AM
	}
	if v.State.Labels.Len() == 0 {
		uses[0].Used, uses[0].Reserved, uses[0].Pending = a.Used.Add(a.Reserved), a.Reserved, a.Pending
		return uses
	}
	for _, k := range v.State.ContainersOf(a) {
		if k.State.Live() {
			u := &uses[v.State.Nodes.Get(k.Node).Label]
			u.Used = u.Used.Add(k.Size)
		}
	}
	for _, r := range v.State.ReservationsOf(a) {
		u := &uses[v.State.Nodes.Get(r.Node).Label]
		u.Used, u.Reserved = u.Used.Add(r.Size), u.Reserved.Add(r.Size)
	}
	for _, k := range v.State.AsksOf(a) {
		uses[k.Label].Pending = uses[k.Label].Pending.Add(k.Size.Times(k.Count))
	}
	return uses
}
