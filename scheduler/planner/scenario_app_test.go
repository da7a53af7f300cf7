package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

func (w *world) app(name string) (state.AppSlot, *state.App) {
	slot := w.p.st.Apps.ByID(w.apps[name])
	if slot == 0 {
		w.t.Fatalf("there is no application %q", name)
	}
	return slot, w.p.st.Apps.Get(slot)
}

// app NAME user=U queue=Q [am=1G [on=NODE]] [priority=N] [keep] [attempts=N] [label=X] [amlabel=X]
// [group=G] [tag=T] [lifetime=S] [timeout=S]
//
// submits an application. The label "none" is yarn.NoLabel. Without am, the AM is unmanaged and
// registers at once. With on, heartbeats of that node allocate the AM, which is then launched and
// registered. If NAME has already been submitted, app shows it.
func doApp(w *world, a args, out *strings.Builder) {
	name := a.need(0)
	if _, known := w.apps[name]; known {
		for i := 0; a.word(i) != ""; i++ {
			w.showApp(out, a.word(i))
		}
		return
	}
	in := &input.SubmitApplication{Name: name, User: a.get("user", "u"), Queue: a.get("queue", "a"),
		Unmanaged:      !a.has("am"),
		KeepContainers: a.has("keep"), MaxAttempts: 2, Label: a.label("label"), AMLabel: a.label("amlabel"),
		Groups: strings.Fields(a.get("group", "")), Tags: strings.Fields(a.get("tag", ""))}
	if a.has("am") {
		in.AM = parseSize(a.get("am", ""))
	}
	if seconds := a.get("lifetime", ""); seconds != "" {
		in.Tags = []string{yarn.LifetimeTag + "seconds=" + seconds}
	}
	in.LifetimeMillis = 1000 * must(strconv.ParseInt(a.get("timeout", "0"), 10, 64))
	if p := a.get("priority", ""); p != "" {
		n, _ := strconv.Atoi(p)
		in.Priority, in.PrioritySet = int32(n), true
	}
	r := w.plan(in)
	if w.refused(out, r) {
		if a.has("says") {
			fmt.Fprintln(out, r.Refused().What)
		}
		return
	}
	id := r.(*input.SubmitApplicationReply).ID
	w.apps[name], w.names[id.Seq] = id, name
	w.start(out, name, a)
}

func (w *world) start(out *strings.Builder, name string, a args) {
	slot, app := w.app(name)
	if !app.Activated() {
		fmt.Fprintf(out, "%s waits: %s\n", name, attemptStates[app.AttemptState])
		return
	}
	if on := a.get("on", ""); on != "" {
		for i := 0; i < 3 && app.Live == 0; i++ {
			w.plan(&input.NodeHeartbeat{ID: w.nodes[on]})
			_, app = w.app(name)
		}
		if app.Live == 0 {
			w.t.Fatalf("the AM of %s got nothing on %s", name, on)
		}
		w.launch(slot)
	}
	if app.Unmanaged || a.has("on") {
		w.refused(out, w.plan(&input.RegisterAttempt{Attempt: app.AttemptID()}))
	}
}

var attemptStates = []string{"none", "parked", "pending", "active", "registered", "finishing", "ended"}

// launch NAME: the nodes report all containers of NAME as running.
func doLaunch(w *world, a args, _ *strings.Builder) {
	slot, _ := w.app(a.need(0))
	w.launch(slot)
}

func (w *world) launch(slot state.AppSlot) {
	w.direct(func(p *Planner) {
		for _, c := range liveOf(p, slot) {
			if k := p.st.Containers.Get(c); k.State.Live() && !k.Launched {
				p.sched.Emit(&event.ContainerLaunched{Container: p.st.Apps.Ref(k)})
			}
		}
	})
}

// label returns the label that the argument asks for: yarn.NoLabel for "none".
func (a args) label(key string) string {
	if l := a.get(key, ""); l != "none" {
		return l
	}
	return yarn.NoLabel
}

// ask NAME 2x1G@5 … [label=X] [hosts=(n0:1,…)] [racks=(r0:1,…)] [strict] [strict-rack]
//
// sets the asks of NAME. hosts and racks belong to the first key.
func doAsk(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	in := &input.Allocate{Attempt: app.AttemptID(), Response: app.Response}
	for i := 1; a.word(i) != "" && strings.ContainsRune(a.word(i), 'x'); i++ {
		k := parseAsk(a.word(i), !a.has("strict"))
		k.Label = a.label("label")
		in.Asks = append(in.Asks, k)
	}
	for _, places := range []string{"hosts", "racks"} {
		for _, at := range strings.Split(a.get(places, ""), ",") {
			if name, n, ok := strings.Cut(strings.TrimSpace(at), ":"); ok {
				k := in.Asks[0]
				k.Label = ""
				k.Name, k.Relax = name, places == "hosts" || !a.has("strict-rack")
				k.Count, _ = strconv.ParseInt(n, 10, 64)
				in.Asks = append(in.Asks, k)
			}
		}
	}
	r := w.plan(in)
	if !w.refused(out, r) {
		w.show(out, reservationsOnly)
		if w.eager {
			w.tellReply(out, r.(*input.AllocateReply))
		}
	}
}

// parseAsk reads COUNTxSIZE@PRIORITY.
func parseAsk(s string, relax bool) input.Ask {
	count, rest, _ := strings.Cut(s, "x")
	size, prio, ok := strings.Cut(rest, "@")
	if !ok {
		prio = "1"
	}
	n, err := strconv.ParseInt(count, 10, 64)
	p, err2 := strconv.Atoi(prio)
	if err != nil || err2 != nil {
		panic(fmt.Sprintf("ask %q is not 2x1G@5", s))
	}
	return input.Ask{Key: yarn.SchedulerKey{Priority: int32(p)}, Name: yarn.Any, Count: n,
		Size: parseSize(size), Relax: relax}
}

// pull NAME [response=N]: an allocate call without new asks.
func doPull(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	n := must(strconv.ParseInt(a.get("response", fmt.Sprint(app.Response)), 10, 32))
	r := w.plan(&input.Allocate{Attempt: app.AttemptID(), Response: int32(n)})
	if !w.refused(out, r) {
		w.tellReply(out, r.(*input.AllocateReply))
	}
}

func (w *world) tellReply(out *strings.Builder, r *input.AllocateReply) {
	for _, g := range r.Granted {
		fmt.Fprintf(out, "granted #%d %s on %s\n", g.Container.Number, w.size(g.Size), g.Node.Host)
	}
	for _, z := range r.Resized {
		fmt.Fprintf(out, "resized #%d %s version %d %s\n", z.Container.Number, w.size(z.Size), z.Version, z.Change)
	}
	for _, e := range r.UpdateErrors {
		fmt.Fprintf(out, "update %d: %s, version %d\n", e.Update+1, e.Reason, e.Version)
	}
	for _, c := range r.Completed {
		fmt.Fprintf(out, "completed #%d %d\n", c.Container.Number, c.ExitStatus)
	}
	for _, k := range r.Preempted {
		fmt.Fprintf(out, "to be preempted #%d %s\n", k.Container.Number, w.size(k.Size))
	}
	fmt.Fprintf(out, "headroom %s\n", w.size(r.Headroom))
}

// complete NAME NUMBER …: the AM acquires its containers, then their node reports the end of these.
// No pass follows. With unpulled, the AM does not acquire them, so their ask is restored.
func doComplete(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	if app.AttemptState == state.AttemptRegistered && !a.has("unpulled") {
		w.plan(&input.Allocate{Attempt: app.AttemptID(), Response: app.Response})
	}
	for i := 1; a.word(i) != "" && a.word(i) != "unpulled"; i++ {
		n, _ := strconv.ParseUint(a.word(i), 10, 64)
		ref := event.ContainerRef{App: app.ID.Seq, Attempt: app.Attempt, Number: n}
		if w.p.st.Container(ref) == 0 {
			w.t.Fatalf("%s has no container %d", a.need(0), n)
		}
		w.direct(func(p *Planner) { p.ends.Complete(ref, 0, "") })
	}
	w.show(out, all)
}

// release NAME NUMBER …: the AM releases containers.
func doRelease(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	in := &input.Allocate{Attempt: app.AttemptID(), Response: app.Response}
	for i := 1; a.word(i) != ""; i++ {
		n, _ := strconv.ParseUint(a.word(i), 10, 64)
		in.Releases = append(in.Releases, yarn.ContainerID{App: app.ID, Attempt: app.Attempt, Number: n})
	}
	if !w.refused(out, w.plan(in)) {
		w.show(out, all)
	}
}

// blacklist NAME PLACE … [remove]
func doBlacklist(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	in := &input.Allocate{Attempt: app.AttemptID(), Response: app.Response}
	for i := 1; a.word(i) != "" && a.word(i) != "remove"; i++ {
		if a.has("remove") {
			in.BlacklistRemove = append(in.BlacklistRemove, a.word(i))
		} else {
			in.BlacklistAdd = append(in.BlacklistAdd, a.word(i))
		}
	}
	if !w.refused(out, w.plan(in)) {
		w.show(out, all)
	}
}

// kill NAME
func doKill(w *world, a args, out *strings.Builder) {
	w.refused(out, w.plan(&input.KillApplication{ID: w.apps[a.need(0)]}))
	w.show(out, all)
}

// finish NAME
func doFinish(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	w.refused(out, w.plan(&input.FinishAttempt{Attempt: app.AttemptID(), Final: yarn.FinalSucceeded}))
	w.show(out, all)
}

// fail NAME: the attempt expires.
func doFail(w *world, a args, out *strings.Builder) {
	_, app := w.app(a.need(0))
	w.refused(out, w.plan(&input.ExpireAttempt{Attempt: app.AttemptID()}))
	w.show(out, all)
}

// move NAME QUEUE
func doMove(w *world, a args, out *strings.Builder) {
	w.refused(out, w.plan(&input.MoveApplication{ID: w.apps[a.need(0)], Queue: a.need(1)}))
	w.show(out, all)
}

func (w *world) showApp(out *strings.Builder, name string) {
	slot, a := w.app(name)
	fmt.Fprintf(out, "%s %s attempt %d, used %s reserved %s pending %s", name, attemptStates[a.AttemptState], a.Attempt,
		w.size(a.Used), w.size(a.Reserved), w.size(a.Pending))
	live := liveOf(w.p, slot)
	slices.Reverse(live)
	for _, c := range live {
		k := w.p.st.Containers.Get(c)
		fmt.Fprintf(out, " #%d:%s@%s", k.Number, w.size(k.Size), w.p.st.Nodes.Get(k.Node).ID.Host)
	}
	for _, r := range w.reservationsOf(a) {
		fmt.Fprintf(out, " r%d:%s@%s", r.Number, w.size(r.Size), w.p.st.Nodes.Get(r.Node).ID.Host)
	}
	out.WriteByte('\n')
}

func (w *world) reservationsOf(a *state.App) []*state.Reservation {
	var list []*state.Reservation
	for _, r := range w.p.st.Reservations.Of(a) {
		list = append(list, r)
	}
	slices.Reverse(list)
	return list
}

// priority NAME [N [user=U]]: shows or changes the priority. Without user, an administrator changes
// it.
func doPriority(w *world, a args, out *strings.Builder) {
	if a.word(1) == "" {
		_, app := w.app(a.need(0))
		fmt.Fprintf(out, "priority %d\n", app.Priority)
		return
	}
	n, _ := strconv.Atoi(a.need(1))
	r := w.plan(&input.SetPriority{ID: w.apps[a.need(0)], Priority: int32(n), User: a.get("user", "")})
	if !w.refused(out, r) {
		fmt.Fprintf(out, "priority %d\n", r.(*input.SetPriorityReply).Priority)
	}
}

// liveOf returns the live containers of an application.
func liveOf(p *Planner, slot state.AppSlot) (live []state.ContainerSlot) {
	for c, k := range p.st.Containers.Of(p.st.Apps.Get(slot)) {
		if k.State.Live() {
			live = append(live, c)
		}
	}
	return live
}

// containersOn returns the containers on a node.
func containersOn(p *Planner, node state.NodeSlot) (slots []state.ContainerSlot) {
	for c := range p.st.Containers.On(p.st.Nodes.Get(node)) {
		slots = append(slots, c)
	}
	return slots
}

// containerOn returns the slot of a container; 0 if the node has none with this id.
func containerOn(p *Planner, node state.NodeSlot, id yarn.ContainerID) state.ContainerSlot {
	if slot := p.st.ContainerByID(id); slot != 0 && p.st.Containers.Get(slot).Node == node &&
		p.st.Apps.ContainerID(p.st.Containers.Get(slot)) == id {
		return slot
	}
	return 0
}
