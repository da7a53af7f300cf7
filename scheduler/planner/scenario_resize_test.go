package planner

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// container returns the ID of a container of the current attempt.
func (w *world) container(app *state.App, number string) yarn.ContainerID {
	return yarn.ContainerID{App: app.ID, Attempt: app.Attempt, Number: must(strconv.ParseUint(number, 10, 64))}
}

// update NAME NUMBER:+SIZE[@VERSION] NUMBER:-SIZE … [again]: the AM asks to resize its containers.
// promote or demote may replace the size. With again, the AM repeats the call, and the answer must
// be the same.
func doUpdate(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	in := &input.Allocate{Attempt: app.AttemptID(), Response: app.Response}
	for i := 1; a.word(i) != ""; i++ {
		number, what, ok := strings.Cut(a.word(i), ":")
		switch {
		case ok && what == "release":
			in.Releases = append(in.Releases, w.container(app, number))
		case ok:
			in.Updates = append(in.Updates, w.update(app, number, what))
		}
	}
	r := w.plan(in)
	w.show(out, all)
	if w.refused(out, r) {
		return
	}
	w.tellReply(out, r.(*input.AllocateReply))
	if a.has("again") {
		again := w.plan(in)
		if len(w.events) > 0 {
			w.t.Fatalf("a repeated call changes something: %s", w.tell(w.events))
		}
		if one, two := input.EncodeReply(nil, r), input.EncodeReply(nil, again); string(one) != string(two) {
			w.t.Fatalf("a repeated call is answered %+v, was %+v", again, r)
		}
	}
}

func (w *world) update(app *state.App, number, what string) input.Update {
	u := input.Update{Container: w.container(app, number), Type: input.IncreaseResource}
	what, version, _ := strings.Cut(what, "@")
	if version != "" {
		u.Version = int32(must(strconv.Atoi(version)))
	}
	switch {
	case what == "promote":
		u.Type = input.PromoteExecution
	case what == "demote":
		u.Type, u.Opportunistic = input.DemoteExecution, true
	case what[0] == '-':
		u.Type = input.DecreaseResource
		fallthrough
	default:
		u.Size = parseSize(what[1:])
	}
	return u
}

// sized NODE NAME NUMBER:SIZE …: a heartbeat reports the sizes of containers.
func doSized(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(1))
	in := &input.NodeHeartbeat{ID: w.nodes[a.need(0)]}
	for i := 2; a.word(i) != ""; i++ {
		number, size, _ := strings.Cut(a.word(i), ":")
		in.Sizes = append(in.Sizes, input.ContainerSize{Container: w.container(app, number), Size: parseSize(size)})
	}
	w.plan(in)
	w.show(out, all)
}

// had NODE NAME NUMBER@VERSION: the node acknowledges an order to resize.
func doHad(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(1))
	number, version, _ := strings.Cut(a.need(2), "@")
	w.plan(&input.NodeHeartbeat{ID: w.nodes[a.need(0)],
		SizesAcked: []input.SizeOrder{{Container: w.container(app, number), Version: int32(must(strconv.Atoi(version)))}}})
	w.show(out, all)
}

// orders NODE: shows the orders to resize that the node gets.
func doOrders(w *world, a args, out *strings.Builder) {
	r := w.plan(&input.NodeHeartbeat{ID: w.nodes[a.need(0)]}).(*input.NodeHeartbeatReply)
	for _, o := range r.Resize {
		fmt.Fprintf(out, "ordered: #%d version %d\n", o.Container.Number, o.Version)
	}
	if len(r.Resize) == 0 {
		out.WriteString("no orders\n")
	}
}

// expire NAME NUMBER …: granted containers expire because the AM did not use them.
func doExpire(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	in := &input.ExpireContainers{}
	for i := 1; a.word(i) != ""; i++ {
		in.Containers = append(in.Containers, w.container(app, a.word(i)))
	}
	w.plan(in)
	before := out.Len()
	if w.show(out, all); out.Len() == before {
		out.WriteString("nothing expires\n")
	}
}
