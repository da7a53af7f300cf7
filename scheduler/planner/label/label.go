package label

import (
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/boolint"
	"rmd/scheduler"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Planner plans inputs about labels.
type Planner struct {
	sched *scheduler.Scheduler
	st    *state.State // the same state as the scheduler's
}

// New returns a planner of the labels in the state of a scheduler.
func New(sched *scheduler.Scheduler) Planner { return Planner{sched: sched, st: sched.State} }

// Refusals in this file have the messages of YARN's CommonNodeLabelsManager and
// RMNodeLabelsManager, which Hadoop's clients print.

// labelBytes limits the names in one request that labels nodes, in bytes, so that its event fits
// into a log entry.
const labelBytes = 4 << 20

// off refuses requests about labels if labels are disabled.
func (p Planner) off() *input.Refusal {
	if !p.sched.Config.LabelSettings.Enabled {
		return input.Refusef(input.LabelsOff, "set it to true",
			"Node-label-based scheduling is disabled. Please check yarn.node-labels.enabled")
	}
	return nil
}

// CheckSettings checks that labels are disabled only if the cluster has none: applications
// could not use the nodes with a label.
func (p Planner) CheckSettings(cfg *capacity.Config) error {
	listed := 0
	p.st.Labels.Each(func(_ state.LabelSlot, l *state.Label) bool { listed += boolint.Of[int](l.Listed); return true })
	if !cfg.LabelSettings.Enabled && listed > 0 {
		return fmt.Errorf("yarn.node-labels.enabled: the cluster has %d labels; remove them before you disable labels",
			listed)
	}
	return nil
}

// Set adds labels to those of the cluster, or changes them.
func (p Planner) Set(in *input.SetLabels) input.Reply {
	labels := trimmedLabels(in.Labels)
	if fault := p.check(labels, in.Change); fault != nil {
		return input.Refuse(in, fault)
	}
	labels = slices.DeleteFunc(labels, func(l event.Label) bool {
		id, listed := p.st.Labels.Listed(l.Name)
		return listed && p.st.Labels.Get(id).Exclusive == l.Exclusive
	})
	if len(labels) > 0 {
		p.sched.Emit(&event.LabelsSet{Labels: labels})
		p.sched.CancelAllUnservable() // a label may have become exclusive
	}
	return in.NewReply()
}

// trimmedLabels returns labels as they are stored: without blanks around them, and each once.
func trimmedLabels(labels []input.Label) []event.Label {
	var out []event.Label
	for _, l := range labels {
		e := event.Label{Name: strings.TrimSpace(l.Name), Exclusive: l.Exclusive}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// check checks labels that are to be added or changed.
func (p Planner) check(labels []event.Label, change bool) *input.Refusal {
	if fault := p.off(); fault != nil {
		return fault
	}
	var differ []string
	unknown := 0
	exclusive := make(map[string]bool, len(labels)) // looked up by key only
	for _, l := range labels {
		id, listed := p.st.Labels.Listed(l.Name)
		before, twice := exclusive[l.Name]
		if twice && before != l.Exclusive || !change && listed && id != 0 && p.st.Labels.Get(id).Exclusive != l.Exclusive {
			differ = append(differ, fmt.Sprintf("<%s:exclusivity=%t>", l.Name, l.Exclusive))
		}
		exclusive[l.Name] = l.Exclusive
		if id == 0 {
			unknown++
		}
	}
	if len(differ) > 0 {
		return input.Refusef(input.InvalidLabel, "run \"rmd label add --change\"",
			"Exclusivity cannot be modified for an existing label with : %s", strings.Join(differ, ","))
	}
	for _, l := range labels {
		if err := capacity.CheckLabelName(l.Name); err != nil {
			return input.Refusef(input.InvalidLabel, "choose another name", "%v", err)
		}
	}
	if p.st.Labels.Len()+unknown > state.MaxLabels {
		return input.Refusef(input.TooLarge, "use the name of a label that was removed",
			"the cluster has had %d labels, and %d more would be above its limit of %d; those that were removed count",
			p.st.Labels.Len(), unknown, state.MaxLabels)
	}
	return nil
}

// Remove removes labels of the cluster.
func (p Planner) Remove(in *input.RemoveLabels) input.Reply {
	var names []string
	for _, name := range in.Names {
		names = append(names, strings.TrimSpace(name))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if fault := p.checkRemoved(names); fault != nil {
		return input.Refuse(in, fault)
	}
	if len(names) == 0 {
		return in.NewReply()
	}
	p.cancelRelabelled(func(n *state.Node) string {
		name := p.st.Labels.Name(n.Label)
		if _, removed := slices.BinarySearch(names, name); removed {
			return ""
		}
		return name
	})
	p.sched.Emit(&event.LabelsRemoved{Names: names})
	p.sched.ActivateAll()
	return in.NewReply()
}

// checkRemoved checks labels that are to be removed.
func (p Planner) checkRemoved(names []string) *input.Refusal {
	if fault := p.off(); fault != nil {
		return fault
	}
	for _, name := range names {
		for i := range p.sched.Config.Queues {
			if q := &p.sched.Config.Queues[i]; slices.Contains(q.Accessible, name) {
				return input.Refusef(input.LabelInUse, "see \"rmd conf get\"",
					"Cannot remove label=%s, because queue=%s is using this label. Please remove label on queue before remove the label", name, q.Path)
			}
		}
	}
	for _, name := range names {
		if name == "" {
			return input.Refusef(input.InvalidLabel, "name a label", "Label to be removed is null or empty")
		}
		if _, listed := p.st.Labels.Listed(name); !listed {
			return input.Refusef(input.NoSuchLabel, "list them with \"rmd label list\"",
				"Node label=%s to be removed doesn't existed in cluster node labels collection.", name)
		}
	}
	return nil
}

// LabelNodes gives hosts and NodeManagers other labels.
func (p Planner) LabelNodes(in *input.LabelNodes) input.Reply {
	nodes, fault := p.labelledNodes(in)
	if fault != nil {
		return input.Refuse(in, fault)
	}
	nodes = p.newlyLabelled(nodes)
	if len(nodes) == 0 {
		return in.NewReply()
	}
	to := make(map[yarn.NodeID]string, len(nodes)) // looked up by key only
	for _, n := range nodes {
		to[n.ID] = n.Label
	}
	p.cancelRelabelled(func(n *state.Node) string {
		if label, ok := to[n.ID]; ok {
			return label
		}
		if label, ok := to[yarn.NodeID{Host: n.ID.Host}]; ok {
			return label
		}
		return p.st.Labels.Name(n.Label)
	})
	p.sched.Emit(&event.NodesLabelled{Nodes: nodes})
	p.sched.ActivateAll()
	return in.NewReply()
}

// labelledNodes checks a request and returns the new label of each host and NodeManager. Hosts come
// before their NodeManagers, as in YARN: a host's label applies to those of its NodeManagers that
// the request does not name.
func (p Planner) labelledNodes(in *input.LabelNodes) ([]event.LabelledNode, *input.Refusal) {
	if fault := p.mayLabelNodes(in); fault != nil {
		return nil, fault
	}
	nodes := make([]event.LabelledNode, 0, len(in.Nodes))
	bytes := 0
	for i := range in.Nodes {
		n := &in.Nodes[i]
		label, fault := p.onlyLabel(n)
		if fault != nil {
			return nil, fault
		}
		bytes += len(n.ID.Host) + len(label)
		nodes = append(nodes, event.LabelledNode{ID: n.ID, Label: label})
	}
	if bytes > labelBytes {
		return nil, input.Refusef(input.TooLarge, "label fewer nodes in one command",
			"the names of hosts and labels have %d bytes, at most %d are taken", bytes, labelBytes)
	}
	slices.SortStableFunc(nodes, func(x, y event.LabelledNode) int { return x.ID.Compare(y.ID) })
	nodes = slices.Compact(nodes)
	for i := range nodes[min(1, len(nodes)):] {
		if nodes[i].ID == nodes[i+1].ID {
			return nil, tooManyLabels(2, nodes[i].ID.Host)
		}
	}
	return nodes, nil
}

// mayLabelNodes checks whether a request may set labels: NodeManagers may only with distributed
// configuration, administrators only without it.
func (p Planner) mayLabelNodes(in *input.LabelNodes) *input.Refusal {
	distributed := p.sched.Config.LabelSettings.Distributed()
	switch fault := p.off(); {
	case fault != nil:
		return fault
	case in.FromNode && !distributed:
		return input.Refusef(input.NotAllowed, "set yarn.node-labels.configuration-type to distributed",
			"NodeManagers do not tell their labels, administrators set them")
	case !in.FromNode && distributed:
		return input.Refusef(input.NotAllowed, "set the labels in the configuration of the NodeManagers",
			"Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not enabled.")
	case in.KnownOnly:
		return p.unknownNodes(in)
	}
	return nil
}

// unknownNodes refuses a request that names nodes that never registered.
func (p Planner) unknownNodes(in *input.LabelNodes) *input.Refusal {
	known := make(map[yarn.NodeID]bool, p.st.Nodes.Len()) // looked up by key only
	p.st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		known[n.ID], known[yarn.NodeID{Host: n.ID.Host}] = true, true
		return true
	})
	var unknown []string
	for _, n := range in.Nodes {
		if !known[n.ID] {
			unknown = append(unknown, n.ID.String())
		}
	}
	if len(unknown) > 0 {
		return input.Refusef(input.NoSuchNode, "list them with \"rmd node list\"",
			"Failed to replace labels as there are unknown nodes:[%s]",
			input.Cut(strings.Join(unknown, ", "), input.MaxAddress))
	}
	return nil
}

// onlyLabel returns the new label of a node; empty if it gets none.
func (p Planner) onlyLabel(n *input.LabelledNode) (string, *input.Refusal) {
	var labels []string
	for _, l := range n.Labels {
		if l = strings.TrimSpace(l); l != "" && !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	switch {
	case n.ID.Host == "":
		return "", input.Refusef(input.InvalidRequest, "name a host, with or without the port of its NodeManager",
			"a node has no host")
	case len(labels) > 1:
		return "", tooManyLabels(len(labels), n.ID.Host)
	case len(labels) == 0:
		return "", nil
	}
	if _, listed := p.st.Labels.Listed(labels[0]); !listed {
		return "", input.Refusef(input.NoSuchLabel, "add it to the labels of the cluster first",
			"Not all labels being replaced contained by known label collections, please check, new labels=[%s]", labels[0])
	}
	return labels[0], nil
}

func tooManyLabels(n int, host string) *input.Refusal {
	return input.Refusef(input.InvalidLabel, "give each node one label",
		"%d labels specified on host=%s, please note that we do not support specifying multiple labels on a single host for now.", n, host)
}

// newlyLabelled removes the nodes whose label does not change, since NodeManagers report their
// labels repeatedly.
func (p Planner) newlyLabelled(nodes []event.LabelledNode) []event.LabelledNode {
	host := "" // the last host whose label changes, and so those of its NodeManagers
	return slices.DeleteFunc(nodes, func(n event.LabelledNode) bool {
		if n.ID.Host == host || !p.st.LabelledHosts.Mapped(n.ID, p.st.Labels.Find(n.Label)) {
			if n.ID.Port == 0 {
				host = n.ID.Host
			}
			return false
		}
		return true
	})
}

// cancelRelabelled cancels the reservations of nodes whose label changes. to returns the new label
// of a node.
func (p Planner) cancelRelabelled(to func(n *state.Node) string) {
	var nodes []state.NodeSlot
	p.st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		if n := p.st.Nodes.Get(r.Node); to(n) != p.st.Labels.Name(n.Label) {
			nodes = append(nodes, r.Node)
		}
		return true
	})
	for _, n := range nodes {
		p.sched.CancelOnNode(n, yarn.CancelNodeRelabelled)
	}
}
