package view

import (
	"cmp"
	"reflect"
	"strings"
	"unicode"

	"rmd/fsm/event"
	"rmd/transport/http/v1/api"
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
			v.eventField(&d, f.Name, r.FieldByIndex(f.Index))
		}
	}
	if f := r.FieldByName("Node"); f.IsValid() && !r.FieldByName("ID").IsValid() && v.Renumbered(uint32(f.Uint()), atMillis) {
		d.Node = ""
	}
	switch e := e.(type) {
	case *event.ContainerAllocated:
		d.Container = v.containerName(e.App, e.Number)
	case *event.ContainerLent:
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

// eventField adds one field. It never shows bytes: they are hashes of tokens, submission contexts
// and stored replies.
func (v *View) eventField(d *api.Event, name string, f reflect.Value) {
	switch x := f.Interface().(type) {
	case event.ContainerRef:
		id := v.AppID(x.App)
		d.App = id.String()
		d.Container = yarn.ContainerID{App: id, Attempt: x.Attempt, Number: x.Number}.String()
		if slot := v.State.Container(x); slot != 0 {
			d.Node = v.NodeID(v.State.Containers.Get(slot).Node)
		}
	case yarn.Resource:
		d.Data[snake(name)] = v.Size(x)
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
			props[p.Name] = MaskProperty(p.Name, p.Value)
		}
		d.Data["properties"] = props
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
		v.plainField(d, name, f)
	}
}

// plainField adds a field that is a number or a text. Fields that identify an object are not put
// into Data.
func (v *View) plainField(d *api.Event, name string, f reflect.Value) {
	switch name {
	case "App":
		d.App = v.AppID(uint32(f.Uint())).String()
	case "Node":
		if id := v.NodeID(uint32(f.Uint())); id != "" {
			d.Node = id
		}
		d.Data["node_number"] = f.Uint()
	case "Queue", "Path":
		d.Queue = f.String()
	case "Reservation":
		d.Reservation = ReservationID(f.Uint())
		v.reservationField(d, f.Uint())
	case "ID": // eventField handles NodeIDs; no other field has this name
		d.Data["id"] = f.Interface()
	default:
		if k := f.Kind(); (k == reflect.Slice || k == reflect.String) && f.Len() == 0 {
			return
		}
		d.Data[snake(name)] = f.Interface()
	}
}

// Renumbered reports whether a node got its number after a time. Before, the number was that of
// another node, which the state has forgotten.
func (v *View) Renumbered(number uint32, atMillis int64) bool {
	return atMillis != 0 && v.State.Nodes.Has(number) && v.State.Nodes.Get(number).KnownMillis > atMillis
}

// reservationField fills in the application and the node of a live reservation if the event does not
// name them. The events that end a reservation have only its number, and others tell of a container
// that is not the one for which the node is reserved.
func (v *View) reservationField(d *api.Event, number uint64) {
	slot := v.State.Reservation(number)
	if slot == 0 {
		return
	}
	r := v.State.Reservations.Get(slot)
	d.App, d.Node = cmp.Or(d.App, v.State.Apps.Get(r.App).ID.String()), cmp.Or(d.Node, v.NodeID(r.Node))
}

// AppID returns the id of the application with a number. For a forgotten application it uses the
// cluster's timestamp, which is right unless the application is from before a restore.
func (v *View) AppID(seq uint32) yarn.ApplicationID {
	if slot := v.State.App(seq); slot != 0 {
		return v.State.Apps.Get(slot).ID
	}
	return yarn.ApplicationID{ClusterTimestamp: v.State.Meta.ClusterTimestamp, Seq: seq}
}

// containerName returns the id of a container that an event identifies by its number in the attempt
// of that time. It returns "" unless the attempt is certain: it is the only one, or the state has
// the container.
func (v *View) containerName(app uint32, number uint64) string {
	slot := v.State.App(app)
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

func (v *View) queueOfApp(text string) string {
	id, err := yarn.ParseApplicationID(text)
	if err != nil {
		return ""
	}
	if slot := v.State.AppByID(id); slot != 0 {
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
