package planner

import (
	"fmt"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

const confPrefix = "yarn.scheduler.capacity."

// conf queues=(a:8.5, b:91.5, p.x:40) [a.KEY=VALUE …] [KEY=VALUE …] [dominant] [max=8G] [preempt]
//
// sets or changes the configuration. A key that begins with a queue belongs to that queue. By
// default, scenarios cancel reservations lazily and leave AMs all the room they want.
func doConf(w *world, a args, out *strings.Builder) {
	if w.props == nil {
		w.set("reservation.eager-cancel", "false")
		w.set("maximum-am-resource-percent", "1")
	}
	queues := map[string]bool{"root": true}
	for _, q := range strings.Split(a.get("queues", ""), ",") {
		if path, capacity, ok := strings.Cut(strings.TrimSpace(q), ":"); ok {
			w.addQueue("root."+path, strings.ReplaceAll(capacity, ";", ","))
		}
	}
	for _, q := range w.props {
		if path, ok := strings.CutSuffix(q.Name, ".capacity"); ok {
			queues[strings.TrimPrefix(path, confPrefix+"root.")] = true
		}
	}
	for _, x := range a.list {
		value := strings.Join(x.Vals, ",")
		switch {
		case x.Key == "queues":
		case x.Key == "preempt":
			w.setPreemption()
		case x.Key == "dominant":
			w.set("resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
		case x.Key == "max":
			size := parseSize(value)
			w.set("yarn.scheduler.maximum-allocation-mb", strconv.FormatInt(size[yarn.Memory], 10))
			if size[yarn.VCores] > 0 {
				w.set("yarn.scheduler.maximum-allocation-vcores", strconv.FormatInt(size[yarn.VCores], 10))
			}
		default:
			w.set(w.keyOf(x.Key, queues), value)
		}
	}
	var r input.Reply
	if w.p.Config() == nil {
		r = w.plan(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Properties: w.props})
	} else {
		r = w.plan(&input.SetQueues{Properties: w.props})
	}
	w.refused(out, r)
}

// keyOf returns the full name of a key. The key belongs to the longest queue path that it begins
// with.
func (w *world) keyOf(key string, queues map[string]bool) string {
	if strings.HasPrefix(key, "root.") {
		return confPrefix + key
	}
	for i := len(key); i > 0; i = strings.LastIndexByte(key[:i], '.') {
		if queues[key[:i]] {
			return confPrefix + "root." + key
		}
	}
	return key
}

func (w *world) addQueue(path, capacity string) {
	parent, name := path[:strings.LastIndexByte(path, '.')], path[strings.LastIndexByte(path, '.')+1:]
	key := confPrefix + parent + ".queues"
	list := name
	for _, q := range w.props {
		if q.Name == key && !strings.Contains(","+q.Value+",", ","+name+",") {
			list = q.Value + "," + name
		} else if q.Name == key {
			list = q.Value
		}
	}
	w.set(key, list)
	w.set(confPrefix+path+".capacity", capacity)
}

func (w *world) set(key, value string) {
	if !strings.HasPrefix(key, "yarn.") {
		key = confPrefix + key
	}
	for i := range w.props {
		if w.props[i].Name == key {
			w.props[i].Value = value
			return
		}
	}
	w.props = append(w.props, input.Property{Name: key, Value: value})
}

// mode eager | heartbeat: sets when passes run.
func doMode(w *world, a args, _ *strings.Builder) {
	w.eager = a.need(0) == "eager"
	for _, p := range append(w.twins, w.p) {
		p.setEager(w.eager)
	}
}

func (p *Planner) setEager(eager bool) {
	p.opt.Eager = eager
	p.sched.Probe().SetEager(eager)
}

// queues: shows the guarantee, the maximum and the application limits of each queue.
func doQueues(w *world, _ args, out *strings.Builder) {
	for i := range w.p.Config().Queues {
		q, e := &w.p.Config().Queues[i], &w.p.sched.Tree().Capacities[i]
		fmt.Fprintf(out, "%s min %s max %s", q.Path, w.size(e.EffMin), w.size(e.EffMax))
		if q.Leaf {
			fmt.Fprintf(out, " applications %d, %d a user", w.p.Config().MaxApplications(i, w.p.sched.TreeOf),
				w.p.Config().MaxApplicationsPerUser(i, w.p.sched.TreeOf))
		}
		fmt.Fprintf(out, " %s\n", w.p.sched.Queue(int32(i)).State)
	}
}

// stop QUEUE [start]
func doStop(w *world, a args, out *strings.Builder) {
	to := yarn.QueueStopped
	if a.has("start") {
		to = yarn.QueueRunning
	}
	w.refused(out, w.plan(&input.SetQueueState{Queue: a.need(0), State: to}))
}

// node add NAME SIZE [host=H port=P] [rack=R] [dialed] | node remove|lose|drain|undrain|forget|unhealthy|heard NAME |
// node resize NAME SIZE | node show NAME …
func doNode(w *world, a args, out *strings.Builder) {
	name := a.need(1)
	id := w.nodes[name]
	switch what := a.need(0); what {
	case "add":
		id = yarn.NodeID{Host: a.get("host", name), Port: uint16(must(strconv.Atoi(a.get("port", "1"))))}
		w.nodes[name] = id
		w.refused(out, w.plan(&input.RegisterNode{ID: id, Rack: a.get("rack", "rack"), Total: parseSize(a.need(2)),
			Containers: w.running(id), NodeManager: a.has("dialed")}))
	case "remove":
		w.refused(out, w.plan(&input.UnregisterNode{ID: id}))
	case "lose":
		w.refused(out, w.plan(&input.ExpireNode{ID: id}))
	case "drain", "undrain":
		w.refused(out, w.plan(&input.DrainNode{ID: id, Back: what == "undrain"}))
	case "forget":
		w.refused(out, w.plan(&input.ForgetNode{ID: id}))
	case "silent":
		since := w.now - 1000*must(strconv.ParseInt(a.get("for", "3"), 10, 64))
		w.refused(out,
			w.plan(&input.NodeSilence{Silent: []input.SilentNode{{Node: w.p.st.Nodes.Find(id), SinceMillis: since}}}))
	case "heard":
		w.refused(out, w.plan(&input.NodeSilence{Heard: []state.NodeSlot{w.p.st.Nodes.Find(id)}}))
	case "unhealthy":
		w.plan(&input.NodeHeartbeat{ID: id, Unhealthy: true})
	case "resize":
		w.refused(out, w.plan(&input.SetNodeResource{ID: id, Total: parseSize(a.need(2))}))
	case "show":
		for i := 1; a.word(i) != ""; i++ {
			w.showNode(out, a.word(i))
		}
		return
	default:
		w.t.Fatalf("node %s?", what)
	}
	w.show(out, reservationsOnly)
}

// running returns the containers that a node reports when it registers again.
func (w *world) running(id yarn.NodeID) []input.ContainerStatus {
	var list []input.ContainerStatus
	if slot := w.p.st.Nodes.Find(id); slot != 0 {
		for _, c := range containersOn(w.p, slot) {
			list = append(list, input.ContainerStatus{Container: w.p.st.Apps.ContainerID(w.p.st.Containers.Get(c)),
				State: yarn.ContainerRunning})
		}
	}
	return list
}

func (w *world) showNode(out *strings.Builder, name string) {
	n := w.p.st.Nodes.Get(w.p.st.Nodes.Find(w.nodes[name]))
	fmt.Fprintf(out, "%s %s of %s used, %s free", name, w.size(n.Allocated), w.size(n.Total), w.size(n.Unallocated()))
	if n.State != yarn.NodeRunning {
		fmt.Fprintf(out, ", %s", n.State)
	}
	if n.Silent() {
		fmt.Fprintf(out, ", silent for %d s", n.SilentMillis(w.now)/1000)
	}
	if n.Reservation != 0 {
		r := w.p.st.Reservations.Get(n.Reservation)
		fmt.Fprintf(out, ", r%d of %s for %s", r.Number, w.size(r.Size), w.names[w.p.st.Apps.Get(r.App).ID.Seq])
	}
	out.WriteByte('\n')
}

// parseSize parses sizes such as 4G, 512M or 4G,2c,1g. The default is one vcore.
func parseSize(s string) yarn.Resource {
	r := yarn.NewResource(0, 1)
	for i, part := range strings.Split(s, ",") {
		n, err := strconv.ParseInt(part[:len(part)-1], 10, 64)
		if err != nil {
			panic(fmt.Sprintf("size %q: %v", s, err))
		}
		switch unit := part[len(part)-1]; {
		case i == 0 && unit == 'G':
			r[yarn.Memory] = n * 1024
		case i == 0 && unit == 'M':
			r[yarn.Memory] = n
		case unit == 'c':
			r[yarn.VCores] = n
		default:
			r[2] = n
		}
	}
	return r
}

// size formats a resource as the specification does.
func (w *world) size(r yarn.Resource) string {
	s := fmt.Sprintf("%dM", r[yarn.Memory])
	if r[yarn.Memory]%1024 == 0 {
		s = fmt.Sprintf("%dG", r[yarn.Memory]/1024)
	}
	if r[yarn.Memory] == 0 {
		s = "0"
	}
	if cfg := w.p.Config(); cfg != nil && cfg.Calculator.Dominant {
		s += fmt.Sprintf(",%dc", r[yarn.VCores])
	}
	return s
}
