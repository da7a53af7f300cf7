package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

const dominantClass = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"

// trees are three-level queue trees in different units of capacity. All have the same leaf paths,
// so one tree can replace another while applications run.
var trees = [][]string{
	{ // percent
		"root.queues=a,b,c", "root.a.capacity=50", "root.b.capacity=30", "root.c.capacity=20", "root.a.queues=x,y",
		"root.a.x.capacity=60", "root.a.y.capacity=40",
		"root.a.maximum-capacity=80", "root.b.maximum-capacity=60", "root.a.x.user-limit-factor=2",
		"root.b.user-limit-factor=3", "root.c.user-limit-factor=10",
		"root.a.x.minimum-user-limit-percent=50", "root.c.minimum-user-limit-percent=25", "root.c.user-settings.u1.weight=2",
	},
	{ // weights, fair order, queue priorities
		"root.queues=a,b,c", "root.a.capacity=2w", "root.b.capacity=1w", "root.c.capacity=1w", "root.a.queues=x,y",
		"root.a.x.capacity=1w", "root.a.y.capacity=3w",
		"root.ordering-policy=priority-utilization", "root.a.priority=2", "root.a.x.ordering-policy=fair",
		"root.b.ordering-policy=fair",
		"root.b.ordering-policy.fair.enable-size-based-weight=true", "root.a.x.user-limit-factor=-1",
		"root.b.user-limit-factor=4", "root.c.user-limit-factor=10",
		"root.c.max-parallel-apps=2", "user.max-parallel-apps=3", "root.a.x.minimum-user-limit-percent=33.3",
		"reservation.maximum-per-queue=2",
	},
	{ // absolute
		"root.queues=a,b,c", "root.a.capacity=[memory=12288,vcores=12]", "root.b.capacity=[memory=8192,vcores=8]",
		"root.c.capacity=[memory=4096,vcores=4]",
		"root.a.queues=x,y", "root.a.x.capacity=[memory=8192,vcores=8]", "root.a.y.capacity=[memory=4096,vcores=4]",
		"root.a.x.maximum-capacity=[memory=10240,vcores=10]", "root.a.x.user-limit-factor=3", "root.b.user-limit-factor=3",
		"root.c.maximum-applications=2",
		"root.a.max-parallel-apps=3", "root.c.user-limit-factor=5", "reservations-continue-look-all-nodes=false",
	},
	{ // few limits: reservations abound
		"root.queues=a,b,c", "root.a.capacity=40", "root.b.capacity=30", "root.c.capacity=30", "root.a.queues=x,y",
		"root.a.x.capacity=50", "root.a.y.capacity=50",
		"root.a.x.user-limit-factor=20", "root.a.y.user-limit-factor=20", "root.b.user-limit-factor=20",
		"root.c.user-limit-factor=20",
		"maximum-am-resource-percent=1", "per-node-heartbeat.maximum-offswitch-assignments=4",
	},
}

var leaves = []string{"root.a.x", "root.a.y", "root.b", "root.c"}

func (m *machine) properties() []input.Property {
	set := map[string]string{
		"yarn.scheduler.maximum-allocation-mb": "8192", "yarn.scheduler.maximum-allocation-vcores": "8",
		"yarn.cluster.max-application-priority":           "5",
		"yarn.resourcemanager.max-completed-applications": "3", confPrefix + "reservation.eager-cancel": fmt.Sprint(!m.lazy),
		confPrefix + "maximum-am-resource-percent": "0.5", confPrefix + "maximum-applications": "40",
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs": "2",
		"yarn.nm.liveness-monitor.expiry-interval-ms":                     "1000",
		"yarn.resourcemanager.delegation.key.update-interval":             "1500",
		"yarn.resourcemanager.delegation.token.renew-interval":            "3000",
		"yarn.resourcemanager.delegation.token.max-lifetime":              "9000", "yarn.node-labels.enabled": "true",
	}
	if m.dominant {
		set[confPrefix+"resource-calculator"] = dominantClass
	}
	switch m.variant % 3 {
	case 1:
		set[confPrefix+"root.backfill"], set[confPrefix+"root.b.backfill"],
			set[confPrefix+"reservation.node"] = "preemptable", "declared", "first"
	case 2:
		set[confPrefix+"root.backfill"], set[confPrefix+"reservation.node"] = "declared", "earliest"
	}
	if m.kinds == 3 {
		set["yarn.resource-types"], set["yarn.resource-types.yarn.io/gpu.maximum-allocation"] = "yarn.io/gpu", "2"
	}
	for _, line := range m.tree() {
		i := slices.Index([]byte(line), '=')
		set[confPrefix+line[:i]] = line[i+1:]
	}
	set[confPrefix+"root.queues"] += ",users"
	set[confPrefix+"root.users.capacity"] = map[bool]string{true: "1w",
		false: "0"}[strings.HasSuffix(set[confPrefix+"root.b.capacity"], "w")]
	if strings.HasPrefix(set[confPrefix+"root.b.capacity"], "[") {
		set[confPrefix+"root.users.capacity"] = "[memory=1024,vcores=1]"
	}
	set[confPrefix+"root.users.auto-queue-creation-v2.enabled"] = "true"
	set[confPrefix+"auto-queue-creation-v2.queue-expiration-time"] = "1"
	maps.Copy(set, m.orders)
	maps.Copy(set, m.extra)
	var out []input.Property
	for _, k := range slices.Sorted(maps.Keys(set)) {
		out = append(out, input.Property{Name: k, Value: set[k]})
	}
	return out
}

// drawOrders draws the order of nodes of the cluster, of queues and of labels, and how long an ask
// waits for its hosts and racks.
func (m *machine) drawOrders(t *rapid.T) {
	m.orders = map[string]string{
		confPrefix + "node-locality-delay": rapid.SampledFrom([]string{"2", "0", "-1"}).Draw(t, "delay"),
		confPrefix + "rack-locality-additional-delay": rapid.SampledFrom([]string{"-1", "0", "1"}).Draw(t,
			"additional delay"),
	}
	for _, key := range []string{"", "root.a.", "root.b.", "root.a.x.", "root.users.", "root.accessible-node-labels.x.",
		"root.a.accessible-node-labels.y."} {
		if order := rapid.SampledFrom(append(capacity.NodeOrders(), "")).Draw(t, "order"); order != "" {
			m.orders[confPrefix+key+"node-order"] = order
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// actions returns the inputs. Frequent ones are listed several times.
func (m *machine) actions() map[string]func(*rapid.T) {
	a := map[string]func(*rapid.T){
		"registerNode": m.registerNode, "nodeGone": m.nodeGone, "drain": m.drain, "resize": m.resize,
		"unhealthy": m.unhealthy,
		"submit":    m.submit, "submit2": m.submit, "submit3": m.submit, "submitTwice": m.submitTwice,
		"removeIdle": m.removeIdle, "end": m.end, "move": m.move, "priority": m.priority,
		"queueState": m.queueState, "configure": m.configure, "cancel": m.cancel, "tick": m.tick, "nonsense": m.nonsense,
		"repeat": m.repeat,
		"runAM":  m.runAM, "runAM2": m.runAM, "blacklist": m.blacklist, "gang": m.declareGang,
		"heard": m.heard, "heard2": m.heard, "silence": m.silence, "signal": m.signal, "unused": m.unused,
		"hostLists": m.hostLists, "labels": m.labels,
	}
	maps.Copy(a, m.masterActions())
	maps.Copy(a, m.labelActions())
	for i := range 20 {
		a[fmt.Sprintf("heartbeat%d", i)] = m.heartbeat
		a[fmt.Sprintf("ask%d", i/2)] = m.ask
	}
	return a
}

func (m *machine) reservingActions() map[string]func(*rapid.T) {
	m.variant = 3
	m.plan(&input.SetQueues{Properties: m.properties()})
	for range 4 {
		m.submit(m.t)
	}
	a := map[string]func(*rapid.T){
		"cancel": m.cancel, "blacklist": m.blacklist, "move": m.move, "priority": m.priority, "resize": m.resize,
		"repeat": m.repeat, "end": m.end,
		"gang": m.declareGang, "tick": m.tick,
		"submit": m.submit, "runAM": m.runAM, "drain": m.drain, "registerNode": m.registerNode, "heard": m.heard,
		"heard2": m.heard, "silence": m.silence,
	}
	maps.Copy(a, m.labelActions())
	for i := range 16 {
		a[fmt.Sprintf("heartbeat%d", i)] = m.heartbeat
		a[fmt.Sprintf("ask%d", i/3)] = m.ask
	}
	return a
}

// choosingActions mostly asks. Without eager passes, most asks wait while several nodes have room,
// so the order of nodes has a choice.
func (m *machine) choosingActions() map[string]func(*rapid.T) {
	ids := m.p.apps.ids
	m.opt.Eager, m.choosing = false, true
	m.p = must(New(m.p.st.Fork(), m.opt))
	m.p.apps.ids = ids // the state does not contain it
	for range 12 {
		m.registerNode(m.t)
	}
	for range 4 {
		m.submit(m.t)
		m.runAM(m.t)
	}
	a := map[string]func(*rapid.T){
		"registerNode": m.registerNode, "resize": m.resize, "silence": m.silence, "blacklist": m.blacklist,
		"configure": m.configure, "tick": m.tick,
		"submit": m.submit, "runAM": m.runAM, "end": m.end, "drain": m.drain, "signal": m.signal,
	}
	maps.Copy(a, m.labelActions())
	for i := range 12 {
		a[fmt.Sprintf("heartbeat%d", i/2)] = m.heartbeat
		a[fmt.Sprintf("ask%d", i)] = m.ask
	}
	return a
}

var hosts = []string{"h0", "h1", "h2", "h3", "h4"}

func rackOf(host string) string {
	return map[string]string{"h0": "r0", "h1": "r0", "h2": "r1", "h3": "r1", "h4": "r2"}[host]
}

func (m *machine) size(t *rapid.T, most int64) yarn.Resource {
	r := yarn.NewResource(rapid.Int64Range(1, most).Draw(t, "gigabytes")*1024, rapid.Int64Range(1, most).Draw(t, "vcores"))
	if m.kinds == 3 {
		r[2] = rapid.Int64Range(0, 2).Draw(t, "gpus")
	}
	return r
}

func (m *machine) nodeSize(t *rapid.T) yarn.Resource {
	return m.size(t, 8).Add(yarn.NewResource(rapid.Int64Range(0, 8).Draw(t, "more")*1024, 6))
}

func (m *machine) registerNode(t *rapid.T) {
	host := rapid.SampledFrom(hosts).Draw(t, "host")
	id := yarn.NodeID{Host: host, Port: 1}
	if m.choosing {
		id.Port = rapid.Uint16Range(1, 4).Draw(t, "port")
	}
	in := &input.RegisterNode{ID: id, Rack: rackOf(host), Total: m.nodeSize(t),
		NodeManager: rapid.Bool().Draw(t, "dialed"), Running: m.apps,
		Unhealthy: rapid.IntRange(0, 7).Draw(t, "unhealthy") == 0}
	if slot := m.p.st.Nodes.Find(id); slot != 0 {
		for _, c := range containersOn(m.p, slot) {
			if k := m.p.st.Containers.Get(c); rapid.Bool().Draw(t, "still there") {
				in.Containers = append(in.Containers, input.ContainerStatus{Container: m.p.st.Apps.ContainerID(k),
					State: yarn.ContainerRunning})
			}
		}
	}
	if r := m.plan(in); r.Refused() == nil && !slices.Contains(m.nodes, id) {
		m.nodes = append(m.nodes, id)
	}
}

func (m *machine) node(t *rapid.T) yarn.NodeID { return rapid.SampledFrom(m.nodes).Draw(t, "node") }

// heartbeat reports some containers running and some ended.
func (m *machine) heartbeat(t *rapid.T) {
	in := &input.NodeHeartbeat{ID: m.node(t), Full: rapid.IntRange(0, 7).Draw(t, "full") == 0,
		HeartbeatSession: rapid.Uint64Range(0, 3).Draw(t, "stay"), Response: rapid.Int32Range(0, 9).Draw(t, "response")}
	if n := m.p.st.Nodes.Get(m.p.st.Nodes.Find(in.ID)); in.HeartbeatSession == 3 {
		in.PrevSession = n.HeartbeatSession
	} else if in.HeartbeatSession != 0 && rapid.Bool().Draw(t, "same stay") {
		in.HeartbeatSession = n.HeartbeatSession
	}
	slot := m.p.st.Nodes.Find(in.ID)
	m.had(t, in)
	m.sizes(t, in)
	for _, c := range containersOn(m.p, slot) {
		k := m.p.st.Containers.Get(c)
		s := input.ContainerStatus{Container: m.p.st.Apps.ContainerID(k), State: yarn.ContainerRunning}
		switch what := rapid.IntRange(0, 19).Draw(t, "report"); {
		case what < 3 && (!k.AM || what == 0), k.State == yarn.ContainerReleasing && what < 7:
			s.State, s.ExitStatus = yarn.ContainerCompleted, int32(what)
		case what > 13 && !(in.Full && what < 19):
			continue
		}
		in.Statuses = append(in.Statuses, s)
	}
	m.plan(in)
}

func (m *machine) nodeGone(t *rapid.T) {
	if id := m.node(t); rapid.Bool().Draw(t, "lost") {
		m.plan(&input.ExpireNode{ID: id})
	} else {
		m.plan(&input.UnregisterNode{ID: id})
	}
}

func (m *machine) drain(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "several") == 0 {
		m.plan(&input.DrainNodes{IDs: []yarn.NodeID{m.node(t), m.node(t)},
			DeadlineMillis: m.now + rapid.Int64Range(0, 1000).Draw(t, "deadline")})
		return
	}
	m.plan(&input.DrainNode{ID: m.node(t), Back: rapid.Bool().Draw(t, "back"),
		Now: rapid.IntRange(0, 3).Draw(t, "now") == 0, DeadlineMillis: m.now + rapid.Int64Range(0, 1000).Draw(t, "deadline")})
}

func (m *machine) resize(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "forget") == 0 {
		m.plan(&input.ForgetNode{ID: m.node(t), Untracked: rapid.Bool().Draw(t, "untracked")})
		return
	}
	m.plan(&input.SetNodeResource{ID: m.node(t), Total: m.nodeSize(t)})
}

func (m *machine) unhealthy(t *rapid.T) {
	m.plan(&input.NodeHeartbeat{ID: m.node(t), Unhealthy: true})
}

func (m *machine) submit(t *rapid.T) {
	in := &input.SubmitApplication{Name: "app", User: rapid.SampledFrom([]string{"u0", "u1", "u2"}).Draw(t, "user"),
		Queue: rapid.SampledFrom(leaves).Draw(t, "queue"), Unmanaged: rapid.Bool().Draw(t, "unmanaged"),
		KeepContainers: rapid.Bool().Draw(t, "keep"),
		Priority:       rapid.Int32Range(0, 9).Draw(t, "priority"), PrioritySet: true,
		MaxAttempts: rapid.Uint32Range(0, 3).Draw(t, "attempts"),
		AM:          m.size(t, 2), LifetimeMillis: rapid.SampledFrom([]int64{0, 0, 0, 5000}).Draw(t, "lifetime")}
	if rapid.Bool().Draw(t, "declares") {
		in.Tags = []string{fmt.Sprintf("%sseconds=%d", yarn.LifetimeTag, rapid.IntRange(1, 9).Draw(t, "seconds"))}
	}
	in.Label, in.AMLabel = m.askedLabel(t), m.askedLabel(t)
	if rapid.IntRange(0, 3).Draw(t, "own queue") == 0 {
		in.Queue = "root.users." + rapid.SampledFrom([]string{"", "g.", "g.h."}).Draw(t, "group") + in.User
	}
	if rapid.IntRange(0, 3).Draw(t, "places") == 0 {
		host := rapid.SampledFrom(hosts).Draw(t, "AM host")
		in.AMPlaces = []yarn.Place{{Name: host, Relax: rapid.Bool().Draw(t, "relax host")},
			{Name: rackOf(host), Relax: rapid.Bool().Draw(t, "relax rack")}}
		in.AMStrict = rapid.Bool().Draw(t, "strict")
	}
	if rapid.IntRange(0, 3).Draw(t, "gang") == 0 {
		in.Tags = []string{yarn.GangTag + m.gang(t)}
	}
	r := m.plan(in).(*input.SubmitApplicationReply)
	if r.Refused() == nil {
		m.apps = append(m.apps, r.ID)
		m.registerAttempt(r.ID)
	}
}

// removeIdle removes dynamic queues that nobody has used for a second.
func (m *machine) removeIdle(t *rapid.T) {
	m.now += rapid.SampledFrom([]int64{0, 500, 2000}).Draw(t, "later")
	m.plan(&input.RemoveIdleQueues{})
}

// submitTwice submits twice with one idempotency key and requires that one application results.
func (m *machine) submitTwice(t *rapid.T) {
	req := input.Request{Key: fmt.Sprintf("client/%d", len(m.inputs)), BodyHash: 7,
		Input: &input.SubmitApplication{Name: "once", User: "u0", Queue: rapid.SampledFrom(leaves).Draw(t, "queue"),
			Unmanaged: true}}
	first := m.request(req).(*input.SubmitApplicationReply)
	if first.Refused() != nil {
		return
	}
	m.apps = append(m.apps, first.ID)
	events := len(m.log)
	if again := m.request(req).(*input.SubmitApplicationReply); again.ID != first.ID || len(m.log) != events {
		m.fail("a call repeated with its key gave %+v after %+v, and %d more events", again, first, len(m.log)-events)
	}
	req.BodyHash = 8
	if r := m.request(req); r.Refused() == nil {
		m.fail("a key used for another call was not refused")
	}
	m.registerAttempt(first.ID)
}

func (m *machine) app(t *rapid.T) (state.AppSlot, *state.App) {
	var live []yarn.ApplicationID
	for _, id := range m.apps {
		if slot := m.p.st.Apps.ByID(id); slot != 0 && !m.p.st.Apps.Get(slot).State.Ended() {
			live = append(live, id)
		}
	}
	if len(live) == 0 {
		return 0, nil
	}
	slot := m.p.st.Apps.ByID(rapid.SampledFrom(live).Draw(t, "app"))
	return slot, m.p.st.Apps.Get(slot)
}

// registerAttempt registers the application's attempt if its AM can run by now.
func (m *machine) registerAttempt(id yarn.ApplicationID) {
	a := m.p.st.Apps.Get(m.p.st.Apps.ByID(id))
	ready := a.Unmanaged
	for _, k := range m.p.st.Containers.Of(a) {
		ready = ready || (k.AM && k.State == yarn.ContainerRunning && k.Attempt == a.Attempt)
	}
	if a.AttemptState == state.AttemptActive && ready {
		in := &input.RegisterAttempt{Attempt: a.AttemptID()}
		if id.Seq%2 == 0 { // as behind Kerberos
			in.Entropy = testEntropy
		}
		m.plan(in)
	}
}

// runAM sends a heartbeat that reports the AM running, and registers the AM.
func (m *machine) runAM(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 {
		return
	}
	for _, k := range m.p.st.Containers.Of(a) {
		if k.AM && k.State.Live() && !k.Launched {
			m.plan(&input.NodeHeartbeat{ID: m.p.st.Nodes.Get(k.Node).ID,
				Statuses: []input.ContainerStatus{{Container: m.p.st.Apps.ContainerID(k), State: yarn.ContainerRunning}}})
			break
		}
	}
	m.registerAttempt(a.ID)
}

func (m *machine) ask(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 {
		return
	}
	m.registerAttempt(a.ID)
	a = m.p.st.Apps.Get(slot)
	in := &input.Allocate{Attempt: a.AttemptID(),
		Response: a.Response + rapid.SampledFrom([]int32{0, 0, 0, 0, 0, 1, -1}).Draw(t, "response")}
	for range rapid.IntRange(0, 2).Draw(t, "keys") {
		m.oneAsk(t, in)
	}
	for _, c := range liveOf(m.p, slot) {
		if rapid.IntRange(0, 9).Draw(t, "release") == 0 {
			in.Releases = append(in.Releases, m.p.st.Apps.ContainerID(m.p.st.Containers.Get(c)))
		}
	}
	m.updates(t, slot, in)
	// false for a repeated call and for the last call of an AM
	next := in.Response >= a.Response && a.AttemptState == state.AttemptRegistered
	r := m.plan(in).(*input.AllocateReply)
	if r.Headroom.Negative() {
		m.fail("an AM is told a headroom of %v", r.Headroom)
	}
	if r.Refused() == nil && next {
		m.checkUpdates(in, r)
	}
}

func (m *machine) oneAsk(t *rapid.T, in *input.Allocate) {
	k := input.Ask{Key: yarn.SchedulerKey{Priority: rapid.Int32Range(1, 3).Draw(t, "key")}, Name: yarn.Any,
		Count: rapid.SampledFrom([]int64{3, 2, 1, 4, 0}).Draw(t, "count"), Size: m.size(t, 8),
		Relax: rapid.IntRange(0, 4).Draw(t, "relax") < 4, Label: m.askedLabel(t)}
	app := m.p.st.Apps.Get(m.p.st.Apps.ByID(in.Attempt.App))
	if slot := m.p.st.Asks.Find(app, k.Key); slot != 0 && rapid.IntRange(0, 3).Draw(t, "same size") < 3 {
		k.Size = m.p.st.Asks.Get(slot).Size
	}
	in.Asks = append(in.Asks, k)
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "places") {
		host := rapid.SampledFrom(hosts).Draw(t, "place")
		at := k
		at.Name, at.Count, at.Relax, at.Label = host, rapid.Int64Range(0, 3).Draw(t, "there"), true, ""
		rack := at
		rack.Name, rack.Relax = rackOf(host), k.Relax || rapid.Bool().Draw(t, "relax rack")
		in.Asks = append(in.Asks, at)
		if rapid.Bool().Draw(t, "with rack") {
			in.Asks = append(in.Asks, rack)
		}
	}
}

func (m *machine) blacklist(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 {
		return
	}
	place := []string{rapid.SampledFrom(append(slices.Clone(hosts), "r0", "r1")).Draw(t, "place")}
	in := &input.Allocate{Attempt: a.AttemptID(), Response: a.Response}
	if rapid.Bool().Draw(t, "add") {
		in.BlacklistAdd = place
	} else {
		in.BlacklistRemove = place
	}
	m.plan(in)
}

// repeat sends an allocate call twice and requires the same answer.
func (m *machine) repeat(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 {
		return
	}
	in := &input.Allocate{Attempt: a.AttemptID(), Response: a.Response}
	m.oneAsk(t, in)
	first := m.plan(in)
	if first.Refused() != nil || m.p.st.Apps.Get(slot).Response != in.Response+1 {
		return
	}
	events := len(m.log)
	again := m.plan(in).(*input.AllocateReply)
	if r := first.(*input.AllocateReply); len(m.log) != events ||
		fmt.Sprint(r.Granted, r.Completed) != fmt.Sprint(again.Granted, again.Completed) {
		m.fail("35: an allocate call repeated was answered %+v after %+v", again, r)
	}
}

func (m *machine) end(t *rapid.T) {
	slot, a := m.app(t)
	if slot == 0 {
		return
	}
	switch rapid.IntRange(0, 2).Draw(t, "how") {
	case 0:
		m.plan(&input.KillApplication{ID: a.ID})
	case 1:
		m.plan(&input.FinishAttempt{Attempt: a.AttemptID(), Final: yarn.FinalSucceeded})
	default:
		m.plan(&input.ExpireAttempt{Attempt: a.AttemptID()})
	}
}

func (m *machine) move(t *rapid.T) {
	if slot, a := m.app(t); slot != 0 {
		m.plan(&input.MoveApplication{ID: a.ID, Queue: rapid.SampledFrom(leaves).Draw(t, "to")})
	}
}

func (m *machine) priority(t *rapid.T) {
	if slot, a := m.app(t); slot != 0 {
		m.plan(&input.SetPriority{ID: a.ID, Priority: rapid.Int32Range(-2, 9).Draw(t, "priority")})
	}
}

func (m *machine) queueState(t *rapid.T) {
	m.plan(&input.SetQueueState{Queue: rapid.SampledFrom(append([]string{"root.a", "root"}, leaves...)).Draw(t, "queue"),
		State: rapid.SampledFrom([]yarn.QueueState{yarn.QueueRunning, yarn.QueueRunning, yarn.QueueRunning,
			yarn.QueueStopped}).Draw(t, "state")})
}

func (m *machine) configure(t *rapid.T) {
	was, dominant, lazy, orders := m.variant, m.dominant, m.lazy, m.orders
	m.variant = rapid.IntRange(0, len(trees)-1).Draw(t, "tree")
	if m.kinds == 2 {
		m.dominant = rapid.Bool().Draw(t, "dominant")
	}
	m.lazy = rapid.Bool().Draw(t, "lazy cancel")
	m.drawOrders(t)
	if r := m.plan(&input.SetQueues{Properties: m.properties()}); r.Refused() != nil {
		m.variant, m.dominant, m.lazy, m.orders = was, dominant, lazy, orders
	}
}

func (m *machine) cancel(t *rapid.T) {
	var numbers []uint64
	m.p.st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		numbers = append(numbers, r.Number)
		return true
	})
	if len(numbers) > 0 {
		m.plan(&input.CancelReservation{Number: rapid.SampledFrom(numbers).Draw(t, "reservation")})
	}
}

func (m *machine) tick(t *rapid.T) {
	m.now += rapid.SampledFrom([]int64{0, 500, 5000}).Draw(t, "later")
	tick := &input.Tick{}
	if rapid.IntRange(0, 3).Draw(t, "no entropy") > 0 {
		tick.Entropy = testEntropy
	}
	m.plan(tick)
	for _, in := range m.p.Due(m.now) {
		if _, again := in.(*input.Tick); again && tick.Entropy != nil {
			m.fail("after a tick something is still due")
		}
	}
}

// labels adds, changes and removes labels, and labels hosts that never register. In stories with
// labels, labelActions replaces it.
func (m *machine) labels(t *rapid.T) {
	name := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "label")
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		m.plan(&input.SetLabels{Labels: []input.Label{{Name: name, Exclusive: rapid.Bool().Draw(t, "exclusive")}},
			Change: rapid.Bool().Draw(t, "also others")})
	case 1:
		m.plan(&input.RemoveLabels{Names: []string{name}})
	default:
		to := rapid.SampledFrom([]string{"", name}).Draw(t, "to")
		m.plan(labelled(rapid.SampledFrom([]string{"spare0", "spare0:1", "spare0:2", "spare1"}).Draw(t, "host")+"="+to,
			"spare2="+name))
	}
}

// nonsense sends inputs that must be refused or change nothing.
func (m *machine) nonsense(t *rapid.T) {
	ghost := yarn.ApplicationID{ClusterTimestamp: 1000, Seq: 99_999}
	node := yarn.NodeID{Host: "ghost", Port: 1}
	id := yarn.ContainerID{App: ghost, Attempt: 1, Number: 1}
	bad := []input.Input{
		&input.KillApplication{ID: ghost}, &input.MoveApplication{ID: ghost, Queue: "root.b"}, &input.SetPriority{ID: ghost},
		&input.ExpireNode{ID: node},
		&input.DrainNode{ID: node}, &input.DrainNodes{IDs: []yarn.NodeID{node}}, &input.ForgetNode{ID: node},
		&input.SetNodeResource{ID: node}, &input.UnregisterNode{ID: node}, &input.RegisterNode{ID: node},
		&input.SubmitApplication{User: "u0", Queue: "root.a", Unmanaged: true},
		&input.SubmitApplication{User: "u0", Queue: "root.none", Unmanaged: true},
		&input.SubmitApplication{User: "u0", Queue: "root.b", AM: yarn.NewResource(1<<40, 1)},
		&input.SubmitApplication{Queue: "root.b", Unmanaged: true},
		&input.Allocate{Attempt: yarn.AttemptID{App: ghost, Attempt: 1}}, &input.CancelReservation{Number: 1 << 40},
		&input.SetQueues{},
		&input.RollbackQueues{To: 1 << 40}, &input.SetQueueState{Queue: "root.none", State: yarn.QueueStopped},
		&input.InitCluster{ClusterID: "again", ClusterTimestamp: 1},
		&input.SignalContainer{Container: id, Command: 1}, &input.SetHosts{TimeoutMillis: -1},
		&input.SetLabels{Labels: []input.Label{{Name: "x"}, {Name: "x", Exclusive: true}}},
		&input.SetLabels{Labels: []input.Label{{Name: "x"}, {Name: "-"}}}, &input.RemoveLabels{Names: []string{"ghost"}},
		labelled("spare0=x,y"), labelled("spare0=", "spare1=ghost"), known(labelled("ghost=")), ofNode(labelled("spare0:1=")),
	}
	if slot, a := m.app(t); slot != 0 && a.AttemptState != state.AttemptFinishing { // calls of a finishing AM are answered
		at := a.AttemptID()
		bad = append(bad,
			&input.Allocate{Attempt: at, Response: a.Response,
				Asks: []input.Ask{{Name: "h0", Count: 1, Size: yarn.NewResource(1024, 1), Key: yarn.SchedulerKey{Priority: 77}}}},
			&input.Allocate{Attempt: at, Response: a.Response,
				Asks: []input.Ask{{Name: yarn.Any, Count: 1, Size: yarn.NewResource(1<<40, 1)}}},
			&input.Allocate{Attempt: at, Response: a.Response,
				Asks: []input.Ask{{Name: yarn.Any, Count: -1, Size: yarn.NewResource(1024, 1)}}},
			&input.Allocate{Attempt: at, Response: -1}, &input.Allocate{Attempt: at, Response: -2147483648},
			&input.MoveApplication{ID: a.ID, Queue: "root.a"},
			&input.RegisterAttempt{Attempt: yarn.AttemptID{App: a.ID, Attempt: 99}})
	}
	in := rapid.SampledFrom(bad).Draw(t, "nonsense")
	if m.plan(in).Refused() == nil {
		m.fail("%T %+v was not refused", in, in)
	}
	// The node must kill containers that the cluster does not know.
	known := m.node(t)
	m.plan(&input.NodeHeartbeat{ID: known, Statuses: []input.ContainerStatus{{Container: id, State: yarn.ContainerRunning},
		{Container: id, State: yarn.ContainerCompleted}}})
}

var _ = event.Level
