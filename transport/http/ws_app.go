package httpserver

import (
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/yarn"
)

func wsApps(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	f, err := c.wsAppFilter(v)
	if err != nil {
		return err
	}
	return c.streamWS("apps", "app", func(yield func(obj) bool) {
		n := 0
		f.app.each(v, 0, false, func(slot uint32) bool {
			a := v.st.Apps.Get(slot)
			if !f.pass(a) {
				return true
			}
			n++
			return (f.limit == 0 || n <= f.limit) && yield(c.wsApp(v, a, f.without))
		})
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
		return nil, nil, wsBadCause(illegalArgument + ": " + javaAppID(text))
	}
	slot := v.st.AppByID(id)
	if slot == 0 {
		return nil, nil, wsNotFound("app with id: " + text + " not found")
	}
	return v, v.st.Apps.Get(slot), nil
}

// wsOfApp makes a handler that shows something of the path's application.
func wsOfApp(h func(c *call, v *view, a *state.App) error) handler {
	return func(c *call) error {
		v, a, err := c.wsFind()
		if err != nil {
			return err
		}
		return h(c, v, a)
	}
}

func wsApp(c *call, v *view, a *state.App) error {
	without, err := wsDeSelects(c.q["deSelects"])
	if err != nil {
		return err
	}
	return c.writeWS("app", c.wsApp(v, a, without))
}

func wsAppState(c *call, _ *view, a *state.App) error {
	return c.writeBare("appstate", obj{{"state", a.Shown().String()}})
}

func wsAppPriority(c *call, _ *view, a *state.App) error {
	return c.writeBare("applicationpriority", obj{{"priority", a.Priority}})
}

func wsAppQueue(c *call, v *view, a *state.App) error {
	return c.writeBare("appqueue", obj{{"queue", v.queuePath(a.Queue)}})
}

func wsAppTimeouts(c *call, v *view, a *state.App) error {
	return c.writeWS("timeouts", obj{{"timeout", []obj{v.timeout(a)}}})
}

func wsAppTimeout(c *call, v *view, a *state.App) error {
	if kind := strings.ToUpper(strings.TrimSpace(c.args["kind"])); kind != "LIFETIME" {
		return wsBad("Invalid application-state " + c.args["kind"] + " specified. It should be one of [LIFETIME]")
	}
	return c.writeWS("timeout", v.timeout(a))
}

// progress is the AM's own figure in percent; all of it once it is done.
func progress(a *state.App) float64 {
	if a.Shown() == yarn.AppFinished {
		return 100
	}
	return float64(a.Progress) / 100
}

// finalStatus is YARN's word for what the AM said of its work.
func finalStatus(a *state.App) string { return a.Final.String() }

// finishedMillis is when an application ended, or its AM said that it is done.
func finishedMillis(a *state.App) int64 {
	if a.EndedMillis == 0 && a.AttemptState == state.AttemptFinishing {
		return a.FinishMillis
	}
	return a.EndedMillis
}

// launchMillis is when a node first took an AM of the application.
func (v *view) launchMillis(a *state.App) int64 {
	at := a.LaunchedMillis
	for slot := a.History; slot != 0; {
		h := v.st.Attempts.Get(slot)
		if h.LaunchedMillis != 0 {
			at = h.LaunchedMillis
		}
		slot = h.Next
	}
	return at
}

// proxied is the address by which an AM's pages are reached: this replica's
// proxy, which running AMs insist on; without one, where the AM says they are.
func (c *call) proxied(a *state.App, original string) string {
	if c.s.cfg.Hadoop == nil || a.Unmanaged {
		return original
	}
	scheme := "http://"
	if c.r.TLS != nil {
		scheme = "https://"
	}
	if a.StartedMillis == 0 && a.State.Ended() {
		return scheme + c.r.Host + "/cluster/app/" + a.ID.String()
	}
	return scheme + c.r.Host + "/proxy/" + a.ID.String() + "/"
}

// tracking is what the tracking address, as the AM told it, leads to, and the address.
func (c *call) tracking(a *state.App, told string) (ui, url string) {
	if s := a.Shown(); s != yarn.AppSubmitted && s != yarn.AppAccepted {
		url = c.proxied(a, told)
	}
	switch {
	case url == "":
		return "UNASSIGNED", ""
	case finishedMillis(a) == 0:
		return "ApplicationMaster", url
	}
	return "History", url
}

// diagnostics are the application's own; of one alone, while it waits, why: in a
// list of all that would cost too much.
func (c *call) diagnostics(v *view, a *state.App, text string) string {
	if text == "" && c.s.cfg.Reason != nil && c.args["id"] != "" && (a.State == yarn.AppSubmitted || a.State == yarn.AppAccepted) {
		return c.s.cfg.Reason(v.st, a.ID)
	}
	return text
}

func (c *call) wsApp(v *view, a *state.App, without map[string]bool) obj {
	finished := finishedMillis(a)
	elapsed := v.st.Meta.NowMillis - a.SubmittedMillis
	if finished != 0 {
		elapsed = finished - a.SubmittedMillis
	}
	about := a.Details()
	ui, url := c.tracking(a, about.TrackingURL)
	d := obj{
		{"id", a.ID.String()}, {"user", v.st.NameOf(a.User)}, {"name", about.Name}, {"queue", v.queuePath(a.Queue)}, {"state", a.Shown().String()}, {"finalStatus", finalStatus(a)},
		{"progress", progress(a)}, {"trackingUI", ui},
	}
	if url != "" {
		d = append(d, field{"trackingUrl", url})
	}
	d = append(d, obj{
		{"diagnostics", c.diagnostics(v, a, about.Diagnostics)}, {"clusterId", a.ID.ClusterTimestamp}, {"applicationType", about.Type}, {"applicationTags", strings.Join(about.Tags, ",")}, {"priority", a.Priority},
		{"startedTime", a.SubmittedMillis}, {"launchTime", v.launchMillis(a)}, {"finishedTime", finished}, {"elapsedTime", max(elapsed, 0)},
	}...)
	container, address, master := v.masterOf(a.ID, a.Attempt, a.MasterNumber, a.MasterNode)
	if container != "" {
		d = append(d, obj{{"amContainerLogs", logsLink(address, container, v.st.NameOf(a.User))}, {"amHostHttpAddress", address}}...)
	}
	if about.Host != "" && a.RPCPort != -1 {
		d = append(d, field{"amRPCAddress", about.Host + ":" + strconv.Itoa(int(a.RPCPort))})
	}
	d = append(d, field{"masterNodeId", master})
	d = append(d, v.wsUse(a)...)
	if !without["resourceRequests"] {
		if list := v.wsRequests(a); len(list) > 0 {
			d = append(d, field{"resourceRequests", list})
		}
	}
	return append(d, v.wsTail(a, without)...)
}

// wsUse is what an application holds, and has used over time; nothing is ever
// preempted.
func (v *view) wsUse(a *state.App) obj {
	queueShare, clusterShare := v.usage(a)
	spent := v.st.Spent(a, v.st.Meta.NowMillis)
	return obj{
		{"allocatedMB", orNone(a, a.Used[yarn.Memory])}, {"allocatedVCores", orNone(a, a.Used[yarn.VCores])}, {"reservedMB", orNone(a, a.Reserved[yarn.Memory])}, {"reservedVCores", orNone(a, a.Reserved[yarn.VCores])},
		{"runningContainers", orNone(a, int64(a.Live))}, {"memorySeconds", spent[yarn.Memory]}, {"vcoreSeconds", spent[yarn.VCores]},
		{"queueUsagePercentage", queueShare}, {"clusterUsagePercentage", clusterShare}, {"resourceSecondsMap", v.seconds(spent)},
		{"preemptedResourceMB", 0}, {"preemptedResourceVCores", 0}, {"numNonAMContainerPreempted", 0}, {"numAMContainerPreempted", 0}, {"preemptedMemorySeconds", 0}, {"preemptedVcoreSeconds", 0}, {"preemptedResourceSecondsMap", obj{}},
	}
}

// seconds is a map of every kind to its use over time.
func (v *view) seconds(spent yarn.Resource) *shared {
	if spent.IsZero() {
		return v.zeros()
	}
	list := make([]obj, 0, len(v.kinds))
	for i, name := range v.kinds {
		list = append(list, obj{{"key", name}, {"value", strconv.FormatInt(spent[i], 10)}})
	}
	return share(obj{{"entry", list}})
}

// zeros is a map of every kind to nothing; all applications share it.
func (v *view) zeros() *shared {
	if v.wsZeros == nil {
		list := make([]obj, 0, len(v.kinds))
		for _, name := range v.kinds {
			list = append(list, obj{{"key", name}, {"value", "0"}})
		}
		v.wsZeros = share(obj{{"entry", list}})
	}
	return v.wsZeros
}

// wsTail is what follows the requests.
func (v *view) wsTail(a *state.App, without map[string]bool) obj {
	d := obj{{"logAggregationStatus", "DISABLED"}, {"unmanagedApplication", a.Unmanaged}}
	if !a.Unmanaged && !without["amNodeLabelExpression"] {
		d = append(d, field{"amNodeLabelExpression", ""})
	}
	if !a.State.Ended() && a.Attempt != 0 && !without["resourceInfo"] {
		none, am := v.wsResource(yarn.Resource{}), yarn.Resource{}
		if !a.Unmanaged {
			am = a.AM
		}
		d = append(d, field{"resourceInfo", obj{{"resourceUsagesByPartition", []obj{{{"partitionName", ""}, {"used", v.wsResource(a.Used.Add(a.Reserved))}, {"reserved", v.wsResource(a.Reserved)},
			{"pending", v.wsResource(a.Pending)}, {"amUsed", v.wsResource(am)}, {"amLimit", none}, {"userAmLimit", none}}}}}})
	}
	if !without["timeouts"] {
		d = append(d, field{"timeouts", v.timeouts(a)})
	}
	return d
}

// wsRequests lists what an application still asks for, one entry a resource name.
func (v *view) wsRequests(a *state.App) []obj {
	var out []obj
	for slot := a.Asks; slot != 0; {
		k := v.st.Asks.Get(slot)
		slot = k.Next
		if k.Count == 0 {
			continue
		}
		one := func(name string, count int64, relax bool) {
			out = append(out, obj{{"priority", k.Key.Priority}, {"allocationRequestId", k.Key.AllocationID}, {"resourceName", name}, {"capability", v.wsResource(k.Size)},
				{"numContainers", count}, {"relaxLocality", relax}, {"nodeLabelExpression", ""}, {"executionTypeRequest", obj{{"executionType", "GUARANTEED"}, {"enforceExecutionType", false}}}})
		}
		one(yarn.Any, k.Count, k.Relax)
		for at := k.Locations; at != 0; {
			l := v.st.Locations.Get(at)
			one(v.st.NameOf(l.Name), l.Count, l.Relax)
			at = l.Next
		}
	}
	return out
}

// orNone is −1 for an application that has ended, as YARN says it.
func orNone(a *state.App, v int64) int64 {
	if a.State.Ended() {
		return -1
	}
	return v
}

// noTimeouts is what most applications have.
var noTimeouts = share(obj{{"timeout", []obj{unlimited}}})

var unlimited = obj{{"type", "LIFETIME"}, {"expiryTime", "UNLIMITED"}, {"remainingTimeInSeconds", -1}}

func (v *view) timeouts(a *state.App) *shared {
	if a.LifetimeMillis <= 0 {
		return noTimeouts
	}
	return share(obj{{"timeout", []obj{v.timeout(a)}}})
}

// timeout is the one timeout an application can have.
func (v *view) timeout(a *state.App) obj {
	if a.LifetimeMillis <= 0 {
		return unlimited
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

// wsStatistics counts applications by state, of one type or of all.
func wsStatistics(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	states, err := wsAppStates(c.q["states"])
	if err != nil {
		return err
	}
	types := set(c.q["applicationTypes"])
	if len(types) > 1 {
		return wsBad("# of applicationTypes = " + strconv.Itoa(len(types)) + ", we temporarily support at most one applicationType")
	}
	kind := "*"
	for t := range types { // at most one
		kind = strings.ToLower(t)
	}
	counts := map[string]int64{}
	if kind == "*" {
		for s := yarn.AppSubmitted; s <= yarn.AppKilled; s++ {
			counts[s.String()] = int64(v.census().All().ByShown[s])
		}
	} else {
		v.st.Apps.Each(func(_ uint32, a *state.App) bool {
			if strings.EqualFold(kind, a.Details().Type) {
				counts[a.Shown().String()]++
			}
			return true
		})
	}
	list := []obj{}
	for _, s := range yarnStates {
		if len(states) == 0 || states[s] {
			list = append(list, obj{{"state", s}, {"type", kind}, {"count", counts[s]}})
		}
	}
	return c.writeWS("appStatInfo", filled("statItem", list))
}
