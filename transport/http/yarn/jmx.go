package yarnweb

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/capacity/order"
	"rmd/transport/http/route"
	"rmd/transport/http/summary"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// This file shows YARN's metrics as Java does at /jmx, for monitoring systems. Delays, which rmd does
// not measure, are 0.

// bean is a set of metrics: its name and class in JMX, and its attributes.
type bean struct {
	name, kind string
	attrs      obj
}

const rmBean = "Hadoop:service=ResourceManager,name="

// jmx answers ?qry= with the beans whose names match, ?get=NAME::ATTRIBUTE with one attribute, and
// otherwise with all beans.
func (s *API) jmx(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	pattern, attr := c.Query.Get("qry"), ""
	if g := c.Query.Get("get"); g != "" {
		pattern, attr, _ = strings.Cut(g, "::")
	}
	var b bytes.Buffer
	list := []obj{}
	match, ok := beanPattern(pattern)
	if !ok { // Java's answer to an invalid query
		return s.jmxText(c, []byte("{ }"))
	}
	for _, k := range s.beans(c, v) {
		if !match(k.name) {
			continue
		}
		d := append(obj{{"name", k.name}, {"modelerType", k.kind}}, k.attrs...)
		if attr != "" {
			d = slices.DeleteFunc(d, func(f field) bool { return f.name != "name" && f.name != "modelerType" && f.name != attr })
		}
		list = append(list, d)
	}
	writeJSON(&b, obj{{"beans", list}})
	return s.jmxText(c, b.Bytes())
}

func (s *API) jmxText(c *route.Call, text []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	c.W.Header().Set("Content-Type", "application/json; charset=utf8")
	c.W.Header().Set("Access-Control-Allow-Methods", http.MethodGet)
	_, _ = c.W.Write(append(out.Bytes(), '\n')) // the client may be gone
	return nil
}

// beanPattern parses a name pattern of JMX: a domain, and properties in any order. Values may
// contain * and ?, and a single * stands for further properties. It returns false if the pattern is
// invalid.
func beanPattern(text string) (func(name string) bool, bool) {
	if text == "" {
		text = "*:*"
	}
	domain, props, ok := strings.Cut(text, ":")
	if !ok || props == "" || strings.HasPrefix(props, ":") {
		return nil, false
	}
	list := strings.Split(props, ",")
	open := slices.Contains(list, "*")
	list = slices.DeleteFunc(list, func(p string) bool { return p == "*" })
	return func(name string) bool {
		d, p, _ := strings.Cut(name, ":")
		have := strings.Split(p, ",")
		if !matchPattern(domain, d) || len(have) != len(list) && !(open && len(have) > len(list)) {
			return false
		}
		for _, want := range list {
			if !slices.ContainsFunc(have, func(h string) bool { return matchPattern(want, h) }) {
				return false
			}
		}
		return true
	}, true
}

// matchPattern matches text with a pattern of * and ?. path.Match stops at slashes, but names of
// beans have none.
func matchPattern(pattern, text string) bool {
	ok, err := path.Match(strings.NewReplacer("[", "\\[", "\\", "\\\\").Replace(pattern), text)
	return err == nil && ok
}

func (s *API) beans(c *route.Call, v *docs) []bean {
	host, _ := os.Hostname()
	out := []bean{
		{rmBean + "ClusterMetrics", "ClusterMetrics", v.clusterBean(host)},
		{rmBean + "RMNMInfo", "org.apache.hadoop.yarn.server.resourcemanager.RMNMInfo",
			obj{{"LiveNodeManagers", v.liveNodes(s.nowMillis(v))}}},
		{rmBean + "RMInfo", "org.apache.hadoop.yarn.server.resourcemanager.RMInfo",
			obj{{"State", strings.ToLower(s.haState())}, {"SecurityEnabled", false}, {"HostAndPort", c.R.Host}}},
	}
	out = append(out, jvmBeans(host)...)
	if v.Conf == nil {
		return out
	}
	n, apps := v.QueueSums(), v.queueApps()
	for i := range v.Conf.Queues {
		p := v.Conf.Queues[i].Path
		slot := v.State.Queues.Find(p)
		if slot == 0 {
			continue
		}
		name := "QueueMetrics"
		for depth, word := range strings.Split(p, ".") {
			name += ",q" + text(int64(depth)) + "=" + word
		}
		out = append(out, bean{rmBean + name, name, v.queueBean(slot, i, n, apps[slot], host)})
	}
	return out
}

func (v *docs) clusterBean(host string) obj {
	by := v.NodesByState()
	total := v.State.Meta.Cluster
	return obj{{"tag.ClusterMetrics", "ResourceManager"}, {"tag.Context", "yarn"}, {"tag.Hostname", host},
		{"AMContainerAllocationDelayNumOps", 0}, {"AMContainerAllocationDelayAvgTime", 0.0}, {"AMLaunchDelayNumOps", 0},
		{"AMLaunchDelayAvgTime", 0.0}, {"AMRegisterDelayNumOps", 0}, {"AMRegisterDelayAvgTime", 0.0},
		{"CapabilityMB", total[yarn.Memory]}, {"CapabilityVirtualCores", total[yarn.VCores]},
		{"ContainerAssignedPerSecond", 0},
		{"NumActiveNMs", by[yarn.NodeRunning]}, {"NumDecommissionedNMs", by[yarn.NodeDecommissioned]},
		{"NumDecommissioningNMs", by[yarn.NodeDecommissioning]}, {"NumLostNMs", by[yarn.NodeLost]},
		{"NumRebootedNMs", by[yarn.NodeRebooted]}, {"NumShutdownNMs", by[yarn.NodeShutdown]},
		{"NumUnhealthyNMs", by[yarn.NodeUnhealthy]},
		{"RmDispatcherEventQueueSize", 0}, {"RmEventProcCPUAvg", 0}, {"RmEventProcCPUMax", 0},
		{"SchedulerDispatcherEventQueueSize", 0}, {"UtilizedMB", 0}, {"UtilizedVirtualCores", 0}}
}

// liveNodes returns the list of nodes as a JSON text, as YARN does.
func (v *docs) liveNodes(now int64) string {
	list := []obj{}
	for _, slot := range v.Nodes(func(n *state.Node) bool { return n.State.Usable() || n.State == yarn.NodeUnhealthy }) {
		n := v.State.Nodes.Get(slot)
		list = append(list, obj{{"HostName", n.ID.Host}, {"Rack", n.Rack}, {"State", n.State.String()},
			{"NodeId", n.ID.String()}, {"NodeHTTPAddress", view.HTTPAddress(n)},
			{"LastHealthUpdate", n.HeardMillis(now)}, {"HealthReport", n.Report}, {"NodeManagerVersion", n.Version},
			{"NumContainers", n.Count},
			{"UsedMemoryMB", n.Allocated[yarn.Memory]}, {"AvailableMemoryMB", n.Unallocated()[yarn.Memory]}})
	}
	var b bytes.Buffer
	writeJSON(&b, list)
	return b.String()
}

// jvmBeans returns the metrics of this process under the names of Java's.
func jvmBeans(host string) []bean {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	mb := func(n uint64) float64 { return view.Round(float64(n) / (1 << 20)) }
	other := m.Sys - m.HeapSys
	return []bean{
		{rmBean + "JvmMetrics", "JvmMetrics", obj{{"tag.Context", "jvm"}, {"tag.ProcessName", "ResourceManager"},
			{"tag.SessionId", nil}, {"tag.Hostname", host},
			{"MemNonHeapUsedM", mb(other)}, {"MemNonHeapCommittedM", mb(other)}, {"MemNonHeapMaxM", -1.0},
			{"MemHeapUsedM", mb(m.HeapInuse)}, {"MemHeapCommittedM", mb(m.HeapSys)}, {"MemHeapMaxM", mb(m.HeapSys)},
			{"MemMaxM", mb(m.Sys)},
			{"GcCount", int64(m.NumGC)}, {"GcTimeMillis", int64(m.PauseTotalNs / 1e6)}, {"GcNumWarnThresholdExceeded", 0},
			{"GcNumInfoThresholdExceeded", 0}, {"GcTotalExtraSleepTime", 0},
			{"ThreadsNew", 0}, {"ThreadsRunnable", runtime.NumGoroutine()}, {"ThreadsBlocked", 0}, {"ThreadsWaiting", 0},
			{"ThreadsTimedWaiting", 0}, {"ThreadsTerminated", 0}}},
		{"java.lang:type=Memory", "sun.management.MemoryImpl", obj{{"ObjectPendingFinalizationCount", 0},
			{"HeapMemoryUsage", obj{{"committed", int64(m.HeapSys)}, {"init", 0}, {"max", int64(m.HeapSys)},
				{"used", int64(m.HeapInuse)}}},
			{"NonHeapMemoryUsage", obj{{"committed", int64(other)}, {"init", 0}, {"max", -1}, {"used", int64(other)}}},
			{"Verbose", false}, {"ObjectName", "java.lang:type=Memory"}}},
	}
}

// queueBean returns the metrics of a queue, including the queues below it.
func (v *docs) queueBean(slot state.QueueSlot, i int, n *view.QueueSums, apps *appTally, host string) obj {
	q, eff := v.State.Queues.Get(slot), &v.Tree.Capacities[i]
	var am yarn.Resource
	if q.Leaf {
		am = v.Partition(0).AMLimit(slot, i)
	}
	used := q.Used.Sub(q.Reserved)
	free := yarn.ComponentMax(eff.EffMax.Sub(q.Used), yarn.Resource{})
	ever := &q.Totals
	d := obj{{"tag.Queue", q.Path}, {"tag.Context", "yarn"}, {"tag.Hostname", host}}
	for k, name := range []string{"running_0", "running_60", "running_300", "running_1440"} {
		d = append(d, field{name, apps.byAge[k]})
	}
	return append(d, obj{
		{"AMResourceLimitMB", am[yarn.Memory]}, {"AMResourceLimitVCores", am[yarn.VCores]},
		{"AbsoluteUsedCapacity", view.FixedPercent(order.AbsUsedShare(v.Conf.Calculator, v.Tree.Cluster, q.Used)) / 100},
		{"GuaranteedAbsoluteCapacity", view.Percent(eff.AbsCapacity.Rat()) / 100},
		{"GuaranteedCapacity", view.Percent(eff.Capacity.Rat()) / 100}, {"GuaranteedMB", eff.EffMin[yarn.Memory]},
		{"GuaranteedVCores", eff.EffMin[yarn.VCores]},
		{"MaxAbsoluteCapacity", view.Percent(eff.AbsMax.Rat()) / 100},
		{"MaxCapacity", view.Percent(eff.MaxCapacity.Rat()) / 100}, {"MaxCapacityMB", eff.EffMax[yarn.Memory]},
		{"MaxCapacityVCores", eff.EffMax[yarn.VCores]},
		{"UsedAMResourceMB", q.AMUsed[yarn.Memory]}, {"UsedAMResourceVCores", q.AMUsed[yarn.VCores]},
		{"UsedCapacity", usedPercent(v.Partition(0), slot, i) / 100},
		{"ActiveApplications", int64(q.ActiveApps)}, {"ActiveUsers", int64(q.ActiveUsers)},
		{"AggregateContainersAllocated", int64(ever.Containers())},
		{"AggregateContainersPreempted", ever.Preempted.Containers + ever.Preempted.AMs},
		{"AggregateContainersReleased", int64(ever.Released)},
		{"AggregateMemoryMBPreempted", ever.Preempted.Size[yarn.Memory]},
		{"AggregateMemoryMBSecondsPreempted", ever.Preempted.ResourceSeconds[yarn.Memory]},
		{"AggregateNodeLocalContainersAllocated", ever.Allocated[yarn.NodeLocal]},
		{"AggregateOffSwitchContainersAllocated", ever.Allocated[yarn.OffSwitch]},
		{"AggregateRackLocalContainersAllocated", ever.Allocated[yarn.RackLocal]},
		{"AggregateVcoreSecondsPreempted", ever.Preempted.ResourceSeconds[yarn.VCores]},
		{"AggregateVcoresPreempted", ever.Preempted.Size[yarn.VCores]},
		{"AllocatedContainers", q.Containers - n.Reservations[slot]}, {"AllocatedMB", used[yarn.Memory]},
		{"AllocatedVCores", used[yarn.VCores]},
		{"AppAttemptFirstContainerAllocationDelayNumOps", 0}, {"AppAttemptFirstContainerAllocationDelayAvgTime", 0.0},
		{"AppsCompleted", apps.all.completed}, {"AppsFailed", apps.all.failed}, {"AppsKilled", apps.all.killed},
		{"AppsPending", apps.all.pending}, {"AppsRunning", apps.all.running}, {"AppsSubmitted", apps.all.submitted},
		{"AvailableMB", free[yarn.Memory]}, {"AvailableVCores", free[yarn.VCores]},
		{"PendingContainers", n.Outstanding[slot]}, {"PendingMB", q.Pending[yarn.Memory]},
		{"PendingVCores", q.Pending[yarn.VCores]},
		{"ReservedContainers", n.Reservations[slot]}, {"ReservedMB", q.Reserved[yarn.Memory]},
		{"ReservedVCores", q.Reserved[yarn.VCores]},
		{"UnmanagedAppsCompleted", apps.unmanaged.completed}, {"UnmanagedAppsFailed", apps.unmanaged.failed},
		{"UnmanagedAppsKilled", apps.unmanaged.killed},
		{"UnmanagedAppsPending", apps.unmanaged.pending}, {"UnmanagedAppsRunning", apps.unmanaged.running},
		{"UnmanagedAppsSubmitted", apps.unmanaged.submitted},
	}...)
}

// appTally counts the applications of a queue and of the queues below it.
type appTally struct {
	all, unmanaged appCounts
	byAge          [4]int64 // running for less than 60, 300 and 1440 minutes, and for longer
}

func (n *appCounts) add(a *summary.App) {
	n.submitted++
	n.asked += a.Outstanding
	switch a.Shown {
	case yarn.AppSubmitted, yarn.AppAccepted:
		n.pending++
	case yarn.AppRunning:
		n.running++
	case yarn.AppFinished:
		n.completed++
	case yarn.AppFailed:
		n.failed++
	case yarn.AppKilled:
		n.killed++
	}
}

// addGone adds the applications that have left a queue.
func (n *appCounts) addGone(g *state.EndedApps) {
	n.submitted += int64(g.Sum())
	n.completed += int64(g.Of(yarn.AppFinished))
	n.failed += int64(g.Of(yarn.AppFailed))
	n.killed += int64(g.Of(yarn.AppKilled))
}

// sum adds another tally.
func (t *appTally) sum(o *appTally) {
	for _, k := range []struct{ to, from *appCounts }{{&t.all, &o.all}, {&t.unmanaged, &o.unmanaged}} {
		k.to.submitted += k.from.submitted
		k.to.asked += k.from.asked
		k.to.pending += k.from.pending
		k.to.running += k.from.running
		k.to.completed += k.from.completed
		k.to.failed += k.from.failed
		k.to.killed += k.from.killed
	}
	for i := range t.byAge {
		t.byAge[i] += o.byAge[i]
	}
}

// queueApps counts the applications of every queue since it was created.
func (v *docs) queueApps() map[state.QueueSlot]*appTally {
	own := make([]appTally, v.State.Queues.Cap())
	v.Summary().Each(false, func(a *summary.App) bool {
		t := &own[a.Queue]
		t.all.add(a)
		if a.Unmanaged {
			t.unmanaged.add(a)
		}
		if a.Shown == yarn.AppRunning {
			minutes := (v.State.Meta.NowMillis - a.StartedMillis) / 60_000
			k := 0
			for k < 3 && minutes >= [...]int64{60, 300, 1440}[k] {
				k++
			}
			t.byAge[k]++
		}
		return true
	})
	out := map[state.QueueSlot]*appTally{}
	v.State.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
		t := new(appTally)
		t.all.addGone(&q.Totals.Gone)
		t.unmanaged.addGone(&q.Totals.Unmanaged)
		out[slot] = t
		return true
	})
	for from := range own {
		for slot := state.QueueSlot(from); slot != 0 && v.State.Queues.Has(slot); slot = v.State.Queues.Get(slot).Parent {
			out[slot].sum(&own[from])
		}
	}
	return out
}
