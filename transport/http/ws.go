package httpserver

import (
	"math"
	"net/http"

	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// hadoopVersion is the version whose shapes these are; clients compare it.
const hadoopVersion = "3.4.2"

func (s *Server) wsRoutes() []route {
	ws := func(path string, h handler) route {
		return route{method: http.MethodGet, pattern: wsRoot + path, class: ClassRead, query: anyQuery, handle: h}
	}
	return append(s.schedConfRoutes(),
		ws("", wsInfo), ws("/info", wsInfo), ws("/metrics", wsMetrics), ws("/scheduler", wsScheduler), ws("/scheduler-overview", wsOverview),
		ws("/nodes", wsNodes), ws("/nodes/{id}", wsNode), ws("/nodes/{id}/get-labels", wsNodeLabels),
		ws("/apps", wsApps), ws("/apps/{id}", wsOfApp(wsApp)), ws("/apps/{id}/state", wsOfApp(wsAppState)), ws("/apps/{id}/priority", wsOfApp(wsAppPriority)), ws("/apps/{id}/queue", wsOfApp(wsAppQueue)),
		ws("/apps/{id}/timeouts", wsOfApp(wsAppTimeouts)), ws("/apps/{id}/timeouts/{kind}", wsOfApp(wsAppTimeout)),
		ws("/apps/{id}/appattempts", wsAttempts), ws("/apps/{id}/appattempts/{attempt}", wsAttempt),
		ws("/apps/{id}/appattempts/{attempt}/containers", wsContainers), ws("/apps/{id}/appattempts/{attempt}/containers/{container}", wsContainer),
		ws("/appstatistics", wsStatistics), ws("/userinfo", wsUserInfo), ws("/queues/{queue}/access", wsQueueAccess),
		ws("/get-node-labels", wsLabels), ws("/get-node-to-labels", wsNodeToLabels), ws("/label-mappings", wsLabelMappings),
		ws("/scheduler/activities", wsActivities), ws("/scheduler/bulk-activities", wsBulkActivities), ws("/scheduler/app-activities/{id}", wsAppActivities),
		ws("/reservation/list", wsReservations), ws("/scheduler/logs", wsSchedulerLogs),
	)
}

// haState is ACTIVE on the leader; every replica answers for itself.
func (c *call) haState() string {
	if c.s.cfg.Consensus.Role() == "leader" {
		return "ACTIVE"
	}
	return "STANDBY"
}

func wsInfo(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	ts := v.st.Meta.ClusterTimestamp
	build := "rmd " + c.s.cfg.Version
	return c.writeWS("clusterInfo", obj{
		{"id", ts}, {"startedOn", ts}, {"state", "STARTED"}, {"haState", c.haState()},
		{"rmStateStoreName", "raft"},
		{"resourceManagerVersion", hadoopVersion}, {"resourceManagerBuildVersion", build}, {"resourceManagerVersionBuiltOn", ""},
		{"hadoopVersion", hadoopVersion}, {"hadoopBuildVersion", build}, {"hadoopVersionBuiltOn", ""},
		{"haZooKeeperConnectionState", "Could not find leader elector. Verify both HA and automatic failover are enabled."},
	})
}

// appCounts counts applications by where they stand, as YARN's metrics do.
type appCounts struct{ submitted, pending, running, completed, failed, killed, asked int64 }

// appCountsOf are YARN's words for what was counted.
func appCountsOf(t *summary.Tally) appCounts {
	by := func(s yarn.ApplicationState) int64 { return int64(t.ByShown[s]) }
	return appCounts{submitted: int64(t.Apps()), pending: by(yarn.AppSubmitted) + by(yarn.AppAccepted), running: by(yarn.AppRunning),
		completed: by(yarn.AppFinished), failed: by(yarn.AppFailed), killed: by(yarn.AppKilled), asked: t.OutstandingAll}
}

func (v *view) appCounts() appCounts {
	n := appCountsOf(v.census().All())
	// Applications that are forgotten were submitted too.
	n.submitted = max(n.submitted, int64(v.st.Submitted()))
	return n
}

func wsMetrics(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	n, total := v.appCounts(), v.st.Meta.Cluster
	var used, reserved, pending yarn.Resource
	var containers int64
	if root := v.st.Root(); root != 0 {
		q := v.st.Queues.Get(root)
		used, reserved, pending = q.Used.Sub(q.Reserved), q.Reserved, q.Pending
		containers = q.Containers - int64(v.st.Reservations.Len())
	}
	free := total.Sub(used)
	doc := obj{
		{"appsSubmitted", n.submitted}, {"appsCompleted", n.completed}, {"appsPending", n.pending}, {"appsRunning", n.running}, {"appsFailed", n.failed}, {"appsKilled", n.killed},
		{"reservedMB", reserved[yarn.Memory]}, {"availableMB", free[yarn.Memory]}, {"allocatedMB", used[yarn.Memory]}, {"pendingMB", pending[yarn.Memory]},
		{"reservedVirtualCores", reserved[yarn.VCores]}, {"availableVirtualCores", free[yarn.VCores]}, {"allocatedVirtualCores", used[yarn.VCores]}, {"pendingVirtualCores", pending[yarn.VCores]},
		{"containersAllocated", containers}, {"containersReserved", v.st.Reservations.Len()}, {"containersPending", n.asked},
		{"totalMB", total[yarn.Memory]}, {"utilizedMB", 0}, {"totalVirtualCores", total[yarn.VCores]}, {"utilizedVirtualCores", 0},
		{"utilizedMBPercent", 0}, {"utilizedVirtualCoresPercent", 0}, {"rmSchedulerBusyPercent", 0},
	}
	doc = append(doc, v.nodeCounts()...)
	doc = append(doc, obj{
		{"containerAssignedPerSecond", 0},
		{"totalUsedResourcesAcrossPartition", v.wsResource(used)}, {"totalClusterResourcesAcrossPartition", v.wsResource(total)}, {"totalReservedResourcesAcrossPartition", v.wsResource(reserved)},
		{"totalAllocatedContainersAcrossPartition", containers}, {"crossPartitionMetricsAvailable", true}, {"rmEventQueueSize", 0}, {"schedulerEventQueueSize", 0},
	}...)
	return c.writeWS("clusterMetrics", doc)
}

func (v *view) nodesByState() (by [yarn.NodeShutdown + 1]int) {
	v.st.Nodes.Each(func(_ uint32, n *state.Node) bool { by[n.State]++; return true })
	return by
}

func (v *view) nodeCounts() obj {
	by := v.nodesByState()
	return obj{
		{"totalNodes", v.st.Nodes.Len() - by[yarn.NodeDecommissioned] - by[yarn.NodeShutdown]}, {"lostNodes", by[yarn.NodeLost]}, {"unhealthyNodes", by[yarn.NodeUnhealthy]},
		{"decommissioningNodes", by[yarn.NodeDecommissioning]}, {"decommissionedNodes", by[yarn.NodeDecommissioned]}, {"rebootedNodes", by[yarn.NodeRebooted]},
		{"activeNodes", by[yarn.NodeRunning]}, {"shutdownNodes", by[yarn.NodeShutdown]},
	}
}

// wsResource is a resource object: memory and vCores for old readers, every
// kind for new ones. The bounds are those of an amount that has none.
func (v *view) wsResource(r yarn.Resource) *shared {
	if have := v.wsSizes[r]; have != nil {
		return have
	}
	infos := make([]obj, 0, len(v.kinds))
	for i, name := range v.kinds {
		infos = append(infos, obj{{"attributes", obj{}}, {"maximumAllocation", int64(math.MaxInt64)}, {"minimumAllocation", 0},
			{"name", name}, {"resourceType", "COUNTABLE"}, {"units", v.unit(i)}, {"value", r[i]}})
	}
	out := share(obj{{"memory", r[yarn.Memory]}, {"vCores", r[yarn.VCores]}, {"resourceInformations", obj{{"resourceInformation", infos}}}})
	if len(v.wsSizes) < sharedSizes {
		v.wsSizes[r] = out
	}
	return out
}

// unit is what a kind is counted in; empty for whole things.
func (v *view) unit(kind int) string {
	if v.conf != nil && kind < len(v.conf.Units) && v.conf.Units[kind] != "" {
		return v.conf.Units[kind]
	}
	if kind == yarn.Memory {
		return "Mi"
	}
	return ""
}
