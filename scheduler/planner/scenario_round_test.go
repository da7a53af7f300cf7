package planner

import (
	"strconv"
	"strings"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// setPreemption switches preemption on. One round may take everything, containers end 15 seconds
// after the warning, and lost work does not count.
func (w *world) setPreemption() {
	const monitor = "yarn.resourcemanager.monitor.capacity.preemption."
	w.set("yarn.resourcemanager.scheduler.monitor.enable", "true")
	w.set("preemption.reservation-wait-ms", "0")
	w.set("preemption.max-lost-work-ms", "-1")
	w.set(monitor+"total_preemption_per_round", "1")
	w.set(monitor+"natural_termination_factor", "1")
}

// round [after=SECONDS] [quiet]: runs a preemption round.
func doRound(w *world, a args, out *strings.Builder) {
	seconds, _ := strconv.ParseInt(a.get("after", "0"), 10, 64)
	w.now += seconds * 1000
	w.plan(&input.PreemptionRound{})
	if a.has("quiet") {
		return
	}
	if w.show(out, all); len(w.events) == 0 {
		out.WriteString("nothing\n")
	}
}

// fill NAME SIZE NODE=COUNT …: gives the application COUNT running containers on each node.
func doFill(w *world, a args, out *strings.Builder) {
	name := a.need(0)
	for _, x := range a.list {
		if w.nodes[x.Key].Host == "" || len(x.Vals) == 0 {
			continue
		}
		count := must(strconv.Atoi(x.Vals[0]))
		slot, app := w.app(name)
		_, before := w.app(name)
		live := before.Live
		k := parseAsk(x.Vals[0]+"x"+a.need(1)+"@20", true)
		w.plan(&input.Allocate{Attempt: app.AttemptID(), Response: app.Response, Asks: []input.Ask{k}})
		for range count {
			w.plan(&input.NodeHeartbeat{ID: w.nodes[x.Key]})
		}
		if _, app = w.app(name); int(app.Live-live) != count {
			w.t.Fatalf("%s got %d of %d on %s", name, app.Live-live, count, x.Key)
		}
		w.plan(&input.Allocate{Attempt: app.AttemptID(), Response: app.Response})
		w.launch(slot)
	}
}

// ended NODE …: each node reports the end of all released containers, and a pass follows.
func doEnded(w *world, a args, out *strings.Builder) {
	for i := 0; a.word(i) != ""; i++ {
		in := &input.NodeHeartbeat{ID: w.nodes[a.word(i)]}
		in.Statuses = w.releasing(in.ID)
		w.plan(in)
		w.show(out, all)
	}
}

func (w *world) releasing(id yarn.NodeID) (list []input.ContainerStatus) {
	for _, c := range containersOn(w.p, w.p.st.Nodes.Find(id)) {
		if k := w.p.st.Containers.Get(c); k.State == yarn.ContainerReleasing {
			list = append(list, input.ContainerStatus{Container: w.p.st.Apps.ContainerID(k), State: yarn.ContainerCompleted,
				ExitStatus: k.ExitStatus})
		}
	}
	return list
}

// wait SECONDS: advances the time.
func doWait(w *world, a args, _ *strings.Builder) {
	w.now += must(strconv.ParseInt(a.need(0), 10, 64)) * 1000
}
