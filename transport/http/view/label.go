package view

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// mostListed is the largest length of a list in documents about labels.
const mostListed = 100

// labels makes the parts of documents about labels.
type labels struct{ *View }

// Labels returns the document of all labels, which begins with the nodes without a label.
func (v *View) Labels() api.Labels {
	d := api.Labels{Labels: []api.Label{}}
	if v.Conf != nil {
		d.Enabled, d.Source = v.Conf.LabelSettings.Enabled, v.Conf.LabelSettings.Source.String()
	}
	l := labels{v}
	nodes, waits := l.nodesByLabel(), map[state.LabelSlot]int{}
	l.eachWait(func(_ *summary.App, labels []state.LabelSlot) {
		for _, l := range labels {
			waits[l]++
		}
	})
	for _, p := range v.Partitions() {
		d.Labels = append(d.Labels, l.label(p, nodes[p.Label], waits[p.Label]))
	}
	return d
}

// FindLabel returns the label with a name.
func (v *View) FindLabel(name string) (state.LabelSlot, error) {
	for _, p := range v.Partitions() {
		if p.Label != 0 && p.Name() == name {
			return p.Label, nil
		}
	}
	return 0, problem.New("NO_SUCH_LABEL", fmt.Sprintf("there is no label %q", name), "see \"rmd label list\"")
}

// Label returns the document of a label.
func (v *View) Label(label state.LabelSlot) api.LabelDetails {
	l, p := labels{v}, v.Partition(label)
	d := api.LabelDetails{Shares: []api.LabelShare{}, Apps: l.waitingFor(label)}
	d.Label = l.label(p, l.nodesByLabel()[label], len(d.Apps))
	d.Apps = d.Apps[:min(len(d.Apps), mostListed)]
	sums := v.QueueSums()
	l.eachQueue(func(slot state.QueueSlot) {
		if p.Shows(slot) {
			d.Shares = append(d.Shares, l.labelShare(p, slot, sums))
		}
	})
	return d
}

// nodesByLabel counts the registered nodes of each label.
func (v labels) nodesByLabel() map[state.LabelSlot]int {
	counts := map[state.LabelSlot]int{}
	v.State.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		counts[n.Label]++
		return true
	})
	return counts
}

// label returns the document of a label, or of the nodes without a label.
func (v labels) label(p *Partition, nodes, waiting int) api.Label {
	d := api.Label{Name: p.Name(), Nodes: nodes, UsableNodes: int(v.State.PartitionNodes(p.Label)), WaitingApps: waiting,
		Figures: v.document(v.Figures(p.Label)), Room: v.room(p)}
	if p.Label != 0 {
		l := v.State.Labels.Get(p.Label)
		d.Exclusive, d.Removed = l.Exclusive, !l.Listed
	}
	v.State.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
		if q.Leaf && p.Accessible(slot) {
			d.Queues++
		}
		return true
	})
	return d
}

// eachQueue calls f for every queue, for parents before their children.
func (v labels) eachQueue(f func(slot state.QueueSlot)) {
	var walk func(slot state.QueueSlot)
	walk = func(slot state.QueueSlot) {
		f(slot)
		for _, k := range v.State.Queues.Get(slot).Children {
			walk(k)
		}
	}
	if root := v.State.Queues.Root(); root != 0 {
		walk(root)
	}
}

// labelShare returns the document of a queue's share of a label.
func (v labels) labelShare(p *Partition, slot state.QueueSlot, n *QueueSums) api.LabelShare {
	q := v.State.Queues.Get(slot)
	d := api.LabelShare{Queue: q.Path, Label: p.Name(), Accessible: p.Accessible(slot), QueueShare: v.share(p, slot)}
	i := v.Configured(q.Path)
	if !q.Leaf || i < 0 {
		return d
	}
	conf := &p.Conf.Queues[i]
	d.Default = conf.DefaultLabel == d.Label
	limit := p.UserLimit(i, n.Users[slot])
	for _, user := range n.Users[slot] {
		if use := v.State.UserUse(user, p.Label); use != (state.Use{}) {
			name := v.State.Names.Text(v.State.Users.Get(user).Name)
			d.Users = append(d.Users, api.LabelUser{Name: name, Used: v.Size(use.Used), AMUsed: v.Size(use.AMUsed),
				Limit: v.Size(p.weighted(limit, i, name))})
		}
	}
	return d
}

// eachWait calls f for every waiting application, with the labels for which it waits, each once.
func (v labels) eachWait(f func(a *summary.App, labels []state.LabelSlot)) {
	var labels []state.LabelSlot
	v.Summary().Each(false, func(s *summary.App) bool {
		if !s.Waits() {
			return true
		}
		a := v.State.Apps.Get(s.Slot)
		labels = labels[:0]
		for _, k := range v.State.Asks.Of(a) {
			if k.Count > 0 && !slices.Contains(labels, k.Label) {
				labels = append(labels, k.Label)
			}
		}
		if len(labels) == 0 && s.ForAM() && a.MasterNumber == 0 && !a.Unmanaged { // the AM has no ask before it may start
			labels = append(labels, a.AMLabel)
		}
		f(s, labels)
		return true
	})
}

// waitingFor returns the applications that wait for nodes of a label, longest wait first.
func (v labels) waitingFor(label state.LabelSlot) []api.LabelApp {
	out := []api.LabelApp{}
	v.eachWait(func(s *summary.App, labels []state.LabelSlot) {
		if !slices.Contains(labels, label) {
			return
		}
		a := v.State.Apps.Get(s.Slot)
		d := api.LabelApp{ID: a.ID.String(), Queue: v.QueuePath(a.Queue), User: v.State.Names.Text(a.User), AM: s.ForAM(),
			WaitingMillis: s.Waiting(v.NowMillis)}
		var pending yarn.Resource
		for _, k := range v.State.Asks.Of(a) {
			if k.Label == label {
				d.Outstanding += k.Count
				pending = pending.Add(k.Size.Times(k.Count))
			}
		}
		d.Pending = v.Size(pending)
		out = append(out, d)
	})
	slices.SortStableFunc(out, func(a, b api.LabelApp) int { return cmp.Compare(b.WaitingMillis, a.WaitingMillis) })
	return out
}

// LabelMap returns the entries of the label map that pass, sorted by host and port.
func (v *View) LabelMap(pass func(h *state.LabelledHost) bool) []*state.LabelledHost {
	var out []*state.LabelledHost
	v.State.LabelledHosts.Each(func(_ state.LabelledHostSlot, h *state.LabelledHost) bool {
		if pass(h) {
			out = append(out, h)
		}
		return true
	})
	slices.SortFunc(out, func(a, b *state.LabelledHost) int { return a.ID.Compare(b.ID) })
	return out
}

// MappedNode returns the document of an entry of the label map.
func (v *View) MappedNode(h *state.LabelledHost) api.MappedNode {
	d := api.MappedNode{Node: HostOrNode(h.ID), Label: v.State.Labels.Name(h.Label)}
	for _, slot := range v.registered(h.ID) {
		if v.State.Nodes.Get(slot).Label == h.Label {
			d.Registered++
		}
	}
	return d
}

// HostOrNode returns the name of a host, or the id of a NodeManager.
func HostOrNode(id yarn.NodeID) string {
	if id.Port == 0 {
		return id.Host
	}
	return id.String()
}

// registered returns the slots of a host's nodes, or of one NodeManager.
func (v *View) registered(id yarn.NodeID) []state.NodeSlot {
	if id.Port != 0 {
		if slot := v.State.Nodes.Find(id); slot != 0 {
			return []state.NodeSlot{slot}
		}
		return nil
	}
	return v.nodesFrom(id.Host + ":")
}

// Unregistered returns the names of the hosts and NodeManagers that have not registered, at most
// mostListed.
func (v *View) Unregistered(ids []yarn.NodeID) (names []string) {
	for _, id := range ids {
		if len(names) < mostListed && len(v.registered(id)) == 0 {
			names = append(names, HostOrNode(id))
		}
	}
	return names
}

// Relabelled returns the document of the nodes that have another label in the state after.
func (v *View) Relabelled(after *state.State) api.LabelChange {
	d := api.LabelChange{DryRun: true}
	for _, slot := range v.Summary().Nodes() {
		n := v.State.Nodes.Get(slot)
		from, to := v.State.Labels.Name(n.Label), after.Labels.Name(after.Nodes.Get(slot).Label)
		if from == to {
			continue
		}
		d.Relabelled++
		d.Containers += int64(n.Count)
		if n.Reservation != 0 {
			d.Reservations++
		}
		if len(d.Nodes) < mostListed {
			d.Nodes = append(d.Nodes, api.NodeRelabel{Node: n.ID.String(), From: from, To: to, Containers: n.Count,
				Used: v.Size(n.Allocated)})
		}
	}
	return d
}
