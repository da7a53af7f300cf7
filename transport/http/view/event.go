package view

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// Event returns the document of an event. It shows the objects of the event by name, and its other
// fields with names in snake case. The names come from the current state, so a forgotten
// application or node has only its number. atMillis is the time of the event, or 0 if it is
// unknown.
func (v *View) Event(e event.Event, atMillis int64) api.Event {
	d := api.Event{Kind: e.Kind().String(), Data: map[string]any{}}
	r := reflect.ValueOf(e).Elem()
	for _, f := range reflect.VisibleFields(r.Type()) {
		if !f.Anonymous { // the fields of an embedded event follow
			events{v}.eventField(&d, f.Name, r.FieldByIndex(f.Index))
		}
	}
	events{v}.subjects(&d, e, atMillis)
	if d.Queue == "" && d.App != "" {
		d.Queue = events{v}.queueOfApp(d.App)
	}
	if len(d.Data) == 0 {
		d.Data = nil
	}
	return d
}

// events makes the parts of documents of events.
type events struct{ *View }

// subjects shows what an event is about.
func (v events) subjects(d *api.Event, e event.Event, atMillis int64) {
	s := event.SubjectOf(e)
	about := v.Subject(e, atMillis)
	if about.App != 0 {
		d.App = v.AppID(about.App).String()
	}
	if d.Node = v.NodeID(about.Node); s.NodeID != (yarn.NodeID{}) {
		d.Node = s.NodeID.String()
	}
	switch c := s.Container; {
	case c.Attempt != 0:
		d.Container = yarn.ContainerID{App: v.AppID(c.App), Attempt: c.Attempt, Number: c.Number}.String()
	case c.Number != 0:
		d.Container = v.containerName(c.App, c.Number)
	}
	if s.Reservation != 0 {
		d.Reservation = ReservationID(s.Reservation)
	}
	d.Queue = s.Queue
}

// Subject is what an event is about: the number of an application and the slot of a node. 0 means
// none, or unknown.
type Subject struct {
	App  uint32
	Node state.NodeSlot
}

// Subject returns what an event is about, as far as the event and the current state tell. atMillis
// is the time of the event, or 0 if it is unknown.
func (v *View) Subject(e event.Event, atMillis int64) Subject {
	named := event.SubjectOf(e)
	s := Subject{named.App, named.Node}
	switch {
	case named.NodeID != yarn.NodeID{}:
		s.Node = v.State.Nodes.Find(named.NodeID)
		return s
	case v.renumbered(s.Node, atMillis):
		s.Node = 0
		return s
	}
	if c := v.State.Container(named.Container); c != 0 {
		s.Node = cmp.Or(s.Node, v.State.Containers.Get(c).Node)
	}
	// The events that end a reservation have only its number, and others tell of a container that is
	// not the one for which the node is reserved.
	if r := v.State.Reservations.Find(named.Reservation); r != 0 {
		k := v.State.Reservations.Get(r)
		s.App, s.Node = cmp.Or(s.App, v.State.Apps.Get(k.App).ID.Seq), cmp.Or(s.Node, k.Node)
	}
	return s
}

// eventField adds one field to Data. It never shows bytes: they are hashes of tokens, submission contexts
// and stored replies.
func (v events) eventField(d *api.Event, name string, f reflect.Value) {
	switch x := f.Interface().(type) {
	case event.ContainerRef, yarn.NodeID: // subjects shows them
	case yarn.Resource:
		d.Data[snake(name)] = v.Size(x)
	case yarn.SchedulerKey:
		d.Data["priority"] = x.Priority
		if x.AllocationID != 0 {
			d.Data["allocation_id"] = x.AllocationID
		}
	case []byte:
		d.Data[snake(name)+"_bytes"] = len(x)
	case []event.Property:
		props := make(map[string]string, len(x))
		for _, p := range x {
			props[p.Name] = MaskProperty(p.Name, p.Value)
		}
		d.Data["properties"] = props
	case []event.AppToken: // without their identifiers and passwords
		tokens := make([]string, 0, len(x))
		for _, t := range x {
			tokens = append(tokens, t.Kind+" of "+t.Service)
		}
		d.Data["tokens"] = tokens
	case []event.Label:
		labels := make(map[string]bool, len(x))
		for _, l := range x {
			labels[l.Name] = l.Exclusive
		}
		d.Data["exclusive"] = labels
	case []event.LabelledNode:
		nodes := make(map[string]string, min(len(x), mostListed))
		for _, n := range x[:min(len(x), mostListed)] {
			nodes[HostOrNode(n.ID)] = n.Label
		}
		d.Data["labels"], d.Data["nodes"] = nodes, len(x)
	case []event.QueueDefinition:
		paths := make([]string, 0, len(x))
		for _, q := range x {
			paths = append(paths, q.Path)
		}
		d.Data["queues"] = paths
	default:
		plainField(d, name, f)
	}
}

// plainField adds a field that is a number or a text.
func plainField(d *api.Event, name string, f reflect.Value) {
	switch name {
	case "App", "Queue", "Path", "Reservation": // subjects shows them
	case "Node":
		d.Data["node_number"] = f.Uint()
	case "BodyHash": // a number of 64 bits is no number for many readers of JSON
		d.Data["body_hash"] = fmt.Sprintf("%016x", f.Uint())
	default:
		if k := f.Kind(); (k == reflect.Slice || k == reflect.String) && f.Len() == 0 {
			return
		}
		d.Data[snake(name)] = f.Interface()
	}
}

// renumbered reports whether a node got its number after a time. Before, the number was that of
// another node, which the state has forgotten.
func (v *View) renumbered(number state.NodeSlot, atMillis int64) bool {
	return atMillis != 0 && v.State.Nodes.Has(number) && v.State.Nodes.Get(number).KnownMillis > atMillis
}

// AppID returns the id of the application with a number. For a forgotten application it uses the
// cluster's timestamp, which is right unless the application is from before a restore.
func (v *View) AppID(seq uint32) yarn.ApplicationID {
	if slot := v.State.Apps.Find(seq); slot != 0 {
		return v.State.Apps.Get(slot).ID
	}
	return yarn.ApplicationID{ClusterTimestamp: v.State.Meta.ClusterTimestamp, Seq: seq}
}

// containerName returns the id of a container that an event identifies by its number in the attempt
// of that time. It returns "" unless the attempt is certain: it is the only one, or the state has
// the container.
func (v events) containerName(app uint32, number uint64) string {
	slot := v.State.Apps.Find(app)
	if slot == 0 {
		return ""
	}
	a := v.State.Apps.Get(slot)
	for attempt := a.Attempt; attempt > 0; attempt-- {
		if a.Attempt == 1 || v.State.Container(event.ContainerRef{App: app, Attempt: attempt, Number: number}) != 0 {
			return yarn.ContainerID{App: a.ID, Attempt: attempt, Number: number}.String()
		}
	}
	return ""
}

func (v events) queueOfApp(text string) string {
	id, err := yarn.ParseApplicationID(text)
	if err != nil {
		return ""
	}
	if slot := v.State.Apps.ByID(id); slot != 0 {
		return v.State.QueueOf(v.State.Apps.Get(slot))
	}
	return ""
}

// snake converts a Go name to a JSON name: NowMillis becomes now_ms.
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
