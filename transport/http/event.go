package httpserver

import (
	"reflect"
	"strings"
	"unicode"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// eventDoc shows one event: what it speaks of by name, its fields under their
// names in snake case. The names come from the state the replica has now, so an
// application that is forgotten shows by its number alone.
func (v *view) eventDoc(e event.Event) api.Event {
	d := api.Event{Kind: e.Kind().String(), Data: map[string]any{}}
	r := reflect.ValueOf(e).Elem()
	for i := range r.NumField() {
		v.eventField(&d, r.Type().Field(i).Name, r.Field(i))
	}
	switch e := e.(type) {
	case *event.ContainerAllocated:
		d.Container = v.containerName(e.App, e.Number)
	case *event.ReservationMade:
		d.Container = v.containerName(e.App, e.Number)
	}
	if d.Queue == "" && d.App != "" {
		d.Queue = v.queueOfApp(d.App)
	}
	if len(d.Data) == 0 {
		d.Data = nil
	}
	return d
}

// eventField shows one field. Bytes are never shown: they are tokens' hashes,
// submission contexts and remembered replies.
func (v *view) eventField(d *api.Event, name string, f reflect.Value) {
	switch x := f.Interface().(type) {
	case event.ContainerRef:
		id := v.appID(x.App)
		d.App = id.String()
		d.Container = yarn.ContainerID{App: id, Attempt: x.Attempt, Number: x.Number}.String()
		if slot := v.st.Container(x); slot != 0 {
			d.Node = v.nodeID(v.st.Containers.Get(slot).Node)
		}
	case yarn.Resource:
		d.Data[snake(name)] = v.size(x)
	case yarn.SchedulerKey:
		d.Data["priority"] = x.Priority
		if x.AllocationID != 0 {
			d.Data["allocation_id"] = x.AllocationID
		}
	case yarn.NodeID:
		d.Node = x.String()
	case []byte:
		d.Data[snake(name)+"_bytes"] = len(x)
	case []event.Property:
		props := make(map[string]string, len(x))
		for _, p := range x {
			props[p.Name] = maskProperty(p.Name, p.Value)
		}
		d.Data["properties"] = props
	case []event.QueueDefinition:
		paths := make([]string, 0, len(x))
		for _, q := range x {
			paths = append(paths, q.Path)
		}
		d.Data["queues"] = paths
	default:
		v.plainField(d, name, f)
	}
}

// plainField shows numbers and texts; those that name something stand outside.
func (v *view) plainField(d *api.Event, name string, f reflect.Value) {
	switch name {
	case "App":
		d.App = v.appID(uint32(f.Uint())).String()
	case "Node":
		if id := v.nodeID(uint32(f.Uint())); id != "" {
			d.Node = id
		}
		d.Data["node_number"] = f.Uint()
	case "Queue", "Path":
		d.Queue = f.String()
	case "Reservation":
		d.Reservation = reservationID(f.Uint())
		v.reservationField(d, f.Uint())
	case "ID": // a NodeID is taken above; nothing else has this name
		d.Data["id"] = f.Interface()
	default:
		if k := f.Kind(); (k == reflect.Slice || k == reflect.String) && f.Len() == 0 {
			return
		}
		d.Data[snake(name)] = f.Interface()
	}
}

// reservationField fills in what a live reservation is of; the events that end
// one name it alone.
func (v *view) reservationField(d *api.Event, number uint64) {
	slot := v.st.Reservation(number)
	if slot == 0 {
		return
	}
	r := v.st.Reservations.Get(slot)
	d.App, d.Node = v.st.Apps.Get(r.App).ID.String(), v.nodeID(r.Node)
}

// appID is the id of an application's number. One that is forgotten is given
// the cluster's timestamp, which is its own but after a restore.
func (v *view) appID(seq uint32) yarn.ApplicationID {
	if slot := v.st.App(seq); slot != 0 {
		return v.st.Apps.Get(slot).ID
	}
	return yarn.ApplicationID{ClusterTimestamp: v.st.Meta.ClusterTimestamp, Seq: seq}
}

// containerName is the id of a container that an event names by its number
// within the attempt of that time: the only one there was, or one that is still
// known. Otherwise it stays empty rather than guessed.
func (v *view) containerName(app uint32, number uint64) string {
	slot := v.st.App(app)
	if slot == 0 {
		return ""
	}
	a := v.st.Apps.Get(slot)
	for attempt := a.Attempt; attempt > 0; attempt-- {
		if a.Attempt == 1 || v.st.Container(event.ContainerRef{App: app, Attempt: attempt, Number: number}) != 0 {
			return yarn.ContainerID{App: a.ID, Attempt: attempt, Number: number}.String()
		}
	}
	return ""
}

func (v *view) queueOfApp(text string) string {
	id, err := yarn.ParseApplicationID(text)
	if err != nil {
		return ""
	}
	if slot := v.st.AppByID(id); slot != 0 {
		return v.queuePath(v.st.Apps.Get(slot).Queue)
	}
	return ""
}

// snake writes a Go name as a JSON name: NowMillis is now_ms.
func snake(name string) string {
	if head, ok := strings.CutSuffix(name, "Millis"); ok {
		return snake(head) + "_ms"
	}
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || (i+1 < len(runes) && unicode.IsLower(runes[i+1]))) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// secretWords mark configuration keys whose values are not shown.
var secretWords = []string{"password", "secret", "credential", "keytab", "token.key", "private"}

// masked stands for a value that is not shown.
const masked = "********"

// maskProperty hides the value of a key that holds a secret. What a queue is called says
// nothing about that: of its keys only the last part counts.
func maskProperty(name, value string) string {
	lower := strings.ToLower(name)
	if strings.HasPrefix(name, capacity.Prefix) {
		lower = lower[strings.LastIndexByte(lower, '.')+1:]
	}
	for _, w := range secretWords {
		if value != "" && strings.Contains(lower, w) {
			return masked
		}
	}
	return value
}

// eventFilter says which events a stream is of; empty passes all.
type eventFilter struct {
	app, node, queue string
	kinds            map[string]bool // in upper case
}

func (f eventFilter) empty() bool {
	return f.app == "" && f.node == "" && f.queue == "" && f.kinds == nil
}

// pass takes a queue for itself and everything below it.
func (f eventFilter) pass(e *api.Event) bool {
	return (f.app == "" || f.app == e.App) && (f.node == "" || f.node == e.Node) && (f.kinds == nil || f.kinds[strings.ToUpper(e.Kind)]) &&
		(f.queue == "" || f.queue == e.Queue || strings.HasPrefix(e.Queue, f.queue+"."))
}

// eventFilter reads the filters. What they name need not exist yet, but must be
// well-formed; a short queue name is completed.
func (c *call) eventFilter(st *state.State, index uint64) (eventFilter, error) {
	f := eventFilter{app: c.q.Get("app"), node: c.q.Get("node"), queue: c.q.Get("queue"), kinds: set(c.q["kind"])}
	if f.app != "" {
		id, err := yarn.ParseApplicationID(f.app)
		if err != nil {
			return f, invalid("app: "+err.Error(), "copy an id from \"rmd app list\"")
		}
		f.app = id.String()
	}
	v := c.s.viewOf(st, index)
	if f.node != "" {
		if slot, err := v.node(f.node); err == nil {
			f.node = v.nodeID(slot)
		} else if _, perr := yarn.ParseNodeID(f.node); perr != nil {
			return f, err
		}
	}
	if f.queue != "" {
		slot, err := v.queue(f.queue)
		if err != nil {
			return f, err
		}
		f.queue = v.queuePath(slot)
	}
	known := make([]string, 0, 48)
	for _, k := range event.Kinds() {
		known = append(known, strings.ToUpper(k.String()))
	}
	return f, words("kind", f.kinds, known)
}

// batchDoc shows a batch through a filter, and which of its events passed.
func (v *view) batchDoc(b Batch, f eventFilter) (d api.EventBatch, places []int) {
	d = api.EventBatch{Index: b.Index, Term: b.Term, NowMillis: b.NowMillis, Events: []api.Event{}}
	for i, e := range b.Events {
		if doc := v.eventDoc(e); f.empty() || f.pass(&doc) {
			d.Events, places = append(d.Events, doc), append(places, i)
		}
	}
	return d, places
}
