package twin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// clusterTimestamp is that of the application ids of both schedulers.
const clusterTimestamp = 1

// planMillis is the time from one input to the next.
const planMillis = 1000

// Planner plays a history on rmd's planner.
type Planner struct {
	p      *planner.Planner
	st     *state.State
	now    int64
	props  map[string]string
	racks  map[string]string        // racks of the current nodes, by name
	sick   map[string]string        // racks of the nodes that report that they are unhealthy
	totals map[string]yarn.Resource // with which the nodes registered
	apps   map[uint32]*application
	eager  bool            // rmd's eager mode; only the amounts at rest are observed
	labels map[string]bool // labels of the history so far; false if removed
}

// application is what Planner knows about an application: its AM's last response and its containers
// in the order of their names.
type application struct {
	granted  []event.ContainerRef
	ordinal  map[event.ContainerRef]int
	attempt  uint32
	response int32
}

// NewPlanner returns a Planner for a new history.
func NewPlanner() *Planner {
	return &Planner{now: 1000, props: map[string]string{}, racks: map[string]string{}, sick: map[string]string{}, totals: map[string]yarn.Resource{},
		apps: map[uint32]*application{}, labels: map[string]bool{}}
}

// Play plays a whole history and returns an observation for each step. A panic of the planner is an
// error.
func Play(h *History) (out []Observation, err error) {
	p := NewPlanner()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("step %d, %s: the planner panics: %v", len(out)+1, h.Steps[len(out)], r)
		}
	}()
	for _, s := range h.Steps {
		o, err := p.Step(s)
		if err != nil {
			return out, fmt.Errorf("step %d, %s: %w", len(out)+1, s, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// Step plays one step. It ignores steps about objects that do not exist, so that a history without
// some of its steps can still be played.
func (p *Planner) Step(s Step) (o Observation, err error) {
	defer func() {
		if r := recover(); r != nil {
			if bad, ok := r.(badStep); ok {
				err = fmt.Errorf("%s", string(bad))
				return
			}
			panic(r)
		}
	}()
	if p.eager {
		p.now += state.AvoidMillis // no ask avoids a node any more; Hadoop's never does
	}
	switch s[0] {
	case "set":
		p.props[word(s, 1)] = strings.Join(s[2:], " ")
		return nil, nil
	case "unset":
		delete(p.props, word(s, 1))
		return nil, nil
	case "eager":
		p.eager = true
		return nil, nil
	case "start":
		if err := p.start(); err != nil {
			return nil, err
		}
		return p.observe(s, ""), nil
	}
	if p.p == nil {
		return nil, fmt.Errorf("the history has not started")
	}
	if s.Is("preempt") {
		return p.preempt()
	}
	result := p.act(s)
	p.masters()
	return p.observe(s, result), nil
}

// observe returns what is compared after a step: everything or, in eager mode, the amounts at rest.
func (p *Planner) observe(s Step, result string) Observation {
	switch {
	case !p.eager:
		return p.view(result)
	case s.Is("quiet") && len(p.racks) > 0: // in an empty cluster YARN does not accept all applications
		return amounts(p.view(""))
	}
	return nil
}

// badStep is the error of a step that cannot be read.
type badStep string

func word(s Step, i int) string {
	if i >= len(s) {
		panic(badStep(fmt.Sprintf("%q has too few words", s.String())))
	}
	return s[i]
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(badStep(fmt.Sprintf("%q is not a number", text)))
	}
	return n
}

func size(text string) (r yarn.Resource) {
	for i, n := range strings.Split(text, ",") {
		r[i] = number(n)
	}
	return r
}

func key(text string) yarn.SchedulerKey {
	priority, allocation, _ := strings.Cut(text, ".")
	return yarn.SchedulerKey{Priority: int32(number(priority)), AllocationID: number(allocation)}
}

func (p *Planner) properties() (out []input.Property) {
	out = p.ruleOfManaged()
	for _, name := range slices.Sorted(maps.Keys(p.props)) {
		out = append(out, input.Property{Name: name, Value: p.props[name]})
	}
	if p.eager {
		return out
	}
	// YARN cancels a reservation that is not needed any more only at the next heartbeat of its
	// node.
	return append(out, input.Property{Name: prefix + "reservation.eager-cancel", Value: "false"})
}

func (p *Planner) start() (err error) {
	if p.p, err = planner.New(state.New(), planner.Options{Eager: p.eager}); err != nil {
		return err
	}
	p.st = p.p.State()
	entropy := []byte("0123456789abcdef0123456789abcdef")
	r := p.plan(&input.InitCluster{ClusterID: "twin", ClusterTimestamp: clusterTimestamp, Properties: p.properties(),
		Entropy: entropy})
	if f := r.Refused(); f != nil {
		return fmt.Errorf("configuration: %v %v", f, f.Details)
	}
	return nil
}

func (p *Planner) plan(in input.Input) input.Reply {
	p.now += planMillis
	reply, _ := p.p.Plan(p.now, input.Request{Input: in})
	return reply
}

func (p *Planner) act(s Step) (result string) {
	switch s[0] {
	case "node":
		if host := word(s, 1); p.racks[host] == "" && p.sick[host] == "" {
			p.racks[host] = word(s, 2)
			if slot := p.st.Nodes.Find(nodeID(host)); slot != 0 && p.st.Nodes.Get(slot).State == yarn.NodeDecommissioned {
				p.must(&input.DrainNode{ID: nodeID(host), Back: true})
			}
			p.totals[host] = size(word(s, 3))
			p.must(&input.RegisterNode{ID: nodeID(host), Rack: word(s, 2), Total: p.totals[host]})
		}
	case "lose":
		if host := word(s, 1); p.racks[host] != "" {
			delete(p.racks, host)
			p.must(&input.ExpireNode{ID: nodeID(host)})
		}
	case "sick", "well":
		p.health(s)
	case "drain":
		if host := word(s, 1); p.racks[host] != "" && !p.draining(host) {
			p.must(&input.DrainNode{ID: nodeID(host)})
		}
	case "back":
		p.takeBack(word(s, 1))
	case "overdue":
		p.endDrain(word(s, 1))
	case "size":
		if host := word(s, 1); p.racks[host] != "" && !p.draining(host) {
			p.must(&input.SetNodeResource{ID: nodeID(host), Total: size(word(s, 2))})
		}
	case "beat":
		p.beat(s)
	case "restart":
		p.restart(s)
	case "done":
		p.done(word(s, 1))
	case "quiet":
		p.rest()
	case "submit":
		return p.submit(s)
	case "allocate":
		return p.allocate(s)
	case "fail":
		if a := p.liveApp(word(s, 1)); a != nil {
			p.must(&input.FailAttempt{Attempt: a.AttemptID()})
		}
	case "finish":
		if a := p.liveApp(word(s, 1)); a != nil {
			p.must(&input.KillApplication{ID: a.ID})
		}
	case "move":
		if a := p.liveApp(word(s, 1)); a != nil {
			return accepted(p.plan(&input.MoveApplication{ID: a.ID, Queue: word(s, 2)}))
		}
	case "priority":
		if a := p.liveApp(word(s, 1)); a != nil {
			p.must(&input.SetPriority{ID: a.ID, Priority: int32(number(word(s, 2)))})
		}
	case "manage":
		p.must(&input.ManageQueues{})
	case "expire":
		p.must(&input.RemoveIdleQueues{})
	case "refresh":
		return accepted(p.plan(&input.SetQueues{Properties: p.properties()}))
	case "label", "unlabel", "relabel":
		return p.label(s)
	default:
		panic(badStep(fmt.Sprintf("there is no step %q", s[0])))
	}
	return ""
}

// label changes labels, or those of hosts and NodeManagers.
func (p *Planner) label(s Step) (result string) {
	switch name := word(s, 1); s[0] {
	case "label":
		if result = accepted(p.plan(&input.SetLabels{
			Labels: []input.Label{{Name: name, Exclusive: len(s) < 3}}})); result == "accepted" {
			p.labels[name] = true
		}
	case "unlabel":
		if result = accepted(p.plan(&input.RemoveLabels{Names: []string{name}})); result == "accepted" {
			p.labels[name] = false
		}
	default:
		in := &input.LabelNodes{}
		for _, w := range s[1:] {
			name, label, _ := strings.Cut(w, "=")
			n := input.LabelledNode{ID: nodeID(name)}
			if !strings.Contains(name, ":") { // a host, with all its NodeManagers
				n.ID.Port = 0
			}
			if label != "" {
				n.Labels = []string{label}
			}
			in.Nodes = append(in.Nodes, n)
		}
		return accepted(p.plan(in))
	}
	return result
}

func accepted(r input.Reply) string {
	if r.Refused() != nil {
		return "refused"
	}
	return "accepted"
}

// must plans an input that the planner has no reason to refuse.
func (p *Planner) must(in input.Input) input.Reply {
	r := p.plan(in)
	if f := r.Refused(); f != nil {
		panic(badStep(fmt.Sprintf("%T is refused: %v", in, f)))
	}
	return r
}

// liveApp returns an application that has not ended, or nil.
func (p *Planner) liveApp(name string) *state.App {
	slot := p.st.Apps.Find(uint32(number(name)))
	if slot == 0 || p.st.Apps.Get(slot).State.Ended() {
		return nil
	}
	return p.st.Apps.Get(slot)
}

// container returns the container with a name such as 3.2; nil if it does not exist any more.
func (p *Planner) container(name string) *state.Container {
	app, n, _ := strings.Cut(name, ".")
	a := p.apps[uint32(number(app))]
	i := int(number(n))
	if a == nil || i < 1 || i > len(a.granted) {
		return nil
	}
	slot := p.st.Container(a.granted[i-1])
	if slot == 0 {
		return nil
	}
	return p.st.Containers.Get(slot)
}

func (p *Planner) submit(s Step) string {
	seq := uint32(number(word(s, 1)))
	if p.apps[seq] != nil {
		return ""
	}
	in := &input.SubmitApplication{
		ID: yarn.ApplicationID{ClusterTimestamp: clusterTimestamp, Seq: seq}, Queue: word(s, 2), User: word(s, 3),
		Priority: int32(number(word(s, 4))), PrioritySet: true, AM: size(word(s, 5)), MaxAttempts: 2,
		Unmanaged: slices.Contains(s, "unmanaged"), KeepContainers: slices.Contains(s, "keep"),
	}
	for _, w := range s[6:] {
		if label, ok := strings.CutPrefix(w, "label="); ok {
			in.Label = inputLabel(label)
		} else if label, ok := strings.CutPrefix(w, "am="); ok {
			in.AMLabel = inputLabel(label)
		}
	}
	p.placedByRule(in)
	r := p.plan(in)
	if r.Refused() == nil {
		p.apps[seq] = &application{ordinal: map[event.ContainerRef]int{}}
	}
	return accepted(r)
}

func (p *Planner) allocate(s Step) (result string) {
	a := p.liveApp(word(s, 1))
	if a == nil || a.AttemptState != state.AttemptRegistered {
		return ""
	}
	known := p.apps[a.ID.Seq]
	in := &input.Allocate{Attempt: a.AttemptID(), Response: known.response}
	for _, w := range s[2:] {
		kind, v, _ := strings.Cut(w, "=")
		switch kind {
		case "ask":
			in.Asks = append(in.Asks, ask(v))
		case "release":
			if c := p.container(v); c != nil && c.State.Live() && c.State != yarn.ContainerAllocated && !c.AM &&
				c.Attempt == a.Attempt && p.st.Apps.Get(c.App).ID == a.ID {
				in.Releases = append(in.Releases, p.st.Apps.ContainerID(c))
			}
		case "grow", "shrink":
			name, to, _ := strings.Cut(v, ":")
			c := p.container(name)
			if c == nil || !c.State.Live() || c.State == yarn.ContainerAllocated || c.AM || c.Attempt != a.Attempt ||
				p.st.Apps.Get(c.App).ID != a.ID {
				continue
			}
			u := input.Update{Container: p.st.Apps.ContainerID(c), Version: p.st.Resizes.Version(c),
				Type: input.IncreaseResource, Size: size(to)}
			if kind == "shrink" {
				u.Type = input.DecreaseResource
			}
			in.Updates = append(in.Updates, u)
		case "refuse":
			in.BlacklistAdd = append(in.BlacklistAdd, v)
		case "admit":
			in.BlacklistRemove = append(in.BlacklistRemove, v)
		}
	}
	r := p.plan(in)
	if r.Refused() != nil {
		return "refused"
	}
	known.response = r.(*input.AllocateReply).Response
	return ""
}

func ask(text string) input.Ask {
	w := strings.Split(text, ":")
	if len(w) < 4 {
		panic(badStep(fmt.Sprintf("%q is not KEY:NAME:COUNT:SIZE", text)))
	}
	a := input.Ask{Key: key(w[0]), Name: w[1], Count: number(w[2]), Size: size(w[3]), Relax: true}
	for _, more := range w[4:] {
		if label, ok := strings.CutPrefix(more, "label="); ok {
			a.Label = inputLabel(label)
		} else {
			a.Relax = false
		}
	}
	return a
}

// inputLabel returns a label in the form of inputs, which have a name for no label.
func inputLabel(label string) string {
	if label == "" {
		return yarn.NoLabel
	}
	return label
}

// masters registers each attempt as soon as it has its AM's container, as the AM does. It also
// names new containers.
func (p *Planner) masters() {
	for _, seq := range slices.Sorted(maps.Keys(p.apps)) {
		known, slot := p.apps[seq], p.st.Apps.Find(seq)
		if slot == 0 || p.st.Apps.Get(slot).State.Ended() {
			continue
		}
		a := p.st.Apps.Get(slot)
		if known.attempt != a.Attempt {
			known.attempt, known.response = a.Attempt, 0
		}
		p.count(known, a)
		if a.AttemptState == state.AttemptActive && (a.Unmanaged || a.MasterNumber != 0) {
			p.must(&input.RegisterAttempt{Attempt: a.AttemptID(), Host: "am"})
		}
	}
}

// count names the new containers of an application, in the order of their numbers.
func (p *Planner) count(known *application, a *state.App) {
	var fresh []event.ContainerRef
	for _, c := range p.st.Containers.Of(a) {
		if ref := p.st.Apps.Ref(c); c.State.Live() && known.ordinal[ref] == 0 {
			fresh = append(fresh, ref)
		}
	}
	slices.SortFunc(fresh, func(x, y event.ContainerRef) int {
		return cmp.Or(cmp.Compare(x.Attempt, y.Attempt), cmp.Compare(x.Number, y.Number))
	})
	for _, ref := range fresh {
		known.granted = append(known.granted, ref)
		known.ordinal[ref] = len(known.granted)
	}
}
