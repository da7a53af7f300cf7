package rest

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/yarn"
)

// yarnStates are all of YARN's application states; those that ours has not are
// filters that nothing passes.
var yarnStates = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"}

// wsFilter is the filter of Hadoop's list of applications.
type wsFilter struct {
	app          appFilter
	final        string
	types, tags  map[string]bool // upper case
	startedFrom  int64
	startedTo    int64
	finishedFrom int64
	finishedTo   int64
	limit        int
}

func (c *call) wsAppFilter(v *view) (*wsFilter, error) {
	f := &wsFilter{final: strings.ToUpper(c.q.Get("finalStatus")), types: set(c.q["applicationTypes"]), tags: set(c.q["applicationTags"])}
	var err error
	if f.app.states, err = wsStates(c, "states", yarnStates); err != nil {
		return nil, err
	}
	if one := c.q.Get("state"); one != "" && len(f.app.states) == 0 {
		f.app.states = set([]string{one})
	}
	if len(f.app.states) == 0 {
		f.app.states = nil
	}
	f.app.userName, f.app.name = c.q.Get("user"), c.q.Get("name")
	f.app.user = v.st.NameID(f.app.userName)
	if q := c.q.Get("queue"); q != "" {
		slot, err := v.queue(q)
		if err != nil {
			return nil, wsBad("Queue " + q + " does not exist")
		}
		f.app.setQueue(v, slot)
	}
	if text := c.q.Get("limit"); text != "" {
		if f.limit, err = strconv.Atoi(text); err != nil || f.limit <= 0 {
			return nil, wsBad("limit value must be greater then 0")
		}
	}
	return f, f.times(c)
}

// times reads the four bounds in time.
func (f *wsFilter) times(c *call) error {
	for _, b := range []struct {
		name string
		to   *int64
		def  int64
	}{{"startedTimeBegin", &f.startedFrom, 0}, {"startedTimeEnd", &f.startedTo, 1<<63 - 1}, {"finishedTimeBegin", &f.finishedFrom, 0}, {"finishedTimeEnd", &f.finishedTo, 1<<63 - 1}} {
		*b.to = b.def
		text := c.q.Get(b.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return wsBad(b.name + " must be greater than 0")
		}
		*b.to = n
	}
	if f.startedFrom > f.startedTo || f.finishedFrom > f.finishedTo {
		return wsBad("TimeEnd must be greater than TimeBegin")
	}
	return nil
}

func (f *wsFilter) pass(a *state.App) bool {
	switch {
	case f.final != "" && a.Final.String() != f.final,
		f.types != nil && !f.types[strings.ToUpper(a.Type)],
		f.tags != nil && !slices.ContainsFunc(a.Tags, func(t string) bool { return f.tags[strings.ToUpper(t)] }),
		a.SubmittedMillis < f.startedFrom || a.SubmittedMillis > f.startedTo,
		a.EndedMillis < f.finishedFrom || a.EndedMillis > f.finishedTo:
		return false
	}
	return true
}

func wsApps(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	f, err := c.wsAppFilter(v)
	if err != nil {
		return err
	}
	refs := f.app.pick(v, 0, false)
	return c.streamWS("apps", "app", func(yield func(obj) bool) {
		n := 0
		for _, r := range refs {
			a := v.st.Apps.Get(r.slot)
			if !f.pass(a) {
				continue
			}
			if n++; (f.limit > 0 && n > f.limit) || !yield(c.wsApp(v, a)) {
				return
			}
		}
	})
}

// wsFind finds the application of a path, with Hadoop's messages.
func (c *call) wsFind() (*view, *state.App, error) {
	v, err := c.view()
	if err != nil {
		return nil, nil, err
	}
	text := c.args["id"]
	id, err := yarn.ParseApplicationID(text)
	if err != nil {
		return nil, nil, wsBad("Invalid ApplicationId: " + text)
	}
	slot := v.st.AppByID(id)
	if slot == 0 {
		return nil, nil, wsNotFound("app with id: " + text + " not found")
	}
	return v, v.st.Apps.Get(slot), nil
}

func wsApp(c *call) error {
	v, a, err := c.wsFind()
	if err != nil {
		return err
	}
	return c.writeWS(obj{{"app", c.wsApp(v, a)}})
}

func wsAppState(c *call) error {
	_, a, err := c.wsFind()
	if err != nil {
		return err
	}
	return c.writeWS(obj{{"state", a.State.String()}})
}

// progress is all or nothing: an AM's own figure is not replicated.
func progress(a *state.App) float64 {
	if a.State.Ended() {
		return 100
	}
	return 0
}

// trackingUI is what the tracking address leads to.
func trackingUI(a *state.App) string {
	switch {
	case a.State.Ended():
		return "History"
	case a.TrackingURL == "":
		return "UNASSIGNED"
	}
	return "ApplicationMaster"
}

func (c *call) wsApp(v *view, a *state.App) obj {
	elapsed := v.st.Meta.NowMillis - a.SubmittedMillis
	if a.EndedMillis != 0 {
		elapsed = a.EndedMillis - a.SubmittedMillis
	}
	queueShare, clusterShare := v.usage(a)
	container, address, master := v.am(a)
	held := a.Used.Add(a.Reserved)
	d := obj{
		{"id", a.ID.String()}, {"user", v.st.NameOf(a.User)}, {"name", a.Name}, {"queue", v.queuePath(a.Queue)}, {"state", a.State.String()}, {"finalStatus", a.Final.String()},
		{"progress", progress(a)}, {"trackingUI", trackingUI(a)}, {"trackingUrl", a.TrackingURL}, {"diagnostics", a.Diagnostics}, {"clusterId", a.ID.ClusterTimestamp},
		{"applicationType", a.Type}, {"applicationTags", strings.Join(a.Tags, ",")}, {"priority", strconv.Itoa(int(a.Priority))},
		{"startedTime", a.SubmittedMillis}, {"launchTime", a.AttemptMillis}, {"finishedTime", a.EndedMillis}, {"elapsedTime", max(elapsed, 0)},
	}
	if container != "" {
		d = append(d, obj{{"amContainerLogs", "http://" + address + "/node/containerlogs/" + container + "/" + v.st.NameOf(a.User)}, {"amHostHttpAddress", address}, {"masterNodeId", master}}...)
	}
	if a.Host != "" {
		d = append(d, field{"amRPCAddress", a.Host + ":" + strconv.Itoa(int(a.RPCPort))})
	}
	return append(d, obj{
		{"allocatedMB", orNone(a, a.Used[yarn.Memory])}, {"allocatedVCores", orNone(a, a.Used[yarn.VCores])}, {"reservedMB", orNone(a, a.Reserved[yarn.Memory])}, {"reservedVCores", orNone(a, a.Reserved[yarn.VCores])},
		{"runningContainers", orNone(a, int64(a.Live))}, {"memorySeconds", 0}, {"vcoreSeconds", 0},
		{"queueUsagePercentage", queueShare}, {"clusterUsagePercentage", clusterShare},
		{"resourceSecondsMap", obj{{"entry", []obj{{{"key", yarn.MemoryName}, {"value", "0"}}, {{"key", yarn.VCoresName}, {"value", "0"}}}}}},
		{"preemptedResourceMB", 0}, {"preemptedResourceVCores", 0}, {"numNonAMContainerPreempted", 0}, {"numAMContainerPreempted", 0}, {"preemptedMemorySeconds", 0}, {"preemptedVcoreSeconds", 0}, {"preemptedResourceSecondsMap", obj{}},
		{"logAggregationStatus", "DISABLED"}, {"unmanagedApplication", a.Unmanaged}, {"amNodeLabelExpression", ""},
		{"resourceInfo", obj{{"resourceUsagesByPartition", []obj{{{"partitionName", ""}, {"used", v.wsResource(held)}, {"reserved", v.wsResource(a.Reserved)},
			{"pending", v.wsResource(a.Pending)}, {"amUsed", v.wsResource(a.AM)}, {"amLimit", v.wsResource(yarn.Resource{})}, {"userAmLimit", v.wsResource(yarn.Resource{})}}}}}},
		{"timeouts", obj{{"timeout", []obj{v.timeout(a)}}}},
	}...)
}

// orNone is −1 for an application that has ended, as YARN says it.
func orNone(a *state.App, v int64) int64 {
	if a.State.Ended() {
		return -1
	}
	return v
}

// timeout is the one timeout an application can have.
func (v *view) timeout(a *state.App) obj {
	if a.LifetimeMillis <= 0 {
		return obj{{"type", "LIFETIME"}, {"expiryTime", "UNLIMITED"}, {"remainingTimeInSeconds", -1}}
	}
	end := a.SubmittedMillis + a.LifetimeMillis
	return obj{{"type", "LIFETIME"}, {"expiryTime", javaTime(end)}, {"remainingTimeInSeconds", max(end-v.st.Meta.NowMillis, 0) / 1000}}
}

// usage is an application's share of its queue's guarantee and of the cluster,
// in percent.
func (v *view) usage(a *state.App) (queue, cluster float64) {
	total := v.st.Meta.Cluster
	calc := v.calculator()
	held := a.Used.Add(a.Reserved)
	cluster = fixedPercent(calc.DivideShare(total, held, total))
	if i := v.configured(v.queuePath(a.Queue)); i >= 0 {
		queue = fixedPercent(calc.DivideShare(total, held, v.tree.Capacities[i].EffMin))
	}
	return queue, cluster
}

// am finds the current attempt's AM container.
func (v *view) am(a *state.App) (container, address, node string) {
	for slot := a.Containers; slot != 0; {
		k := v.st.Containers.Get(slot)
		if k.AM && k.Attempt == a.Attempt && v.st.Nodes.Has(k.Node) {
			return v.st.ContainerID(k).String(), httpAddress(v.st.Nodes.Get(k.Node)), v.nodeID(k.Node)
		}
		slot = k.NextOfApp()
	}
	return "", "", ""
}

// wsAttempts lists the attempts that the state knows.
func wsAttempts(c *call) error {
	v, a, err := c.wsFind()
	if err != nil {
		return err
	}
	list := []obj{}
	for _, t := range v.attempts(a) {
		d := obj{{"id", t.Number}, {"startTime", t.StartedMillis}, {"finishedTime", a.EndedMillis}, {"containerId", t.AMContainer}}
		if t.AMContainer != "" {
			_, address, node := v.am(a)
			d = append(d, obj{{"nodeHttpAddress", address}, {"nodeId", node}, {"logsLink", "http://" + address + "/node/containerlogs/" + t.AMContainer + "/" + v.st.NameOf(a.User)}}...)
		}
		list = append(list, append(d, obj{{"blacklistedNodes", ""}, {"nodesBlacklistedBySystem", ""}, {"appAttemptId", t.ID}, {"appAttemptState", wsAttemptState(a, t.Current)}}...))
	}
	return c.writeWS(obj{{"appAttempts", filled("appAttempt", list)}})
}

// wsAttemptState is YARN's name for where an attempt stands.
func wsAttemptState(a *state.App, current bool) string {
	if !current {
		return "FAILED"
	}
	switch a.AttemptState {
	case state.AttemptParked, state.AttemptPending:
		return "SUBMITTED"
	case state.AttemptActive:
		if a.Live > 0 {
			return "LAUNCHED"
		}
		return "SCHEDULED"
	case state.AttemptRegistered:
		return "RUNNING"
	}
	if a.State.Ended() {
		return a.State.String()
	}
	return "FAILED"
}

// wsStatistics counts applications by state, of one type or of all.
func wsStatistics(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	states, err := wsStates(c, "states", yarnStates)
	if err != nil {
		return err
	}
	kind := c.q.Get("applicationTypes")
	counts := map[string]int64{}
	v.st.Apps.Each(func(_ uint32, a *state.App) bool {
		if kind == "" || kind == "*" || strings.EqualFold(kind, a.Type) {
			counts[a.State.String()]++
		}
		return true
	})
	if kind == "" {
		kind = "*"
	}
	list := []obj{}
	for _, s := range yarnStates {
		if len(states) == 0 || states[s] {
			list = append(list, obj{{"state", s}, {"type", kind}, {"count", counts[s]}})
		}
	}
	return c.writeWS(obj{{"appStatInfo", filled("statItem", list)}})
}
