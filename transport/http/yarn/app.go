package yarnweb

import (
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

func (s *API) wsApps(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	f, err := s.wsAppFilter(c, v)
	if err != nil {
		return err
	}
	return s.streamWS(c, "apps", "app", func(yield func(obj) bool) {
		n := 0
		f.app.Each(v.View, 0, false, func(slot state.AppSlot) bool {
			a := v.State.Apps.Get(slot)
			if !f.pass(a) {
				return true
			}
			n++
			return (f.limit == 0 || n <= f.limit) && yield(s.appDoc(c, v, a, f.without))
		})
	})
}

// wsFind returns the application in the path, or an error with Hadoop's message.
func (s *API) wsFind(c *route.Call) (*docs, *state.App, error) {
	v, err := docsOf(c)
	if err != nil {
		return nil, nil, err
	}
	text := c.Args["id"]
	id, err := yarn.ParseApplicationID(text)
	if err != nil {
		return nil, nil, wsBadCause(illegalArgument + ": " + javaAppID(text))
	}
	slot := v.State.Apps.ByID(id)
	if slot == 0 {
		return nil, nil, wsNotFound("app with id: " + text + " not found")
	}
	return v, v.State.Apps.Get(slot), nil
}

// wsOfApp makes a handler of h, which shows something of the application in the path.
func (s *API) wsOfApp(h func(c *route.Call, v *docs, a *state.App) error) route.Handler {
	return func(c *route.Call) error {
		v, a, err := s.wsFind(c)
		if err != nil {
			return err
		}
		return h(c, v, a)
	}
}

func (s *API) wsApp(c *route.Call, v *docs, a *state.App) error {
	without, err := wsDeSelects(c.Query["deSelects"])
	if err != nil {
		return err
	}
	return s.writeWS(c, "app", s.appDoc(c, v, a, without))
}

func (s *API) wsAppState(c *route.Call, _ *docs, a *state.App) error {
	return s.writeBare(c, "appstate", obj{{"state", a.Shown().String()}})
}

func (s *API) wsAppPriority(c *route.Call, _ *docs, a *state.App) error {
	return s.writeBare(c, "applicationpriority", obj{{"priority", a.Priority}})
}

func (s *API) wsAppQueue(c *route.Call, v *docs, a *state.App) error {
	return s.writeBare(c, "appqueue", obj{{"queue", v.State.QueueOf(a)}})
}

func (s *API) wsAppTimeouts(c *route.Call, v *docs, a *state.App) error {
	return s.writeWS(c, "timeouts", obj{{"timeout", []obj{v.timeout(a)}}})
}

func (s *API) wsAppTimeout(c *route.Call, v *docs, a *state.App) error {
	if kind := strings.ToUpper(strings.TrimSpace(c.Args["kind"])); kind != "LIFETIME" {
		return wsBad("Invalid application-state " + c.Args["kind"] + " specified. It should be one of [LIFETIME]")
	}
	return s.writeWS(c, "timeout", v.timeout(a))
}

// progress returns the AM's own progress in percent, or 100 once the application has finished.
func progress(a *state.App) float64 {
	if a.Shown() == yarn.AppFinished {
		return 100
	}
	return float64(a.Progress) / 100
}

// finalStatus returns YARN's name of the final status that the AM reported.
func finalStatus(a *state.App) string { return a.Final.String() }

// finishedMillis returns when an application ended or its AM unregistered, or 0.
func finishedMillis(a *state.App) int64 {
	if a.EndedMillis == 0 && a.AttemptState == state.AttemptFinishing {
		return a.FinishMillis
	}
	return a.EndedMillis
}

// launchMillis returns when a node first launched an AM of the application, or 0.
func (v *docs) launchMillis(a *state.App) int64 {
	at := a.LaunchedMillis
	for _, h := range v.State.Attempts.Of(a) {
		if h.LaunchedMillis != 0 {
			at = h.LaunchedMillis
		}
	}
	return at
}

// proxied returns the address of an AM's pages. This is the proxy of this replica, because AMs
// refuse direct visitors. Without a proxy, it is the address that the AM reported.
func (s *API) proxied(c *route.Call, a *state.App, original string) string {
	if !s.cfg.Proxied || a.Unmanaged {
		return original
	}
	scheme := "http://"
	if c.R.TLS != nil {
		scheme = "https://"
	}
	if a.StartedMillis == 0 && a.State.Ended() {
		return scheme + c.R.Host + "/cluster/app/" + a.ID.String()
	}
	return scheme + c.R.Host + "/proxy/" + a.ID.String() + "/"
}

// tracking returns YARN's name for the kind of page behind the tracking address, and the address.
// told is the address that the AM reported.
func (s *API) tracking(c *route.Call, a *state.App, told string) (ui, url string) {
	if shown := a.Shown(); shown != yarn.AppSubmitted && shown != yarn.AppAccepted {
		url = s.proxied(c, a, told)
	}
	switch {
	case url == "":
		return "UNASSIGNED", ""
	case finishedMillis(a) == 0:
		return "ApplicationMaster", url
	}
	return "History", url
}

// diagnostics returns the application's own diagnostics. If a waiting application has none and is
// shown alone, it returns why the application waits. In a list of applications that would cost too
// much.
func (s *API) diagnostics(c *route.Call, v *docs, a *state.App, text string) string {
	if text == "" && s.cfg.Reason != nil && c.Args["id"] != "" &&
		(a.State == yarn.AppSubmitted || a.State == yarn.AppAccepted) {
		return s.cfg.Reason(v.State, a.ID)
	}
	return text
}

func (s *API) appDoc(c *route.Call, v *docs, a *state.App, without map[string]bool) obj {
	finished := finishedMillis(a)
	elapsed := v.State.Meta.NowMillis - a.SubmittedMillis
	if finished != 0 {
		elapsed = finished - a.SubmittedMillis
	}
	about := a.Details()
	ui, url := s.tracking(c, a, about.TrackingURL)
	d := obj{
		{"id", a.ID.String()}, {"user", v.State.Names.Text(a.User)}, {"name", about.Name}, {"queue", v.State.QueueOf(a)},
		{"state", a.Shown().String()}, {"finalStatus", finalStatus(a)},
		{"progress", progress(a)}, {"trackingUI", ui},
	}
	if url != "" {
		d = append(d, field{"trackingUrl", url})
	}
	d = append(d, obj{
		{"diagnostics", s.diagnostics(c, v, a, about.Diagnostics)}, {"clusterId", a.ID.ClusterTimestamp},
		{"applicationType", about.Type}, {"applicationTags", strings.Join(about.Tags, ",")}, {"priority", a.Priority},
		{"startedTime", a.SubmittedMillis}, {"launchTime", v.launchMillis(a)}, {"finishedTime", finished},
		{"elapsedTime", max(elapsed, 0)},
	}...)
	container, address, master := v.Master(a.ID, a.Attempt, a.MasterNumber, a.MasterNode)
	if container != "" {
		d = append(d, obj{{"amContainerLogs", logsLink(address, container, v.State.Names.Text(a.User))},
			{"amHostHttpAddress", address}}...)
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

// wsUse returns the fields with the resources that an application has, has used over time, and has
// lost by preemption.
func (v *docs) wsUse(a *state.App) obj {
	queueShare, clusterShare := v.usage(a)
	spent := v.State.ResourceSeconds(a, v.State.Meta.NowMillis)
	lost := v.State.Preempted.Of(v.State.Apps.Find(a.ID.Seq))
	var lostSeconds any = obj{}
	if lost.Containers+lost.AMs > 0 {
		lostSeconds = v.seconds(lost.ResourceSeconds)
	}
	return obj{
		{"allocatedMB", orNone(a, a.Used[yarn.Memory])}, {"allocatedVCores", orNone(a, a.Used[yarn.VCores])},
		{"reservedMB", orNone(a, a.Reserved[yarn.Memory])}, {"reservedVCores", orNone(a, a.Reserved[yarn.VCores])},
		{"runningContainers", orNone(a, int64(a.Live))}, {"memorySeconds", spent[yarn.Memory]},
		{"vcoreSeconds", spent[yarn.VCores]},
		{"queueUsagePercentage", queueShare}, {"clusterUsagePercentage", clusterShare},
		{"resourceSecondsMap", v.seconds(spent)},
		{"preemptedResourceMB", lost.Size[yarn.Memory]}, {"preemptedResourceVCores", lost.Size[yarn.VCores]},
		{"numNonAMContainerPreempted", lost.Containers}, {"numAMContainerPreempted", lost.AMs},
		{"preemptedMemorySeconds", lost.ResourceSeconds[yarn.Memory]},
		{"preemptedVcoreSeconds", lost.ResourceSeconds[yarn.VCores]}, {"preemptedResourceSecondsMap", lostSeconds},
	}
}

// seconds returns a map from each resource kind to its use over time.
func (v *docs) seconds(spent yarn.Resource) *shared {
	if spent.IsZero() {
		return v.zeros()
	}
	list := make([]obj, 0, len(v.Kinds))
	for i, name := range v.Kinds {
		list = append(list, obj{{"key", name}, {"value", strconv.FormatInt(spent[i], 10)}})
	}
	return share(obj{{"entry", list}})
}

// zeros returns a map in which every kind is 0. All applications share it.
func (v *docs) zeros() *shared {
	if v.zero == nil {
		list := make([]obj, 0, len(v.Kinds))
		for _, name := range v.Kinds {
			list = append(list, obj{{"key", name}, {"value", "0"}})
		}
		v.zero = share(obj{{"entry", list}})
	}
	return v.zero
}

// wsTail returns the fields after the requests.
func (v *docs) wsTail(a *state.App, without map[string]bool) obj {
	d := obj{{"logAggregationStatus", "DISABLED"}, {"unmanagedApplication", a.Unmanaged}}
	about := a.Details()
	if about.Label != "" && !without["appNodeLabelExpression"] {
		d = append(d, field{"appNodeLabelExpression", strings.TrimSpace(about.Label)})
	}
	if !a.Unmanaged && !without["amNodeLabelExpression"] {
		d = append(d, field{"amNodeLabelExpression", about.AMLabel})
	}
	if !a.State.Ended() && a.Attempt != 0 && !without["resourceInfo"] {
		d = append(d, field{"resourceInfo", v.wsAppUsages(a)})
	}
	if !without["timeouts"] {
		d = append(d, field{"timeouts", v.timeouts(a)})
	}
	return d
}

// wsRequests lists the outstanding requests of an application, one for each resource name.
func (v *docs) wsRequests(a *state.App) []obj {
	var out []obj
	for _, k := range v.State.Asks.Of(a) {
		if k.Count == 0 {
			continue
		}
		one := func(name string, count int64, relax bool) {
			out = append(out, obj{{"priority", k.Key.Priority}, {"allocationRequestId", k.Key.AllocationID},
				{"resourceName", name}, {"capability", v.wsResource(k.Size)},
				{"numContainers", count}, {"relaxLocality", relax}, {"nodeLabelExpression", v.State.Labels.Name(k.Label)},
				{"executionTypeRequest", obj{{"executionType", "GUARANTEED"}, {"enforceExecutionType", false}}}})
		}
		one(yarn.Any, k.Count, k.Relax)
		for _, l := range v.State.Locations.Of(k) {
			one(v.State.Names.Text(l.Name), l.Count, l.Relax)
		}
	}
	return out
}

// orNone returns v, or −1 if the application has ended, as YARN does.
func orNone(a *state.App, v int64) int64 {
	if a.State.Ended() {
		return -1
	}
	return v
}

// noTimeouts is the document of applications without a timeout.
var noTimeouts = share(obj{{"timeout", []obj{unlimited}}})

var unlimited = obj{{"type", "LIFETIME"}, {"expiryTime", "UNLIMITED"}, {"remainingTimeInSeconds", -1}}

func (v *docs) timeouts(a *state.App) *shared {
	if a.LifetimeMillis <= 0 {
		return noTimeouts
	}
	return share(obj{{"timeout", []obj{v.timeout(a)}}})
}

// timeout returns the application's lifetime timeout, the only kind of timeout in YARN.
func (v *docs) timeout(a *state.App) obj {
	if a.LifetimeMillis <= 0 {
		return unlimited
	}
	end := a.SubmittedMillis + a.LifetimeMillis
	return obj{{"type", "LIFETIME"}, {"expiryTime", javaTime(end)},
		{"remainingTimeInSeconds", max(end-v.State.Meta.NowMillis, 0) / 1000}}
}

// usage returns an application's use in percent: of its queue's guarantee, in the partition of its
// AM, and of the cluster.
func (v *docs) usage(a *state.App) (queue, cluster float64) {
	total := v.State.Meta.Cluster
	calc := v.Calculator()
	held := a.Used.Add(a.Reserved)
	cluster = view.FixedPercent(calc.DivideShare(total, held, total))
	if i := v.Configured(v.QueuePath(a.Queue)); i >= 0 {
		queue = view.FixedPercent(calc.DivideShare(total, held, v.Partition(a.AMLabel).Tree.Capacities[i].EffMin))
	}
	return queue, cluster
}

// wsStatistics counts applications by state, of one type or of all types.
func (s *API) wsStatistics(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	states, err := wsAppStates(c.Query["states"])
	if err != nil {
		return err
	}
	types := route.Words(c.Query["applicationTypes"])
	if len(types) > 1 {
		return wsBad("# of applicationTypes = " + strconv.Itoa(len(types)) +
			", we temporarily support at most one applicationType")
	}
	kind := "*"
	for t := range types { // at most one
		kind = strings.ToLower(t)
	}
	counts := map[string]int64{}
	if kind == "*" {
		for s := yarn.AppSubmitted; s <= yarn.AppKilled; s++ {
			counts[s.String()] = int64(v.Summary().All().ByShown[s])
		}
	} else {
		v.State.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
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
	return s.writeWS(c, "appStatInfo", filled("statItem", list))
}
