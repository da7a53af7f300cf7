package httpserver

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
	"rmd/scheduler/capacity"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// YARN's figures as Java shows them at /jmx, for monitoring that scrapes them.
// What is not measured here, or not kept, is 0: delays, preemption, and what
// was granted in a queue altogether.

// bean is one set of figures: its name in JMX and its attributes.
type bean struct {
	name, kind string
	attrs      obj
}

const rmBean = "Hadoop:service=ResourceManager,name="

// jmx answers ?qry= with the beans whose name matches, ?get=NAME::ATTRIBUTE with
// one attribute, or with all.
func jmx(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	pattern, attr := c.q.Get("qry"), ""
	if g := c.q.Get("get"); g != "" {
		pattern, attr, _ = strings.Cut(g, "::")
	}
	var b bytes.Buffer
	list := []obj{}
	match, ok := beanPattern(pattern)
	if !ok { // Java's answer to a query that is none
		return c.jmxText([]byte("{ }"))
	}
	for _, k := range c.beans(v) {
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
	return c.jmxText(b.Bytes())
}

func (c *call) jmxText(text []byte) error {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json; charset=utf8")
	c.w.Header().Set("Access-Control-Allow-Methods", http.MethodGet)
	_, _ = c.w.Write(append(out.Bytes(), '\n')) // a client that is gone is no error of ours
	return nil
}

// beanPattern reads a name of JMX: a domain, then properties in any order, with
// * and ? in values, and *, alone, for further properties.
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
		if !like(domain, d) || len(have) != len(list) && !(open && len(have) > len(list)) {
			return false
		}
		for _, want := range list {
			if !slices.ContainsFunc(have, func(h string) bool { return like(want, h) }) {
				return false
			}
		}
		return true
	}, true
}

// like matches with * and ?; names of beans have no slashes to stop them.
func like(pattern, text string) bool {
	ok, err := path.Match(strings.NewReplacer("[", "\\[", "\\", "\\\\").Replace(pattern), text)
	return err == nil && ok
}

func (c *call) beans(v *view) []bean {
	host, _ := os.Hostname()
	out := []bean{
		{rmBean + "ClusterMetrics", "ClusterMetrics", v.clusterBean(host)},
		{rmBean + "RMNMInfo", "org.apache.hadoop.yarn.server.resourcemanager.RMNMInfo", obj{{"LiveNodeManagers", v.liveNodes()}}},
		{rmBean + "RMInfo", "org.apache.hadoop.yarn.server.resourcemanager.RMInfo", obj{{"State", strings.ToLower(c.haState())}, {"SecurityEnabled", false}, {"HostAndPort", c.r.Host}}},
	}
	out = append(out, jvmBeans(host)...)
	if v.conf == nil {
		return out
	}
	n, apps := v.queueNumbers(), v.queueApps()
	for i := range v.conf.Queues {
		p := v.conf.Queues[i].Path
		slot := v.st.Queue(p)
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

func (v *view) clusterBean(host string) obj {
	by := v.nodesByState()
	total := v.st.Meta.Cluster
	return obj{{"tag.ClusterMetrics", "ResourceManager"}, {"tag.Context", "yarn"}, {"tag.Hostname", host},
		{"AMContainerAllocationDelayNumOps", 0}, {"AMContainerAllocationDelayAvgTime", 0.0}, {"AMLaunchDelayNumOps", 0}, {"AMLaunchDelayAvgTime", 0.0}, {"AMRegisterDelayNumOps", 0}, {"AMRegisterDelayAvgTime", 0.0},
		{"CapabilityMB", total[yarn.Memory]}, {"CapabilityVirtualCores", total[yarn.VCores]}, {"ContainerAssignedPerSecond", 0},
		{"NumActiveNMs", by[yarn.NodeRunning]}, {"NumDecommissionedNMs", by[yarn.NodeDecommissioned]}, {"NumDecommissioningNMs", by[yarn.NodeDecommissioning]}, {"NumLostNMs", by[yarn.NodeLost]},
		{"NumRebootedNMs", by[yarn.NodeRebooted]}, {"NumShutdownNMs", by[yarn.NodeShutdown]}, {"NumUnhealthyNMs", by[yarn.NodeUnhealthy]},
		{"RmDispatcherEventQueueSize", 0}, {"RmEventProcCPUAvg", 0}, {"RmEventProcCPUMax", 0}, {"SchedulerDispatcherEventQueueSize", 0}, {"UtilizedMB", 0}, {"UtilizedVirtualCores", 0}}
}

// liveNodes is a list of nodes as a text, as YARN has it.
func (v *view) liveNodes() string {
	list := []obj{}
	for _, slot := range v.nodes(func(n *state.Node) bool { return n.State.Usable() || n.State == yarn.NodeUnhealthy }) {
		n := v.st.Nodes.Get(slot)
		list = append(list, obj{{"HostName", n.ID.Host}, {"Rack", n.Rack}, {"State", n.State.String()}, {"NodeId", n.ID.String()}, {"NodeHTTPAddress", httpAddress(n)},
			{"LastHealthUpdate", n.Registered}, {"HealthReport", n.Report}, {"NodeManagerVersion", n.Version}, {"NumContainers", n.Count},
			{"UsedMemoryMB", n.Allocated[yarn.Memory]}, {"AvailableMemoryMB", n.Unallocated()[yarn.Memory]}})
	}
	var b bytes.Buffer
	writeJSON(&b, list)
	return b.String()
}

// jvmBeans are the figures of this process under the names of Java's.
func jvmBeans(host string) []bean {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	mb := func(n uint64) float64 { return round(float64(n) / (1 << 20)) }
	other := m.Sys - m.HeapSys
	return []bean{
		{rmBean + "JvmMetrics", "JvmMetrics", obj{{"tag.Context", "jvm"}, {"tag.ProcessName", "ResourceManager"}, {"tag.SessionId", nil}, {"tag.Hostname", host},
			{"MemNonHeapUsedM", mb(other)}, {"MemNonHeapCommittedM", mb(other)}, {"MemNonHeapMaxM", -1.0}, {"MemHeapUsedM", mb(m.HeapInuse)}, {"MemHeapCommittedM", mb(m.HeapSys)}, {"MemHeapMaxM", mb(m.HeapSys)}, {"MemMaxM", mb(m.Sys)},
			{"GcCount", int64(m.NumGC)}, {"GcTimeMillis", int64(m.PauseTotalNs / 1e6)}, {"GcNumWarnThresholdExceeded", 0}, {"GcNumInfoThresholdExceeded", 0}, {"GcTotalExtraSleepTime", 0},
			{"ThreadsNew", 0}, {"ThreadsRunnable", runtime.NumGoroutine()}, {"ThreadsBlocked", 0}, {"ThreadsWaiting", 0}, {"ThreadsTimedWaiting", 0}, {"ThreadsTerminated", 0}}},
		{"java.lang:type=Memory", "sun.management.MemoryImpl", obj{{"ObjectPendingFinalizationCount", 0},
			{"HeapMemoryUsage", obj{{"committed", int64(m.HeapSys)}, {"init", 0}, {"max", int64(m.HeapSys)}, {"used", int64(m.HeapInuse)}}},
			{"NonHeapMemoryUsage", obj{{"committed", int64(other)}, {"init", 0}, {"max", -1}, {"used", int64(other)}}}, {"Verbose", false}, {"ObjectName", "java.lang:type=Memory"}}},
	}
}

// queueBean is one queue's figures, with those of the queues below it.
func (v *view) queueBean(slot uint32, i int, n *queueNumbers, apps *appTally, host string) obj {
	q, conf, eff := v.st.Queues.Get(slot), &v.conf.Queues[i], &v.tree.Capacities[i]
	if apps == nil {
		apps = new(appTally)
	}
	var am yarn.Resource
	if q.Leaf {
		am = v.amLimit(slot, i, n)
	}
	used := q.Used.Sub(q.Reserved)
	free := yarn.ComponentMax(eff.EffMax.Sub(q.Used), yarn.Resource{})
	var allocated, released uint64
	if conf.Parent < 0 {
		allocated, released = v.st.Meta.Allocated, v.st.Meta.Completed
	}
	d := obj{{"tag.Queue", q.Path}, {"tag.Context", "yarn"}, {"tag.Hostname", host}}
	for k, name := range []string{"running_0", "running_60", "running_300", "running_1440"} {
		d = append(d, field{name, apps.byAge[k]})
	}
	return append(d, obj{
		{"AMResourceLimitMB", am[yarn.Memory]}, {"AMResourceLimitVCores", am[yarn.VCores]},
		{"AbsoluteUsedCapacity", fixedPercent(capacity.AbsUsedShare(v.conf.Calculator, v.tree.Cluster, q.Used)) / 100},
		{"GuaranteedAbsoluteCapacity", percent(eff.AbsCapacity.Rat()) / 100}, {"GuaranteedCapacity", percent(eff.Capacity.Rat()) / 100}, {"GuaranteedMB", eff.EffMin[yarn.Memory]}, {"GuaranteedVCores", eff.EffMin[yarn.VCores]},
		{"MaxAbsoluteCapacity", percent(eff.AbsMax.Rat()) / 100}, {"MaxCapacity", percent(eff.MaxCapacity.Rat()) / 100}, {"MaxCapacityMB", eff.EffMax[yarn.Memory]}, {"MaxCapacityVCores", eff.EffMax[yarn.VCores]},
		{"UsedAMResourceMB", q.AMUsed[yarn.Memory]}, {"UsedAMResourceVCores", q.AMUsed[yarn.VCores]}, {"UsedCapacity", v.usedPercent(q, i) / 100},
		{"ActiveApplications", int64(q.ActiveApps)}, {"ActiveUsers", int64(q.ActiveUsers)}, {"AggregateContainersAllocated", int64(allocated)}, {"AggregateContainersPreempted", 0}, {"AggregateContainersReleased", int64(released)},
		{"AggregateMemoryMBPreempted", 0}, {"AggregateMemoryMBSecondsPreempted", 0}, {"AggregateNodeLocalContainersAllocated", 0}, {"AggregateOffSwitchContainersAllocated", 0}, {"AggregateRackLocalContainersAllocated", 0},
		{"AggregateVcoreSecondsPreempted", 0}, {"AggregateVcoresPreempted", 0},
		{"AllocatedContainers", q.Containers - n.reservations[slot]}, {"AllocatedMB", used[yarn.Memory]}, {"AllocatedVCores", used[yarn.VCores]},
		{"AppAttemptFirstContainerAllocationDelayNumOps", 0}, {"AppAttemptFirstContainerAllocationDelayAvgTime", 0.0},
		{"AppsCompleted", apps.all.completed}, {"AppsFailed", apps.all.failed}, {"AppsKilled", apps.all.killed}, {"AppsPending", apps.all.pending}, {"AppsRunning", apps.all.running}, {"AppsSubmitted", apps.all.submitted},
		{"AvailableMB", free[yarn.Memory]}, {"AvailableVCores", free[yarn.VCores]}, {"PendingContainers", n.outstanding[slot]}, {"PendingMB", q.Pending[yarn.Memory]}, {"PendingVCores", q.Pending[yarn.VCores]},
		{"ReservedContainers", n.reservations[slot]}, {"ReservedMB", q.Reserved[yarn.Memory]}, {"ReservedVCores", q.Reserved[yarn.VCores]},
		{"UnmanagedAppsCompleted", apps.unmanaged.completed}, {"UnmanagedAppsFailed", apps.unmanaged.failed}, {"UnmanagedAppsKilled", apps.unmanaged.killed},
		{"UnmanagedAppsPending", apps.unmanaged.pending}, {"UnmanagedAppsRunning", apps.unmanaged.running}, {"UnmanagedAppsSubmitted", apps.unmanaged.submitted},
	}...)
}

// appTally counts the applications of a queue and those below it.
type appTally struct {
	all, unmanaged appCounts
	byAge          [4]int64 // running for less than 60, 300, 1440 minutes, and for longer
}

// add counts one application.
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

// sum adds what others came to.
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

// queueApps counts the remembered applications of every queue.
func (v *view) queueApps() map[uint32]*appTally {
	own := make([]appTally, v.st.Queues.Cap())
	v.census().Each(false, func(a *summary.App) bool {
		t := &own[a.Queue]
		t.all.add(a)
		if a.Unmanaged {
			t.unmanaged.add(a)
		}
		if a.Shown == yarn.AppRunning {
			minutes := (v.st.Meta.NowMillis - a.StartedMillis) / 60_000
			k := 0
			for k < 3 && minutes >= [...]int64{60, 300, 1440}[k] {
				k++
			}
			t.byAge[k]++
		}
		return true
	})
	out := map[uint32]*appTally{}
	for from := range own {
		for slot := uint32(from); slot != 0 && v.st.Queues.Has(slot); slot = v.st.Queues.Get(slot).Parent {
			if out[slot] == nil {
				out[slot] = new(appTally)
			}
			out[slot].sum(&own[from])
		}
	}
	return out
}
