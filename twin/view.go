package twin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// prefix is the prefix of the CapacityScheduler's properties.
const prefix = "yarn.scheduler.capacity."

// observer describes the planner's state, in the format of TwinView.java.
type observer struct {
	*Planner
	out   Observation
	kinds int
	parts []partition // the default partition and those of labels, by name
}

// partition has the capacities of queues on the nodes of a label.
type partition struct {
	label  string
	id     state.LabelSlot
	tree   *capacity.Tree
	queues []capacity.Queue // parallel to the tree's capacities
}

func (p *Planner) view(result string) Observation {
	o := &observer{Planner: p, kinds: len(p.p.Config().Kinds), parts: p.partitions()}
	if result != "" {
		o.line("result %s", result)
	}
	o.line("cluster %s nodes=%d", o.text(p.st.Meta.Cluster), p.st.Meta.UsableNodes)
	for _, host := range slices.Sorted(maps.Keys(p.racks)) {
		o.node(host, p.st.Nodes.Get(p.st.Nodes.Find(nodeID(host))))
	}
	cfg := p.p.Config()
	o.queue(cfg, 0)
	for _, seq := range slices.Sorted(maps.Keys(p.apps)) {
		if slot := p.st.Apps.Find(seq); slot != 0 && !p.st.Apps.Get(slot).State.Ended() {
			o.app(seq, slot)
		}
	}
	return o.out
}

// partitions returns the default partition and those of the labels that the history has used.
func (p *Planner) partitions() []partition {
	cfg, unlabelled := p.p.Config(), p.st.Meta.Cluster
	p.st.Labels.Each(func(_ state.LabelSlot, l *state.Label) bool { unlabelled = unlabelled.Sub(l.Total); return true })
	out := []partition{{tree: cfg.Compute(unlabelled), queues: cfg.Queues}}
	for _, name := range slices.Sorted(maps.Keys(p.labels)) {
		id, of := p.st.Labels.Find(name), cfg.Partition(name)
		out = append(out, partition{label: name, id: id, tree: of.Compute(p.st.Labels.Get(id).Total), queues: of.Queues})
	}
	return out
}

// label returns the end of a line about an object with a label.
func label(name string) string {
	if name == "" {
		return ""
	}
	return " label=" + name
}

func (o *observer) line(format string, args ...any) {
	o.out = append(o.out, fmt.Sprintf(format, args...))
}

func (o *observer) text(r yarn.Resource) string {
	var b strings.Builder
	for i := range o.kinds {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, r[i])
	}
	return b.String()
}

// counted formats the kinds of a resource that the calculator counts.
func (o *observer) counted(r yarn.Resource) string {
	if o.p.Config().Calculator.Dominant {
		return o.text(r)
	}
	return fmt.Sprint(r[yarn.Memory])
}

func (o *observer) node(host string, n *state.Node) {
	by := ""
	if n.Reservation != 0 {
		r := o.st.Reservations.Get(n.Reservation)
		by = fmt.Sprintf(" reserved=%d/%s/%s", o.st.Apps.Get(r.App).ID.Seq, keyText(r.Key, r.IncreaseOf), o.text(r.Size))
	}
	o.line("node %s %s used=%s%s%s", host, o.text(n.Total), o.text(n.Allocated), by, label(o.st.Labels.Name(n.Label)))
}

func keyText(k yarn.SchedulerKey, grows state.ContainerSlot) string {
	more := ""
	if grows != 0 {
		more = "+"
	}
	return fmt.Sprintf("%d.%d%s", k.Priority, k.AllocationID, more)
}

func (o *observer) queue(cfg *capacity.Config, i int) {
	path := cfg.Queues[i].Path
	q := o.st.Queues.Get(o.st.Queues.Find(path))
	for _, p := range o.parts {
		o.share(p, i)
	}
	if !cfg.Queues[i].Leaf {
		children := slices.Clone(cfg.Queues[i].Children)
		slices.SortFunc(children, func(a, b int) int { return strings.Compare(cfg.Queues[a].Path, cfg.Queues[b].Path) })
		for _, k := range children {
			o.queue(cfg, k)
		}
		return
	}
	o.line("leaf %s active=%d waiting=%d am=%s users=%d", path, q.ActiveApps, q.PendingApps, o.text(q.AMUsed),
		q.ActiveUsers)
	var users []*state.User
	o.st.Users.Each(func(_ state.UserSlot, u *state.User) bool {
		if u.Active+u.Pending > 0 && u.Queue == o.st.Queues.Find(path) {
			users = append(users, u)
		}
		return true
	})
	slices.SortFunc(users,
		func(a, b *state.User) int { return strings.Compare(o.st.Names.Text(a.Name), o.st.Names.Text(b.Name)) })
	for _, u := range users {
		o.line("user %s %s %s am=%s active=%d waiting=%d", path, o.st.Names.Text(u.Name), o.text(u.Used), o.text(u.AMUsed),
			u.Active, u.Pending)
		for _, p := range o.parts[1:] {
			use := o.st.UserUse(o.st.Users.Find(u.Queue, u.Name), p.id)
			o.line("user %s %s %s am=%s%s", path, o.st.Names.Text(u.Name), o.text(use.Used), o.text(use.AMUsed), label(p.label))
		}
	}
}

// share describes usage and capacity of a queue in a partition.
func (o *observer) share(p partition, i int) {
	q, c := &p.queues[i], &p.tree.Capacities[i]
	use := o.st.QueueUse(o.st.Queues.Find(q.Path), p.id)
	more := ""
	if len(o.racks) > 0 && o.divided(q, p.label) {
		more = fmt.Sprintf(" min=%s max=%s", o.counted(c.EffMin), o.counted(c.EffMax))
	}
	if q.Leaf && p.label != "" {
		more += " am=" + o.text(use.AMUsed)
	}
	o.line("queue %s %s reserved=%s pending=%s%s%s", q.Path, o.text(use.Used), o.text(use.Reserved), o.text(use.Pending),
		more, label(p.label))
}

// divided reports whether a queue has a capacity for a label.
func (o *observer) divided(q *capacity.Queue, label string) bool {
	if label == "" {
		return true
	}
	if q.Parent < 0 {
		return slices.Contains(o.p.Config().Labels(), label)
	}
	return q.Creation == capacity.Flexible && q.MayUse(label) ||
		slices.ContainsFunc(q.Labels, func(l capacity.LabelCapacity) bool { return l.Label == label })
}

func (o *observer) app(seq uint32, slot state.AppSlot) {
	a := o.st.Apps.Get(slot)
	waits := "waiting"
	if a.AttemptState >= state.AttemptActive {
		waits = "active"
	}
	o.line("app %d %s %s %s reserved=%s pending=%s priority=%d%s", seq, o.st.Queues.Get(a.Queue).Path, waits,
		o.text(a.Used), o.text(a.Reserved), o.text(a.Pending), a.Priority,
		label(o.st.Labels.Name(a.AMLabel)))
	for _, k := range o.st.Asks.Of(a) {
		o.ask(seq, k)
	}
	known := o.apps[seq]
	for n, ref := range known.granted {
		if s := o.st.Container(ref); s != 0 && o.st.Containers.Get(s).State.Live() {
			c := o.st.Containers.Get(s)
			o.line("container %d.%d %s %s %s %s", seq, n+1, nodeName(o.st.Nodes.Get(c.Node).ID), keyText(c.Key, 0),
				o.text(c.Size), yarnState(c))
		}
	}
}

// yarnState returns a container's state in YARN's terms. The ResourceManager itself acquires an
// AM's container, as soon as it is allocated.
func yarnState(c *state.Container) yarn.ContainerState {
	if c.AM && c.State == yarn.ContainerAllocated {
		return yarn.ContainerAcquired
	}
	return c.State
}

func (o *observer) ask(seq uint32, k *state.Ask) {
	if k.Count == 0 && k.Reservations == 0 {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "ask %d %s held=%d", seq, keyText(k.Key, k.IncreaseOf), k.Reservations)
	if k.Reservations > 0 && k.IncreaseOf == 0 {
		fmt.Fprintf(&b, " again=%d", k.ReReservations)
	}
	if k.Count > 0 && k.IncreaseOf != 0 { // its place is its container's node, where it has one reservation
		fmt.Fprintf(&b, " %s", o.text(k.Size))
	} else if k.Count > 0 {
		fmt.Fprintf(&b, " %s%s", o.text(k.Size), o.entries(k))
		if k.Missed > 0 {
			fmt.Fprintf(&b, " waited=%d", k.Missed)
		}
		b.WriteString(label(o.st.Labels.Name(k.Label)))
	}
	o.out = append(o.out, b.String())
}

// entries formats the places of an ask, and its number of missed opportunities.
func (o *observer) entries(k *state.Ask) string {
	var b strings.Builder
	if k.Entries > 1 {
		fmt.Fprintf(&b, " missed=%d", k.Opportunities)
	}
	entries := map[string]string{}
	entry := func(name string, count int64, relax bool) {
		mark := ""
		if !relax {
			mark = "!"
		}
		if count > 0 {
			entries[name] = fmt.Sprintf(" %s=%d%s", name, count, mark)
		}
	}
	entry(yarn.Any, k.Count, k.Relax)
	for _, e := range o.st.Locations.Of(k) {
		entry(o.st.Names.Text(e.Name), e.Count, e.Relax)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		b.WriteString(entries[name])
	}
	return b.String()
}
