package ledger

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

func sortSteps(s []Step) {
	slices.SortStableFunc(s, func(a, b Step) int { return cmp.Compare(a.Index, b.Index) })
}

// Fact is what the log says about a container. An index is 0 if the event has not happened.
type Fact struct {
	ID                                   yarn.ContainerID
	Node                                 yarn.NodeID
	Size                                 yarn.Resource
	AM                                   bool
	Live                                 bool // it counts in its queue
	OnNode                               bool // it counts on its node
	Restored                             bool // lost before its AM received it; its ask was restored
	Resized                              bool // its size is not the one that it had at first
	Made, Released, Completed, Signalled uint64
}

// Ended returns the index of the container's end; 0 while it is live.
func (f Fact) Ended() uint64 {
	if f.Released != 0 {
		return f.Released
	}
	return f.Completed
}

// Container finds a container by the text of its id.
func (l *Ledger) Container(name string) (Fact, bool) {
	id, err := yarn.ParseContainerID(name)
	if err != nil {
		return Fact{}, false
	}
	return l.ContainerByID(id)
}

// ContainerByID finds a container by its id. The container of a reservation does not exist yet.
func (l *Ledger) ContainerByID(id yarn.ContainerID) (Fact, bool) {
	if l.apps.findID(id.App) < 0 {
		return Fact{}, false
	}
	return l.ContainerByRef(event.ContainerRef{App: id.App.Seq, Attempt: id.Attempt, Number: id.Number})
}

// ContainerByRef finds a container by the reference that events use.
func (l *Ledger) ContainerByRef(ref event.ContainerRef) (Fact, bool) {
	i := l.apps.appIndex(ref.App)
	if i < 0 {
		return Fact{}, false
	}
	a := &l.apps.list[i]
	at, ok := a.place(ref.Attempt, ref.Number)
	if !ok {
		return Fact{}, false
	}
	return l.fact(a, &a.containers[at]), true
}

func (l *Ledger) fact(a *app, c *container) Fact {
	return Fact{ID: a.id(c.attempt, c.number), Node: l.nodes.list[c.node].id, Size: c.size, AM: c.am, Live: c.live,
		OnNode: c.onNode, Restored: c.restored, Resized: c.version != 0, Made: c.made, Released: c.released,
		Completed: c.completed, Signalled: c.signalled}
}

// App is what the log says about an application.
type App struct {
	ID                yarn.ApplicationID
	Name, User, Queue string
	State             yarn.ApplicationState
	Finishing         bool // its AM has unregistered; readers see FINISHED
	Attempt           uint32
	Resyncs           int
	Forgotten         bool
	Transitions       []Transition
	Priorities        []Priority // the first is that of the submission, the last is current
	Ended             uint64     // index; 0 while it has not ended
}

// At returns the state and queue of the application at an index; false before its submission.
func (a App) At(index uint64) (Transition, bool) {
	var out Transition
	for _, t := range a.Transitions {
		if t.Index > index {
			break
		}
		out = t
	}
	return out, out.Index != 0
}

// Priority returns the current priority.
func (a App) Priority() int32 { return a.Priorities[len(a.Priorities)-1].Priority }

// App finds an application by the text of its id, even a forgotten one.
func (l *Ledger) App(name string) (App, bool) {
	id, err := yarn.ParseApplicationID(name)
	if err != nil {
		return App{}, false
	}
	return l.AppByID(id)
}

// AppByID finds an application by its id, even a forgotten one.
func (l *Ledger) AppByID(id yarn.ApplicationID) (App, bool) {
	i := l.apps.findID(id)
	if i < 0 {
		return App{}, false
	}
	return l.show(&l.apps.list[i]), true
}

// findID returns the index in apps of an application, or -1.
func (l *apps) findID(id yarn.ApplicationID) int32 {
	if i := l.appIndex(id.Seq); i >= 0 && l.list[i].timestamp == id.ClusterTimestamp {
		return i
	}
	return -1
}

// AppBySeq finds an application by its number.
func (l *Ledger) AppBySeq(seq uint32) (App, bool) {
	i := l.apps.appIndex(seq)
	if i < 0 {
		return App{}, false
	}
	return l.show(&l.apps.list[i]), true
}

// Submitted returns the number of the last application that was submitted under a name; 0 if there
// is none. It needs UniqueNames.
func (l *Ledger) Submitted(name string) uint32 { return l.apps.names[name] }

// Apps returns all applications, also ended ones, in the order of their submission.
func (l *Ledger) Apps() []App {
	out := make([]App, 0, len(l.apps.list))
	for i := range l.apps.list {
		out = append(out, l.show(&l.apps.list[i]))
	}
	return out
}

func (l *Ledger) show(a *app) App {
	out := App{ID: yarn.ApplicationID{ClusterTimestamp: a.timestamp, Seq: a.seq}, Name: a.name, User: a.user,
		Queue: l.queues.list[a.queue].path,
		State: a.state, Finishing: a.stage == finishing, Attempt: a.attempt, Resyncs: a.resyncs, Forgotten: a.forgotten,
		Transitions: a.transitions, Priorities: a.priorities}
	if a.state.Ended() {
		for _, t := range a.transitions {
			if t.State.Ended() {
				out.Ended = t.Index
				break
			}
		}
	}
	return out
}

// Node is what the log says about a node.
type Node struct {
	ID          yarn.NodeID
	Label       string
	Total, Used yarn.Resource
	Reservation uint64 // 0 means none
}

// Node returns a node by its number; false if there is none.
func (l *Ledger) Node(number yarn.NodeSlot) (Node, bool) {
	n, ok := l.nodes.node(number)
	if !ok {
		return Node{}, false
	}
	return n.show(), true
}

// Nodes returns all nodes, also those that have left, by number.
func (l *Ledger) Nodes() []Node {
	var out []Node
	for i := 1; i < len(l.nodes.list); i++ {
		out = append(out, l.nodes.list[i].show())
	}
	return out
}

func (n *node) show() Node {
	return Node{ID: n.id, Label: n.label, Total: n.total, Used: n.used, Reservation: n.reservation}
}

// Queue returns the usage of a queue on nodes of a label, including its reservations, and the size
// of its reservations; ok is false if there is no such queue.
func (l *Ledger) Queue(path, label string) (used, held yarn.Resource, ok bool) {
	i := l.queues.queue(path)
	if i < 0 {
		return used, held, false
	}
	used, held = l.queues.sum(i, label)
	return used, held, true
}

// DynamicQueue is a queue that a submission created.
type DynamicQueue struct {
	Path    string
	Managed bool // its parent has auto-create-child-queue
	Active  bool // a managed leaf with the capacity of its template
	Apps    int  // applications that have not ended
}

// DynamicQueues returns the current dynamic queues.
func (l *Ledger) DynamicQueues() []DynamicQueue {
	var out []DynamicQueue
	managed := map[int32]bool{} // by parent
	for i := range l.queues.list {
		q := &l.queues.list[i]
		if !q.dynamic || q.gone {
			continue
		}
		if _, known := managed[q.parent]; !known {
			managed[q.parent] = l.queues.managed(q.parent)
		}
		out = append(out, DynamicQueue{Path: q.path, Managed: managed[q.parent], Active: q.active, Apps: q.apps})
	}
	return out
}

// Held is a reservation that has not ended.
type Held struct {
	App       yarn.ApplicationID
	Node      yarn.NodeSlot
	Key       yarn.SchedulerKey
	Size      yarn.Resource
	Container yarn.ContainerID // the container that it will become or enlarge
}

// Held finds a reservation by its number; false if it has ended or never existed.
func (l *Ledger) Held(number uint64) (Held, bool) {
	r := l.reservations.reservation(number)
	if r == nil {
		return Held{}, false
	}
	a := &l.apps.list[r.app]
	id := a.id(r.attempt, r.container)
	return Held{App: id.App, Node: r.node, Key: r.key, Size: r.size, Container: id}, true
}

// Reservations counts the reservations that have not ended.
func (l *Ledger) Reservations() int { return len(l.reservations.list) }

// Applications counts the applications that are not forgotten.
func (l *Ledger) Applications() int { return len(l.apps.list) - l.apps.dropped }

// Live counts the containers that count in their queue.
func (l *Ledger) Live() int { return l.containers.live }

// Placed counts the containers that count on their node.
func (l *Ledger) Placed() int { return l.nodes.placed }

// Given returns the container ids that the last entry assigns, including those of reservations. The
// next entry overwrites the slice.
func (l *Ledger) Given() []yarn.ContainerID { return l.containers.given }

// Key returns the index at which a master key was created; false if it was not.
func (l *Ledger) Key(id int32) (index uint64, ok bool) {
	for _, k := range l.calls.keys {
		if k.id == id {
			return k.index, true
		}
	}
	return 0, false
}

// Recorded reports whether a call with an idempotency key is remembered, and since which index.
func (l *Ledger) Recorded(key string) (index uint64, ok bool) {
	index, ok = l.calls.set[key]
	return index, ok
}

// Reservation returns the index at which a reservation ended; 0 while it is held. ok is false if it
// never existed.
func (l *Ledger) Reservation(name string) (ended uint64, ok bool) {
	number, err := strconv.ParseUint(strings.TrimPrefix(name, "r"), 10, 64)
	if err != nil || number == 0 || number > l.reservations.last {
		return 0, false
	}
	for _, e := range l.reservations.ends {
		if e.number == number {
			return e.index, true
		}
	}
	return 0, true
}

// Stuck returns the reservations on nodes that have room for them. They violate L3 if they remain.
func (l *Ledger) Stuck() []Step {
	var out []Step
	for i := range l.reservations.list {
		r := &l.reservations.list[i]
		n := &l.nodes.list[r.node]
		if room := n.total.Sub(n.used); r.members == 0 && n.state.Usable() && l.fits(r.size, room) {
			out = append(out, l.step(r.made, "r%d waits on %s for %s, and %s is free there", r.number, n.id, r.size, room))
		}
	}
	return out
}

// Waiting returns the asks of active attempts that should be served: a usable node without a
// reservation has room, and so has every queue up to the root. The ledger does not know user
// limits, so an ask may rightly wait if its user has containers. sure has only the asks of
// applications that are alone in their queue and have at most their AM.
func (l *Ledger) Waiting() (sure, unsure []Step) {
	for i := range l.apps.list {
		a := &l.apps.list[i]
		if a.stage != active && a.stage != registered {
			continue
		}
		for k := range a.asks {
			if a.isGang(&a.asks[k]) {
				if l.gangs.gangRoom(a, &a.asks[k]) {
					unsure = append(unsure,
						l.step(l.index, "application %d waits with its gang of %d of %s, and all of them have room", a.seq,
							a.gang.spec.Count, a.asks[k].size))
					if q := &l.queues.list[a.queue]; q.apps == 1 && a.live <= 1 {
						sure = append(sure, unsure[len(unsure)-1])
						unsure = unsure[:len(unsure)-1]
					}
				}
				continue
			}
			n := l.roomFor(a, &a.asks[k])
			if n == nil {
				continue
			}
			s := l.step(l.index, "application %d waits for %d of %s, and %s has %s free", a.seq, a.asks[k].count, a.asks[k].size,
				n.id, n.total.Sub(n.used))
			if q := &l.queues.list[a.queue]; q.apps == 1 && a.live <= 1 && a.holds == 0 {
				sure = append(sure, s)
			} else {
				unsure = append(unsure, s)
			}
		}
	}
	return sure, unsure
}

func (l *Ledger) roomFor(a *app, k *ask) *node {
	if k.count <= 0 || !k.relax && len(k.where) > 0 {
		return nil
	}
	for i := a.queue; i >= 0; i = l.queues.list[i].parent {
		used, _ := l.queues.sum(i, k.label)
		if !l.queues.mayUse(i, k.label) || !l.fits(used.Add(k.size),
			l.queues.maximum(i, k.label, l.nodes.size(k.label).now)) {
			return nil
		}
	}
	for i := 1; i < len(l.nodes.list); i++ {
		n := &l.nodes.list[i]
		if n.state == yarn.NodeRunning && !n.silent && n.reservation == 0 && n.label == k.label &&
			l.fits(k.size, n.total.Sub(n.used)) &&
			!slices.Contains(a.black, n.id.Host) && !slices.Contains(a.black, n.rack) {
			return n
		}
	}
	return nil
}
